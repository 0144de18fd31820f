// Scalars of StableHLO: bits, shifts and conversions.
#include <cmath>

#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using Values = std::vector<Scalar>;

Scalar whole(const Scalar& like, int64_t value) {
  return {like.lowering, like.lowering->literal(Literal::of(value)).id, like.type, true};
}

Scalar shift_left(const ScalarCall&, const Values& v) { return call(Function::shl, v[0], v[1]); }
// An unsigned byte has no sign to extend unless it is taken for a signed one.
Scalar shift_right_arithmetic(const ScalarCall& s, const Values& v) {
  if (s.operand != DType::u8) return call(Function::shr, v[0], v[1]);
  const Scalar value = wrapped(convert(v[0], DType::i8), DType::i8, s.width);
  return convert(call(Function::shr, value, convert(v[1], DType::i8)), DType::u8);
}
Scalar shift_right_logical(const ScalarCall& s, const Values& v) {
  const Scalar value = s.width < bits(s.operand) ? wrapped(convert(v[0], DType::u8), DType::u8, s.width) : v[0];
  return call(Function::ushr, convert(value, s.operand), v[1]);
}

// The upper half of the product of two 64-bit numbers, from the four products of their halves.
Scalar upper_half(const Scalar& a, const Scalar& b, bool is_unsigned) {
  const auto low = [](const Scalar& x) { return call(Function::bitand_, x, whole(x, 0xFFFFFFFF)); };
  const auto high = [](const Scalar& x) { return call(Function::ushr, x, whole(x, 32)); };
  const Scalar cross = high(low(a) * low(b)) + high(a) * low(b);  // below 2^64
  const Scalar other = low(cross) + low(a) * high(b);
  const Scalar product = high(a) * high(b) + high(cross) + high(other);
  if (is_unsigned) return product;
  const auto if_negative = [](const Scalar& x, const Scalar& then) { return select(x < 0.0, then, whole(then, 0)); };
  return product - if_negative(a, b) - if_negative(b, a);
}

Scalar multiply_high(const ScalarCall& s, const Values& v) {
  const bool is_unsigned = s.is_unsigned || s.operand == DType::u8;
  if (bits(s.operand) == 64) return upper_half(v[0], v[1], is_unsigned);
  const auto wide = [&](const Scalar& x) {
    return is_unsigned ? zero_extended(x, s.operand, s.width) : convert(x, DType::i64);
  };
  const Scalar product = wide(v[0]) * wide(v[1]);
  return convert(call(Function::shr, product, whole(product, s.width)), s.operand);
}

// Bits are counted in i64: pairs, fours, bytes, then the sum of the bytes by one multiplication.
Scalar ones(Scalar x) {
  const auto masked = [&](const Scalar& value, uint64_t mask) {
    return call(Function::bitand_, value, whole(value, int64_t(mask)));
  };
  const auto shifted = [&](const Scalar& value, int64_t by) { return call(Function::ushr, value, whole(value, by)); };
  x = x - masked(shifted(x, 1), 0x5555555555555555);
  x = masked(x, 0x3333333333333333) + masked(shifted(x, 2), 0x3333333333333333);
  x = masked(x + shifted(x, 4), 0x0F0F0F0F0F0F0F0F);
  return shifted(x * whole(x, 0x0101010101010101), 56);
}

Scalar population_count(const ScalarCall& s, const Values& v) {
  return convert(ones(zero_extended(v[0], s.operand, s.width)), s.operand);
}

Scalar leading_zeros(const ScalarCall& s, const Values& v) {
  Scalar x = zero_extended(v[0], s.operand, s.width);
  for (int by = 1; by < s.width; by *= 2) x = call(Function::bitor_, x, call(Function::ushr, x, whole(x, by)));
  return convert(whole(x, s.width) - ones(x), s.operand);
}

Scalar float_from_unsigned(const Scalar& x, DType from, DType to) {
  if (bits(from) < 64) return convert(zero_extended(x, from), to);
  const Scalar value = convert(x, to);
  return select(x < 0.0, value + std::ldexp(1.0, 64), value);
}

Scalar converted(const ScalarCall& s, const Values& v) {
  const Scalar x = v[0];
  const DType to = s.result;
  if (x.type == DType::c64) {
    if (to == DType::c64) return x;
    return convert(call(Function::real, x), to);
  }
  if (to == DType::boolean) return x.type == DType::boolean ? x : x != number(x, 0.0);
  if (s.is_unsigned && is_integer(to))
    return bits(to) > bits(s.operand) ? convert(zero_extended(x, s.operand), to) : convert(x, to);
  if (s.is_unsigned) return float_from_unsigned(x, s.operand, to);
  return convert(x, to);
}

