// Functions of analysis and statistics.
#include <cmath>
#include <numbers>

#include "ops/library/elementwise/elementwise.h"
#include "ops/library/elementwise/special_functions.h"

namespace lightline::ops {
namespace {

constexpr double pi = std::numbers::pi;

// x * log(y), 0 where x is 0.
Scalar x_log_y(Scalar x, Scalar y, Function log) {
  return select(call(Function::isnan, y), std::nan(""), select(x == 0.0, 0.0, x * call(log, y)));
}

Scalar sinc(Scalar x) {
  const Scalar angle = x * pi;
  return select(x == 0.0, 1.0, call(Function::sin, angle) / angle);
}

Scalar entropy(Scalar x) {
  const Scalar inside =
      select(x == 0.0, 0.0, select(x < 0.0, -std::numeric_limits<double>::infinity(), -x * call(Function::log, x)));
  return select(call(Function::isnan, x), x, inside);
}

// By reflection below 1/2, six steps of the recurrence, then the asymptotic series.
Scalar trigamma(Scalar x) {
  const Scalar reflected = x < 0.5;
  Scalar z = select(reflected, 1.0 - x, x);
  Scalar steps = 1.0 / (z * z);
  for (int i = 1; i < 6; ++i) {
    const Scalar shifted = z + double(i);
    steps = steps + 1.0 / (shifted * shifted);
  }
  z = z + 6.0;
  const Scalar square = 1.0 / (z * z);
  const Scalar series = (1.0 + 0.5 / z + square * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42)))) / z;
  const Scalar sine = call(Function::sin, x * pi);
  return select(reflected, (pi * pi) / (sine * sine) - (steps + series), steps + series);
}

void define_polygamma(OpCall& c) {
  const int64_t order = c.integer("n");
  require(order >= 0, "polygamma needs an order of 0 or more");
  if (order == 0) return unary(c, Promotion::floating, [](Scalar x) { return call(Function::digamma, x); });
  if (order == 1) return unary(c, Promotion::floating, trigamma);
  unary(c, Promotion::floating, [&](Scalar x) { return polygamma_of(order, x); });
}

void define_mvlgamma(OpCall& c) {
  const int64_t p = c.integer("p");
  require(p >= 1 && p <= 1000, "mvlgamma needs a dimension between 1 and 1000");
  unary(c, Promotion::floating, [&](Scalar x) {
    Scalar sum = call(Function::lgamma, x);
    for (int64_t j = 1; j < p; ++j) sum = sum + call(Function::lgamma, x - 0.5 * double(j));
    return sum + double(p * (p - 1)) / 4 * std::log(pi);
  });
}

void define_logit(OpCall& c) {
  const bool bounded = c.has("eps") && c.number("eps", -1) >= 0;
  const double eps = c.number("eps", 0);
  unary(c, Promotion::floating, [&](Scalar x) {
    const Scalar z = bounded ? clamped(x, eps, 1 - eps) : x;
    return call(Function::log, z / (1.0 - z));
  });
}

}  // namespace

void register_special_functions(Registry& r) {
  const auto one = [&](const char* name, Scalar (*body)(Scalar), std::vector<std::string> aliases = {}) {
    r.add(
        name, "self", [body](OpCall& c) { unary(c, Promotion::floating, body); }, std::move(aliases));
  };
  one("lgamma", [](Scalar x) { return call(Function::lgamma, x); }, {"special_gammaln"});
  one("digamma", [](Scalar x) { return call(Function::digamma, x); }, {"special_digamma", "special_psi"});
  one("sinc", sinc, {"special_sinc"});
  one("deg2rad", [](Scalar x) { return x * (pi / 180); });
  one("rad2deg", [](Scalar x) { return x * (180 / pi); });
  one("special_entr", entropy);
  r.add("xlogy", "self, other",
        [](OpCall& c) {
          binary(c, Promotion::floating, [](Scalar x, Scalar y) { return x_log_y(x, y, Function::log); });
        },
        {"special_xlogy"});
  r.add("special_xlog1py", "self, other",
        [](OpCall& c) {
          binary(c, Promotion::floating, [](Scalar x, Scalar y) { return x_log_y(x, y, Function::log1p); });
        },
        {"xlog1py"});
  r.add("polygamma", "n, self", define_polygamma, {"special_polygamma"});
  r.add("mvlgamma", "self, p", define_mvlgamma, {"special_multigammaln"});
  r.add("logit", "self, eps", define_logit, {"special_logit"});
  r.add("special_zeta", "self, other",
        [](OpCall& c) { binary(c, Promotion::floating, [](Scalar x, Scalar q) { return hurwitz_zeta(x, q); }); });
  register_bessel_functions(r);
  register_normal_distribution(r);
  // These have no closed form in the scalar functions; they are priced by their bytes.
  for (const char* name : {"special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1"}) {
    r.add(name, "self", [name](OpCall& c) {
       const SymbolicTensor x = c.tensor("self");
       c.add_result(c.lowering().opaque(name, {x}, {}, {{floating_type(x.dtype), x.shape}})[0]);
     }).opaque = true;
  }
  for (const char* name : {"igamma", "igammac"}) {
    r.add(name, "self, other", [name](OpCall& c) {
       const SymbolicTensor a = c.tensor("self"), b = c.tensor("other");
       c.add_result(
           c.lowering().opaque(name, {a, b}, {}, {{result_type({{a, {}}, {b, {}}}), broadcast(a.shape, b.shape)}})[0]);
     }).opaque = true;
  }
}

}  // namespace lightline::ops
