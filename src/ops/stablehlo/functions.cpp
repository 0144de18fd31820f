// Scalars of StableHLO and CHLO: transcendental functions, real and complex.
#include <cmath>

#include "ops/library/elementwise/complex_functions.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using Values = std::vector<Scalar>;

bool is_complex(const Scalar& x) { return x.type == DType::c64; }
Scalar real(const Scalar& x) { return call(Function::real, x); }
Scalar imag(const Scalar& x) { return call(Function::imag, x); }
Scalar make(const Scalar& re, const Scalar& im) { return complex_of(re, im); }

template <Function function>
Scalar plain(const ScalarCall&, const Values& v) {
  return call(function, v[0]);
}
// Of the reals, and by a formula of complex numbers.
template <Function function>
Scalar by_formula(const ScalarCall&, const Values& v) {
  return analytic(function, v[0]);
}
// With cuts of its own for complex numbers.
template <Function function, Scalar (*complex)(const Scalar&)>
Scalar either(const ScalarCall&, const Values& v) {
  return is_complex(v[0]) ? complex(v[0]) : call(function, v[0]);
}

// On their cuts these are as far above as below: a zero has no sign.
Scalar without_sign_of_zero(const Scalar& x) { return select(x == 0.0, number(x, 0.0), x); }
template <Function function>
Scalar cut_along_reals(const Scalar& z) {
  return call(function, make(real(z), without_sign_of_zero(imag(z))));
}
Scalar complex_asinh(const Scalar& z) { return call(Function::asinh, make(without_sign_of_zero(real(z)), imag(z))); }

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

// Hurwitz's zeta, sum over k of (k + q)^-x: the first terms, then the rest by the formula of Euler and Maclaurin.
Scalar hurwitz_zeta(const Scalar& x, const Scalar& q) {
  constexpr int first_terms = 10;
  // (2 j)! / B_2j, with the Bernoulli numbers 1/6, -1/30, 1/42, -1/30, 5/66, -691/2730
  constexpr double divisors[] = {12, -720, 30240, -1209600, 47900160, -1307674368000.0 / 691};
  const auto negative_power = [&](const Scalar& base) { return call(Function::pow, base, -x); };
  Scalar sum = negative_power(q);
  for (int k = 1; k < first_terms; ++k) sum = sum + negative_power(q + double(k));
  const Scalar a = q + double(first_terms);
  Scalar term = negative_power(a);
  sum = sum + term * a / (x - 1.0) + term * 0.5;
  Scalar factor = x;
  term = term / a;
  for (int j = 0; j < int(std::size(divisors)); ++j) {
    sum = sum + term * factor / divisors[j];
    factor = factor * (x + double(2 * j + 1)) * (x + double(2 * j + 2));
    term = term / (a * a);
  }
  const Scalar infinite = number(sum, HUGE_VAL), undefined = number(sum, std::nan(""));
  const Scalar pole = q <= 0.0 && call(Function::floor, q) == q;
  const Scalar outside = x < 1.0 || (q <= 0.0 && call(Function::floor, x) != x);
  return select(x == 1.0 || pole, infinite, select(outside, undefined, sum));
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
          {"stablehlo.exponential_minus_one", "operand", by_formula<F::expm1>},
          {"stablehlo.log", "operand", plain<F::log>},
          {"stablehlo.log_plus_one", "operand", plain<F::log1p>},
          {"stablehlo.logistic", "operand", by_formula<F::sigmoid>},
          {"stablehlo.tanh", "operand", plain<F::tanh>},
          {"stablehlo.sqrt", "operand", plain<F::sqrt>},
          {"stablehlo.rsqrt", "operand", by_formula<F::rsqrt>},
          {"stablehlo.cbrt", "operand", by_formula<F::cbrt>},
          {"stablehlo.sine", "operand", plain<F::sin>},
          {"stablehlo.cosine", "operand", plain<F::cos>},
          {"stablehlo.tan", "operand", plain<F::tan>},
          {"stablehlo.atan2", "lhs, rhs", atan2},
          {"chlo.tan", "operand", plain<F::tan>},
          {"chlo.sinh", "operand", plain<F::sinh>},
          {"chlo.cosh", "operand", plain<F::cosh>},
          {"chlo.asin", "operand", either<F::asin, cut_along_reals<F::asin>>},
          {"chlo.acos", "operand", either<F::acos, cut_along_reals<F::acos>>},
          {"chlo.atan", "operand", plain<F::atan>},
          {"chlo.asinh", "operand", either<F::asinh, complex_asinh>},
          {"chlo.acosh", "operand", either<F::acosh, cut_along_reals<F::acosh>>},
          {"chlo.atanh", "operand", plain<F::atanh>},
          {"chlo.erf", "operand", plain<F::erf>},
          {"chlo.erfc", "operand", plain<F::erfc>},
          {"chlo.erf_inv", "operand", plain<F::erfinv>},
          {"chlo.lgamma", "operand", log_gamma},
          {"chlo.digamma", "operand", digamma},
          {"chlo.polygamma", "n, x", polygamma},
          {"chlo.zeta", "x, q", zeta}};
}

}  // namespace lightline::ops::stablehlo
