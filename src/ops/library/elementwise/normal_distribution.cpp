// The normal distribution, its logarithm and its quantiles.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/library/elementwise/elementwise.h"
#include "ops/library/elementwise/special_functions.h"

namespace lightline::ops {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Scalar normal_distribution(Scalar x) { return 0.5 * call(Function::erfc, x * (-1 / std::numbers::sqrt2)); }

// exp(x^2) erfc(x): where that overflows, Laplace's continued fraction.
Scalar erfcx(Scalar x) {
  constexpr double series_border = 5;
  constexpr int depth = 14;
  const Scalar far = max(x, series_border);
  Scalar fraction = far;
  for (int k = depth; k > 0; --k) fraction = far + (0.5 * k) / fraction;
  const Scalar near = call(Function::exp, x * x) * call(Function::erfc, x);
  return select(x < series_border, near, std::numbers::inv_sqrtpi / fraction);
}

Scalar log_of_normal_distribution(Scalar x) {
  const Scalar t = x * (1 / std::numbers::sqrt2);
  const Scalar tail = call(Function::log, erfcx(max(-t, 0.0)) * 0.5) - t * t;
  return select(x < -1.0, tail, call(Function::log1p, -0.5 * call(Function::erfc, t)));
}

// Below 1/2: Hastings' rational guess, three digits for every probability.
Scalar first_quantile(Scalar p) {
  const Scalar t = call(Function::sqrt, -2.0 * call(Function::log, p));
  return (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}

// One step of Newton's method towards the x with distribution p.
Scalar better_quantile(Scalar x, Scalar p) {
  const Scalar density = call(Function::exp, x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return x - (normal_distribution(x) - p) / density;
}

// The smaller one of the two tails has all its digits.
Scalar tail_of(Scalar p) { return select(p < 0.5, p, 1.0 - p); }

void define_quantile(OpCall& c) {
  Lowering& l = c.lowering();
  const Operand p = c.operand("self");
  const DType type = floating_type(result_type({p})), wide = compute_type(type);
  const auto probability = [&](const Indices& i) { return c.read_as(p, i, type); };
  SymbolicTensor x = l.map(wide, p.shape(), [&](const Indices& i) { return first_quantile(tail_of(probability(i))); });
  for (int step = 0; step < (wide == DType::f64 ? 3 : 2); ++step)
    x = l.map(wide, p.shape(),
              [&](const Indices& i) { return better_quantile(l.read(x, i), tail_of(probability(i))); });
  c.add_result(l.map(type, p.shape(), [&](const Indices& i) {
    const Scalar given = probability(i), found = l.read(x, i);
    const Scalar inside = select(given < 0.5, found, -found);
    const Scalar ends = select(given == 0.0, number(inside, -infinity), number(inside, infinity));
    const Scalar outside = select(given == 0.0 || given == 1.0, ends, number(inside, std::nan("")));
    return select(given > 0.0 && given < 1.0, inside, outside);
  }));
}

}  // namespace

void register_normal_distribution(Registry& r) {
  const auto one = [&](const char* name, Scalar (*body)(Scalar)) {
    r.add(name, "self", [body](OpCall& c) { unary(c, Promotion::floating, body); });
  };
  one("special_ndtr", normal_distribution);
  one("special_log_ndtr", log_of_normal_distribution);
  one("special_erfcx", erfcx);
  r.add("special_ndtri", "self", define_quantile);
}

}  // namespace lightline::ops
