// LU factors by elimination with row exchanges, step by step, and what follows from them: determinants, solutions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/library/linear_algebra/linear_algebra.h"

namespace lightline::ops {
namespace {

// A batch of matrices, split into its batch and its two last dimensions.
struct Matrices {
  Shape batch;
  int64_t rows, columns;
  Shape shape(int64_t m, int64_t n) const {
    Shape result = batch;
    result.insert(result.end(), {m, n});
    return result;
  }
  Shape vectors(int64_t n) const {
    Shape result = batch;
    result.push_back(n);
    return result;
  }
};

Matrices matrices_of(const SymbolicTensor& a) {
  require(a.rank() >= 2, "this takes matrices");
  return {{a.shape.begin(), a.shape.end() - 2}, a.shape[a.shape.size() - 2], a.shape.back()};
}

Indices joined(Indices batch, std::initializer_list<Subscript> more) {
  batch.insert(batch.end(), more);
  return batch;
}
Indices batch_of(const Indices& i, size_t inner) { return {i.begin(), i.end() - std::ptrdiff_t(inner)}; }

// Where row i comes from after rows `step` and `other` changed places.
Subscript exchanged(Lowering& l, const Subscript& i, const Subscript& step, Scalar other, int64_t rows) {
  const Scalar row = value(i), first = value(step);
  return position(l, select(row == first, other, select(row == other, first, row)), rows);
}

// Stacks [steps, ...] as [..., steps].
SymbolicTensor steps_last(Lowering& l, const SymbolicTensor& stacked) {
  std::vector<int64_t> order;
  for (int64_t d = 1; d < stacked.rank(); ++d) order.push_back(d);
  order.push_back(0);
  return l.permute(stacked, order);
}

SymbolicTensor elimination_step(Lowering& l, const Matrices& m, const SymbolicTensor& a, const Subscript& step) {
  const SymbolicTensor multiples = l.map(a.dtype, m.vectors(m.rows), [&](const Indices& i) {
    const Scalar entry = l.read(a, joined(batch_of(i, 1), {i.back(), step})),
                 pivot = l.read(a, joined(batch_of(i, 1), {step, step}));
    return select(value(i.back()) > value(step) && pivot != 0.0, entry / pivot, 0.0);
  });
  return l.map(a.dtype, a.shape, [&](const Indices& i) {
    const Indices b = batch_of(i, 2);
    const Subscript &row = i[b.size()], &column = i[b.size() + 1];
    const Scalar below = value(row) > value(step), old = l.read(a, i), multiple = l.read(multiples, joined(b, {row}));
    const Scalar changed =
        select(value(column) == value(step), multiple, old - multiple * l.read(a, joined(b, {step, column})));
    return select(below && value(column) >= value(step), changed, old);
  });
}

}  // namespace

Eliminated eliminated(Lowering& l, const SymbolicTensor& a, bool exchange) {
  const Matrices m = matrices_of(a);
  const int64_t steps = std::min(m.rows, m.columns);
  if (steps == 0)
    return {a, l.map(DType::i32, m.vectors(0), [&](const Indices&) { return l.literal(Literal::of(int64_t(0))); })};
  if (exchange) {
    const auto results = l.opaque("lu", {a}, {}, {{a.dtype, a.shape}, {DType::i32, m.vectors(steps)}});
    return {results[0], results[1]};
  }
  const auto results =
      l.repeat(steps, {a}, [&](const Subscript& step, const std::vector<SymbolicTensor>& carried) -> RepeatYield {
        return {{elimination_step(l, m, carried[0], step)},
                {l.map(DType::i32, m.batch, [&](const Indices&) { return convert(value(step + 1), DType::i32); })}};
      });
  return {results[0], steps_last(l, results[1])};
}

namespace {

// The row of the original that each row became, from the exchanges.
SymbolicTensor permutation_of(Lowering& l, const SymbolicTensor& pivots, int64_t rows) {
  Shape shape(pivots.shape.begin(), pivots.shape.end() - 1);
  shape.push_back(rows);
  const SymbolicTensor start = l.map(DType::i64, shape, [&](const Indices& i) { return value(i.back()); });
  if (pivots.shape.back() == 0) return start;
  return l.repeat(pivots.shape.back(), {start},
                  [&](const Subscript& step, const std::vector<SymbolicTensor>& carried) -> RepeatYield {
                    return {{l.map(DType::i64, shape,
                                   [&](const Indices& i) {
                                     const Indices b = batch_of(i, 1);
                                     const Scalar other = convert(l.read(pivots, joined(b, {step})), DType::i64) - 1.0;
                                     return l.read(carried[0], joined(b, {exchanged(l, i.back(), step, other, rows)}));
                                   })},
                            {}};
                  })[0];
}

// ---- determinants ----

// The product over the diagonal of something, with the sign of the row exchanges.
SymbolicTensor signed_product(Lowering& l, const Matrices& m, const Eliminated& e,
                              const std::function<Scalar(Scalar)>& entry) {
  const DType dtype = e.factors.dtype;
  return l.reduce(dtype, m.batch, Reducer::prod, {m.rows}, [&](const Indices& b, const Indices& k) {
    const Scalar value = entry(l.read(e.factors, joined(b, {k[0], k[0]})));
    return select(convert(l.read(e.pivots, joined(b, {k[0]})), DType::i64) == ops::value(k[0] + 1), value, -value);
  });
}

// PyTorch factors the transpose, whose determinant is the same.
struct Factored {
  Matrices matrices;
  Eliminated result;
};
Factored factored(OpCall& c, std::string_view matrix) {
  const SymbolicTensor a = c.tensor(matrix);
  require_square(a);
  return {matrices_of(a), eliminated(c.lowering(), c.lowering().transpose(a, -2, -1))};
}

void define_det(OpCall& c, std::string_view matrix, bool with_factors) {
  if (add_opaque_if_complex(c)) return;
  const Factored f = factored(c, matrix);
  c.add_result(signed_product(c.lowering(), f.matrices, f.result, [](Scalar x) { return x; }));
  if (!with_factors) return;
  c.add_result(f.result.factors);
  c.add_result(f.result.pivots);
}

SymbolicTensor log_absolute(Lowering& l, const Factored& f) {
  return l.reduce(f.result.factors.dtype, f.matrices.batch, Reducer::sum, {f.matrices.rows},
                  [&](const Indices& b, const Indices& k) {
                    return call(Function::log, call(Function::abs, l.read(f.result.factors, joined(b, {k[0], k[0]}))));
                  });
}

void define_slogdet(OpCall& c, std::string_view matrix, bool with_factors) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const Factored f = factored(c, matrix);
  c.add_result(signed_product(l, f.matrices, f.result, [](Scalar x) { return call(Function::sign, x); }));
  c.add_result(log_absolute(l, f));
  if (!with_factors) return;
  c.add_result(f.result.factors);
  c.add_result(f.result.pivots);
}

void define_logdet(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const Factored f = factored(c, "self");
  const SymbolicTensor sign = signed_product(l, f.matrices, f.result, [](Scalar x) { return call(Function::sign, x); }),
                       size = log_absolute(l, f);
  c.add_result(l.map(size.dtype, size.shape, [&](const Indices& i) {
    return select(l.read(sign, i) < 0.0, number(l.read(size, i), std::nan("")), l.read(size, i));
  }));
}

// ---- factors ----

void define_lu_factor(OpCall& c, std::string_view matrix, bool with_info) {
  if (add_opaque_if_complex(c)) return;
  const SymbolicTensor a = c.tensor(matrix);
  const Eliminated e = eliminated(c.lowering(), a, c.flag("pivot", true));
  c.add_result(e.factors);
  c.add_result(e.pivots);
  if (with_info) c.add_result(no_errors(c.lowering(), a));
}

SymbolicTensor permutation_matrix(Lowering& l, const Matrices& m, DType dtype, const SymbolicTensor& pivots) {
  const SymbolicTensor rows = permutation_of(l, pivots, m.rows);
  return l.map(dtype, m.shape(m.rows, m.rows), [&](const Indices& i) {
    return convert(l.read(rows, joined(batch_of(i, 2), {i.back()})) == value(i[i.size() - 2]), dtype);
  });
}

SymbolicTensor lower_factor(Lowering& l, const Matrices& m, const SymbolicTensor& factors) {
  return l.map(factors.dtype, m.shape(m.rows, std::min(m.rows, m.columns)), [&](const Indices& i) {
    const Scalar row = value(i[i.size() - 2]), column = value(i.back());
    return select(row > column, l.read(factors, i), convert(row == column, factors.dtype));
  });
}

SymbolicTensor upper_factor(Lowering& l, const Matrices& m, const SymbolicTensor& factors) {
  return l.map(factors.dtype, m.shape(std::min(m.rows, m.columns), m.columns), [&](const Indices& i) {
    return select(value(i[i.size() - 2]) <= value(i.back()), l.read(factors, i), 0.0);
  });
}

void give_three_factors(OpCall& c, const SymbolicTensor& factors, const SymbolicTensor& pivots) {
  Lowering& l = c.lowering();
  const Matrices m = matrices_of(factors);
  c.add_result(permutation_matrix(l, m, factors.dtype, pivots));
  c.add_result(lower_factor(l, m, factors));
  c.add_result(upper_factor(l, m, factors));
}

void define_lu(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const SymbolicTensor a = c.tensor("A");
  const Eliminated e = eliminated(l, a, c.flag("pivot", true));
  if (c.flag("pivot", true)) return give_three_factors(c, e.factors, e.pivots);
  c.add_result(
      l.map(a.dtype, {0}, [&](const Indices&) { return l.convert(l.literal(Literal::of(int64_t(0))), a.dtype); }));
  c.add_result(lower_factor(l, matrices_of(a), e.factors));
  c.add_result(upper_factor(l, matrices_of(a), e.factors));
}

void define_lu_unpack(OpCall& c) {
  if (add_opaque_if_complex(c)) return;
  require(c.flag("unpack_data", true) && c.flag("unpack_pivots", true), "lu_unpack gives all three factors");
  give_three_factors(c, c.tensor("LU_data"), c.tensor("LU_pivots"));
}

// ---- solutions ----

// P L U x = b, or with the transpose of P L U.
SymbolicTensor solved_by_factors(Lowering& l, const SymbolicTensor& factors, const SymbolicTensor& pivots,
                                 const SymbolicTensor& b, bool transposed) {
  require_square(factors);
  const SymbolicTensor rows = permutation_of(l, pivots, factors.shape.back());
  Shape batch = broadcast({factors.shape.begin(), factors.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  batch.insert(batch.end(), b.shape.end() - 2, b.shape.end());
  const SymbolicTensor right = l.expand(b, batch);
  const auto row_of = [&](const Indices& i) {
    return position(l, l.read_broadcast(rows, joined(batch_of(i, 2), {i[i.size() - 2]})), factors.shape.back());
  };
  if (!transposed) {
    const SymbolicTensor ordered = l.map(b.dtype, batch, [&](const Indices& i) {
      return l.read(right, joined(batch_of(i, 2), {row_of(i), i.back()}));
    });
    return solved_triangular(l, factors, solved_triangular(l, factors, ordered, false, true), true, false);
  }
  const SymbolicTensor turned = l.transpose(factors, -2, -1);
  const SymbolicTensor ordered =
      solved_triangular(l, turned, solved_triangular(l, turned, right, false, false), true, true);
  return l.scatter(b.dtype, batch, Literal::of(int64_t(0)), Reducer::set, batch, [&](const Indices& i) {
    return ScatterWrite{joined(batch_of(i, 2), {row_of(i), i.back()}), l.read(ordered, i)};
  });
}

void define_lu_solve(OpCall& c, std::string_view factors, std::string_view pivots, std::string_view right) {
  if (add_opaque_if_complex(c)) return;
  Lowering& l = c.lowering();
  const SymbolicTensor b = c.tensor(right);
  require(b.rank() >= 2, "a system needs matrices");
  const bool adjoint = c.flag("adjoint", false);
  if (c.flag("left", true)) return c.add_result(solved_by_factors(l, c.tensor(factors), c.tensor(pivots), b, adjoint));
  c.add_result(
      l.transpose(solved_by_factors(l, c.tensor(factors), c.tensor(pivots), l.transpose(b, -2, -1), !adjoint), -2, -1));
}

}  // namespace

void register_elimination(Registry& r) {
  r.add("linalg_det", "A", [](OpCall& c) { define_det(c, "A", false); });
  r.add("det", "self", [](OpCall& c) { define_det(c, "self", false); });
  r.add("_linalg_det", "A", [](OpCall& c) { define_det(c, "A", true); });
  r.add("linalg_slogdet", "A", [](OpCall& c) { define_slogdet(c, "A", false); });
  r.add("slogdet", "self", [](OpCall& c) { define_slogdet(c, "self", false); });
  r.add("_linalg_slogdet", "A", [](OpCall& c) { define_slogdet(c, "A", true); });
  r.add("logdet", "self", define_logdet);
  r.add("linalg_lu_factor", "A, pivot", [](OpCall& c) { define_lu_factor(c, "A", false); });
  r.add("linalg_lu_factor_ex", "A, pivot, check_errors", [](OpCall& c) { define_lu_factor(c, "A", true); });
  r.add("_lu_with_info", "self, pivot, check_errors", [](OpCall& c) { define_lu_factor(c, "self", true); });
  r.add("linalg_lu", "A, pivot", define_lu);
  r.add("lu_unpack", "LU_data, LU_pivots, unpack_data, unpack_pivots", define_lu_unpack);
  r.add("linalg_lu_solve", "LU, pivots, B, left, adjoint", [](OpCall& c) { define_lu_solve(c, "LU", "pivots", "B"); });
  r.add("lu_solve", "self, LU_data, LU_pivots", [](OpCall& c) { define_lu_solve(c, "LU_data", "LU_pivots", "self"); });
}

}  // namespace lightline::ops
