// StableHLO: products of matrices and convolutions.
#include <fmt/format.h>

#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"
#include "ops/library/convolution/convolution.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using Dims = std::vector<int64_t>;

// Sums of integers of fewer than 8 bits wrap once, at the end.
SymbolicTensor in_width(OpCall& c, const SymbolicTensor& x) {
  const int width = int(c.integer("result_width", 0));
  if (width == 0) return x;
  Lowering& l = c.lowering();
  return l.map(x.dtype, x.shape, [&](const Indices& i) { return wrapped(l.read(x, i), x.dtype, width); });
}

void check_dims(const SymbolicTensor& x, const Dims& dims) {
  for (const int64_t dim : dims) require(dim >= 0 && dim < x.rank(), "a product names a dimension that is not there");
}

// Batch dimensions come first in the result, then those of the left operand that are left, then those of the right.
void product_of(OpCall& c, const SymbolicTensor& a, const SymbolicTensor& b, const Dims& batch_a, const Dims& batch_b,
                const Dims& summed_a, const Dims& summed_b) {
  require(batch_a.size() == batch_b.size() && summed_a.size() == summed_b.size(),
          "the operands of a product name different numbers of dimensions");
  for (const auto* dims : {&batch_a, &summed_a}) check_dims(a, *dims);
  for (const auto* dims : {&batch_b, &summed_b}) check_dims(b, *dims);
  Labelled left{a, std::vector<int>(a.shape.size(), -1)}, right{b, std::vector<int>(b.shape.size(), -1)};
  int next = 0;
  std::vector<int> out;
  for (size_t i = 0; i < batch_a.size(); ++i) {
    require(a.shape[size_t(batch_a[i])] == b.shape[size_t(batch_b[i])], "batch extents of a product differ");
    out.push_back(next);
    left.labels[size_t(batch_a[i])] = right.labels[size_t(batch_b[i])] = next++;
  }
  for (size_t i = 0; i < summed_a.size(); ++i) {
    require(a.shape[size_t(summed_a[i])] == b.shape[size_t(summed_b[i])], "contracted extents of a product differ");
    left.labels[size_t(summed_a[i])] = right.labels[size_t(summed_b[i])] = next++;
  }
  for (Labelled* side : {&left, &right})
    for (int& label : side->labels)
      if (label < 0) out.push_back(label = next++);
  Lowering& l = c.lowering();
  const DType dtype = result_type_of(c).dtype;
  if (dtype != DType::boolean) return c.add_result(in_width(c, contract(l, dtype, left, right, out)));
  left.tensor = l.cast(a, DType::i32);
  right.tensor = l.cast(b, DType::i32);
  const SymbolicTensor count = contract(l, DType::i32, left, right, out);
  c.add_result(l.map(dtype, count.shape, [&](const Indices& i) { return l.read(count, i) != 0.0; }));
}

Dims dims_of(const OpCall& c, std::string_view name) { return c.integers(name, Dims{}); }

void define_dot_general(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() == 2, "a product takes two tensors");
  product_of(c, x[0], x[1], dims_of(c, "lhs_batching_dimensions"), dims_of(c, "rhs_batching_dimensions"),
             dims_of(c, "lhs_contracting_dimensions"), dims_of(c, "rhs_contracting_dimensions"));
}

void define_dot(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() == 2 && x[0].rank() >= 1 && x[1].rank() >= 1, "a product takes two vectors or matrices");
  product_of(c, x[0], x[1], {}, {}, {x[0].rank() - 1}, {0});
}

// ---- convolution ----

struct Window {
  Dims stride, low, high, lhs_dilation, rhs_dilation, reversal;
};

