// Layer, RMS, group and weight normalisation.
#include "ops/library/normalisation/normalisation.h"

#include <fmt/format.h>

#include <limits>

namespace lightline::ops {

SymbolicTensor normalised(Lowering& l, const SymbolicTensor& x, DType dtype, const NormOperands& operands) {
  if (category(x.dtype) != Category::floating)
    fail(fmt::format("{} can not be normalised", name(x.dtype)), ErrorCode::type);
  const DType wide = compute_type(x.dtype);
  require_broadcasts(operands.scale, x.shape, "the scale");
  for (const auto* operand : {&operands.mean, &operands.weight, &operands.bias})
    if (*operand) require_broadcasts(**operand, x.shape, "an operand of the normalisation");
  return l.map(dtype, x.shape, [&](const Indices& at) {
    const auto read = [&](const SymbolicTensor& t) { return convert(l.read_broadcast(t, at), wide); };
    Scalar value = l.read(x, at);
    if (operands.mean) value = value - read(*operands.mean);
    value = value * read(operands.scale);
    if (operands.weight) value = value * read(*operands.weight);
    return operands.bias ? value + read(*operands.bias) : value;
  });
}

SymbolicTensor inverse_deviation(Lowering& l, const SymbolicTensor& squares, double count, double eps) {
  return l.map(compute_type(squares.dtype), squares.shape, [&](const Indices& i) {
    return call(Function::rsqrt, (count == 1 ? l.read(squares, i) : l.read(squares, i) / count) + eps);
  });
}

SymbolicTensor per_channel(Lowering& l, const SymbolicTensor& vector, int64_t rank) {
  require(rank >= 2, "a tensor with channels has rank 2 or more");
  Shape shape(size_t(rank - 1), 1);
  shape[0] = vector.size();
  return l.reshape(vector, shape);
}

ReducedDims all_but_channel(const Shape& shape) {
  require(shape.size() >= 2, "a tensor with channels has rank 2 or more");
  ReducedDims dims = all_dims(shape);
  dims.reduced[1] = false;
  return dims;
}

SymbolicTensor scaled(Lowering& l, const SymbolicTensor& scale, const std::optional<SymbolicTensor>& weight) {
  if (!weight) return scale;
  const DType wide = compute_type(scale.dtype);
  return l.map(wide, broadcast(scale.shape, weight->shape), [&](const Indices& i) {
    return l.read_broadcast(scale, i) * convert(l.read_broadcast(*weight, i), wide);
  });
}

SymbolicTensor grouped(Lowering& l, const SymbolicTensor& x, int64_t groups) {
  require(x.rank() >= 2, "a tensor with channels has rank 2 or more");
  require(groups > 0 && x.shape[1] % groups == 0,
          fmt::format("{} channels do not divide into {} groups", x.shape[1], groups));
  Shape shape{x.shape[0], groups, x.shape[1] / groups};
  shape.insert(shape.end(), x.shape.begin() + 2, x.shape.end());
  return l.reshape(x, shape);
}

SymbolicTensor spread_groups(Lowering& l, const SymbolicTensor& statistic, int64_t channels, int64_t rank) {
  require(statistic.rank() >= 2, "a statistic per group has rank 2 or more");
  const int64_t batch = statistic.shape[0], groups = statistic.shape[1];
  require(groups > 0 && channels % groups == 0 && statistic.size() == batch * groups,
          "a statistic does not have one value per group");
  Shape shape(size_t(rank), 1);
  shape[0] = batch;
  shape[1] = channels;
  return l.reshape(l.expand(l.reshape(statistic, {batch, groups, 1}), {batch, groups, channels / groups}), shape);
}

void add_statistic(OpCall& c, size_t i, const SymbolicTensor& statistic, const Shape& shape) {
  Lowering& l = c.lowering();
  const auto recorded = c.recorded(i);
  const DType dtype = recorded ? recorded->dtype : statistic.dtype;
  if (recorded && recorded->shape == Shape{0} && shape != Shape{0})
    return c.add_result(
        l.map(dtype, {0}, [&](const Indices&) { return l.convert(l.literal(Literal::of(0.0)), dtype); }));
  c.add_result(l.cast(l.reshape(statistic, shape), dtype));
}

ReducedDims normalised_dims(const OpCall& c, const SymbolicTensor& x) {
  const std::vector<int64_t> shape = c.integers("normalized_shape");
  const int64_t keep = x.rank() - int64_t(shape.size());
  const bool fits = !shape.empty() && keep >= 0 && std::equal(shape.begin(), shape.end(), x.shape.begin() + keep);
  require(fits, fmt::format("the normalised shape {} does not end {}", to_string(Shape(shape)), to_string(x.shape)));
  return trailing_dims(x.shape, keep);
}

SymbolicTensor norm_except(Lowering& l, const SymbolicTensor& v, double p, int64_t dim) {
  ReducedDims dims = all_dims(v.shape);
  if (dim != -1 && v.rank() > 0) dims.reduced[size_t(wrap_dim(dim, v.rank()))] = false;
  return vector_norm(l, compute_type(v.dtype), p, dims, dim != -1, [&](const Indices& at) { return l.read(v, at); });
}

namespace {

void layer_norm(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const ReducedDims dims = normalised_dims(c, x);
  const Moments m = moments(l, x, dims);
  const SymbolicTensor rstd = inverse_deviation(l, m.squares, double(dims.count()), c.number("eps", 1e-5));
  c.add_result(normalised(l, x, x.dtype, {m.mean, rstd, c.tensor_if("weight"), c.tensor_if("bias")}));
  if (c.node().results.size() < 2) return;
  add_statistic(c, 1, m.mean, m.mean.shape);
  add_statistic(c, 2, rstd, rstd.shape);
}

void rms_norm(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const ReducedDims dims = normalised_dims(c, x);
  const double eps = c.number(
      "eps", x.dtype == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
  const SymbolicTensor squares = reduce_dims(l, compute_type(x.dtype), Reducer::sum, dims, true,
                                             [&](const Indices& at) { return l.read(x, at) * l.read(x, at); });
  const SymbolicTensor rstd = inverse_deviation(l, squares, double(dims.count()), eps);
  c.add_result(normalised(l, x, x.dtype, {{}, rstd, c.tensor_if("weight"), {}}));
  if (c.node().results.size() > 1) add_statistic(c, 1, rstd, rstd.shape);
}

void group_norm(OpCall& c, std::string_view groups_name) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("input");
  const int64_t groups = c.integer(groups_name);
  const SymbolicTensor by_group = grouped(l, x, groups);
  const ReducedDims dims = trailing_dims(by_group.shape, 2);
  const Moments m = moments(l, by_group, dims);
  const SymbolicTensor rstd = inverse_deviation(l, m.squares, double(dims.count()), c.number("eps", 1e-5));
  const auto weight = c.tensor_if("weight"), bias = c.tensor_if("bias");
  const auto channel = [&](const std::optional<SymbolicTensor>& t) {
    return t ? std::optional(per_channel(l, *t, x.rank())) : std::nullopt;
  };
  const auto spread = [&](const SymbolicTensor& t) { return spread_groups(l, t, x.shape[1], x.rank()); };
  c.add_result(
      normalised(l, x, x.dtype, {spread(m.mean), scaled(l, spread(rstd), channel(weight)), {}, channel(bias)}));
  if (c.node().results.size() < 2) return;
  add_statistic(c, 1, m.mean, {x.shape[0], groups});
  add_statistic(c, 2, rstd, {x.shape[0], groups});
}

// v scaled to the norm g.
void weight_norm(OpCall& c, bool with_norms) {
  Lowering& l = c.lowering();
  const SymbolicTensor v = c.tensor("v"), g = c.tensor("g");
  const DType wide = compute_type(v.dtype);
  const SymbolicTensor norms = norm_except(l, v, 2, c.integer("dim", 0));
  const SymbolicTensor scale = l.map(wide, broadcast(g.shape, norms.shape), [&](const Indices& i) {
    return convert(l.read_broadcast(g, i), wide) / l.read_broadcast(norms, i);
  });
  c.add_result(l.map(v.dtype, broadcast(v.shape, scale.shape),
                     [&](const Indices& i) { return l.read_broadcast(v, i) * l.read_broadcast(scale, i); }));
  if (with_norms) add_statistic(c, 1, norms, g.shape);
}

}  // namespace

void register_normalisation(Registry& r) {
  r.add("layer_norm", "input, normalized_shape, weight, bias, eps", layer_norm, {"native_layer_norm"});
  r.add("rms_norm", "input, normalized_shape, weight, eps", rms_norm, {"_fused_rms_norm"});
  r.add("group_norm", "input, num_groups, weight, bias, eps", [](OpCall& c) { group_norm(c, "num_groups"); });
  r.add("native_group_norm", "input, weight, bias, N, C, HxW, group, eps", [](OpCall& c) { group_norm(c, "group"); });
  r.add("_weight_norm", "v, g, dim", [](OpCall& c) { weight_norm(c, false); });
  r.add("_weight_norm_interface", "v, g, dim", [](OpCall& c) { weight_norm(c, true); });
  r.add("norm_except_dim", "v, pow, dim", [](OpCall& c) {
    const SymbolicTensor v = c.tensor("v");
    c.add_result(c.lowering().cast(norm_except(c.lowering(), v, c.number("pow", 2), c.integer("dim", 0)), v.dtype));
  });
  register_batch_normalisation(r);
  register_normalisation_backward(r);
}

}  // namespace lightline::ops
