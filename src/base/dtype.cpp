#include "base/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace lightline {
namespace {

struct Description {
  std::string_view name;
  int bits;
  int bytes;
};
constexpr std::array<Description, dtype_count> descriptions = {{
    {"f64", 64, 8},
    {"f32", 32, 4},
    {"f16", 16, 2},
    {"bf16", 16, 2},
    {"f8e4m3", 8, 1},
    {"f8e5m2", 8, 1},
    {"f4e2m1", 4, 1},
    {"i64", 64, 8},
    {"i32", 32, 4},
    {"i16", 16, 2},
    {"i8", 8, 1},
    {"u8", 8, 1},
    {"bool", 8, 1},
    {"c64", 64, 8},
}};

// A narrow float: sign, exponent, mantissa, from the high bit down. Codes without sign grow with the magnitude, so
// rounding up is adding one to the code, and everything above `largest` has overflowed.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  uint32_t largest;   // code of the greatest finite value
  uint32_t overflow;  // code of what lies beyond: infinity, NaN (f8e4m3) or the greatest value again (f4e2m1)

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  constexpr bool has_infinity() const { return overflow == ((1u << exponent_bits) - 1) << mantissa_bits; }
};
constexpr Format f16_format{5, 10, 0x7BFF, 0x7C00};
constexpr Format bf16_format{8, 7, 0x7F7F, 0x7F80};
constexpr Format f8e4m3_format{4, 3, 0x7E, 0x7F};
constexpr Format f8e5m2_format{5, 2, 0x7B, 0x7C};
constexpr Format f4e2m1_format{2, 1, 0x7, 0x7};

template <Format format>
uint32_t encode_nan(uint32_t f32_bits) {
  if constexpr (format.largest == format.overflow) {
    return format.overflow;
  } else {
    const uint32_t sign = (f32_bits >> 31) * format.sign_bit();
    if constexpr (!format.has_infinity()) {
      return sign | format.overflow;
    } else {
      const uint32_t kept = (f32_bits & 0x7FFFFF) >> (23 - format.mantissa_bits);
      const uint32_t quiet = 1u << (format.mantissa_bits - 1);
      return sign | format.overflow | (kept != 0 ? kept : quiet);
    }
  }
}

// `value` must not be NaN. The input's 53-bit significand is cut to the bits the target keeps and rounded once.
template <Format format>
uint32_t encode(double value, bool saturate) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = uint32_t(bits >> 63) * format.sign_bit();
  const int f64_exponent = int((bits >> 52) & 0x7FF);
  if (f64_exponent == 0) return sign;  // subnormal f64 values are far below half of any narrow subnormal

  const uint64_t significand = (bits & ((uint64_t(1) << 52) - 1)) | (uint64_t(1) << 52);
  const int exponent = f64_exponent - 1023 + format.bias();
  int dropped = 52 - format.mantissa_bits;
  if (exponent <= 0) dropped += 1 - exponent;
  if (dropped > 53) return sign;  // below half of the smallest subnormal

  uint64_t code = significand >> dropped;
  const uint64_t rest = significand & ((uint64_t(1) << dropped) - 1);
  const uint64_t half = uint64_t(1) << (dropped - 1);
  if (rest > half || (rest == half && (code & 1) != 0)) ++code;
  if (exponent > 0) code += uint64_t(exponent - 1) << format.mantissa_bits;
  if (code > format.largest) return sign | (saturate ? format.largest : format.overflow);
  return sign | uint32_t(code);
}

template <Format format>
uint32_t encode_f32(float value, bool saturate) {
  if (std::isnan(value)) return encode_nan<format>(std::bit_cast<uint32_t>(value));
  return encode<format>(double(value), saturate);
}

template <Format format>
float decode(uint32_t code) {
  const uint32_t sign = (code & format.sign_bit()) != 0 ? 0x80000000u : 0u;
  const uint32_t magnitude = code & (format.sign_bit() - 1);
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const int exponent = int(magnitude >> format.mantissa_bits);
  if (magnitude > format.largest) {
    const uint32_t payload = format.has_infinity() ? mantissa << (23 - format.mantissa_bits) : 0x400000u;
    return std::bit_cast<float>(sign | 0x7F800000u | payload);
  }
  if (exponent == 0) {
    const float smallest = std::bit_cast<float>(uint32_t(127 + 1 - format.bias() - format.mantissa_bits) << 23);
    return std::copysign(float(mantissa) * smallest, sign != 0 ? -1.0f : 1.0f);
  }
  return std::bit_cast<float>(sign | uint32_t(exponent - format.bias() + 127) << 23 |
                              mantissa << (23 - format.mantissa_bits));
}

}  // namespace

