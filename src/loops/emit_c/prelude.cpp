#include "loops/emit_c/prelude.h"

namespace lightline::loops::c {

const std::string_view prelude_base = std::string_view(R"(
#include <stddef.h>
#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#define LL_THREADS H->threads(H->self)
#define LL_THREAD omp_get_thread_num()
#else
#define LL_THREADS 1
#define LL_THREAD 0
#endif
/* Processors with this set do not lower their clock for wide vectors; gcc keeps to half the width unless told. */
#if defined(__AVX512VBMI2__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")
#endif

struct ll_host {
  void* self;
  void* (*allocate)(void* self, size_t bytes); /* 64-byte aligned; NULL when there is no memory */
  void (*release)(void* self, void* memory);
  int (*opaque)(void* self, int32_t number, const void* const* operands, void* const* results); /* 0 if it worked */
  void (*outside)(void* self, int32_t statement, int32_t array, int32_t dimension, int64_t subscript);
  const int* failed; /* nonzero after `outside` */
  int (*threads)(void* self); /* that loops may share, always as many; OpenMP ends the process if it can not start them */
};

#define LL_FN static inline __attribute__((always_inline, unused))
#define LL_STEP static __attribute__((noinline))
typedef float _Complex ll_c64;

static __attribute__((noinline, cold, unused)) void ll_outside(const struct ll_host* H, int32_t statement, int32_t array, int32_t dimension, int64_t subscript) {
  H->outside(H->self, statement, array, dimension, subscript);
}

LL_FN void ll_copy(void* to, const void* from, size_t bytes) { __builtin_memcpy(to, from, bytes); }
/* Keeps gcc 12 from gathering with an offset that comes from a truth value: it takes the wrong lanes. */
LL_FN int64_t ll_scalar_index(int64_t x) {
  __asm__("" : "+r"(x));
  return x;
}
LL_FN int64_t ll_min_index(int64_t a, int64_t b) { return a < b ? a : b; }
LL_FN int64_t ll_max_index(int64_t a, int64_t b) { return a > b ? a : b; }
LL_FN int64_t ll_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); } /* b > 0 */

#define LL_INTEGER(T, U, N)                                                                                   \
  LL_FN T ll_div_##N(T a, T b) {                                                                              \
    if (b == 0) return 0;                                                                                     \
    if (b == (T)-1 && (T)-1 < 0) return (T)(0 - (U)a);                                                        \
    const T q = (T)(a / b);                                                                                   \
    return (T)(q - (a % b != 0 && (a < 0) != (b < 0)));                                                       \
  }                                                                                                           \
  LL_FN T ll_mod_##N(T a, T b) {                                                                              \
    if (b == 0 || (b == (T)-1 && (T)-1 < 0)) return 0;                                                        \
    const T r = (T)(a % b);                                                                                   \
    return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                                     \
  }                                                                                                           \
  LL_FN T ll_fmod_##N(T a, T b) { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? 0 : (T)(a % b); }              \
  LL_FN T ll_min_##N(T a, T b) { return a < b ? a : b; }                                                      \
  LL_FN T ll_max_##N(T a, T b) { return a > b ? a : b; }                                                      \
  LL_FN T ll_abs_##N(T a) { return a < 0 ? (T)(0 - (U)a) : a; }                                               \
  LL_FN T ll_sign_##N(T a) { return (T)((a > 0) - (a < 0)); }                                                 \
  LL_FN T ll_shl_##N(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((U)a << b); }              \
  LL_FN T ll_shr_##N(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b); } \
  LL_FN T ll_ushr_##N(T a, T b) { return b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : (T)((U)a >> b); }             \
  static __attribute__((unused)) T ll_pow_##N(T base, T exponent) {                                           \
    if (exponent < 0) return base == 1 ? 1 : base == (T)-1 ? (exponent % 2 == 0 ? (T)1 : (T)-1) : (T)0;       \
    uint64_t result = 1, square = (uint64_t)(int64_t)base;                                                    \
    for (uint64_t rest = (uint64_t)exponent; rest != 0; rest >>= 1, square *= square)                         \
      if (rest & 1) result *= square;                                                                         \
    return (T)result;                                                                                         \
  }
LL_INTEGER(int64_t, uint64_t, i64)
LL_INTEGER(int32_t, uint32_t, i32)
LL_INTEGER(int16_t, uint16_t, i16)
LL_INTEGER(int8_t, uint8_t, i8)
LL_INTEGER(uint8_t, uint8_t, u8)

LL_FN int32_t ll_bits_f32(float x) { int32_t i; __builtin_memcpy(&i, &x, 4); return i; }
LL_FN int64_t ll_bits_f64(double x) { int64_t i; __builtin_memcpy(&i, &x, 8); return i; }
LL_FN float ll_from_bits_i32(int32_t i) { float x; __builtin_memcpy(&x, &i, 4); return x; }
LL_FN double ll_from_bits_i64(int64_t i) { double x; __builtin_memcpy(&x, &i, 8); return x; }