Window window_of(const OpCall& c, size_t dims) {
  const auto list = [&](std::string_view name, int64_t fallback) {
    Dims values = dims_of(c, name);
    if (values.empty()) values.assign(dims, fallback);
    require(values.size() == dims, "a convolution says its window for every dimension");
    return values;
  };
  Window w{list("window_strides", 1), Dims(dims), Dims(dims), list("lhs_dilation", 1), list("rhs_dilation", 1),
           list("window_reversal", 0)};
  const Dims padding = dims_of(c, "padding");
  require(padding.empty() || padding.size() == 2 * dims, "a convolution says its padding for every dimension");
  for (size_t d = 0; d < dims; ++d) {
    if (!padding.empty()) {
      w.low[d] = padding[2 * d];
      w.high[d] = padding[2 * d + 1];
    }
    constexpr int64_t most = int64_t(1) << 31;
    require(w.stride[d] > 0 && w.stride[d] < most && w.lhs_dilation[d] > 0 && w.lhs_dilation[d] < most &&
                w.rhs_dilation[d] > 0 && w.rhs_dilation[d] < most && is_modest(w.low[d]) && is_modest(w.high[d]),
            "a number of the convolution makes no sense");
  }
  return w;
}

// Dimensions in the order batch, feature, space.
Dims order_of(const OpCall& c, std::string_view side, std::string_view first, std::string_view second) {
  Dims order{c.integer(fmt::format("{}_{}_dimension", side, first)),
             c.integer(fmt::format("{}_{}_dimension", side, second))};
  for (const int64_t dim : dims_of(c, fmt::format("{}_spatial_dimensions", side))) order.push_back(dim);
  return order;
}

// [n, g * c, ...] from [g * n, c, ...]: groups of the batch become groups of features.
SymbolicTensor batch_groups_as_features(Lowering& l, const SymbolicTensor& x, int64_t groups) {
  Shape split{groups, x.shape[0] / groups}, merged{x.shape[0] / groups, groups * x.shape[1]};
  split.insert(split.end(), x.shape.begin() + 1, x.shape.end());
  merged.insert(merged.end(), x.shape.begin() + 2, x.shape.end());
  return l.reshape(l.transpose(l.reshape(x, split), 0, 1), merged);
}

SymbolicTensor flipped(Lowering& l, SymbolicTensor x, const std::vector<bool>& dims) {
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t extent = x.shape[2 + d];
    if (dims[d] && extent > 1) x = l.slice(x, int64_t(2 + d), extent - 1, extent, -1);
  }
  return x;
}

// Without dilation of the input: a plain convolution. Negative padding cuts the input.
SymbolicTensor plain_convolution(Lowering& l, DType dtype, SymbolicTensor x, const SymbolicTensor& kernel, Window w,
                                 int64_t groups, const Shape& out) {
  for (size_t d = 0; d < w.stride.size(); ++d) {
    const int64_t before = std::max<int64_t>(0, -w.low[d]), after = std::max<int64_t>(0, -w.high[d]);
    require(x.shape[2 + d] >= before + after, "the padding of a convolution cuts more than there is");
    x = l.slice(x, int64_t(2 + d), before, x.shape[2 + d] - before - after);
    w.low[d] += before;
    w.high[d] += after;
  }
  return to_narrow(l, dtype, {w.stride, w.rhs_dilation, w.low, w.high, groups}, x, kernel, out);
}

