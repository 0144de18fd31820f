// Triangles and diagonals of matrices.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/views/views.h"

namespace lightline::ops {
namespace {

void define_triangle(OpCall& c, bool upper) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 2, "a triangle is part of a matrix");
  const int64_t offset = c.integer("diagonal", 0);
  require(offset > -(int64_t(1) << 56) && offset < (int64_t(1) << 56), "the diagonal's offset is absurd");
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    const Scalar row = value(i[i.size() - 2] + offset), column = value(i.back());
    return select(upper ? column >= row : column <= row, l.read(x, i), 0.0);
  }));
}

void define_trace(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() == 2, "trace takes a matrix");
  const SymbolicTensor entries = diagonal(l, x, 0, 0, 1);
  const DType dtype = is_integer(x.dtype) || x.dtype == DType::boolean ? DType::i64 : x.dtype;
  c.add_result(l.reduce(dtype, {}, Reducer::sum, entries.shape,
                        [&](const Indices&, const Indices& k) { return l.read(entries, k); }));
}

// With `wrap`, a tall matrix starts its diagonal again after each square and a row.
void define_fill_diagonal(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() >= 2, "a diagonal needs two dimensions or more");
  const bool wrap = x.rank() == 2 && c.flag("wrap", false);
  const Operand fill = c.operand("fill_value");
  c.add_result(l.map(x.dtype, x.shape, [&](const Indices& i) {
    Scalar on = wrap ? value(mod(i[0], x.shape[1] + 1)) == value(i[1]) : value(i[0]) == value(i[1]);
    for (size_t d = 2; d < i.size(); ++d) on = on && value(i[0]) == value(i[d]);
    return select(on, c.read_as(fill, {}, x.dtype), l.read(x, i));
  }));
}

// The last dimension of x becomes a diagonal over the two new dimensions dim1 and dim2.
SymbolicTensor embedded(Lowering& l, const SymbolicTensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  require(x.rank() >= 1, "a scalar has no diagonal");
  const int64_t rank = x.rank() + 1;
  dim1 = wrap_dim(dim1, rank);
  dim2 = wrap_dim(dim2, rank);
  require(dim1 != dim2, "a diagonal needs two different dimensions");
  require(std::abs(offset) < (int64_t(1) << 56), "the diagonal's offset is absurd");
  const int64_t side = x.shape.back() + std::abs(offset);
  Shape shape;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(d == dim1 || d == dim2 ? side : x.shape[next++]);
  return l.map(x.dtype, shape, [&](const Indices& i) {
    Indices at;
    for (int64_t d = 0; d < rank; ++d)
      if (d != dim1 && d != dim2) at.push_back(i[size_t(d)]);
    const Subscript &row = i[size_t(dim1)], &column = i[size_t(dim2)];
    at.push_back(row - std::max<int64_t>(0, -offset));
    return select(value(row + offset) == value(column), l.read(x, at, Literal::of(int64_t(0))), 0.0);
  });
}

void define_diag(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor x = c.tensor("self");
  require(x.rank() == 1 || x.rank() == 2, "diag takes a vector or a matrix");
  const int64_t offset = c.integer("diagonal", 0);
  c.add_result(x.rank() == 1 ? embedded(l, x, offset, -2, -1) : l.copy(diagonal(l, x, offset, 0, 1)));
}

void define_trace_backward(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor gradient = c.tensor("grad");
  const std::vector<int64_t> sizes = c.integers("sizes");
  require(sizes.size() == 2, "trace is of a matrix");
  c.add_result(l.map(gradient.dtype, sizes, [&](const Indices& i) {
    return select(value(i[0]) == value(i[1]), l.read_broadcast(gradient, i), 0.0);
  }));
}

}  // namespace

void register_triangles(Registry& r) {
  r.add("tril", "self, diagonal", [](OpCall& c) { define_triangle(c, false); });
  r.add("triu", "self, diagonal", [](OpCall& c) { define_triangle(c, true); });
  r.add("fill_diagonal", "self, fill_value, wrap", define_fill_diagonal);
  r.add("trace", "self", define_trace);
  r.add("trace_backward", "grad, sizes", define_trace_backward);
  r.add("diag", "self, diagonal", define_diag);
  r.add("diagflat", "self, offset", [](OpCall& c) {
    const SymbolicTensor x = c.tensor("self");
    c.add_result(embedded(c.lowering(), c.lowering().reshape(x, {x.size()}), c.integer("offset", 0), -2, -1));
  });
  r.add("diag_embed", "self, offset, dim1, dim2", [](OpCall& c) {
    c.add_result(
        embedded(c.lowering(), c.tensor("self"), c.integer("offset", 0), c.integer("dim1", -2), c.integer("dim2", -1)));
  });
}

}  // namespace lightline::ops
