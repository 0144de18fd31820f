#include "loops/ir/scalar_math.h"

#include <limits>

namespace lightline::loops::scalar {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <size_t n>
double polynomial(const double (&coefficients)[n], double x) {
  double sum = 0;
  for (size_t i = n; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// A start for erfinv good to about six digits (M. Giles, "Approximating the erfinv function", single precision).
double erfinv_start(double x) {
  static constexpr double centre[] = {1.50140941,      0.246640727,    -0.00417768164, -0.00125372503, 0.000218580870,
                                      -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
  static constexpr double tail[] = {2.83297682,     1.00167406,    0.00943887047,  -0.00762246130, 0.00573950773,
                                    -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
  const double w = -std::log1p(-x) - std::log1p(x);
  return x * (w < 5 ? polynomial(centre, w - 2.5) : polynomial(tail, std::sqrt(w) - 3));
}

// On [1, 2]: the distance to the root 1.4616... times a polynomial, so that it is accurate near the root too.
// The polynomial is the Chebyshev expansion of digamma(x) / (x - root) in t = 2 x - 3, off by less than 2^-56.
double digamma_near_root(double x) {
  static constexpr double root_1 = 0x1.762d8634p+0;  // its first 30 bits, so that the difference is exact near it
  static constexpr double root_2 = 3.309564689176888e-10;
  static constexpr double root_3 = 2.0574000666111322e-26;
  static constexpr double coefficients[] = {
      0.95105587603183289323,     -0.21181371064073030133,     0.060135621060193474613,   -0.01855061538173500843,
      0.0059367952784364785541,   -0.0019350666648613070436,   0.00063688802828499159863, -0.00021074841138175561379,
      0.000069950205063848486568, -0.000023258242519113285482, 7.7411560492738052484e-6,  -2.5780939540457721711e-6,
      8.5913431761142102204e-7,   -2.8631611668831930358e-7,   9.5006590343005032898e-8,  -3.1629111474084541648e-8,
      1.103936348275993511e-8,    -3.7083753242807275894e-9,   8.6575336728126125725e-10, -2.7580994814376998437e-10,
      2.4786953456068389194e-10,  -8.5055076601326102462e-11};
  return ((x - root_1) - root_2 - root_3) * polynomial(coefficients, 2 * x - 3);
}

// log(x) - 1/(2x) - sum B_2n / (2n x^2n), for x >= 10.
double digamma_asymptotic(double x) {
  static constexpr double bernoulli[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                         1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  const double z = 1 / (x * x);
  return std::log(x) - 0.5 / x - z * polynomial(bernoulli, z);
}

double digamma_positive(double x) {
  if (x >= 10) return digamma_asymptotic(x);
  double sum = 0;
  for (; x > 2; x -= 1) sum += 1 / (x - 1);
  for (; x < 1; x += 1) sum -= 1 / x;
  return sum + digamma_near_root(x);
}

}  // namespace

double erfinv(double x) {
  if (!(std::abs(x) <= 1)) return not_a_number;
  if (std::abs(x) == 1) return std::copysign(infinity, x);
  const double size = std::abs(x);
  double y = erfinv_start(size);
  // Newton's steps: on erf near 0, in the tail on log(erfc), which is nearly a parabola there. 1 - |x| is exact.
  const double rest = 1 - size;
  for (int step = 0; step < 4; ++step) {
    const double upper = std::erfc(y);
    const double error = size < 0.5 ? std::erf(y) - size : -upper * std::log(upper / rest);
    y -= error * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x > 0) return std::isinf(x) ? x : digamma_positive(x);
  if (x == 0) return std::copysign(infinity, -x);
  if (x != x || x == std::floor(x)) return not_a_number;  // a pole with two signs
  // Reflection, with the cotangent of pi * x from the fraction of x, which is exact, and on the flat side of the
  // tangent.
  const double fraction = x - std::round(x);
  const double size = std::abs(fraction);
  const double cotangent =
      size < 0.25 ? 1 / std::tan(std::numbers::pi * size) : std::tan(std::numbers::pi * (0.5 - size));
  return digamma_positive(1 - x) - std::numbers::pi * std::copysign(cotangent, fraction);
}

// The library's lgamma writes a global sign; the reentrant form does not.
#if defined(__GLIBC__)
double lgamma(double x) {
  int sign_of_gamma = 0;
  return ::lgamma_r(x, &sign_of_gamma);
}
float lgamma(float x) {
  int sign_of_gamma = 0;
  return ::lgammaf_r(x, &sign_of_gamma);
}
#else
double lgamma(double x) { return std::lgamma(x); }
float lgamma(float x) { return std::lgamma(x); }
#endif

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  uint64_t square = uint64_t(base);
  for (uint64_t rest = uint64_t(exponent); rest != 0; rest >>= 1, square *= square)
    if (rest & 1) result *= square;
  return int64_t(result);
}

Complex multiply(Complex a, Complex b) {
  const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  return Complex(float(ar * br - ai * bi), float(ar * bi + ai * br));
}

Complex divide(Complex a, Complex b) {
  const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  const double size = br * br + bi * bi;  // f32 squared stays inside f64
  return Complex(float((ar * br + ai * bi) / size), float((ai * br - ar * bi) / size));
}

// log |1 + z| from |1 + z|^2 - 1 = 2 x + x^2 + y^2: three exact numbers, whose sum keeps what rounding takes away.
Complex log1p(Complex z) {
  const double x = z.real(), y = z.imag(), twice = 2 * x, square = x * x, height = y * y;
  const double large = twice + square, of_square = large - twice;
  const double lost = (twice - (large - of_square)) + (square - of_square);
  const double whole = large + height, of_height = whole - large;
  const double rest = lost + ((large - (whole - of_height)) + (height - of_height));
  const double size = std::isfinite(whole) ? whole + rest : whole;
  return Complex(float(0.5 * std::log1p(size)), float(std::atan2(y, 1 + x)));
}

}  // namespace lightline::loops::scalar
