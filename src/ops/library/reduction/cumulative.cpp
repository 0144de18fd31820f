// Cumulative operators: recurrences along one dimension. Narrow floats accumulate in f32 and are rounded once.
#include <fmt/format.h>

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

using Self = Lowering::Self;

// The dimension to run along; a scalar counts as a vector of one.
struct Line {
  SymbolicTensor tensor;
  int64_t dim = 0;
};
Line line(OpCall& c) {
  const SymbolicTensor x = c.tensor("self");
  return {x.shape.empty() ? c.lowering().reshape(x, {1}) : x, wrap_dim(c.integer("dim"), x.rank())};
}
void give_like(OpCall& c, const SymbolicTensor& tensor) {
  c.add_result(c.lowering().reshape(tensor, c.tensor("self").shape));
}

Indices shifted(const Indices& at, int64_t dim, int64_t by) {
  Indices result = at;
  result[size_t(dim)] = result[size_t(dim)] + by;
  return result;
}

// A recurrence in the compute type of `dtype`, stored as `dtype`.
SymbolicTensor accumulate(Lowering& l, DType dtype, const Shape& shape, int64_t dim,
                          const std::function<Scalar(const Indices&, const Self&)>& step) {
  return l.cast(l.scan(compute_type(dtype), shape, dim, step), dtype);
}

void cumulative(OpCall& c, bool product) {
  Lowering& l = c.lowering();
  const auto [x, dim] = line(c);
  const DType type = c.dtype("dtype", category(x.dtype) <= Category::integer ? DType::i64 : x.dtype);
  give_like(c, accumulate(l, type, x.shape, dim, [&, &x = x](const Indices& at, const Self& self) {
              const Scalar value = read_converted(l, x, at, type);
              if (type == DType::boolean)
                return product ? self(1, Literal::of_bool(true)) && value : self(1, Literal::of_bool(false)) || value;
              return product ? self(1, Literal::of(int64_t(1))) * value : self(1, zero()) + value;
            }));
}

// Running extremes; among equals the latest position counts, and the latest NaN wins.
void running_extreme(OpCall& c, bool most) {
  Lowering& l = c.lowering();
  const auto [tensor, along] = line(c);
  const SymbolicTensor x = tensor;
  const int64_t dim = along;
  const Literal fill = x.dtype == DType::boolean ? Literal::of_bool(false) : zero();
  const auto first = [&](const Indices& at) { return value(at[size_t(dim)]) == 0.0; };
  const SymbolicTensor values = l.scan(x.dtype, x.shape, dim, [&](const Indices& at, const Self& self) {
    const Scalar now = l.read(x, at), before = self(1, fill);
    if (x.dtype == DType::boolean) return select(first(at), now, most ? now || before : now && before);
    return select(first(at), now, most ? max(before, now) : min(before, now));
  });
  const SymbolicTensor positions = l.scan(DType::i64, x.shape, dim, [&](const Indices& at, const Self& self) {
    const Scalar now = l.read(x, at), before = l.read(values, shifted(at, dim, -1), fill);
    Scalar replaces = first(at) || (most ? now >= before : now <= before);
    if (is_float(x.dtype)) replaces = replaces || call(Function::isnan, now);
    return select(replaces, value(at[size_t(dim)]), self(1, zero()));
  });
  give_like(c, values);
  give_like(c, positions);
}

void logcumsumexp(OpCall& c) {
  Lowering& l = c.lowering();
  const auto [x, dim] = line(c);
  if (category(x.dtype) != Category::floating)
    fail(fmt::format("logcumsumexp of {} is not defined here", name(x.dtype)), ErrorCode::type);
  give_like(c, accumulate(l, x.dtype, x.shape, dim, [&, &x = x, dim = dim](const Indices& at, const Self& self) {
              const Scalar now = l.read(x, at), before = self(1, zero());
              const Scalar low = min(now, before), high = max(now, before);
              const Scalar joined = select(low != high || call(Function::isfinite, low),
                                           call(Function::log1p, call(Function::exp, low - high)) + high, now);
              return select(value(at[size_t(dim)]) == 0.0, now, joined);
            }));
}

// ---- differences and areas ----

// Two tensors one after the other along a dimension.
SymbolicTensor joined(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, int64_t dim) {
  const DType type = result_type({{a, {}}, {b, {}}});
  require(a.rank() == b.rank(), "tensors that are joined have one rank");
  Shape shape = a.shape;
  for (int64_t i = 0; i < a.rank(); ++i)
    require(i == dim || a.shape[size_t(i)] == b.shape[size_t(i)], "tensors that are joined have equal other extents");
  const int64_t border = a.shape[size_t(dim)];
  if (__builtin_add_overflow(border, b.shape[size_t(dim)], &shape[size_t(dim)]))
    fail("the shape has too many elements", ErrorCode::limit);
  return l.map(type, shape, [&](const Indices& at) {
    return select(value(at[size_t(dim)]) < double(border), convert(l.read(a, at, zero()), type),
                  convert(l.read(b, shifted(at, dim, -border), zero()), type));
  });
}

