#include "loops/emit_c/prelude.h"

namespace lightline::loops::c {

// Declared here and not by <math.h>: with the attribute, loops call the vector versions without -ffast-math.
const std::string_view prelude_math = R"(#ifdef LL_MVEC
#define LL_VECTOR __attribute__((const, simd("notinbranch")))
#else
#define LL_VECTOR __attribute__((const))
#endif
#define LL_LIBRARY(F)              \
  LL_VECTOR double F(double);      \
  LL_VECTOR float F##f(float);
LL_LIBRARY(exp) LL_LIBRARY(log) LL_LIBRARY(sin) LL_LIBRARY(cos)
LL_VECTOR double pow(double, double);
LL_VECTOR float powf(float, float);
#if defined(LL_MVEC) && LL_MVEC < 2
#undef LL_VECTOR
#define LL_VECTOR __attribute__((const))
#endif
LL_LIBRARY(exp2) LL_LIBRARY(expm1) LL_LIBRARY(log2) LL_LIBRARY(log10) LL_LIBRARY(log1p) LL_LIBRARY(cbrt)
LL_LIBRARY(tan) LL_LIBRARY(asin) LL_LIBRARY(acos) LL_LIBRARY(atan)
LL_LIBRARY(sinh) LL_LIBRARY(cosh) LL_LIBRARY(tanh) LL_LIBRARY(asinh) LL_LIBRARY(acosh) LL_LIBRARY(atanh)
LL_LIBRARY(erf) LL_LIBRARY(erfc)
LL_VECTOR double atan2(double, double);
LL_VECTOR float atan2f(float, float);
LL_VECTOR double hypot(double, double);
LL_VECTOR float hypotf(float, float);

#define LL_FLOAT(T, N, F, U, BITS)                                                                             \
  LL_FN T ll_fmin_##N(T a, T b) { return (a < b) | (b != b) ? a : b; }                                         \
  LL_FN T ll_fmax_##N(T a, T b) { return (a > b) | (b != b) ? a : b; }                                         \
  LL_FN T ll_abs_##N(T x) { return __builtin_fabs##F(x); }                                                     \
  LL_FN T ll_sign_##N(T x) { return (T)(x > 0) - (T)(x < 0); }                                                 \
  LL_FN T ll_floor_##N(T x) { return __builtin_floor##F(x); }                                                  \
  LL_FN T ll_ceil_##N(T x) { return __builtin_ceil##F(x); }                                                    \
  LL_FN T ll_round_##N(T x) { return __builtin_rint##F(x); }                                                   \
  LL_FN T ll_trunc_##N(T x) { return __builtin_trunc##F(x); }                                                  \
  LL_FN T ll_copysign_##N(T a, T b) { return __builtin_copysign##F(a, b); }                                    \
  LL_FN _Bool ll_isnan_##N(T x) { return x != x; }                                                             \
  LL_FN _Bool ll_isinf_##N(T x) { return __builtin_fabs##F(x) == (T)__builtin_inf(); }                         \
  LL_FN _Bool ll_isfinite_##N(T x) { return __builtin_fabs##F(x) < (T)__builtin_inf(); }                       \
  LL_FN _Bool ll_signbit_##N(T x) { U u; __builtin_memcpy(&u, &x, sizeof u); return u >> (BITS - 1); }         \
  LL_FN T ll_sqrt_##N(T x) { return __builtin_sqrt##F(x); }                                                    \
  LL_FN T ll_rsqrt_##N(T x) { return 1 / __builtin_sqrt##F(x); }                                               \
  LL_FN T ll_cbrt_##N(T x) { return cbrt##F(x); }                                                              \
  LL_FN T ll_exp2_##N(T x) { return exp2##F(x); }                                                              \
  LL_FN T ll_expm1_##N(T x) { return expm1##F(x); }                                                            \
  LL_FN T ll_log_##N(T x) { return log##F(x); }                                                                \
  LL_FN T ll_log2_##N(T x) { return log2##F(x); }                                                              \
  LL_FN T ll_log10_##N(T x) { return log10##F(x); }                                                            \
  LL_FN T ll_log1p_##N(T x) { return log1p##F(x); }                                                            \
  LL_FN T ll_pow_##N(T a, T b) { return pow##F(a, b); }                                                        \
  LL_FN T ll_sin_##N(T x) { return sin##F(x); }                                                                \
  LL_FN T ll_cos_##N(T x) { return cos##F(x); }                                                                \
  LL_FN T ll_tan_##N(T x) { return tan##F(x); }                                                                \
  LL_FN T ll_asin_##N(T x) { return asin##F(x); }                                                              \
  LL_FN T ll_acos_##N(T x) { return acos##F(x); }                                                              \
  LL_FN T ll_atan_##N(T x) { return atan##F(x); }                                                              \
  LL_FN T ll_atan2_##N(T a, T b) { return atan2##F(a, b); }                                                    \
  LL_FN T ll_sinh_##N(T x) { return sinh##F(x); }                                                              \
  LL_FN T ll_cosh_##N(T x) { return cosh##F(x); }                                                              \
  LL_FN T ll_tanh_##N(T x) { return tanh##F(x); }                                                              \
  LL_FN T ll_asinh_##N(T x) { return asinh##F(x); }                                                            \
  LL_FN T ll_acosh_##N(T x) { return acosh##F(x); }                                                            \
  LL_FN T ll_atanh_##N(T x) { return atanh##F(x); }                                                            \
  LL_FN T ll_hypot_##N(T a, T b) { return hypot##F(a, b); }                                                    \
  LL_FN T ll_sigmoid_##N(T x) { return 1 / (1 + ll_exp_##N(-x)); }                                             \
  LL_FN T ll_silu_##N(T x) { return x * ll_sigmoid_##N(x); }                                                   \
  LL_FN T ll_softplus_##N(T x) { return (x > 0 ? x : 0) + log1p##F(ll_exp_##N(-__builtin_fabs##F(x))); }   \
  LL_FN T ll_erf_##N(T x) { return erf##F(x); }                                                                \
  LL_FN T ll_erfc_##N(T x) { return erfc##F(x); }                                                              \
  LL_FN T ll_gelu_##N(T x) { return x * (T)0.5 * erfc##F(x * (T)-0.70710678118654752440); }                    \
  LL_FN T ll_gelu_tanh_##N(T x) { return x * ll_sigmoid_##N((T)1.59576912160573071176 * (x + (T)0.044715 * x * x * x)); }

LL_FN double ll_exp_f64(double x) { return exp(x); }
/* 2^n e^r with n the nearest integer to x / log 2: within 1.5 units in the last place; what lies below 2^-126 is 0.
   Written out, because a loop that calls the library spends half its time on the call. */
LL_FN float ll_exp_f32(float x) {
  const float shifted = x * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const float near = n * -0.693359375f + x, r = n * 2.12194440e-4f + near;
  float p = 1.38145406e-3f;
  p = p * r + 8.36874545e-3f;
  p = p * r + 4.16683890e-2f;
  p = p * r + 1.66665211e-1f;
  p = p * r + 4.99999940e-1f;
  p = p * (r * r) + r;
  const float value = ll_as_f32(ll_as_u32(p + 1.0f) + (ll_as_u32(shifted) << 23));
  const float bounded = x > 88.7228317f ? __builtin_inff() : value;
  return x < -87.3365479f ? 0.0f : bounded;
}
LL_FLOAT(float, f32, f, uint32_t, 32)
LL_FLOAT(double, f64, , uint64_t, 64)

)";

