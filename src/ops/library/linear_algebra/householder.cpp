// Orthogonal factors by Householder's reflections, one column after the other, as LAPACK's geqrf and orgqr make them.
#include <algorithm>

#include "ops/library/linear_algebra/linear_algebra.h"
#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

bool has_reflections(const SymbolicTensor& a) {
  return a.rank() >= 2 && (a.dtype == DType::f32 || a.dtype == DType::f64);
}

namespace {

struct Panel {
  Shape batch;
  int64_t rows, columns;
  Shape shape() const { return vectors_of(vectors(rows), columns); }
  Shape vectors(int64_t n) const { return vectors_of(batch, n); }
  static Shape vectors_of(Shape shape, int64_t n) {
    shape.push_back(n);
    return shape;
  }
};
Panel panel_of(const SymbolicTensor& a) {
  return {{a.shape.begin(), a.shape.end() - 2}, a.shape[a.shape.size() - 2], a.shape.back()};
}

Indices beside(Indices batch, std::initializer_list<Subscript> more) {
  batch.insert(batch.end(), more);
  return batch;
}
Indices batch_part(const Indices& i, size_t inner) { return {i.begin(), i.end() - std::ptrdiff_t(inner)}; }

// Entry `row` of reflection `step`: 1 at the step's own row, what is stored below it, 0 above.
Scalar reflector(Lowering& l, const SymbolicTensor& stored, const Indices& batch, const Subscript& row,
                 const Subscript& step) {
  return select(value(row) > value(step), l.read(stored, beside(batch, {row, step})),
                select(value(row) == value(step), number(l.read(stored, beside(batch, {row, step})), 1.0),
                       number(l.read(stored, beside(batch, {row, step})), 0.0)));
}

// x - scale * v (v . x) for the columns that `changes` names.
SymbolicTensor reflected(Lowering& l, const Panel& m, const SymbolicTensor& x, const SymbolicTensor& v,
                         const SymbolicTensor& scale, const std::function<Scalar(const Subscript& column)>& changes) {
  const SymbolicTensor products =
      l.reduce(x.dtype, m.vectors(m.columns), Reducer::sum, {m.rows}, [&](const Indices& i, const Indices& r) {
        const Indices b = batch_part(i, 1);
        return l.read(v, beside(b, {r[0]})) * l.read(x, beside(b, {r[0], i.back()}));
      });
  return l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Indices b = batch_part(i, 2);
    const Subscript &row = i[b.size()], &column = i[b.size() + 1];
    const Scalar old = l.read(x, i);
    const Scalar changed = old - l.read(scale, b) * l.read(v, beside(b, {row})) * l.read(products, beside(b, {column}));
    return select(changes(column), changed, old);
  });
}

RepeatYield factor_step(Lowering& l, const Panel& m, const SymbolicTensor& a, const Subscript& step) {
  const DType dtype = a.dtype;
  const SymbolicTensor below =
      l.reduce(dtype, m.batch, Reducer::sum, {m.rows}, [&](const Indices& b, const Indices& r) {
        const Scalar entry = select(value(r[0]) > value(step), l.read(a, beside(b, {r[0], step})), 0.0);
        return entry * entry;
      });
  const auto first = [&](const Indices& b) { return l.read(a, beside(b, {step, step})); };
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
    const Indices b = batch_part(i, 1);
    const Subscript& row = i.back();
    const Scalar distance = first(b) - l.read(kept, b);
    const Scalar entry = select(l.read(below, b) == 0.0, 0.0, l.read(a, beside(b, {row, step})) / distance);
    return select(value(row) > value(step), entry,
                  select(value(row) == value(step), number(entry, 1.0), number(entry, 0.0)));
  });
  const SymbolicTensor turned =
      reflected(l, m, a, v, scale, [&](const Subscript& column) { return value(column) > value(step); });
  const SymbolicTensor next = l.map(dtype, a.shape, [&](const Indices& i) {
    const Indices b = batch_part(i, 2);
    const Subscript &row = i[b.size()], &column = i[b.size() + 1];
    const Scalar own = select(value(row) > value(step), l.read(v, beside(b, {row})),
                              select(value(row) == value(step), l.read(kept, b), l.read(a, i)));
    return select(value(column) == value(step), own, l.read(turned, i));
  });
  return {{next}, {scale}};
}

}  // namespace