void diff(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 1, "diff needs a tensor of rank 1 or more");
  const int64_t dim = wrap_dim(c.integer("dim", -1), x.rank());
  if (const auto before = c.tensor_if("prepend")) x = joined(l, *before, x, dim);
  if (const auto after = c.tensor_if("append")) x = joined(l, x, *after, dim);
  const int64_t times = c.integer("n", 1);
  require(times >= 0, "diff of a negative order");
  if (times == 0) return c.add_result(l.copy(x));
  const int64_t steps = std::min(times, x.shape[size_t(dim)]);
  require(steps <= 64, "diff of an order beyond 64");
  for (int64_t n = 0; n < steps; ++n) {
    const int64_t length = std::max<int64_t>(x.shape[size_t(dim)] - 1, 0);
    const SymbolicTensor later = l.slice(x, dim, std::min<int64_t>(1, x.shape[size_t(dim)]), length),
                         earlier = l.slice(x, dim, 0, length);
    x = l.map(x.dtype, later.shape, [&](const Indices& at) {
      return x.dtype == DType::boolean ? l.read(later, at) != l.read(earlier, at)
                                       : l.read(later, at) - l.read(earlier, at);
    });
  }
  c.add_result(x);
}

// The areas, times two, between neighbours along `dim`.
struct Areas {
  DType dtype;
  Shape shape;
  int64_t dim = 0;
  ElementAt element;
};
Areas trapezoids(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor y = c.tensor("y");
  require(y.rank() >= 1, "an area needs a tensor of rank 1 or more");
  const int64_t dim = wrap_dim(c.integer("dim", -1), y.rank());
  const auto grid = c.tensor_if("x");
  const DType type = floating_type(grid ? result_type({{y, {}}, {*grid, {}}}) : y.dtype);
  Areas areas{type, y.shape, dim, {}};
  areas.shape[size_t(dim)] = std::max<int64_t>(y.shape[size_t(dim)] - 1, 0);
  const auto heights = [&l, y, dim, type](const Indices& at) {
    return convert(l.read(y, at), type) + convert(l.read(y, shifted(at, dim, 1)), type);
  };
  if (!grid) {
    const double dx = c.number("dx", 1);
    areas.element = [heights, dx](const Indices& at) { return dx == 1 ? heights(at) : heights(at) * dx; };
    return areas;
  }
  SymbolicTensor x = *grid;
  if (x.rank() == 1 && y.rank() > 1) {
    Shape shape(y.shape.size(), 1);
    shape[size_t(dim)] = x.shape[0];
    x = l.reshape(x, shape);
  }
  x = l.expand(x, y.shape);
  areas.element = [&l, x, dim, type, heights](const Indices& at) {
    return (convert(l.read(x, shifted(at, dim, 1)), type) - convert(l.read(x, at), type)) * heights(at);
  };
  return areas;
}

void trapezoid(OpCall& c) {
  Lowering& l = c.lowering();
  const Areas areas = trapezoids(c);
  const ReducedDims dims = reduced_dims(areas.shape, {areas.dim});
  const SymbolicTensor sum = reduce_dims(l, compute_type(areas.dtype), Reducer::sum, dims, false, areas.element);
  c.add_result(l.map(areas.dtype, sum.shape, [&](const Indices& i) { return l.read(sum, i) / 2.0; }));
}

void cumulative_trapezoid(OpCall& c) {
  const Areas areas = trapezoids(c);
  c.add_result(accumulate(c.lowering(), areas.dtype, areas.shape, areas.dim, [&](const Indices& at, const Self& self) {
    return self(1, zero()) + areas.element(at) / 2.0;
  }));
}

}  // namespace

void register_cumulative(Registry& r) {
  r.add("cumsum", "self, dim, dtype", [](OpCall& c) { cumulative(c, false); });
  r.add("cumprod", "self, dim, dtype", [](OpCall& c) { cumulative(c, true); });
  r.add("cummax", "self, dim", [](OpCall& c) { running_extreme(c, true); });
  r.add("cummin", "self, dim", [](OpCall& c) { running_extreme(c, false); });
  r.add("logcumsumexp", "self, dim", logcumsumexp, {"_logcumsumexp"});
  r.add("diff", "self, n, dim, prepend, append", diff);
  r.add("trapezoid", "y, x, dx, dim", trapezoid, {"trapz"});
  r.add("cumulative_trapezoid", "y, x, dx, dim", cumulative_trapezoid);
}

}  // namespace lightline::ops
