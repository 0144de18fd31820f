#include "ops/library/elementwise/complex_functions.h"

#include <numbers>

namespace lightline::ops {
namespace {

Scalar one(const Scalar& like) { return number(like, 1.0); }

// exp(x) cos(y) - 1 keeps its digits near 0 as expm1(x) cos(y) - 2 sin(y / 2)^2.
Scalar expm1_of(const Scalar& z) {
  const Scalar re = call(Function::real, z), im = call(Function::imag, z);
  const Scalar half = call(Function::sin, im * 0.5), growth = call(Function::expm1, re);
  return complex_of(growth * call(Function::cos, im) - half * half * 2.0, (growth + 1.0) * call(Function::sin, im));
}

}  // namespace

Scalar complex_of(const Scalar& re, const Scalar& im) { return call(Function::complex_, re, im); }
Scalar times_i(const Scalar& z) { return complex_of(-call(Function::imag, z), call(Function::real, z)); }
Scalar times_minus_i(const Scalar& z) { return complex_of(call(Function::imag, z), -call(Function::real, z)); }

Scalar analytic(Function function, const Scalar& x) {
  if (x.type != DType::c64) return call(function, x);
  switch (function) {
    case Function::expm1: return expm1_of(x);
    case Function::exp2: return call(Function::exp, x * std::numbers::ln2);
    case Function::log2: return call(Function::log, x) * (1 / std::numbers::ln2);
    case Function::log10: return call(Function::log, x) * (1 / std::numbers::ln10);
    case Function::rsqrt: return one(x) / call(Function::sqrt, x);
    case Function::cbrt: return call(Function::exp, call(Function::log, x) / number(x, 3.0));
    case Function::sigmoid: return one(x) / (call(Function::exp, -x) + one(x));
    default: return call(function, x);  // the language has it for complex numbers
  }
}

}  // namespace lightline::ops