// Bits of mantissa and exponent that a dtype has.
struct Format {
  int64_t mantissa, exponent;
};
Format format_of(DType dtype) {
  return dtype == DType::f64 ? Format{52, 11} : dtype == DType::f16 ? Format{10, 5} : Format{23, 8};
}

// To nearest even, in the bits.
Scalar with_mantissa(const Scalar& x, int64_t drop) {
  const Scalar raw = call(Function::bits, x);
  const Scalar odd = call(Function::bitand_, call(Function::ushr, raw, whole(raw, drop)), whole(raw, 1));
  const Scalar up = raw + (odd + whole(raw, (int64_t(1) << (drop - 1)) - 1));
  const Scalar cut = call(Function::bitand_, up, whole(raw, -(int64_t(1) << drop)));
  return select(call(Function::isfinite, x), call(Function::from_bits, cut), x);
}

// Rounds to fewer bits of mantissa and exponent. A format of fewer bits of exponent has no subnormal numbers: what is
// too large becomes infinite, what is too small zero.
Scalar reduced_precision(const ScalarCall& s, const Values& v) {
  const int64_t exponent = s.integer("exponent_bits", 8), mantissa = s.integer("mantissa_bits", 23);
  const Scalar given = v[0].open ? s.lowering.rounded(v[0], s.operand) : v[0];  // a literal has no bits
  if (exponent == 8 && mantissa == 7 && given.type == DType::f32 && s.operand != DType::f16)
    return convert(s.lowering.rounded(given, DType::bf16), given.type);
  const Format own = format_of(given.type), format = format_of(s.operand);
  require(exponent >= 1 && mantissa >= 0, "a reduced precision has no such format");
  Scalar x = mantissa < own.mantissa ? with_mantissa(given, own.mantissa - mantissa) : given;
  if (mantissa == 0)  // no bits are left that would tell NaN from infinity
    x = select(call(Function::isnan, x), call(Function::copysign, number(x, HUGE_VAL), x), x);
  if (exponent >= format.exponent) return x;
  const int64_t bias = (int64_t(1) << (exponent - 1)) - 1;
  const Scalar size = call(Function::abs, x);
  const Scalar limit = call(Function::copysign, number(x, HUGE_VAL), x),
               zero = call(Function::copysign, number(x, 0.0), x);
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, int(-mantissa)), int(bias));
  return select(size > largest, limit, select(size < std::ldexp(1.0, int(1 - bias)), zero, x));
}

// f16 is computed as f32, whose exponent has 3 bits more (its bias is greater by 112) and whose mantissa has 13 more.
constexpr int64_t f16_bias = 112, f16_drop = 13;

Scalar bits_of_f16(const Scalar& x) {
  const Scalar raw = call(Function::bits, x), size = call(Function::abs, x);
  const auto masked = [&](const Scalar& value, int64_t mask) {
    return call(Function::bitand_, value, whole(value, mask));
  };
  const Scalar dropped = call(Function::ushr, masked(raw, 0x7FFFFFFF), whole(raw, f16_drop));
  const Scalar normal = dropped - whole(raw, f16_bias << 10);
  const Scalar small =
      convert(select(size < std::ldexp(1.0, -14), size * std::ldexp(1.0, 24), number(size, 0.0)), DType::i32);
  const Scalar special = call(Function::bitor_, masked(dropped, 0x3FF), whole(raw, 0x7C00));
  const Scalar magnitude =
      select(call(Function::isfinite, x), select(size < std::ldexp(1.0, -14), small, normal), special);
  const Scalar sign = masked(call(Function::ushr, raw, whole(raw, 16)), 0x8000);
  return convert(call(Function::bitor_, sign, magnitude), DType::i16);
}

