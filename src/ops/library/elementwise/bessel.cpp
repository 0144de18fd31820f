// Modified Bessel functions of the first kind, of order 0 and 1.
#include <numbers>
#include <vector>

#include "ops/library/elementwise/elementwise.h"
#include "ops/library/elementwise/special_functions.h"

namespace lightline::ops {
namespace {

constexpr double border = 16;  // below: the power series; above: the asymptotic one
constexpr int power_terms = 32, asymptotic_terms = 26;

// 1 / (k! (k + order)!)
std::vector<double> power_series(int order) {
  std::vector<double> result = {1};
  for (int k = 1; k < power_terms; ++k) result.push_back(result.back() / (double(k) * double(k + order)));
  return result;
}

// The product over j of ((2 j - 1)^2 - 4 order^2) / (8 j), up to k.
std::vector<double> asymptotic_series(int order) {
  std::vector<double> result = {1};
  for (int k = 1; k < asymptotic_terms; ++k)
    result.push_back(result.back() * (double(2 * k - 1) * double(2 * k - 1) - 4.0 * order * order) / (8.0 * k));
  return result;
}

Scalar polynomial(const std::vector<double>& coefficients, const Scalar& x) {
  Scalar sum = number(x, coefficients.back());
  for (size_t k = coefficients.size() - 1; k-- > 0;) sum = sum * x + coefficients[k];
  return sum;
}

// exp(-|x|) I(x), or I(x).
Scalar bessel(const Scalar& x, int order, bool scaled) {
  const Scalar size = call(Function::abs, x), half = size * 0.5;
  const Scalar series = polynomial(power_series(order), half * half);
  const Scalar near = order == 0 ? series : series * half;
  const Scalar far = polynomial(asymptotic_series(order), 1.0 / max(size, border)) /
                     call(Function::sqrt, size * (2 * std::numbers::pi));
  const Scalar below = size < border;
  const Scalar found = scaled ? select(below, near * call(Function::exp, -size), far)
                              : select(below, near, call(Function::exp, size) * far);
  return order == 0 ? found : select(x < 0.0, -found, found);
}

// sin(x) / x, by its series near 0.
Scalar spherical_bessel(Scalar x) {
  const Scalar square = x * x;
  const Scalar series = 1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0)));
  const Scalar found = select(call(Function::abs, x) < 0.5, series, call(Function::sin, x) / x);
  return select(call(Function::isinf, x), 0.0, found);
}

}  // namespace

void register_bessel_functions(Registry& r) {
  const auto add = [&](const char* name, int order, bool scaled, std::vector<std::string> aliases = {}) {
    r.add(
        name, "self",
        [=](OpCall& c) { unary(c, Promotion::floating, [&](Scalar x) { return bessel(x, order, scaled); }); },
        std::move(aliases));
  };
  add("i0", 0, false, {"special_i0", "special_modified_bessel_i0"});
  add("special_i0e", 0, true);
  add("special_i1", 1, false, {"special_modified_bessel_i1"});
  add("special_i1e", 1, true);
  r.add("special_spherical_bessel_j0", "x", [](OpCall& c) {
    elementwise_of(c, {c.operand("x")}, Promotion::floating,
                   [](const std::vector<Scalar>& v) { return spherical_bessel(v[0]); });
  });
}

}  // namespace lightline::ops
