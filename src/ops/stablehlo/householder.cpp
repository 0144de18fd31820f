// LAPACK's geqrf and orgqr: orthogonal factors by Householder's reflections, one column after the other.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/linear_algebra/linear_algebra.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

bool is_real(const Tensor& a) { return a.rank() >= 2 && (a.dtype == DType::f32 || a.dtype == DType::f64); }

struct Matrices {
  Shape batch;
  int64_t rows, columns;
  Shape vectors(int64_t n) const {
    Shape shape = batch;
    shape.push_back(n);
    return shape;
  }
};
Matrices matrices_of(const Tensor& a) {
  return {{a.shape.begin(), a.shape.end() - 2}, a.shape[a.shape.size() - 2], a.shape.back()};
}

Indices with(Indices batch, std::initializer_list<Ix> more) {
  batch.insert(batch.end(), more);
  return batch;
}
Indices batch_of(const Indices& i, size_t inner) { return {i.begin(), i.end() - std::ptrdiff_t(inner)}; }

// Entry `row` of reflection `step`: 1 at the step's own row, what is stored below it, 0 above.
Ex reflector(Lowering& l, const Tensor& stored, const Indices& batch, const Ix& row, const Ix& step) {
  return select(value(row) > value(step), l.read(stored, with(batch, {row, step})),
                select(value(row) == value(step), number(l.read(stored, with(batch, {row, step})), 1.0),
                       number(l.read(stored, with(batch, {row, step})), 0.0)));
}

// x - scale * v (v . x) for the columns that `changes` names.
Tensor reflected(Lowering& l, const Matrices& m, const Tensor& x, const Tensor& v, const Tensor& scale,
                 const std::function<Ex(const Ix& column)>& changes) {
  const Tensor products =
      l.reduce(x.dtype, m.vectors(m.columns), Reducer::sum, {m.rows}, [&](const Indices& i, const Indices& r) {
        const Indices b = batch_of(i, 1);
        return l.read(v, with(b, {r[0]})) * l.read(x, with(b, {r[0], i.back()}));
      });
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Indices b = batch_of(i, 2);
    const Ix &row = i[b.size()], &column = i[b.size() + 1];
    const Ex old = l.read(x, i);
    const Ex changed = old - l.read(scale, b) * l.read(v, with(b, {row})) * l.read(products, with(b, {column}));
    return select(changes(column), changed, old);
  });
}

RepeatYield factor_step(Lowering& l, const Matrices& m, const Tensor& a, const Ix& step) {
  const DType dtype = a.dtype;
  const Tensor below = l.reduce(dtype, m.batch, Reducer::sum, {m.rows}, [&](const Indices& b, const Indices& r) {
    const Ex entry = select(value(r[0]) > value(step), l.read(a, with(b, {r[0], step})), 0.0);
    return entry * entry;
  });
  const auto first = [&](const Indices& b) { return l.read(a, with(b, {step, step})); };
  // the entry that the column keeps; a column that is done already stays as it is
  const Tensor kept = l.map(dtype, m.batch, [&](const Indices& b) {
    const Ex length = call(Function::sqrt, first(b) * first(b) + l.read(below, b));
    return select(l.read(below, b) == 0.0, first(b), -call(Function::copysign, length, first(b)));
  });
  const Tensor scale = l.map(dtype, m.batch, [&](const Indices& b) {
    const Ex done = l.read(below, b) == 0.0;
    return select(done, 0.0, (l.read(kept, b) - first(b)) / l.read(kept, b));
  });
  const Tensor v = l.map(dtype, m.vectors(m.rows), [&](const Indices& i) {
    const Indices b = batch_of(i, 1);
    const Ix& row = i.back();
    const Ex distance = first(b) - l.read(kept, b);
    const Ex entry = select(l.read(below, b) == 0.0, 0.0, l.read(a, with(b, {row, step})) / distance);
    return select(value(row) > value(step), entry,
                  select(value(row) == value(step), number(entry, 1.0), number(entry, 0.0)));
  });
  const Tensor turned = reflected(l, m, a, v, scale, [&](const Ix& column) { return value(column) > value(step); });
  const Tensor next = l.map(dtype, a.shape, [&](const Indices& i) {
    const Indices b = batch_of(i, 2);
    const Ix &row = i[b.size()], &column = i[b.size() + 1];
    const Ex own = select(value(row) > value(step), l.read(v, with(b, {row})),
                          select(value(row) == value(step), l.read(kept, b), l.read(a, i)));
    return select(value(column) == value(step), own, l.read(turned, i));
  });
  return {{next}, {scale}};
}

