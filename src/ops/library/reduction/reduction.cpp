// Reductions to sums, extremes, truth values and positions.
#include "ops/library/reduction/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lightline::ops {

// ---- which dimensions ----

Shape ReducedDims::extents() const {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i)
    if (reduced[i]) result.push_back(shape[i]);
  return result;
}

Shape ReducedDims::kept(bool keepdim) const {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i])
      result.push_back(shape[i]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

Indices ReducedDims::join(const Indices& index, const Indices& inner, bool keepdim) const {
  Indices result;
  size_t outer = 0, within = 0;
  for (const bool is_reduced : reduced) {
    if (is_reduced) {
      result.push_back(inner[within++]);
      outer += keepdim;
    } else {
      result.push_back(index[outer++]);
    }
  }
  return result;
}

ReducedDims all_dims(const Shape& shape) { return {shape, std::vector<bool>(shape.size(), true)}; }

ReducedDims reduced_dims(const Shape& shape, const std::vector<int64_t>& dims) {
  ReducedDims result{shape, std::vector<bool>(shape.size(), false)};
  for (const int64_t dim : dims) {
    const auto at = size_t(wrap_dim(dim, int64_t(shape.size())));
    if (shape.empty()) continue;  // dimension 0 of a scalar
    require(!result.reduced[at], fmt::format("dimension {} is reduced twice", at));
    result.reduced[at] = true;
  }
  return result;
}

ReducedDims reduced_dims(const OpCall& c, const Shape& shape, std::string_view name) {
  const std::vector<int64_t> dims = c.integers(name, {});
  return dims.empty() ? all_dims(shape) : reduced_dims(shape, dims);
}

ReducedDims trailing_dims(const Shape& shape, int64_t keep) {
  ReducedDims result = all_dims(shape);
  for (size_t i = 0; i < shape.size() && int64_t(i) < keep; ++i) result.reduced[i] = false;
  return result;
}

// ---- building blocks ----

SymbolicTensor reduce_dims(Lowering& l, DType dtype, Reducer reducer, const ReducedDims& dims, bool keepdim,
                           const ElementAt& element) {
  return l.reduce(dtype, dims.kept(keepdim), reducer, dims.extents(),
                  [&](const Indices& i, const Indices& r) { return element(dims.join(i, r, keepdim)); });
}

SymbolicTensor mean_dims(Lowering& l, DType dtype, const ReducedDims& dims, bool keepdim, const ElementAt& element) {
  const SymbolicTensor sum = reduce_dims(l, compute_type(dtype), Reducer::sum, dims, keepdim, element);
  return l.map(dtype, sum.shape, [&](const Indices& i) { return l.read(sum, i) / double(dims.count()); });
}

Scalar read_converted(Lowering& l, const SymbolicTensor& x, const Indices& at, DType dtype) {
  const Scalar value = l.read(x, at);
  return x.dtype != dtype && compute_type(dtype) != dtype ? l.rounded(value, dtype) : convert(value, dtype);
}

Moments moments(Lowering& l, const SymbolicTensor& x, const ReducedDims& dims) {
  if (category(x.dtype) < Category::floating)
    fail(fmt::format("the moments of {} are not defined", name(x.dtype)), ErrorCode::type);
  const DType type = compute_type(x.dtype);
  const SymbolicTensor mean = mean_dims(l, type, dims, true, [&](const Indices& at) { return l.read(x, at); });
  const SymbolicTensor squares = reduce_dims(l, real_type(type), Reducer::sum, dims, true, [&](const Indices& at) {
    const Scalar deviation = l.read(x, at) - l.read_broadcast(mean, at);
    if (type != DType::c64) return deviation * deviation;
    const Scalar re = call(Function::real, deviation), im = call(Function::imag, deviation);
    return re * re + im * im;
  });
  return {mean, squares};
}

void require_broadcasts(const SymbolicTensor& tensor, const Shape& shape, std::string_view what) {
  if (broadcast(tensor.shape, shape) != shape)
    fail(fmt::format("{} of shape {} does not fit {}", what, to_string(tensor.shape), to_string(shape)));
}

void add_opaque_results(OpCall& c, const std::string& name, const std::vector<SymbolicTensor>& operands) {
  std::vector<TensorType> types;
  for (size_t i = 0; i < c.node().results.size(); ++i) {
    const auto type = c.recorded(i);
    if (!type && c.node().results[i] != graph::no_value)
      fail(fmt::format("the type of result {} of {} is not recorded", i, name), ErrorCode::unsupported);
    if (type) types.push_back(*type);
  }
  const std::vector<SymbolicTensor> tensors = c.lowering().opaque(name, operands, {}, types);
  size_t next = 0;
  for (size_t i = 0; i < c.node().results.size(); ++i) {
    if (c.recorded(i))
      c.add_result(tensors[next++]);
    else
      c.add_empty_result();
  }
}

namespace {

void require_ordered(const SymbolicTensor& x, const ReducedDims& dims, std::string_view what) {
  if (x.dtype == DType::c64) fail(fmt::format("{} of complex numbers is not defined", what), ErrorCode::type);
  if (dims.count() == 0 && product(dims.kept(false)) != 0) fail(fmt::format("{} over no elements has no value", what));
}

// Integers and bool add up in i64.
DType sum_type(DType dtype) { return category(dtype) <= Category::integer ? DType::i64 : dtype; }

void sum_like(OpCall& c, Reducer reducer, bool skip_nan) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const DType type = c.dtype("dtype", sum_type(x.dtype));
  const auto element = [&](const Indices& at) {
    const Scalar value = read_converted(l, x, at, type);
    return skip_nan && is_float(type) ? select(call(Function::isnan, value), 0.0, value) : value;
  };
  if (type == DType::boolean)
    return c.add_result(reduce_dims(l, type, reducer == Reducer::sum ? Reducer::any : Reducer::all,
                                    reduced_dims(c, x.shape), c.flag("keepdim", false), element));
  c.add_result(reduce_dims(l, type, reducer, reduced_dims(c, x.shape), c.flag("keepdim", false), element));
}

void mean(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const DType type = c.dtype("dtype", x.dtype);
  if (category(type) < Category::floating)
    fail(fmt::format("mean of {} needs a floating dtype", name(type)), ErrorCode::type);
  c.add_result(mean_dims(l, type, reduced_dims(c, x.shape), c.flag("keepdim", false),
                         [&](const Indices& at) { return read_converted(l, x, at, type); }));
}

void nanmean(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const DType type = c.dtype("dtype", x.dtype);
  if (category(type) != Category::floating)
    fail(fmt::format("nanmean of {} needs a floating dtype", name(type)), ErrorCode::type);
  const ReducedDims dims = reduced_dims(c, x.shape);
  const DType wide = compute_type(type);
  const bool keepdim = c.flag("keepdim", false);
  const auto present = [&](const Indices& at) { return !call(Function::isnan, read_converted(l, x, at, type)); };
  const SymbolicTensor sum = reduce_dims(l, wide, Reducer::sum, dims, keepdim, [&](const Indices& at) {
    return select(present(at), read_converted(l, x, at, type), 0.0);
  });
  const SymbolicTensor count =
      reduce_dims(l, wide, Reducer::sum, dims, keepdim, [&](const Indices& at) { return convert(present(at), wide); });
  c.add_result(l.map(type, sum.shape, [&](const Indices& i) { return l.read(sum, i) / l.read(count, i); }));
}

// ---- extremes ----

struct Extreme {
  Reducer value;
  Reducer position;
  Reducer of_bool;
  std::string_view name;
};
constexpr Extreme greatest{Reducer::max, Reducer::argmax, Reducer::any, "max"};
constexpr Extreme least{Reducer::min, Reducer::argmin, Reducer::all, "min"};

SymbolicTensor extreme_value(Lowering& l, const SymbolicTensor& x, const Extreme& which, const ReducedDims& dims,
                             bool keepdim) {
  require_ordered(x, dims, which.name);
  return reduce_dims(l, x.dtype, x.dtype == DType::boolean ? which.of_bool : which.value, dims, keepdim,
                     [&](const Indices& at) { return l.read(x, at); });
}

SymbolicTensor extreme_position(Lowering& l, const SymbolicTensor& x, const Extreme& which, const ReducedDims& dims,
                                bool keepdim) {
  require_ordered(x, dims, which.name);
  return reduce_dims(l, DType::i64, which.position, dims, keepdim, [&](const Indices& at) {
    const Scalar value = l.read(x, at);
    return x.dtype == DType::boolean ? convert(value, DType::i64) : value;
  });
}

// Three operators under one name: of the whole tensor, along a dimension with positions, of two tensors.
void extreme(OpCall& c, const Extreme& which) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const bool of_two = c.has("other") || c.tensor_if("dim");
  if (of_two) {
    const Operand a = c.operand("self"), b = c.has("other") ? c.operand("other") : c.operand("dim");
    const DType type = result_type({a, b});
    const bool most = which.value == Reducer::max;
    return c.add_result(c.elementwise({a, b}, type, type, [&](const std::vector<Scalar>& v) {
      if (type == DType::boolean) return most ? v[0] || v[1] : v[0] && v[1];
      return most ? max(v[0], v[1]) : min(v[0], v[1]);
    }));
  }
  if (!c.has("dim")) return c.add_result(extreme_value(l, x, which, all_dims(x.shape), false));
  const ReducedDims dims = reduced_dims(x.shape, {c.integer("dim")});
  const bool keepdim = c.flag("keepdim", false);
  c.add_result(extreme_value(l, x, which, dims, keepdim));
  c.add_result(extreme_position(l, x, which, dims, keepdim));
}

