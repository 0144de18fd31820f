// Element types and exact conversions between them.
//
// Storage types are what arrays hold. Scalar expressions are evaluated in a *compute type*: f16, bf16 and
// the 8- and 4-bit floats are read as f32; every other type computes as itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lightline {

enum class DType : uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, f4e2m1, i64, i32, i16, i8, u8, boolean, c64 };
inline constexpr int dtype_count = 14;

std::string_view name(DType dtype);  // "f32", "bool", ...
std::optional<DType> dtype_from_name(std::string_view name);

int bits(DType dtype);         // size for pricing: 4 for f4e2m1, 8 for bool, 64 for c64
int byte_size(DType dtype);    // bytes of one element in a Tensor: f4e2m1 takes one byte, its low nibble
bool is_float(DType dtype);    // f64 ... f4e2m1
bool is_integer(DType dtype);  // i64 ... u8, not bool
DType compute_type(DType dtype);

// Round to nearest, ties to even. f8e4m3 is the OCP "fn" format: no infinities, what rounds beyond 448 (|x| > 464)
// becomes NaN unless `saturate`, then 448. f8e5m2 has infinities; with `saturate` they become 57344 too. f4e2m1 has
// neither: it always saturates to 6, NaN to +6; reading ignores the high nibble.
// NaN keeps its sign and the payload bits that fit (the quiet bit if none of them is set).
uint16_t f32_to_f16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float bf16_to_f32(uint16_t bits);
uint8_t f32_to_f8e4m3(float value, bool saturate = false);
float f8e4m3_to_f32(uint8_t bits);
uint8_t f32_to_f8e5m2(float value, bool saturate = false);
float f8e5m2_to_f32(uint8_t bits);
uint8_t f32_to_f4e2m1(float value);
float f4e2m1_to_f32(uint8_t bits);

// One rounding from f64 to the named type and back (not two through f32). Integers truncate and wrap as below,
// bool is `value != 0`, c64 rounds as one of its halves.
double round_to(DType dtype, double value);
// An f64 that rounds to every narrower float as the integer itself does: bits beyond the 53rd are folded into a lower
// one.
inline double f64_for_rounding(int64_t value) {
  constexpr uint64_t low = (uint64_t(1) << 10) - 1;
  const uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  if (magnitude < (uint64_t(1) << 53)) return double(value);
  const double folded = double((magnitude & ~low) | ((magnitude & low) != 0 ? low + 1 : 0));
  return value < 0 ? -folded : folded;
}

// Float to integer: truncates toward zero; NaN and values outside i64 give the least i64; narrower
// integers then keep the low bits.
int64_t float_to_i64(double value);
// Keeps the low bits of `value` that fit the integer type, sign-extended (zero-extended for u8); bool is `value != 0`.
int64_t wrap_to(DType dtype, int64_t value);
// The least and the greatest value of an integer type, and of bool as a number; all of i64 for the others.
struct IntegerLimits {
  int64_t least;
  int64_t greatest;
};
IntegerLimits integer_limits(DType dtype);

}  // namespace lightline
