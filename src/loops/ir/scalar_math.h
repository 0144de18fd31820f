// What each scalar function means on one value. A function of floats is computed in its own type throughout.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "base/maths.h"

namespace lightline::loops::scalar {

using Complex = std::complex<float>;

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

// NaN if either is NaN; 0 is above -0.
template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a == b) return std::signbit(a) ? a : b;
  return is_nan(a) || a < b ? a : (is_nan(b) || b < a ? b : a);
}
template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (a == b) return std::signbit(a) ? b : a;
  return is_nan(a) || a > b ? a : (is_nan(b) || b > a ? b : a);
}
// The other one if one is NaN.
template <class T>
T minimum_number(T a, T b) {
  return is_nan(b) || a < b ? a : (is_nan(a) || b < a ? b : a);
}
template <class T>
T maximum_number(T a, T b) {
  return is_nan(b) || a > b ? a : (is_nan(a) || b > a ? b : a);
}

template <class T>
T sign(T x) {
  return T((x > T(0)) - (x < T(0)));
}

// The remainder with the sign of the divisor.
template <class T>
T remainder(T a, T b) {
  const T r = std::fmod(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
}

// Each side of zero in the form that neither overflows nor loses the tail.
template <class T>
T sigmoid(T x) {
  if (x >= T(0)) return T(1) / (T(1) + std::exp(-x));
  const T e = std::exp(x);
  return e / (T(1) + e);
}
template <class T>
T silu(T x) {
  return x * sigmoid(x);
}
template <class T>
T softplus(T x) {
  return (x > T(0) ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
}
// 1 + erf(u) = erfc(-u), which keeps its digits far below zero.
template <class T>
T gelu(T x) {
  return x * T(0.5) * std::erfc(-x * (std::numbers::sqrt2_v<T> / T(2)));
}
// (1 + tanh(u)) / 2 = sigmoid(2 u).
template <class T>
T gelu_tanh(T x) {
  constexpr T twice_sqrt_2_over_pi = T(2) * std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  return x * sigmoid(twice_sqrt_2_over_pi * (x + T(0.044715) * x * x * x));
}

double erfinv(double x);
double digamma(double x);
inline float erfinv(float x) { return float(erfinv(double(x))); }
inline float digamma(float x) { return float(digamma(double(x))); }
double lgamma(double x);
float lgamma(float x);

// Integers: every operation wraps (base/maths.h), none traps.

// Rounds down; by 0: 0.
inline int64_t floor_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? wrapping_neg(a) : lightline::floor_div(a, b);
}
// The sign of the divisor; by 0: 0.
inline int64_t floor_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : lightline::floor_mod(a, b); }
// The sign of the dividend; by 0: 0.
inline int64_t trunc_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// A negative exponent gives the whole part of the fraction: 0, 1 or -1.
int64_t power(int64_t base, int64_t exponent);

inline int64_t shift_left(int64_t a, int64_t by, int width) {
  return by < 0 || by >= width ? 0 : int64_t(uint64_t(a) << by);
}
inline int64_t shift_right(int64_t a, int64_t by, int width) {
  return by < 0 || by >= width ? (a < 0 ? -1 : 0) : a >> by;
}

inline int64_t shift_right_logical(uint64_t a, int64_t by, int width) {
  return by < 0 || by >= width ? 0 : int64_t(a >> by);
}

// In the lanes of integers, which are 64 bits wide.
inline int64_t bits_of(double x) { return std::bit_cast<int64_t>(x); }
inline int64_t bits_of(float x) { return std::bit_cast<int32_t>(x); }

// Complex arithmetic goes through f64, so that each part is rounded once and nothing overflows on the way.
inline Complex narrow(std::complex<double> z) { return Complex(float(z.real()), float(z.imag())); }
inline std::complex<double> widen(Complex z) { return {double(z.real()), double(z.imag())}; }
Complex multiply(Complex a, Complex b);
Complex divide(Complex a, Complex b);
Complex log1p(Complex z);

}  // namespace lightline::loops::scalar
