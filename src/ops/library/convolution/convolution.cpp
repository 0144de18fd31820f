#include "ops/library/convolution/convolution.h"

#include <fmt/format.h>

#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"

namespace lightline::ops {
namespace {

// "same" and "valid" as padding.
void named_padding(ConvolutionGeometry& g, std::string_view name, const Shape& weight) {
  if (name == "valid") return;
  if (name != "same") fail(fmt::format("the padding '{}' is neither 'same' nor 'valid'", name));
  for (size_t d = 0; d < g.dims(); ++d) {
    require(g.stride[d] == 1, "the padding 'same' needs a stride of 1");
    const int64_t total = g.dilation[d] * (weight[2 + d] - 1);
    g.low[d] = total / 2;
    g.high[d] = total - total / 2;
  }
}

ConvolutionGeometry geometry_of(OpCall& c, const Shape& weight, int64_t groups) {
  require(weight.size() >= 3, "the weight of a convolution has at least three dimensions");
  const size_t dims = weight.size() - 2;
  ConvolutionGeometry g;
  g.stride = c.integers("stride", dims, 1);
  g.dilation = c.integers("dilation", dims, 1);
  g.groups = groups;
  const std::string name = c.text("padding", "");
  g.low = name.empty() ? c.integers("padding", dims, 0) : std::vector<int64_t>(dims, 0);
  g.high = g.low;
  check_geometry(g, weight);
  if (!name.empty()) named_padding(g, name, weight);
  return g;
}

void require_channels(const SymbolicTensor& tensor, int64_t channels) {
  if (tensor.shape[1] != channels)
    fail(fmt::format("the input has {} channels, but the weight takes {}", tensor.shape[1], channels));
}

// Extents of the wide tensor that a transposed convolution gives.
Shape transposed_extents(OpCall& c, const ConvolutionGeometry& g, const Shape& narrow, const Shape& weight) {
  const std::vector<int64_t> extra = c.integers("output_padding", g.dims(), 0);
  Shape extents;
  for (size_t d = 0; d < g.dims(); ++d) {
    require(extra[d] >= 0 && (extra[d] < g.stride[d] || extra[d] < g.dilation[d]),
            "the output padding must be smaller than the stride or the dilation");
    int64_t steps = 0, extent = 0;
    const bool overflow =
        __builtin_mul_overflow(narrow[2 + d] - 1, g.stride[d], &steps) ||
        __builtin_add_overflow(steps, g.dilation[d] * (weight[2 + d] - 1) + extra[d] + 1 - 2 * g.low[d], &extent);
    require(!overflow && extent >= 0, "a transposed convolution has no sensible output size");
    extents.push_back(extent);
  }
  return extents;
}

// The convolution of a batch, without bias.
SymbolicTensor convolve(OpCall& c, DType dtype, const SymbolicTensor& x, const SymbolicTensor& weight, bool transposed,
                        int64_t groups) {
  Lowering& l = c.lowering();
  const ConvolutionGeometry g = geometry_of(c, weight.shape, groups);
  if (transposed) {
    require_channels(x, weight.shape[0]);
    require(weight.shape[0] % groups == 0, "the channels do not divide into the groups");
    return to_wide(l, dtype, g, x, weight, transposed_extents(c, g, x.shape, weight.shape));
  }
  require_channels(x, product(std::vector<int64_t>{weight.shape[1], groups}));
  require(weight.shape[0] % groups == 0, "the output channels do not divide into the groups");
  return to_narrow(l, dtype, g, x, weight, narrow_extents(g, x.shape, weight.shape));
}

SymbolicTensor convolution_of(OpCall& c, const SymbolicTensor& input, bool transposed, int64_t groups) {
  Lowering& l = c.lowering();
  const SymbolicTensor weight = c.tensor("weight");
  const bool single = input.rank() == weight.rank() - 1;
  require(single || input.rank() == weight.rank(), "the input and the weight of a convolution have different ranks");
  const SymbolicTensor x = single ? l.unsqueeze(input, 0) : input;
  const auto bias = c.tensor_if("bias");
  const DType dtype = common_dtype(x, weight);
  const SymbolicTensor sum =
      with_bias(l, dtype, convolve(c, bias ? compute_type(dtype) : dtype, x, weight, transposed, groups), bias, 1);
  return single ? l.squeeze(sum, 0) : sum;
}

SymbolicTensor input_of(const OpCall& c) { return c.tensor(c.has("input") ? "input" : "self"); }

void convolution(OpCall& c, bool transposed) {
  c.add_result(convolution_of(c, input_of(c), transposed, c.integer("groups", 1)));
}

void depthwise(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 3, "a depthwise convolution needs channels");
  c.add_result(convolution_of(c, x, false, x.shape[size_t(x.rank() == c.tensor("weight").rank())]));
}

// relu(convolution + alpha * z)
void convolution_relu(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor sum = convolution_of(c, c.tensor("self"), false, c.integer("groups", 1));
  const auto z = c.tensor_if("z");
  const double alpha = c.number("alpha", 1);
  c.add_result(l.map(sum.dtype, sum.shape, [&](const Indices& i) {
    const Scalar x = l.read(sum, i);
    return max(z ? x + alpha * l.read_broadcast(*z, i) : x, 0.0);
  }));
}

// Time first, channels last: x[t, b, c], weight[r, c, o].
void convolution_tbc(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self"), weight = c.tensor("weight");
  require(x.rank() == 3 && weight.rank() == 3, "conv_tbc needs an input and a weight of rank 3");
  const int64_t pad = c.integer("pad", 0);
  const ConvolutionGeometry g{{1}, {1}, {pad}, {pad}, 1};
  const SymbolicTensor kernel = l.permute(weight, {2, 1, 0});
  check_geometry(g, kernel.shape);
  require_channels(l.permute(x, {1, 2, 0}), kernel.shape[1]);
  const Shape steps = narrow_extents(g, {x.shape[1], x.shape[2], x.shape[0]}, kernel.shape);
  const DType dtype = common_dtype(x, weight), compute = compute_type(dtype);
  const SymbolicTensor sum = l.reduce(
      compute, {steps[0], x.shape[1], weight.shape[2]}, Reducer::sum, {weight.shape[0], weight.shape[1]},
      [&](const Indices& i, const Indices& r) {
        return l.read(x, {i[0] + r[0] - pad, i[1], r[1]}, Literal::of(int64_t(0))) * l.read(weight, {r[0], r[1], i[2]});
      });
  c.add_result(with_bias(l, dtype, sum, c.tensor_if("bias"), 2));
}

void convolution_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor grad = c.tensor("grad_output"), input = c.tensor("input"), weight = c.tensor("weight");
  require(grad.rank() == weight.rank() && input.rank() == weight.rank(),
          "the gradient, the input and the weight have different ranks");
  const ConvolutionGeometry g = geometry_of(c, weight.shape, c.integer("groups", 1));
  const bool transposed = c.flag("transposed", false);
  const std::vector<int64_t> mask = c.integers("output_mask", {1, 1, 1});
  require(mask.size() == 3, "output_mask has three entries");
  const SymbolicTensor &narrow = transposed ? input : grad, &wide = transposed ? grad : input;
  require_channels(narrow, weight.shape[0]);
  require_channels(wide, product(std::vector<int64_t>{weight.shape[1], g.groups}));
  require(weight.shape[0] % g.groups == 0, "the channels do not divide into the groups");
  const Shape input_extents(input.shape.begin() + 2, input.shape.end());
  if (!mask[0])
    c.add_empty_result();
  else
    c.add_result(transposed ? to_narrow(l, input.dtype, g, grad, weight, input_extents)
                            : to_wide(l, input.dtype, g, grad, weight, input_extents));
  if (!mask[1])
    c.add_empty_result();
  else
    c.add_result(to_weight(l, weight.dtype, g, narrow, wide, weight.shape));
  if (!mask[2]) return c.add_empty_result();
  std::vector<int64_t> summed{0};
  for (int64_t d = 2; d < grad.rank(); ++d) summed.push_back(d);
  c.add_result(sum_over(l, grad.dtype, grad, summed));
}

}  // namespace

