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
  return convert(call(Function::shr, convert(v[0], DType::i8), convert(v[1], DType::i8)), DType::u8);
}
Scalar shift_right_logical(const ScalarCall&, const Values& v) { return call(Function::ushr, v[0], v[1]); }

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
  return convert(ones(zero_extended(v[0], s.operand)), s.operand);
}

Scalar leading_zeros(const ScalarCall& s, const Values& v) {
  Scalar x = zero_extended(v[0], s.operand);
  for (int by = 1; by < bits(s.operand); by *= 2) x = call(Function::bitor_, x, call(Function::ushr, x, whole(x, by)));
  return convert(whole(x, bits(s.operand)) - ones(x), s.operand);
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

// Rounds to fewer bits of mantissa and exponent; f16, bf16 and f32 have their own conversions.
Scalar reduced_precision(const ScalarCall& s, const Values& v) {
  const int64_t exponent = s.integer("exponent_bits", 8), mantissa = s.integer("mantissa_bits", 23);
  Lowering& l = s.lowering;
  const auto through = [&](DType dtype) { return convert(l.rounded(v[0], dtype), v[0].type); };
  if (exponent == 8 && mantissa == 7) return through(DType::bf16);
  if (exponent == 5 && mantissa == 10) return through(DType::f16);
  if (exponent == 5 && mantissa == 2) return through(DType::f8e5m2);
  if (exponent == 8 && mantissa == 23 && v[0].type == DType::f64) return through(DType::f32);
  const int own_mantissa = v[0].type == DType::f64 ? 52 : 23, own_exponent = v[0].type == DType::f64 ? 11 : 8;
  require(exponent >= 1 && mantissa >= 0 && exponent <= own_exponent, "a reduced precision has no such format");
  Scalar x = v[0];
  if (mantissa < own_mantissa) {  // to nearest even, in the bits
    const Scalar raw = call(Function::bits, x);
    const int64_t drop = own_mantissa - mantissa;
    const Scalar odd = call(Function::bitand_, call(Function::ushr, raw, whole(raw, drop)), whole(raw, 1));
    const Scalar up = raw + (odd + whole(raw, (int64_t(1) << (drop - 1)) - 1));
    const Scalar cut = call(Function::bitand_, up, whole(raw, -(int64_t(1) << drop)));
    x = select(call(Function::isfinite, x), call(Function::from_bits, cut), x);
  }
  if (exponent < own_exponent) {  // too large becomes infinite, too small becomes zero
    const int64_t bias = (int64_t(1) << (exponent - 1)) - 1;
    const Scalar size = call(Function::abs, x);
    const Scalar limit = call(Function::copysign, number(x, HUGE_VAL), x),
                 zero = call(Function::copysign, number(x, 0.0), x);
    const double largest = std::ldexp(2.0 - std::ldexp(1.0, int(-mantissa)), int(bias));
    x = select(size > largest, limit, select(size < std::ldexp(1.0, int(1 - bias)), zero, x));
  }
  return x;
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

// The bits of a value in an integer of its own width.
Scalar bits_as_integer(const Scalar& x, DType dtype) {
  if (dtype == DType::f16) return bits_of_f16(x);
  if (dtype == DType::bf16) {
    const Scalar raw = call(Function::bits, x);
    return convert(call(Function::ushr, raw, whole(raw, 16)), DType::i16);
  }
  return is_float(dtype) ? call(Function::bits, x) : x;
}

Scalar bitcast(const ScalarCall& s, const Values& v) {
  const DType from = s.operand, to = s.result;
  if (from == to) return v[0];
  require(bits(from) == bits(to), "a bitcast changes the width of its elements");
  const auto supported = [](DType d) {
    return is_integer(d) || d == DType::f32 || d == DType::f64 || d == DType::bf16 || d == DType::f16;
  };
  if (!supported(from) || !supported(to)) fail("a bitcast of this type has no definition", ErrorCode::unsupported);
  const Scalar raw = bits_as_integer(v[0], from);
  if (to == DType::bf16)
    return call(Function::from_bits,
                call(Function::shl, convert(raw, DType::i32), whole(convert(raw, DType::i32), 16)));
  if (to == DType::f16) return f16_of_bits(raw);
  if (is_float(to)) return call(Function::from_bits, raw);
  return convert(raw, to);
}

}  // namespace

Scalar zero_extended(Scalar value, DType dtype) {
  if (value.open || dtype == DType::u8) return convert(value, DType::i64);
  const Scalar wide = convert(value, DType::i64);
  const int width = bits(dtype);
  if (width >= 64) return wide;
  return call(Function::bitand_, wide, whole(wide, (int64_t(1) << width) - 1));
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
          {"stablehlo.convert", "operand", converted},
          {"stablehlo.reduce_precision", "operand", reduced_precision},
          {"stablehlo.bitcast_convert.same_width", "operand", bitcast}};
}

}  // namespace lightline::ops::stablehlo
