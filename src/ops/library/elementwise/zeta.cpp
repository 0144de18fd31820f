#include <cmath>

#include "ops/library/elementwise/special_functions.h"

namespace lightline::ops {

// The first terms, then the rest by the formula of Euler and Maclaurin.
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
  return select(x == 1.0, infinite,
                select(x < 1.0, undefined, select(pole, infinite, select(outside, undefined, sum))));
}

// (-1)^(n + 1) n! zeta(n + 1, x)
Scalar polygamma_of(int64_t order, const Scalar& x) {
  const double factor = (order % 2 == 0 ? -1 : 1) * std::tgamma(double(order) + 1);
  return factor * hurwitz_zeta(number(x, double(order) + 1), x);
}

}  // namespace lightline::ops