Scalar f16_of_bits(const Scalar& bits) {
  const Scalar raw = convert(zero_extended(bits, DType::i16), DType::i32);
  const auto masked = [&](int64_t mask) { return call(Function::bitand_, raw, whole(raw, mask)); };
  const auto raised = [&](const Scalar& value) { return call(Function::shl, value, whole(value, f16_drop)); };
  const Scalar magnitude = masked(0x7FFF);
  const Scalar normal = call(Function::from_bits, raised(magnitude) + whole(raw, f16_bias << 23));
  const Scalar special = call(Function::from_bits, raised(masked(0x3FF)) + whole(raw, 0x7F800000));
  const Scalar small = convert(magnitude, DType::f32) * std::ldexp(1.0, -24);
  const Scalar size =
      select(magnitude >= whole(raw, 0x7C00), special, select(magnitude < whole(raw, 0x400), small, normal));
  return select(masked(0x8000) != whole(raw, 0), -size, size);
}

Scalar bitcast(const ScalarCall& s, const Values& v) {
  const DType from = s.operand, to = s.result;
  if (from == to) return v[0];
  require(s.width == s.result_width, "a bitcast changes the width of its elements");
  return value_of_bits(bits_of_value(v[0], from), to);
}

}  // namespace

Scalar bits_of_value(const Scalar& value, DType dtype) {
  if (is_integer(dtype)) return value;
  const Scalar x = value.open ? value.lowering->rounded(value, dtype) : value;  // a literal has no bits
  if (dtype == DType::boolean) return convert(x, DType::i8);
  if (dtype == DType::f16) return bits_of_f16(x);
  if (dtype == DType::f32 || dtype == DType::f64) return call(Function::bits, x);
  if (dtype != DType::bf16) fail("a bitcast of this type has no definition", ErrorCode::unsupported);
  const Scalar raw = call(Function::bits, x);
  return convert(call(Function::ushr, raw, whole(raw, 16)), DType::i16);
}

Scalar value_of_bits(const Scalar& raw, DType dtype) {
  if (is_integer(dtype)) return convert(raw, dtype);
  if (dtype == DType::boolean) return call(Function::bitand_, raw, whole(raw, 1)) != whole(raw, 0);
  if (dtype == DType::f16) return f16_of_bits(convert(raw, DType::i16));
  if (dtype == DType::f64) return call(Function::from_bits, convert(raw, DType::i64));
  const Scalar word = convert(raw, DType::i32);
  if (dtype == DType::f32) return call(Function::from_bits, word);
  if (dtype != DType::bf16) fail("a bitcast of this type has no definition", ErrorCode::unsupported);
  return call(Function::from_bits, call(Function::shl, word, whole(word, 16)));
}

Scalar zero_extended(Scalar value, DType dtype, int width) {
  if (width == 0) width = bits(dtype);
  const Scalar wide = value.open ? value.lowering->rounded(value, DType::i64) : convert(value, DType::i64);
  if (width >= 64 || (dtype == DType::u8 && width == 8)) return wide;
  return call(Function::bitand_, wide, whole(wide, (int64_t(1) << width) - 1));
}

Scalar wrapped(const Scalar& value, DType dtype, int width) {
  if (width >= bits(dtype)) return value;
  const Scalar whole_byte = convert(value, dtype);
  const Scalar low = call(Function::bitand_, whole_byte, whole(whole_byte, (1 << width) - 1));
  if (dtype == DType::u8) return low;
  const Scalar sign = whole(whole_byte, 1 << (width - 1));
  return call(Function::bitxor_, low, sign) - sign;
}

Scalar unsigned_less(Scalar a, Scalar b) {
  const DType type = a.open ? b.type : a.type;
  const int64_t least = type == DType::i64 ? INT64_MIN : -(int64_t(1) << (bits(type) - 1));
  const auto flipped = [&](const Scalar& x) {
    const Scalar value{x.lowering, x.id, type, x.open};
    return call(Function::bitxor_, value, whole(value, least));
  };
  return flipped(a) < flipped(b);
}

std::vector<ScalarOperator> bit_operators() {
  return {{"stablehlo.shift_left", "lhs, rhs", shift_left},
          {"stablehlo.shift_right_arithmetic", "lhs, rhs", shift_right_arithmetic},
          {"stablehlo.shift_right_logical", "lhs, rhs", shift_right_logical},
          {"stablehlo.popcnt", "operand", population_count},
          {"stablehlo.count_leading_zeros", "operand", leading_zeros},
          {"chlo.mulhi", "lhs, rhs", multiply_high},
          {"stablehlo.convert", "operand", converted},
          {"stablehlo.reduce_precision", "operand", reduced_precision},
          {"stablehlo.bitcast_convert.same_width", "operand", bitcast}};
}

}  // namespace lightline::ops::stablehlo
