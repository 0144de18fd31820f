#include "ops/library/elementwise/complex_functions.h"

#include <numbers>

namespace lightline::ops {
namespace {

Scalar one(const Scalar& like) { return number(like, 1.0); }
Scalar real(const Scalar& x) { return call(Function::real, x); }
Scalar imag(const Scalar& x) { return call(Function::imag, x); }

Scalar expm1_of(const Scalar& z) {
  const Scalar half = call(Function::sin, imag(z) * 0.5);
  const Scalar growth = call(Function::expm1, real(z));
  return complex_of(growth * call(Function::cos, imag(z)) - half * half * 2.0,
                    (growth + 1.0) * call(Function::sin, imag(z)));
}
Scalar log1p_of(const Scalar& z) {
  const Scalar x = real(z), y = imag(z);
  return complex_of(call(Function::log1p, x * (x + 2.0) + y * y) * 0.5, call(Function::atan2, y, x + 1.0));
}
Scalar tan_of(const Scalar& z) { return times_minus_i(call(Function::tanh, times_i(z))); }
Scalar sinh_of(const Scalar& z) { return times_minus_i(call(Function::sin, times_i(z))); }
Scalar cosh_of(const Scalar& z) { return call(Function::cos, times_i(z)); }
Scalar asinh_of(const Scalar& z) { return call(Function::log, z + call(Function::sqrt, z * z + one(z))); }
Scalar asin_of(const Scalar& z) { return times_minus_i(asinh_of(times_i(z))); }
Scalar acos_of(const Scalar& z) {
  const Scalar asin = asin_of(z);
  return complex_of(std::numbers::pi / 2 - real(asin), -imag(asin));
}
Scalar acosh_of(const Scalar& z) {
  return call(Function::log, z + call(Function::sqrt, z + one(z)) * call(Function::sqrt, z - one(z)));
}
Scalar atanh_of(const Scalar& z) {
  return (call(Function::log, one(z) + z) - call(Function::log, one(z) - z)) / number(z, 2.0);
}

}  // namespace

Scalar complex_of(const Scalar& re, const Scalar& im) { return call(Function::complex_, re, im); }
Scalar times_i(const Scalar& z) { return complex_of(-imag(z), real(z)); }
Scalar times_minus_i(const Scalar& z) { return complex_of(imag(z), -real(z)); }

Scalar analytic(Function function, const Scalar& x) {
  if (x.type != DType::c64) return call(function, x);
  switch (function) {
    case Function::expm1: return expm1_of(x);
    case Function::exp2: return call(Function::exp, x * std::numbers::ln2);
    case Function::log1p: return log1p_of(x);
    case Function::log2: return call(Function::log, x) * (1 / std::numbers::ln2);
    case Function::log10: return call(Function::log, x) * (1 / std::numbers::ln10);
    case Function::rsqrt: return one(x) / call(Function::sqrt, x);
    case Function::cbrt: return call(Function::exp, call(Function::log, x) / number(x, 3.0));
    case Function::sigmoid: return one(x) / (call(Function::exp, -x) + one(x));
    case Function::tan: return tan_of(x);
    case Function::sinh: return sinh_of(x);
    case Function::cosh: return cosh_of(x);
    case Function::asinh: return asinh_of(x);
    case Function::acosh: return acosh_of(x);
    case Function::atanh: return atanh_of(x);
    case Function::asin: return asin_of(x);
    case Function::acos: return acos_of(x);
    case Function::atan: return times_minus_i(atanh_of(times_i(x)));
    default: return call(function, x);
  }
}

}  // namespace lightline::ops