// With dilation of the input: the transposed convolution with the kernel turned around, of which a stride keeps some.
SymbolicTensor dilated_convolution(Lowering& l, DType dtype, const SymbolicTensor& x, const SymbolicTensor& kernel,
                                   const Window& w, int64_t groups, const Shape& out) {
  const size_t dims = w.stride.size();
  ConvolutionGeometry g{w.lhs_dilation, w.rhs_dilation, Dims(dims), Dims(dims), groups};
  Shape wide(dims);
  Dims unseen(dims);  // the first places, whose windows see nothing at all
  for (size_t d = 0; d < dims; ++d) {
    g.low[d] = w.rhs_dilation[d] * (kernel.shape[2 + d] - 1) - w.low[d];
    wide[d] = out[d] == 0 ? 0 : (out[d] - 1) * w.stride[d] + 1;
    unseen[d] = std::min(std::max<int64_t>(0, -g.low[d]), wide[d]);
    g.low[d] = std::max<int64_t>(0, g.low[d]);
    wide[d] -= unseen[d];
  }
  const int64_t out_features = kernel.shape[0], in_group = kernel.shape[1], out_group = out_features / groups;
  Shape split{groups, out_group, in_group}, merged{groups * in_group, out_group};
  split.insert(split.end(), kernel.shape.begin() + 2, kernel.shape.end());
  merged.insert(merged.end(), kernel.shape.begin() + 2, kernel.shape.end());
  const SymbolicTensor turned = flipped(l, kernel, std::vector<bool>(dims, true));
  const SymbolicTensor weight = l.reshape(l.transpose(l.reshape(turned, split), 1, 2), merged);
  SymbolicTensor result = to_wide(l, dtype, g, x, weight, wide);
  if (std::any_of(unseen.begin(), unseen.end(), [](int64_t places) { return places > 0; })) {
    const SymbolicTensor seen = result;
    Shape shape = seen.shape;
    for (size_t d = 0; d < dims; ++d) shape[2 + d] += unseen[d];
    result = l.map(dtype, shape, [&](const Indices& i) {
      Indices at = i;
      for (size_t d = 0; d < dims; ++d) at[2 + d] = i[2 + d] - unseen[d];
      return l.read(seen, at, Literal::of(int64_t(0)));
    });
  }
  for (size_t d = 0; d < dims; ++d) result = l.slice(result, int64_t(2 + d), 0, out[d], w.stride[d]);
  return result;
}

void define_convolution(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> operand = operands(c);
  require(operand.size() == 2 && operand[0].rank() == operand[1].rank() && operand[0].rank() >= 2,
          "a convolution takes an input and a kernel of the same rank");
  const Dims in_order = order_of(c, "input", "batch", "feature"),
             kernel_order = order_of(c, "kernel", "output_feature", "input_feature"),
             out_order = order_of(c, "output", "batch", "feature");
  SymbolicTensor x = l.permute(operand[0], in_order), kernel = l.permute(operand[1], kernel_order);
  const size_t dims = x.shape.size() - 2;
  const Window w = window_of(c, dims);
  int64_t groups = c.integer("feature_group_count", 1);
  const int64_t batch_groups = c.integer("batch_group_count", 1);
  require(groups > 0 && batch_groups > 0 && (groups == 1 || batch_groups == 1),
          "the groups of a convolution make no sense");
  require(x.shape[0] % batch_groups == 0 && kernel.shape[0] % (groups * batch_groups) == 0 &&
              x.shape[1] == kernel.shape[1] * groups,
          "the features of a convolution do not fit its groups");
  if (batch_groups > 1) {
    x = batch_groups_as_features(l, x, batch_groups);
    groups = batch_groups;
  }
  std::vector<bool> reversed;
  for (const int64_t flag : w.reversal) reversed.push_back(flag != 0);
  kernel = flipped(l, kernel, reversed);
  const TensorType type = result_type_of(c);
  require(type.shape.size() == out_order.size(), "the result of a convolution has another rank than its input");
  Shape out;
  for (size_t d = 0; d < dims; ++d) {
    require(out_order[2 + d] >= 0 && out_order[2 + d] < int64_t(type.shape.size()),
            "a convolution names a dimension that is not there");
    out.push_back(type.shape[size_t(out_order[2 + d])]);
  }
  const bool plain =
      std::all_of(w.lhs_dilation.begin(), w.lhs_dilation.end(), [](int64_t dilation) { return dilation == 1; });
  const SymbolicTensor result = plain ? plain_convolution(l, type.dtype, x, kernel, w, groups, out)
                                      : dilated_convolution(l, type.dtype, x, kernel, w, groups, out);
  Dims back(out_order.size());
  for (size_t i = 0; i < out_order.size(); ++i) back[size_t(wrap_dim(out_order[i], int64_t(back.size())))] = int64_t(i);
  c.add_result(in_width(c, l.permute(result, back)));
}

}  // namespace

void register_stablehlo_contraction(Registry& r) {
  r.add("stablehlo.dot_general", "lhs, rhs", define_dot_general);
  r.add("stablehlo.dot", "lhs, rhs", define_dot);
  r.add("stablehlo.convolution", "lhs, rhs", define_convolution);
}

}  // namespace lightline::ops