/* Toward zero; NaN and what lies outside give the least integer. */
LL_FN int64_t ll_to_i64_f64(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }
LL_FN int64_t ll_to_i64_f32(float x) { return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN; }

/* NaN wins; 0 is above -0. */
#define LL_EXTREME(T, N, BITS)                                                                                      \
  LL_FN T ll_min_##N(T a, T b) { return a == b ? ll_from_bits_##BITS(ll_bits_##N(a) | ll_bits_##N(b)) : (a < b) | (a != a) ? a : b; } \
  LL_FN T ll_max_##N(T a, T b) { return a == b ? ll_from_bits_##BITS(ll_bits_##N(a) & ll_bits_##N(b)) : (a > b) | (a != a) ? a : b; }
LL_EXTREME(float, f32, i32)
LL_EXTREME(double, f64, i64)

)")
                                          .substr(1);

// The magnitude's code grows with the magnitude. Subnormals round when a power of two is added whose last place is
// the smallest subnormal; normal numbers round in integer arithmetic.
const std::string_view prelude_narrow =
    R"(LL_FN float ll_as_f32(uint32_t u) { float f; __builtin_memcpy(&f, &u, 4); return f; }
LL_FN uint32_t ll_as_u32(float f) { uint32_t u; __builtin_memcpy(&u, &f, 4); return u; }

#define LL_NARROW_FLOAT(N, T, MANTISSA, BIAS, SIGN, LARGEST, OVERFLOW, NOT_A_NUMBER, SPECIAL)                    \
  LL_FN float ll_load_##N(T code) {                                                                             \
    const uint32_t magnitude = code & (SIGN - 1), place = magnitude << (23 - MANTISSA);                         \
    const uint32_t finite = ll_as_u32(ll_as_f32(place) * ll_as_f32((254u - BIAS) << 23));                       \
    return ll_as_f32((magnitude > LARGEST ? SPECIAL : finite) | ((code & SIGN) ? 0x80000000u : 0u));            \
  }                                                                                                             \
  LL_FN T ll_store_##N(float x) {                                                                               \
    const uint32_t u = ll_as_u32(x) & 0x7fffffffu, sign = ll_as_u32(x) >> 31 ? SIGN : 0u;                       \
    const uint32_t magic = (128u - BIAS - MANTISSA + 23u) << 23;                                                \
    const uint32_t small = ll_as_u32(ll_as_f32(u) + ll_as_f32(magic)) - magic;                                  \
    const uint32_t normal = (u + ((1u << (22 - MANTISSA)) - 1) + ((u >> (23 - MANTISSA)) & 1) - ((127u - BIAS) << 23)) >> (23 - MANTISSA); \
    const uint32_t rounded = u < (128u - BIAS) << 23 ? small : normal;                                          \
    const uint32_t code = rounded > LARGEST ? OVERFLOW : rounded;                                               \
    return (T)(u > 0x7f800000u ? NOT_A_NUMBER : code | sign);                                                   \
  }                                                                                                             \
  LL_FN float ll_round_##N(float x) { return ll_load_##N(ll_store_##N(x)); }
LL_NARROW_FLOAT(f16, uint16_t, 10, 15u, 0x8000u, 0x7bffu, 0x7c00u, (0x7e00u | sign), (place | 0x7f800000u))
LL_NARROW_FLOAT(f8e4m3, uint8_t, 3, 7u, 0x80u, 0x7eu, 0x7fu, (0x7fu | sign), 0x7fc00000u)
LL_NARROW_FLOAT(f8e5m2, uint8_t, 2, 15u, 0x80u, 0x7bu, 0x7cu, (0x7eu | sign), (place | 0x7f800000u))
LL_NARROW_FLOAT(f4e2m1, uint8_t, 1, 1u, 8u, 7u, 7u, 7u, 0u)

LL_FN float ll_load_bf16(uint16_t code) { return ll_as_f32((uint32_t)code << 16); }
LL_FN uint16_t ll_store_bf16(float x) {
  const uint32_t u = ll_as_u32(x);
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
LL_FN float ll_round_bf16(float x) { return ll_load_bf16(ll_store_bf16(x)); }

/* To f32 with the last bit set if anything was lost, so that one more rounding is as good as one from f64. */
LL_FN float ll_odd(double x) {
  const float near = (float)x;
  const double back = near;
  uint32_t u = ll_as_u32(near);
  if (back != x && x == x) {
    u -= (back < 0 ? -back : back) > (x < 0 ? -x : x);
    u |= 1;
  }
  return ll_as_f32(u);
}
/* The same from an integer: what lies below 53 bits is kept as one bit. */
LL_FN float ll_odd_i64(int64_t x) {
  const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  const double value = size >> 53 ? (double)(size >> 11 | ((size & 2047) != 0)) * 2048 : (double)size;
  return ll_odd(x < 0 ? -value : value);
}

)";

const std::string_view prelude_hidden =
    R"(/* Other code could change it, so the compiler does not know its value. */
__attribute__((visibility("hidden"))) uint64_t ll_byte_ones = 0x0101010101010101u;

)";

}  // namespace lightline::loops::c