void extreme_over(OpCall& c, const Extreme& which) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(extreme_value(c.lowering(), x, which, reduced_dims(c, x.shape), c.flag("keepdim", false)));
}

void position(OpCall& c, const Extreme& which) {
  const SymbolicTensor x = c.tensor("self");
  c.add_result(extreme_position(c.lowering(), x, which, reduced_dims(c, x.shape), c.flag("keepdim", false)));
}

void aminmax(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  const ReducedDims dims = reduced_dims(c, x.shape);
  for (const Extreme& which : {least, greatest})
    c.add_result(extreme_value(c.lowering(), x, which, dims, c.flag("keepdim", false)));
}

// ---- truth and counts ----

void truth(OpCall& c, Reducer reducer) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  // An empty list reduces nothing here, unlike elsewhere.
  const bool nothing = c.has("dim") && c.integers("dim").empty();
  const ReducedDims dims = nothing ? reduced_dims(x.shape, {}) : reduced_dims(c, x.shape);
  const SymbolicTensor result =
      reduce_dims(l, DType::boolean, reducer, dims, c.flag("keepdim", false), [&](const Indices& at) {
        const Scalar value = l.read(x, at);
        return x.dtype == DType::boolean ? value : value != 0.0;
      });
  c.add_result(l.cast(result, x.dtype == DType::u8 ? DType::u8 : DType::boolean));
}