// The upper factor with the reflections below it, and their scales.
void define_factors(OpCall& c) {
  Lowering& l = c.lowering();
  const Tensor a = first_operand(c);
  if (!is_real(a)) return give_opaque(c, "householder_factors", {a});
  const Matrices m = matrices_of(a);
  const int64_t steps = std::min(m.rows, m.columns);
  if (steps == 0) {
    c.give(a);
    return c.give(l.constant(a.dtype, m.vectors(0), {Literal::of(int64_t(0))}));
  }
  const auto results = l.repeat(
      steps, {a}, [&](const Ix& step, const std::vector<Tensor>& now) { return factor_step(l, m, now[0], step); });
  c.give(results[0]);
  std::vector<int64_t> order;
  for (int64_t d = 1; d < results[1].rank(); ++d) order.push_back(d);
  order.push_back(0);
  c.give(l.permute(results[1], order));
  if (c.recorded(2)) {
    const graph::TensorType type = result_type_of(c, 2);
    c.give(l.constant(type.dtype, type.shape, {Literal::of(int64_t(0))}));
  }
}

// The product of the reflections: from the last to the first, on the identity.
void define_product(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<Tensor> x = operands(c);
  require(x.size() >= 2 && x[1].rank() >= 1, "a product of reflections takes a matrix and scales");
  const Tensor &a = x[0], &scales = x[1];
  if (!is_real(a)) return give_opaque(c, "householder_product", x);
  const Matrices m = matrices_of(a);
  const int64_t steps = scales.shape.back();
  require(scales.shape == m.vectors(steps) && steps <= m.columns && steps <= m.rows,
          "the scales do not fit the matrix");
  const Tensor start = l.map(a.dtype, a.shape, [&](const Indices& i) {
    return convert(
        select(value(i[i.size() - 2]) == value(i.back()), l.literal(Literal::of(1.0)), l.literal(Literal::of(0.0))),
        a.dtype);
  });
  if (steps == 0) return c.give(start);
  const auto results = l.repeat(steps, {start}, [&](const Ix& trip, const std::vector<Tensor>& now) -> RepeatYield {
    const Ix step = (steps - 1) - trip;
    const Tensor v = l.map(a.dtype, m.vectors(m.rows),
                           [&](const Indices& i) { return reflector(l, a, batch_of(i, 1), i.back(), step); });
    const Tensor scale = l.map(a.dtype, m.batch, [&](const Indices& b) { return l.read(scales, with(b, {step})); });
    return {{reflected(l, m, now[0], v, scale, [&](const Ix& column) { return value(column) >= value(step); })}, {}};
  });
  c.give(results[0]);
}

}  // namespace

void register_stablehlo_householder(Registry& r) {
  r.add("stablehlo.custom_call.lapack_sgeqrf_ffi", "a", define_factors,
        {"stablehlo.custom_call.lapack_dgeqrf_ffi", "stablehlo.custom_call.lapack_cgeqrf_ffi",
         "stablehlo.custom_call.lapack_zgeqrf_ffi", "stablehlo.custom_call.cusolver_geqrf_ffi",
         "stablehlo.custom_call.cublas_geqrf_batched_ffi"});
  r.add("stablehlo.custom_call.lapack_sorgqr_ffi", "a, taus", define_product,
        {"stablehlo.custom_call.lapack_dorgqr_ffi", "stablehlo.custom_call.lapack_cungqr_ffi",
         "stablehlo.custom_call.lapack_zungqr_ffi", "stablehlo.custom_call.cusolver_orgqr_ffi",
         "stablehlo.custom_call.ProductOfElementaryHouseholderReflectors"});
  r.add("stablehlo.custom_call.Qr", "a", define_factors);
}

}  // namespace lightline::ops