std::string_view name(DType dtype) { return descriptions[size_t(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (size_t i = 0; i < descriptions.size(); ++i) {
    if (descriptions[i].name[0] == name[0] && descriptions[i].name == name) return DType(i);
  }
  return std::nullopt;
}

int bits(DType dtype) { return descriptions[size_t(dtype)].bits; }
int byte_size(DType dtype) { return descriptions[size_t(dtype)].bytes; }
bool is_float(DType dtype) { return dtype <= DType::f4e2m1; }
bool is_integer(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u8; }
DType compute_type(DType dtype) { return is_float(dtype) && dtype != DType::f64 ? DType::f32 : dtype; }

uint16_t f32_to_f16(float value) { return uint16_t(encode_f32<f16_format>(value, false)); }
float f16_to_f32(uint16_t bits) { return decode<f16_format>(bits); }

// bf16 is the upper half of f32: the same rounding and the same rule for NaN, done in place.
uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return uint16_t(encode_nan<bf16_format>(bits));
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint8_t f32_to_f8e4m3(float value, bool saturate) { return uint8_t(encode_f32<f8e4m3_format>(value, saturate)); }
float f8e4m3_to_f32(uint8_t bits) { return decode<f8e4m3_format>(bits); }
uint8_t f32_to_f8e5m2(float value, bool saturate) { return uint8_t(encode_f32<f8e5m2_format>(value, saturate)); }
float f8e5m2_to_f32(uint8_t bits) { return decode<f8e5m2_format>(bits); }
uint8_t f32_to_f4e2m1(float value) { return uint8_t(encode_f32<f4e2m1_format>(value, true)); }
float f4e2m1_to_f32(uint8_t bits) { return decode<f4e2m1_format>(bits & 0xFu); }

double round_to(DType dtype, double value) {
  if (dtype == DType::f64) return value;
  if (is_integer(dtype)) return double(wrap_to(dtype, float_to_i64(value)));
  if (dtype == DType::boolean) return value != 0 ? 1.0 : 0.0;
  if (std::isnan(value)) return dtype == DType::f4e2m1 ? 6.0 : value;
  switch (dtype) {
    case DType::f16: return decode<f16_format>(encode<f16_format>(value, false));
    case DType::bf16: return bf16_to_f32(uint16_t(encode<bf16_format>(value, false)));
    case DType::f8e4m3: return decode<f8e4m3_format>(encode<f8e4m3_format>(value, false));
    case DType::f8e5m2: return decode<f8e5m2_format>(encode<f8e5m2_format>(value, false));
    case DType::f4e2m1: return decode<f4e2m1_format>(encode<f4e2m1_format>(value, true));
    default: return double(float(value));  // f32 and each half of c64
  }
}

int64_t float_to_i64(double value) {
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  if (!(value >= -beyond && value < beyond)) return std::numeric_limits<int64_t>::min();
  return int64_t(value);
}

IntegerLimits integer_limits(DType dtype) {
  switch (dtype) {
    case DType::i32: return {INT32_MIN, INT32_MAX};
    case DType::i16: return {INT16_MIN, INT16_MAX};
    case DType::i8: return {INT8_MIN, INT8_MAX};
    case DType::u8: return {0, UINT8_MAX};
    case DType::boolean: return {0, 1};
    default: return {INT64_MIN, INT64_MAX};
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i32: return int32_t(uint32_t(uint64_t(value)));
    case DType::i16: return int16_t(uint16_t(uint64_t(value)));
    case DType::i8: return int8_t(uint8_t(uint64_t(value)));
    case DType::u8: return int64_t(uint64_t(value) & 0xFF);
    case DType::boolean: return value != 0 ? 1 : 0;
    default: return value;
  }
}

}  // namespace lightline