void count_nonzero(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  c.add_result(reduce_dims(l, DType::i64, Reducer::sum, reduced_dims(c, x.shape), false, [&](const Indices& at) {
    const Scalar value = l.read(x, at);
    return convert(x.dtype == DType::boolean ? value : value != 0.0, DType::i64);
  }));
}

void logsumexp(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const DType type = floating_type(x.dtype), wide = compute_type(type);
  const ReducedDims dims = reduced_dims(c, x.shape);
  const bool keepdim = c.flag("keepdim", false);
  const DType real = real_type(wide);
  const SymbolicTensor largest = reduce_dims(l, real, Reducer::max, dims, keepdim, [&](const Indices& at) {
    const Scalar value = convert(l.read(x, at), wide);
    return wide == DType::c64 ? call(Function::real, value) : value;
  });
  const SymbolicTensor shift = l.map(real, largest.shape, [&](const Indices& i) {
    return select(call(Function::isinf, l.read(largest, i)), 0.0, l.read(largest, i));
  });
  const SymbolicTensor sum =
      l.reduce(wide, shift.shape, Reducer::sum, dims.extents(), [&](const Indices& i, const Indices& r) {
        return call(Function::exp,
                    convert(l.read(x, dims.join(i, r, keepdim)), wide) - convert(l.read(shift, i), wide));
      });
  c.add_result(l.map(type, sum.shape, [&](const Indices& i) {
    return call(Function::log, l.read(sum, i)) + convert(l.read(shift, i), wide);
  }));
}

