// Scalars of StableHLO and CHLO: transcendental functions, real and complex.
#include <cmath>

#include "ops/library/elementwise/complex_functions.h"
#include "ops/library/elementwise/special_functions.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using Values = std::vector<Scalar>;

bool is_complex(const Scalar& x) { return x.type == DType::c64; }

template <Function function>
Scalar plain(const ScalarCall&, const Values& v) {
  return call(function, v[0]);
}
// Of the reals, and by a formula of complex numbers.
template <Function function>
Scalar either(const ScalarCall&, const Values& v) {
  return analytic(function, v[0]);
}

Scalar log_gamma(const ScalarCall&, const Values& v) { return call(Function::lgamma, v[0]); }
// At zero and below, where the function has poles: not a number.
Scalar digamma(const ScalarCall&, const Values& v) {
  const Scalar pole = v[0] <= 0.0 && call(Function::floor, v[0]) == v[0];
  return select(pole, number(v[0], std::nan("")), call(Function::digamma, v[0]));
}

Scalar atan2(const ScalarCall&, const Values& v) {
  if (!is_complex(v[0])) return call(Function::atan2, v[0], v[1]);
  const Scalar size = call(Function::sqrt, v[1] * v[1] + v[0] * v[0]);
  return times_minus_i(call(Function::log, (v[1] + times_i(v[0])) / size));
}

Scalar zeta(const ScalarCall&, const Values& v) { return hurwitz_zeta(v[0], v[1]); }

// Derivative number n of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
Scalar polygamma(const ScalarCall& s, const Values& v) {
  const Scalar n = v[0], x = v[1], next = n + 1.0;
  const Scalar sign = select(call(Function::fmod, n, number(n, 2.0)) == 0.0, number(n, -1.0), number(n, 1.0));
  const Scalar higher = sign * call(Function::exp, call(Function::lgamma, next)) * hurwitz_zeta(next, x);
  const Scalar valid = n >= 0.0 && call(Function::floor, n) == n;
  return select(n == 0.0, digamma(s, {x}), select(valid, higher, number(n, std::nan(""))));
}

}  // namespace

std::vector<ScalarOperator> transcendental_operators() {
  using F = Function;
  return {{"stablehlo.exponential", "operand", plain<F::exp>},
          {"stablehlo.exponential_minus_one", "operand", either<F::expm1>},
          {"stablehlo.log", "operand", plain<F::log>},
          {"stablehlo.log_plus_one", "operand", either<F::log1p>},
          {"stablehlo.logistic", "operand", either<F::sigmoid>},
          {"stablehlo.tanh", "operand", plain<F::tanh>},
          {"stablehlo.sqrt", "operand", plain<F::sqrt>},
          {"stablehlo.rsqrt", "operand", either<F::rsqrt>},
          {"stablehlo.cbrt", "operand", either<F::cbrt>},
          {"stablehlo.sine", "operand", plain<F::sin>},
          {"stablehlo.cosine", "operand", plain<F::cos>},
          {"stablehlo.tan", "operand", either<F::tan>},
          {"stablehlo.atan2", "lhs, rhs", atan2},
          {"chlo.tan", "operand", either<F::tan>},
          {"chlo.sinh", "operand", either<F::sinh>},
          {"chlo.cosh", "operand", either<F::cosh>},
          {"chlo.asin", "operand", either<F::asin>},
          {"chlo.acos", "operand", either<F::acos>},
          {"chlo.atan", "operand", either<F::atan>},
          {"chlo.asinh", "operand", either<F::asinh>},
          {"chlo.acosh", "operand", either<F::acosh>},
          {"chlo.atanh", "operand", either<F::atanh>},
          {"chlo.erf", "operand", plain<F::erf>},
          {"chlo.erfc", "operand", plain<F::erfc>},
          {"chlo.erf_inv", "operand", plain<F::erfinv>},
          {"chlo.lgamma", "operand", log_gamma},
          {"chlo.digamma", "operand", digamma},
          {"chlo.polygamma", "n, x", polygamma},
          {"chlo.zeta", "x, q", zeta}};
}

}  // namespace lightline::ops::stablehlo
