// LAPACK's geqrf and orgqr: orthogonal factors by Householder's reflections, one column after the other.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/linear_algebra/linear_algebra.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

bool is_real(const SymbolicTensor& a) { return a.rank() >= 2 && (a.dtype == DType::f32 || a.dtype == DType::f64); }

struct Matrices {
  Shape batch;
  int64_t rows, columns;
  Shape vectors(int64_t n) const {
    Shape shape = batch;
    shape.push_back(n);
    return shape;
  }
};
Matrices matrices_of(const SymbolicTensor& a) {
  return {{a.shape.begin(), a.shape.end() - 2}, a.shape[a.shape.size() - 2], a.shape.back()};
}

Indices with(Indices batch, std::initializer_list<Subscript> more) {
  batch.insert(batch.end(), more);
  return batch;
}
Indices batch_of(const Indices& i, size_t inner) { return {i.begin(), i.end() - std::ptrdiff_t(inner)}; }

// Entry `row` of reflection `step`: 1 at the step's own row, what is stored below it, 0 above.
Scalar reflector(Lowering& l, const SymbolicTensor& stored, const Indices& batch, const Subscript& row,
                 const Subscript& step) {
  return select(value(row) > value(step), l.read(stored, with(batch, {row, step})),
                select(value(row) == value(step), number(l.read(stored, with(batch, {row, step})), 1.0),
                       number(l.read(stored, with(batch, {row, step})), 0.0)));
}

// x - scale * v (v . x) for the columns that `changes` names.
SymbolicTensor reflected(Lowering& l, const Matrices& m, const SymbolicTensor& x, const SymbolicTensor& v,
                         const SymbolicTensor& scale, const std::function<Scalar(const Subscript& column)>& changes) {
  const SymbolicTensor products =
      l.reduce(x.dtype, m.vectors(m.columns), Reducer::sum, {m.rows}, [&](const Indices& i, const Indices& r) {
        const Indices b = batch_of(i, 1);
        return l.read(v, with(b, {r[0]})) * l.read(x, with(b, {r[0], i.back()}));
      });
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Indices b = batch_of(i, 2);
    const Subscript &row = i[b.size()], &column = i[b.size() + 1];
    const Scalar old = l.read(x, i);
    const Scalar changed = old - l.read(scale, b) * l.read(v, with(b, {row})) * l.read(products, with(b, {column}));
    return select(changes(column), changed, old);
  });
}

RepeatYield factor_step(Lowering& l, const Matrices& m, const SymbolicTensor& a, const Subscript& step) {
  const DType dtype = a.dtype;
  const SymbolicTensor below =
      l.reduce(dtype, m.batch, Reducer::sum, {m.rows}, [&](const Indices& b, const Indices& r) {
        const Scalar entry = select(value(r[0]) > value(step), l.read(a, with(b, {r[0], step})), 0.0);
        return entry * entry;
      });
  const auto first = [&](const Indices& b) { return l.read(a, with(b, {step, step})); };
  // the entry that the column keeps; a column that is done already stays as it is
  const SymbolicTensor kept = l.map(dtype, m.batch, [&](const Indices& b) {
    const Scalar length = call(Function::sqrt, first(b) * first(b) + l.read(below, b));
    return select(l.read(below, b) == 0.0, first(b), -call(Function::copysign, length, first(b)));
  });
  const SymbolicTensor scale = l.map(dtype, m.batch, [&](const Indices& b) {
    const Scalar done = l.read(below, b) == 0.0;
    return select(done, 0.0, (l.read(kept, b) - first(b)) / l.read(kept, b));
  });
  const SymbolicTensor v = l.map(dtype, m.vectors(m.rows), [&](const Indices& i) {
    const Indices b = batch_of(i, 1);
    const Subscript& row = i.back();
    const Scalar distance = first(b) - l.read(kept, b);
    const Scalar entry = select(l.read(below, b) == 0.0, 0.0, l.read(a, with(b, {row, step})) / distance);
    return select(value(row) > value(step), entry,
                  select(value(row) == value(step), number(entry, 1.0), number(entry, 0.0)));
  });
  const SymbolicTensor turned =
      reflected(l, m, a, v, scale, [&](const Subscript& column) { return value(column) > value(step); });
  const SymbolicTensor next = l.map(dtype, a.shape, [&](const Indices& i) {
    const Indices b = batch_of(i, 2);
    const Subscript &row = i[b.size()], &column = i[b.size() + 1];
    const Scalar own = select(value(row) > value(step), l.read(v, with(b, {row})),
                              select(value(row) == value(step), l.read(kept, b), l.read(a, i)));
    return select(value(column) == value(step), own, l.read(turned, i));
  });
  return {{next}, {scale}};
}

// The upper factor with the reflections below it, and their scales.
void define_factors(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = first_operand(c);
  if (!is_real(a)) return add_opaque_results(c, "householder_factors", {a});
  const Matrices m = matrices_of(a);
  const int64_t steps = std::min(m.rows, m.columns);
  if (steps == 0) {
    c.add_result(a);
    return c.add_result(l.constant(a.dtype, m.vectors(0), {Literal::of(int64_t(0))}));
  }
  const auto results = l.repeat(steps, {a}, [&](const Subscript& step, const std::vector<SymbolicTensor>& now) {
    return factor_step(l, m, now[0], step);
  });
  c.add_result(results[0]);
  std::vector<int64_t> order;
  for (int64_t d = 1; d < results[1].rank(); ++d) order.push_back(d);
  order.push_back(0);
  c.add_result(l.permute(results[1], order));
  if (c.recorded(2)) {
    const TensorType type = result_type_of(c, 2);
    c.add_result(l.constant(type.dtype, type.shape, {Literal::of(int64_t(0))}));
  }
}

// The product of the reflections: from the last to the first, on the identity.
void define_product(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() >= 2 && x[1].rank() >= 1, "a product of reflections takes a matrix and scales");
  const SymbolicTensor &a = x[0], &scales = x[1];
  if (!is_real(a)) return add_opaque_results(c, "householder_product", x);
  const Matrices m = matrices_of(a);
  const int64_t steps = scales.shape.back();
  require(scales.shape == m.vectors(steps) && steps <= m.columns && steps <= m.rows,
          "the scales do not fit the matrix");
  const SymbolicTensor start = l.map(a.dtype, a.shape, [&](const Indices& i) {
    return convert(
        select(value(i[i.size() - 2]) == value(i.back()), l.literal(Literal::of(1.0)), l.literal(Literal::of(0.0))),
        a.dtype);
  });
  if (steps == 0) return c.add_result(start);
  const auto results =
      l.repeat(steps, {start}, [&](const Subscript& trip, const std::vector<SymbolicTensor>& now) -> RepeatYield {
        const Subscript step = (steps - 1) - trip;
        const SymbolicTensor v = l.map(a.dtype, m.vectors(m.rows), [&](const Indices& i) {
          return reflector(l, a, batch_of(i, 1), i.back(), step);
        });
        const SymbolicTensor scale =
            l.map(a.dtype, m.batch, [&](const Indices& b) { return l.read(scales, with(b, {step})); });
        return {
            {reflected(l, m, now[0], v, scale, [&](const Subscript& column) { return value(column) >= value(step); })},
            {}};
      });
  c.add_result(results[0]);
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
