#include "ops/library/random/dropout.h"

namespace lightline::ops {

SymbolicTensor drop_out(Lowering& l, const SymbolicTensor& x, double p) {
  require(p >= 0 && p <= 1, "the dropout probability is not between 0 and 1");
  if (p == 0) return x;
  const SymbolicTensor draws =
      l.opaque("random", {}, {{"distribution", std::string("uniform")}}, {{DType::f32, x.shape}})[0];
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  return l.map(x.dtype, x.shape,
               [&](const Indices& i) { return select(l.read(draws, i) >= p, l.read(x, i) * factor, 0.0); });
}

}  // namespace lightline::ops