void register_convolution(Registry& r) {
  const Definition forward = [](OpCall& c) { convolution(c, false); };
  const Definition transposed = [](OpCall& c) { convolution(c, true); };
  const Definition either = [](OpCall& c) { convolution(c, c.flag("transposed", false)); };
  for (const char* dims : {"1d", "2d", "3d"}) {
    r.add(std::string("conv") + dims, "input, weight, bias, stride, padding, dilation, groups", forward);
    r.add(std::string("conv_transpose") + dims,
          "input, weight, bias, stride, padding, output_padding, groups, dilation", transposed);
  }
  r.add("_convolution_mode", "input, weight, bias, stride, padding, dilation, groups", forward);
  r.add("convolution", "input, weight, bias, stride, padding, dilation, transposed, output_padding, groups", either,
        {"_convolution", "convolution_overrideable"});
  // the same under the names of the libraries that run it, with arguments in other orders
  r.add("cudnn_convolution", "self, weight, padding, stride, dilation, groups", forward);
  r.add("mkldnn_convolution", "self, weight, bias, padding, stride, dilation, groups", forward,
        {"miopen_convolution", "miopen_depthwise_convolution"});
  r.add("cudnn_convolution_transpose", "self, weight, padding, output_padding, stride, dilation, groups", transposed);
  r.add("miopen_convolution_transpose", "self, weight, bias, padding, output_padding, stride, dilation, groups",
        transposed);
  r.add("slow_conv_dilated2d", "self, weight, kernel_size, bias, stride, padding, dilation", forward,
        {"slow_conv_dilated3d", "slow_conv3d", "slow_conv3d_forward", "thnn_conv2d", "_slow_conv2d_forward"});
  r.add("slow_conv_transpose2d", "self, weight, kernel_size, bias, stride, padding, output_padding, dilation",
        transposed, {"slow_conv_transpose3d"});
  r.add("_conv_depthwise2d", "self, weight, kernel_size, bias, stride, padding, dilation", depthwise,
        {"conv_depthwise3d"});
  r.add("cudnn_convolution_relu", "self, weight, bias, stride, padding, dilation, groups", convolution_relu,
        {"miopen_convolution_relu"});
  r.add("cudnn_convolution_add_relu", "self, weight, z, alpha, bias, stride, padding, dilation, groups",
        convolution_relu, {"miopen_convolution_add_relu"});
  r.add("conv_tbc", "self, weight, bias, pad", convolution_tbc);
  r.add("convolution_backward",
        "grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, "
        "output_mask",
        convolution_backward, {"convolution_backward_overrideable"});
}

}  // namespace lightline::ops
