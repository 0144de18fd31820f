#include "demand/numbers.h"

#include <cmath>

#include "base/maths.h"
#include "loops/ir/scalar_math.h"

namespace lightline::demand {
namespace {

constexpr double greatest_integer = 4503599627370496.0;  // 2^52

std::optional<double> of_integers(loops::Function function, std::span<const double> args) {
  using F = loops::Function;
  namespace scalar = loops::scalar;
  for (const double x : args)
    if (!(std::abs(x) < greatest_integer) || x != std::floor(x)) return std::nullopt;
  const int64_t a = int64_t(args[0]), b = args.size() > 1 ? int64_t(args[1]) : 0;
  switch (function) {
    case F::div: return double(scalar::floor_div(a, b));
    case F::mod: return double(scalar::floor_mod(a, b));
    case F::fmod: return double(scalar::trunc_mod(a, b));
    case F::remainder: return double(scalar::floor_mod(a, b));
    case F::bitand_: return double(a & b);
    case F::bitor_: return double(a | b);
    case F::bitxor_: return double(a ^ b);
    case F::bitnot: return double(~a);
    case F::pow: {
      const double power = std::pow(args[0], args[1]);
      return b >= 0 && std::abs(power) < greatest_integer ? std::optional(power) : std::nullopt;
    }
    case F::shl: return b >= 0 && b < 31 && std::abs(args[0]) < 1048576 ? std::optional(double(a << b)) : std::nullopt;
    case F::shr: return b >= 0 && b < 63 ? std::optional(double(a >> b)) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<double> of_one(loops::Function function, double x) {
  using F = loops::Function;
  namespace scalar = loops::scalar;
  switch (function) {
    case F::neg: return -x;
    case F::logical_not: return x == 0;
    case F::abs: return std::abs(x);
    case F::sign: return scalar::sign(x);
    case F::floor: return std::floor(x);
    case F::ceil: return std::ceil(x);
    case F::round: return std::nearbyint(x);
    case F::trunc: return std::trunc(x);
    case F::isnan: return std::isnan(x);
    case F::isinf: return std::isinf(x);
    case F::isfinite: return std::isfinite(x);
    case F::signbit: return std::signbit(x);
    case F::sqrt: return std::sqrt(x);
    case F::rsqrt: return 1 / std::sqrt(x);
    case F::cbrt: return std::cbrt(x);
    case F::exp: return std::exp(x);
    case F::exp2: return std::exp2(x);
    case F::expm1: return std::expm1(x);
    case F::log: return std::log(x);
    case F::log2: return std::log2(x);
    case F::log10: return std::log10(x);
    case F::log1p: return std::log1p(x);
    case F::sin: return std::sin(x);
    case F::cos: return std::cos(x);
    case F::tan: return std::tan(x);
    case F::asin: return std::asin(x);
    case F::acos: return std::acos(x);
    case F::atan: return std::atan(x);
    case F::sinh: return std::sinh(x);
    case F::cosh: return std::cosh(x);
    case F::tanh: return std::tanh(x);
    case F::asinh: return std::asinh(x);
    case F::acosh: return std::acosh(x);
    case F::atanh: return std::atanh(x);
    case F::sigmoid: return scalar::sigmoid(x);
    case F::silu: return scalar::silu(x);
    case F::softplus: return scalar::softplus(x);
    case F::erf: return std::erf(x);
    case F::erfc: return std::erfc(x);
    case F::erfinv: return scalar::erfinv(x);
    case F::gelu: return scalar::gelu(x);
    case F::gelu_tanh: return scalar::gelu_tanh(x);
    case F::lgamma: return scalar::lgamma(x);
    case F::digamma: return scalar::digamma(x);
    default: return std::nullopt;
  }
}

std::optional<double> of_two(loops::Function function, double a, double b) {
  using F = loops::Function;
  namespace scalar = loops::scalar;
  switch (function) {
    case F::add: return a + b;
    case F::sub: return a - b;
    case F::mul: return a * b;
    case F::divide: return a / b;
    case F::eq: return a == b;
    case F::ne: return a != b;
    case F::lt: return a < b;
    case F::le: return a <= b;
    case F::gt: return a > b;
    case F::ge: return a >= b;
    case F::logical_and: return a != 0 && b != 0;
    case F::logical_or: return a != 0 || b != 0;
    case F::min: return scalar::minimum(a, b);
    case F::max: return scalar::maximum(a, b);
    case F::fmin: return scalar::minimum_number(a, b);
    case F::fmax: return scalar::maximum_number(a, b);
    case F::fmod: return std::fmod(a, b);
    case F::remainder: return scalar::remainder(a, b);
    case F::copysign: return std::copysign(a, b);
    case F::pow: return std::pow(a, b);
    case F::atan2: return std::atan2(a, b);
    case F::hypot: return std::hypot(a, b);
    case F::bitand_: return a == 0 || b == 0 ? std::optional(0.0) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<double> evaluate(loops::Function function, std::span<const double> args, bool integer) {
  if (integer && !args.empty())
    if (const auto value = of_integers(function, args)) return value;
  if (function == loops::Function::select) return args[0] != 0 ? args[1] : args[2];
  std::optional<double> value;
  if (args.size() == 1) value = of_one(function, args[0]);
  if (args.size() == 2) value = of_two(function, args[0], args[1]);
  if (value && integer && !(std::abs(*value) < greatest_integer)) return std::nullopt;
  return value;
}

}  // namespace lightline::demand
