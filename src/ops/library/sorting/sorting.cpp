// Sorting along a dimension. NaN counts as the greatest value.
#include <fmt/format.h>

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {
namespace {

struct Ordered {
  SymbolicTensor values;
  SymbolicTensor positions;
};

Ordered sorted(Lowering& l, const SymbolicTensor& self, int64_t dim, bool descending) {
  require(self.dtype != DType::c64, "complex numbers have no order");
  const SymbolicTensor x = as_vector(l, self);
  const auto results = l.opaque("sort", {x}, {{"dim", wrap_dim(dim, x.rank())}, {"descending", descending}},
                                {{x.dtype, x.shape}, {DType::i64, x.shape}});
  return {l.reshape(results[0], self.shape), l.reshape(results[1], self.shape)};
}

Ordered sorted(OpCall& c) {
  return sorted(c.lowering(), c.tensor("self"), c.integer("dim", -1), c.flag("descending", false));
}

void define_sort(OpCall& c) {
  const Ordered result = sorted(c);
  c.add_result(result.values);
  c.add_result(result.positions);
}

void define_topk(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor self = c.tensor("self"), x = as_vector(l, self);
  const int64_t k = c.integer("k"), dim = wrap_dim(c.integer("dim", -1), x.rank());
  require(self.dtype != DType::c64, "complex numbers have no order");
  require(k >= 0 && k <= x.shape[size_t(dim)],
          fmt::format("k is {}, but there are {} elements", k, x.shape[size_t(dim)]));
  Shape shape = x.shape;
  shape[size_t(dim)] = k;
  const auto results = l.opaque("topk", {x}, {{"k", k}, {"dim", dim}, {"largest", c.flag("largest", true)}},
                                {{x.dtype, shape}, {DType::i64, shape}});
  const bool is_scalar = self.shape.empty() && k == 1;
  for (const SymbolicTensor& result : results) c.add_result(is_scalar ? l.reshape(result, {}) : result);
}

}  // namespace

void register_sorting(Registry& r) {
  r.add("sort", "self, dim, descending", define_sort);
  r.add("argsort", "self, dim, descending", [](OpCall& c) { c.add_result(sorted(c).positions); });
  r.add("msort", "self", [](OpCall& c) { c.add_result(sorted(c.lowering(), c.tensor("self"), 0, false).values); });
  r.add("topk", "self, k, dim, largest, sorted", define_topk);
}

}  // namespace lightline::ops