// Sums what a broadcast from `size` would have repeated.
void sum_to_size(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const Shape size = c.integers("size");
  require(size.size() <= x.shape.size(), "sum_to_size adds no dimensions");
  ReducedDims dims = reduced_dims(x.shape, {});
  const size_t leading = x.shape.size() - size.size();
  for (size_t d = 0; d < x.shape.size(); ++d) {
    dims.reduced[d] = d < leading || (size[d - leading] == 1 && x.shape[d] != 1);
    require(dims.reduced[d] || size[d - leading] == x.shape[d], "the tensor is no broadcast of that size");
  }
  const DType type = sum_type(x.dtype);
  const SymbolicTensor sum =
      reduce_dims(l, type, Reducer::sum, dims, false, [&](const Indices& at) { return convert(l.read(x, at), type); });
  const bool nothing = std::ranges::find(dims.reduced, true) == dims.reduced.end();
  c.add_result(nothing ? x : l.reshape(sum, size));
}

// ---- moments ----

struct Spread {
  bool root = false;  // standard deviation
  bool with_mean = false;
};

void spread(OpCall& c, Spread form) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  const ReducedDims dims = reduced_dims(c, x.shape);
  const bool keepdim = c.flag("keepdim", false);
  const double correction = c.has("correction") ? c.number("correction", 1) : c.flag("unbiased", true) ? 1 : 0;
  const double divisor = std::max(0.0, double(dims.count()) - correction);
  const Moments m = moments(l, x, dims);
  const Shape shape = dims.kept(keepdim);
  const SymbolicTensor squares = l.reshape(m.squares, shape), mean = l.reshape(m.mean, shape);
  c.add_result(l.map(real_type(x.dtype), shape, [&](const Indices& i) {
    const Scalar variance = l.read(squares, i) / divisor;
    return form.root ? call(Function::sqrt, variance) : variance;
  }));
  if (form.with_mean) c.add_result(l.map(x.dtype, shape, [&](const Indices& i) { return l.read(mean, i); }));
}

}  // namespace

void register_vector_norms(Registry& r);
void register_order_statistics(Registry& r);

void register_reduction(Registry& r) {
  r.add("sum", "self, dim, keepdim, dtype", [](OpCall& c) { sum_like(c, Reducer::sum, false); });
  r.add("prod", "self, dim, keepdim, dtype", [](OpCall& c) { sum_like(c, Reducer::prod, false); });
  r.add("nansum", "self, dim, keepdim, dtype", [](OpCall& c) { sum_like(c, Reducer::sum, true); });
  r.add("mean", "self, dim, keepdim, dtype", mean);
  r.add("nanmean", "self, dim, keepdim, dtype", nanmean);
  r.add("max", "self, dim, keepdim", [](OpCall& c) { extreme(c, greatest); });
  r.add("min", "self, dim, keepdim", [](OpCall& c) { extreme(c, least); });
  r.add("amax", "self, dim, keepdim", [](OpCall& c) { extreme_over(c, greatest); });
  r.add("amin", "self, dim, keepdim", [](OpCall& c) { extreme_over(c, least); });
  r.add("argmax", "self, dim, keepdim", [](OpCall& c) { position(c, greatest); });
  r.add("argmin", "self, dim, keepdim", [](OpCall& c) { position(c, least); });
  r.add("aminmax", "self, dim, keepdim", aminmax, {"_aminmax"});
  r.add("all", "self, dim, keepdim", [](OpCall& c) { truth(c, Reducer::all); }, {"_is_all_true"});
  r.add("any", "self, dim, keepdim", [](OpCall& c) { truth(c, Reducer::any); }, {"_is_any_true"});
  r.add("sum_to_size", "self, size", sum_to_size);
  r.add("count_nonzero", "self, dim", count_nonzero);
  r.add("logsumexp", "self, dim, keepdim", logsumexp, {"special_logsumexp"});
  r.add("var", "self, dim, unbiased, keepdim", [](OpCall& c) { spread(c, {}); });
  r.add("std", "self, dim, unbiased, keepdim", [](OpCall& c) { spread(c, {.root = true}); });
  r.add("var_mean", "self, dim, unbiased, keepdim", [](OpCall& c) { spread(c, {.with_mean = true}); });
  r.add("std_mean", "self, dim, unbiased, keepdim", [](OpCall& c) { spread(c, {.root = true, .with_mean = true}); });
  register_vector_norms(r);
  register_order_statistics(r);
}

}  // namespace lightline::ops