Reflections reflections(Lowering& l, const SymbolicTensor& a) {
  const Panel m = panel_of(a);
  const int64_t steps = std::min(m.rows, m.columns);
  if (steps == 0 || a.size() == 0)
    return {a, l.map(a.dtype, m.vectors(steps), [&](const Indices&) { return l.convert(l.literal(zero()), a.dtype); })};
  const auto results = l.repeat(steps, {a}, [&](const Subscript& step, const std::vector<SymbolicTensor>& now) {
    return factor_step(l, m, now[0], step);
  });
  std::vector<int64_t> order;
  for (int64_t d = 1; d < results[1].rank(); ++d) order.push_back(d);
  order.push_back(0);
  return {results[0], l.permute(results[1], order)};
}

SymbolicTensor product_of_reflections(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& scales,
                                      int64_t columns) {
  Panel m = panel_of(a);
  const int64_t steps = scales.rank() == 0 ? 0 : scales.shape.back();
  require(scales.shape == m.vectors(steps) && steps <= m.columns && steps <= m.rows,
          "the scales do not fit the matrix");
  m.columns = columns;
  const SymbolicTensor start = l.map(a.dtype, m.shape(), [&](const Indices& i) {
    return convert(
        select(value(i[i.size() - 2]) == value(i.back()), l.literal(Literal::of(1.0)), l.literal(Literal::of(0.0))),
        a.dtype);
  });
  if (steps == 0 || start.size() == 0) return start;
  const auto results =
      l.repeat(steps, {start}, [&](const Subscript& trip, const std::vector<SymbolicTensor>& now) -> RepeatYield {
        const Subscript step = (steps - 1) - trip;
        const SymbolicTensor v = l.map(a.dtype, m.vectors(m.rows), [&](const Indices& i) {
          return reflector(l, a, batch_part(i, 1), i.back(), step);
        });
        const SymbolicTensor scale =
            l.map(a.dtype, m.batch, [&](const Indices& b) { return l.read(scales, beside(b, {step})); });
        return {
            {reflected(l, m, now[0], v, scale, [&](const Subscript& column) { return value(column) >= value(step); })},
            {}};
      });
  return results[0];
}

namespace {

void define_geqrf(OpCall& c) {
  const SymbolicTensor a = c.tensor("self");
  if (!has_reflections(a)) return add_named_opaque(c, "geqrf");
  const Reflections found = reflections(c.lowering(), a);
  c.add_result(found.factors);
  c.add_result(found.scales);
}

void define_householder_product(OpCall& c, std::string_view matrix, std::string_view scales) {
  const SymbolicTensor a = c.tensor(matrix);
  if (!has_reflections(a)) return add_named_opaque(c, "householder_product");
  c.add_result(product_of_reflections(c.lowering(), a, c.tensor(scales), a.shape.back()));
}

// The orthogonal factor with `columns` columns, and as many rows of the upper one.
void give_factors(OpCall& c, const SymbolicTensor& a, bool complete, bool upper_only) {
  Lowering& l = c.lowering();
  const int64_t rows = a.shape[a.shape.size() - 2], columns = complete ? rows : std::min(rows, a.shape.back());
  const Reflections found = reflections(l, a);
  if (upper_only)
    c.add_result(l.map(a.dtype, {0}, [&](const Indices&) { return l.convert(l.literal(zero()), a.dtype); }));
  else
    c.add_result(product_of_reflections(l, found.factors, found.scales, columns));
  Shape upper = a.shape;
  upper[upper.size() - 2] = columns;
  c.add_result(l.map(a.dtype, upper, [&](const Indices& i) {
    return select(value(i[i.size() - 2]) <= value(i.back()), l.read(found.factors, i), 0.0);
  }));
}

void define_linalg_qr(OpCall& c) {
  const SymbolicTensor a = c.tensor("A");
  if (!has_reflections(a)) return add_named_opaque(c, "linalg_qr");
  const std::string mode = c.text("mode", "reduced");
  give_factors(c, a, mode == "complete", mode == "r");
}

void define_qr(OpCall& c) {
  const SymbolicTensor a = c.tensor("self");
  if (!has_reflections(a)) return add_named_opaque(c, "qr");
  give_factors(c, a, !c.flag("some", true), false);
}

}  // namespace

void register_householder(Registry& r) {
  r.add("geqrf", "self", define_geqrf);
  r.add("linalg_householder_product", "input, tau", [](OpCall& c) { define_householder_product(c, "input", "tau"); });
  r.add("orgqr", "self, input2", [](OpCall& c) { define_householder_product(c, "self", "input2"); });
  r.add("linalg_qr", "A, mode", define_linalg_qr);
  r.add("qr", "self, some", define_qr);
}

}  // namespace lightline::ops
