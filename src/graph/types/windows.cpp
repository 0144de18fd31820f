// Windows over images: convolutions, pools, padding, resizing.
#include <algorithm>
#include <cmath>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// ---- convolutions ----

// Whether the operator convolves the other way round; only two forms say it in an argument.
bool is_transposed(const TypeCall& call) {
  return call.argument("transposed") ? call.flag("transposed")
                                     : call.op().name.find("transpose") != std::string_view::npos;
}

Types convolution(const TypeCall& call) {
  const bool plain = call.tensor_if("input") != nullptr;
  const TensorType& x = call.tensor(plain ? "input" : "self");
  const Shape& weight = call.tensor("weight").shape;
  if (call.op().name == "conv_tbc") {  // time, batch, channels
    const int64_t steps = x.shape.at(0) + 2 * call.integer("pad", 0) - weight.at(0) + 1;
    return {{x.dtype, {steps, x.shape.at(1), weight.at(2)}}};
  }
  const size_t spatial = weight.size() - 2;
  expect(weight.size() >= 3 && (x.shape.size() == weight.size() || x.shape.size() == weight.size() - 1),
         "the image has another number of dimensions than the weight");
  const size_t lead = x.shape.size() - spatial;
  const bool transposed = is_transposed(call);
  const std::vector<int64_t> stride = call.integers("stride", spatial, 1),
                             dilation = call.integers("dilation", spatial, 1);
  const std::string_view named = call.text("padding");
  const std::vector<int64_t> padding =
      named.empty() ? call.integers("padding", spatial, 0) : std::vector<int64_t>(spatial, 0);
  const std::vector<int64_t> more = transposed ? call.integers("output_padding", spatial, 0) : padding;
  TensorType result = x;
  result.shape[lead - 1] = transposed ? weight[1] * call.integer("groups", 1) : weight[0];
  for (size_t i = 0; i < spatial; ++i) {
    int64_t& extent = result.shape[lead + i];
    const int64_t window = dilation[i] * (weight[2 + i] - 1) + 1;
    if (transposed)
      extent = (extent - 1) * stride[i] - 2 * padding[i] + window + more[i];
    else if (named != "same")
      extent = (extent + 2 * padding[i] - window) / stride[i] + 1;
  }
  return {result};
}

Types bias_gradient(const TypeCall& call) {
  const bool last = call.op().name == "convolution_backward";
  const TensorType& gradient = call.tensor("grad_output");
  if (!last || !call.has("bias_sizes")) return {{gradient.dtype, {gradient.shape.at(1)}}};
  return {{gradient.dtype, call.integers("bias_sizes")}};
}

// ---- pools ----

size_t spatial_of(std::string_view name) {
  const size_t digit = name.find_last_of("123");
  return digit == std::string_view::npos ? 2 : size_t(name[digit] - '0');
}

TensorType pooled_type(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const size_t spatial = spatial_of(call.op().name);
  expect(type.shape.size() >= spatial, "the image has too few dimensions for the pool");
  const std::vector<int64_t> window = call.integers("kernel_size", spatial, 1);
  std::vector<int64_t> stride = call.integers("stride");
  stride = stride.empty() ? window : call.integers("stride", spatial, 1);
  const std::vector<int64_t> padding = call.integers("padding", spatial, 0),
                             dilation = call.integers("dilation", spatial, 1);
  const bool up = call.flag("ceil_mode");
  for (size_t i = 0; i < spatial; ++i) {
    int64_t& extent = type.shape[type.shape.size() - spatial + i];
    const int64_t room = extent + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1;
    expect(room >= 0 || up, "the window of the pool is larger than the image");
    int64_t count = (room + (up ? stride[i] - 1 : 0)) / stride[i] + 1;
    // the last window begins inside of the image or of its left padding
    if (up && (count - 1) * stride[i] >= extent + padding[i]) --count;
    extent = count;
  }
  return type;
}

Types pooled(const TypeCall& call) { return {pooled_type(call)}; }

Types max_pooled(const TypeCall& call) {
  const TensorType type = pooled_type(call);
  if (!call.flag("return_indices")) return {type};
  return {type, {DType::i64, type.shape}};
}

Types adaptive(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const size_t spatial = spatial_of(call.op().name);
  const std::vector<int64_t> size = call.integers("output_size", spatial, 1);
  for (size_t i = 0; i < spatial; ++i) type.shape[type.shape.size() - spatial + i] = size[i];
  return {type};
}

Types unpooled(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const std::vector<int64_t> size = call.integers("output_size");
  for (size_t i = 0; i < size.size(); ++i) type.shape[type.shape.size() - size.size() + i] = size[i];
  return {type};
}

// ---- padding and folding ----

// Pairs from the last dimension on.
Types padded(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const std::vector<int64_t> pad = call.integers(call.words.at(0));
  expect(pad.size() % 2 == 0 && pad.size() / 2 <= type.shape.size(), "padding comes in pairs, one for each dimension");
  for (size_t i = 0; i + 1 < pad.size(); i += 2) type.shape[type.shape.size() - 1 - i / 2] += pad[i] + pad[i + 1];
  return {type};
}