const std::string_view prelude_special = R"(__attribute__((const)) double fmod(double, double);
__attribute__((const)) float fmodf(float, float);
__attribute__((const)) double nextafter(double, double);
__attribute__((const)) float nextafterf(float, float);
double lgamma_r(double, int*);
float lgammaf_r(float, int*);

#define LL_SLOW(T, N, F)                                                                          \
  LL_FN T ll_fmod_##N(T a, T b) { return fmod##F(a, b); }                                         \
  LL_FN T ll_remainder_##N(T a, T b) {                                                            \
    const T r = fmod##F(a, b);                                                                    \
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                              \
  }                                                                                               \
  LL_FN T ll_nextafter_##N(T a, T b) { return nextafter##F(a, b); }                               \
  LL_FN T ll_lgamma_##N(T x) { int sign; return lgamma##F##_r(x, &sign); }
LL_SLOW(float, f32, f)
LL_SLOW(double, f64, )

static __attribute__((unused)) double ll_polynomial(const double* c, int n, double x) {
  double sum = 0;
  while (n-- > 0) sum = sum * x + c[n];
  return sum;
}

/* A start good to six digits (M. Giles), then Newton's steps; in the tail on log(erfc). */
static __attribute__((unused)) double ll_erfinv_f64(double x) {
  static const double centre[] = {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
  static const double tail[] = {2.83297682, 1.00167406, 0.00943887047, -0.00762246130, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return __builtin_nan("");
  if (size == 1) return __builtin_copysign(__builtin_inf(), x);
  const double w = -log1p(-size) - log1p(size), rest = 1 - size;
  double y = size * (w < 5 ? ll_polynomial(centre, 9, w - 2.5) : ll_polynomial(tail, 9, __builtin_sqrt(w) - 3));
  for (int step = 0; step < 4; ++step) {
    const double upper = erfc(y);
    const double error = size < 0.5 ? erf(y) - size : -upper * log(upper / rest);
    y -= error * exp(y * y) * 0.88622692545275801365;
  }
  return __builtin_copysign(y, x);
}
static __attribute__((unused)) float ll_erfinv_f32(float x) { return (float)ll_erfinv_f64(x); }

/* Recurrence into [1, 2], there the distance to the root times a Chebyshev polynomial; far out the asymptotic series. */
static __attribute__((unused)) double ll_digamma_positive(double x) {
  static const double c[] = {
      0.95105587603183289323,    -0.21181371064073030133,   0.060135621060193474613,   -0.01855061538173500843,   0.0059367952784364785541,
      -0.0019350666648613070436, 0.00063688802828499159863, -0.00021074841138175561379, 0.000069950205063848486568, -0.000023258242519113285482,
      7.7411560492738052484e-6,  -2.5780939540457721711e-6, 8.5913431761142102204e-7,  -2.8631611668831930358e-7, 9.5006590343005032898e-8,
      -3.1629111474084541648e-8, 1.103936348275993511e-8,   -3.7083753242807275894e-9, 8.6575336728126125725e-10, -2.7580994814376998437e-10,
      2.4786953456068389194e-10, -8.5055076601326102462e-11};
  static const double b[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12, -3617.0 / 8160};
  if (x >= 10) {
    const double z = 1 / (x * x);
    return log(x) - 0.5 / x - z * ll_polynomial(b, 8, z);
  }
  double sum = 0;
  for (; x > 2; x -= 1) sum += 1 / (x - 1);
  for (; x < 1; x += 1) sum -= 1 / x;
  return sum + ((x - 0x1.762d8634p+0) - 3.309564689176888e-10 - 2.0574000666111322e-26) * ll_polynomial(c, 22, 2 * x - 3);
}
static __attribute__((unused)) double ll_digamma_f64(double x) {
  if (x > 0) return x == __builtin_inf() ? x : ll_digamma_positive(x);
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x != x || x == __builtin_floor(x)) return __builtin_nan("");
  const double fraction = x - __builtin_rint(x);
  return ll_digamma_positive(1 - x) - 3.14159265358979323846 / tan(3.14159265358979323846 * fraction);
}
static __attribute__((unused)) float ll_digamma_f32(float x) { return (float)ll_digamma_f64(x); }

/* Complex arithmetic goes through f64, so that each part is rounded once. */
double _Complex csqrt(double _Complex);
double _Complex cexp(double _Complex);
double _Complex clog(double _Complex);
double _Complex csin(double _Complex);
double _Complex ccos(double _Complex);
double _Complex ctan(double _Complex);
double _Complex casin(double _Complex);
double _Complex cacos(double _Complex);
double _Complex catan(double _Complex);
double _Complex csinh(double _Complex);
double _Complex ccosh(double _Complex);
double _Complex ctanh(double _Complex);
double _Complex casinh(double _Complex);
double _Complex cacosh(double _Complex);
double _Complex catanh(double _Complex);
LL_FN ll_c64 ll_mul_c64(ll_c64 a, ll_c64 b) {
  const double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
  return __builtin_complex((float)(ar * br - ai * bi), (float)(ar * bi + ai * br));
}
LL_FN ll_c64 ll_divide_c64(ll_c64 a, ll_c64 b) {
  const double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b, size = br * br + bi * bi;
  return __builtin_complex((float)((ar * br + ai * bi) / size), (float)((ai * br - ar * bi) / size));
}
LL_FN float ll_abs_c64(ll_c64 x) { return hypotf(__real__ x, __imag__ x); }
#define LL_COMPLEX(N) \
  LL_FN ll_c64 ll_##N##_c64(ll_c64 x) { return (ll_c64)c##N((double _Complex)x); }
LL_COMPLEX(sqrt) LL_COMPLEX(exp) LL_COMPLEX(log) LL_COMPLEX(sin) LL_COMPLEX(cos) LL_COMPLEX(tan)
LL_COMPLEX(asin) LL_COMPLEX(acos) LL_COMPLEX(atan) LL_COMPLEX(sinh) LL_COMPLEX(cosh) LL_COMPLEX(tanh)
LL_COMPLEX(asinh) LL_COMPLEX(acosh) LL_COMPLEX(atanh)
/* |1 + z|^2 - 1 is the sum of three exact numbers, and keeps what rounding takes away. */
LL_FN ll_c64 ll_log1p_c64(ll_c64 z) {
  const double x = __real__ z, y = __imag__ z, twice = 2 * x, square = x * x, height = y * y;
  const double large = twice + square, of_square = large - twice;
  const double lost = (twice - (large - of_square)) + (square - of_square);
  const double whole = large + height, of_height = whole - large;
  const double rest = lost + ((large - (whole - of_height)) + (height - of_height));
  const double size = whole < __builtin_inf() ? whole + rest : whole;
  return __builtin_complex((float)(0.5 * log1p(size)), (float)atan2(y, 1 + x));
}

)";

}  // namespace lightline::loops::c