struct Windows {
  std::vector<int64_t> kernel, dilation, padding, stride;
  explicit Windows(const TypeCall& call)
      : kernel(call.integers("kernel_size", 2, 1)),
        dilation(call.integers("dilation", 2, 1)),
        padding(call.integers("padding", 2, 0)),
        stride(call.integers("stride", 2, 1)) {}
  int64_t count(size_t i, int64_t extent) const {
    return (extent + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
};

Types unfolded_windows(const TypeCall& call) {
  const TensorType& image = call.tensor("self");
  const size_t rank = image.shape.size();
  expect(rank == 3 || rank == 4, "unfold takes an image with channels");
  const Windows w(call);
  Shape shape(image.shape.begin(), image.shape.end() - 3);
  shape.push_back(image.shape[rank - 3] * w.kernel[0] * w.kernel[1]);
  shape.push_back(w.count(0, image.shape[rank - 2]) * w.count(1, image.shape[rank - 1]));
  return {{image.dtype, std::move(shape)}};
}

Types folded(const TypeCall& call) {
  const TensorType& columns = call.tensor("self");
  const size_t rank = columns.shape.size();
  expect(rank == 2 || rank == 3, "fold takes columns");
  const Windows w(call);
  const std::vector<int64_t> size = call.integers("output_size", 2, 1);
  Shape shape(columns.shape.begin(), columns.shape.end() - 2);
  shape.push_back(columns.shape[rank - 2] / (w.kernel[0] * w.kernel[1]));
  shape.insert(shape.end(), size.begin(), size.end());
  return {{columns.dtype, std::move(shape)}};
}

// ---- resizing and sampling ----

Types resized(const TypeCall& call) {
  const bool plain = call.tensor_if("input") != nullptr;
  TensorType type = call.tensor(plain ? "input" : "self");
  const size_t spatial = type.shape.size() - 2;
  expect(type.shape.size() >= 3, "only images with a batch and channels can be resized");
  std::vector<int64_t> size = call.integers(call.argument("size") ? "size" : "output_size");
  if (!size.empty()) {
    if (size.size() == 1) size.assign(spatial, size[0]);
    expect(size.size() == spatial, "there are not as many sizes as dimensions of the image");
    std::ranges::copy(size, type.shape.begin() + 2);
    return {type};
  }
  std::vector<double> scale = call.reals(call.argument("scale_factor") ? "scale_factor" : "scale_factors");
  if (scale.size() == 1) scale.assign(spatial, scale[0]);
  expect(scale.size() == spatial, "neither sizes nor factors are given");
  for (size_t i = 0; i < spatial; ++i) type.shape[2 + i] = int64_t(std::floor(double(type.shape[2 + i]) * scale[i]));
  return {type};
}

Types affine_grid(const TypeCall& call) {
  const std::vector<int64_t> size = call.integers("size");
  expect(size.size() >= 4, "a grid is for an image with a batch and channels");
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(int64_t(size.size()) - 2);
  return {{call.tensor("theta").dtype, std::move(shape)}};
}

Types affine_grid_backward(const TypeCall& call) {
  const std::vector<int64_t> size = call.integers("size");
  const int64_t spatial = int64_t(size.size()) - 2;
  return {{call.tensor("grad").dtype, {size.at(0), spatial, spatial + 1}}};
}

Types sampled(const TypeCall& call) {
  const TensorType &x = call.tensor("input"), &grid = call.tensor("grid");
  Shape shape(x.shape.begin(), x.shape.begin() + 2);
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return {{x.dtype, std::move(shape)}};
}

Types deform_conv2d(const TypeCall& call) {
  const TensorType& x = call.tensor("input");
  const Shape &weight = call.tensor("weight").shape, &offset = call.tensor("offset").shape;
  return {{x.dtype, {x.shape.at(0), weight.at(0), offset.at(2), offset.at(3)}}};
}

Types roi_align(const TypeCall& call) {
  const TensorType& x = call.tensor("input");
  return {
      {x.dtype,
       {call.tensor("rois").shape.at(0), x.shape.at(1), call.integer("pooled_height"), call.integer("pooled_width")}}};
}

}  // namespace

void add_window_rules(TypeRules& rules) {
  rules.insert({{"convolution", convolution},
                {"bias_gradient", bias_gradient},
                {"pooled", pooled},
                {"max_pooled", max_pooled},
                {"adaptive", adaptive},
                {"unpooled", unpooled},
                {"padded", padded},
                {"unfolded_windows", unfolded_windows},
                {"folded", folded},
                {"resized", resized},
                {"affine_grid", affine_grid},
                {"affine_grid_backward", affine_grid_backward},
                {"sampled", sampled},
                {"deform_conv2d", deform_conv2d},
                {"roi_align", roi_align}});
}

}  // namespace lightline::graph
