// Scalars of StableHLO: arithmetic, comparison and choice.
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using Values = std::vector<Scalar>;

Scalar part(Function function, const Scalar& x) { return call(function, x); }
Scalar as_real(const Scalar& x) { return x.type == DType::c64 ? part(Function::real, x) : x; }
bool is_bool(const Scalar& x) { return x.type == DType::boolean; }
bool needs_extension(const ScalarCall& s) { return s.is_unsigned && bits(s.operand) < 64; }

Scalar integer_literal(const Scalar& like, int64_t value) {
  return {like.lowering, like.lowering->literal(Literal::of(value)).id, like.type, true};
}

Scalar add(const ScalarCall&, const Values& v) { return is_bool(v[0]) ? v[0] || v[1] : v[0] + v[1]; }
Scalar subtract(const ScalarCall&, const Values& v) { return is_bool(v[0]) ? v[0] != v[1] : v[0] - v[1]; }
Scalar multiply(const ScalarCall&, const Values& v) { return is_bool(v[0]) ? v[0] && v[1] : v[0] * v[1]; }

// Toward zero; by zero: all bits set.
Scalar signed_quotient(const Scalar& a, const Scalar& b) {
  const Scalar quotient = call(Function::div, a, b), rest = call(Function::mod, a, b);
  const Scalar away =
      (rest != number(rest, int64_t(0))) && ((a < number(a, int64_t(0))) != (b < number(b, int64_t(0))));
  const Scalar truncated = select(away, quotient + number(quotient, int64_t(1)), quotient);
  return select(b == number(b, int64_t(0)), integer_literal(a, -1), truncated);
}

struct Division {
  Scalar quotient, rest;
};
// Of 64-bit patterns: half of the dividend is not negative, so it divides as a signed number does.
Division unsigned_division(const Scalar& a, const Scalar& b) {
  const Scalar zero = integer_literal(a, 0), one = integer_literal(a, 1);
  const Scalar half = call(Function::shl, call(Function::div, call(Function::ushr, a, one), b), one);
  const Scalar left = a - half * b;
  const Scalar more = !unsigned_less(left, b);
  const Scalar large = b < zero;  // at least 2^63: goes in once at most
  const Scalar quotient = select(large, select(unsigned_less(a, b), zero, one), select(more, half + one, half));
  return {quotient, a - quotient * b};
}

Scalar divide(const ScalarCall& s, const Values& v) {
  if (!is_integer(v[0].type)) return v[0] / v[1];
  if (s.operand == DType::u8) return select(v[1] == 0.0, integer_literal(v[0], 255), call(Function::div, v[0], v[1]));
  if (!s.is_unsigned) return signed_quotient(v[0], v[1]);
  if (needs_extension(s)) {
    const Scalar a = zero_extended(v[0], s.operand), b = zero_extended(v[1], s.operand);
    return convert(select(b == 0.0, integer_literal(a, -1), call(Function::div, a, b)), s.operand);
  }
  return select(v[1] == 0.0, integer_literal(v[0], -1), unsigned_division(v[0], v[1]).quotient);
}

// Sign of the dividend; by zero: the dividend.
Scalar remainder(const ScalarCall& s, const Values& v) {
  if (!is_integer(v[0].type)) return call(Function::fmod, v[0], v[1]);
  const auto guarded = [](const Scalar& a, const Scalar& b) { return select(b == 0.0, a, call(Function::fmod, a, b)); };
  if (needs_extension(s))
    return convert(guarded(zero_extended(v[0], s.operand), zero_extended(v[1], s.operand)), s.operand);
  if (s.is_unsigned) return select(v[1] == 0.0, v[0], unsigned_division(v[0], v[1]).rest);
  return guarded(v[0], v[1]);
}

// Complex numbers are ordered by their real parts, then by their imaginary parts.
Scalar complex_less(const Scalar& a, const Scalar& b) {
  const Scalar ar = part(Function::real, a), br = part(Function::real, b);
  return ar < br || (ar == br && part(Function::imag, a) < part(Function::imag, b));
}
Scalar less(const ScalarCall& s, const Scalar& a, const Scalar& b) {
  return a.type == DType::c64 ? complex_less(a, b) : s.is_unsigned ? unsigned_less(a, b) : a < b;
}
Scalar maximum(const ScalarCall& s, const Values& v) {
  if (is_bool(v[0])) return v[0] || v[1];
  if (s.is_unsigned || v[0].type == DType::c64) return select(less(s, v[0], v[1]), v[1], v[0]);
  return max(v[0], v[1]);
}
Scalar minimum(const ScalarCall& s, const Values& v) {
  if (is_bool(v[0])) return v[0] && v[1];
  if (s.is_unsigned || v[0].type == DType::c64) return select(less(s, v[1], v[0]), v[1], v[0]);
  return min(v[0], v[1]);
}
Scalar clamp(const ScalarCall& s, const Values& v) {
  ScalarCall inner = s;
  return minimum(inner, {maximum(inner, {v[1], v[0]}), v[2]});
}

// Integers by repeated multiplication; an exponent below zero gives the truncated inverse.
Scalar power(const ScalarCall&, const Values& v) {
  if (v[0].type != DType::c64) return call(Function::pow, v[0], v[1]);
  const Scalar zero = v[0] == number(v[0], 0.0), none = v[1] == number(v[1], 0.0);
  const Scalar general = call(Function::exp, v[1] * call(Function::log, v[0]));
  return select(none, number(v[0], 1.0), select(zero, v[0], general));
}

Scalar absolute(const ScalarCall& s, const Values& v) {
  return s.is_unsigned || s.operand == DType::u8 ? v[0] : call(Function::abs, v[0]);
}
Scalar negate(const ScalarCall&, const Values& v) { return -v[0]; }
Scalar sign(const ScalarCall& s, const Values& v) {
  const Scalar x = v[0];
  if (x.type == DType::c64) {
    const Scalar size = call(Function::abs, x);
    const Scalar unit = call(Function::complex_, part(Function::real, x) / size, part(Function::imag, x) / size);
    return select(size == 0.0, x, unit);
  }
  if (s.is_unsigned) return select(x == 0.0, integer_literal(x, 0), integer_literal(x, 1));
  const Scalar plain = call(Function::sign, x);
  return is_integer(x.type) ? plain : select(call(Function::abs, x) > 0.0, plain, x);  // zeros keep theirs
}

// The order of all bit patterns of floats: NaN of either sign at the ends, -0 before 0.
Scalar total_order_key(const Scalar& x) {
  const Scalar bits_of = call(Function::bits, x);
  const int64_t least = bits(x.type) == 64 ? INT64_MIN : INT32_MIN;
  return select(bits_of < number(bits_of, int64_t(0)),
                integer_literal(bits_of, least) - (bits_of + number(bits_of, int64_t(1))), bits_of);
}

Scalar compare(const ScalarCall& s, const Values& v) {
  Scalar a = v[0], b = v[1];
  const std::string_view direction = s.text("comparison_direction");
  if (s.text("compare_type") == "TOTALORDER" && is_float(s.operand)) {
    a = total_order_key(a);
    b = total_order_key(b);
  }
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (s.is_unsigned || a.type == DType::c64) {
    if (direction == "LT") return less(s, a, b);
    if (direction == "GT") return less(s, b, a);
    if (direction == "LE") return !less(s, b, a);
    if (direction == "GE") return !less(s, a, b);
  }
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  fail("a comparison has no direction", ErrorCode::parse);
}

Scalar choose(const ScalarCall&, const Values& v) { return select(v[0], v[1], v[2]); }

Scalar conjunction(const ScalarCall&, const Values& v) {
  return is_bool(v[0]) ? v[0] && v[1] : call(Function::bitand_, v[0], v[1]);
}
Scalar disjunction(const ScalarCall&, const Values& v) {
  return is_bool(v[0]) ? v[0] || v[1] : call(Function::bitor_, v[0], v[1]);
}
Scalar exclusive(const ScalarCall&, const Values& v) {
  return is_bool(v[0]) ? v[0] != v[1] : call(Function::bitxor_, v[0], v[1]);
}
Scalar inverted(const ScalarCall&, const Values& v) { return is_bool(v[0]) ? !v[0] : call(Function::bitnot, v[0]); }

Scalar real_part(const ScalarCall&, const Values& v) { return as_real(v[0]); }
Scalar imaginary_part(const ScalarCall&, const Values& v) {
  return v[0].type == DType::c64 ? part(Function::imag, v[0]) : number(v[0], 0.0);
}
Scalar make_complex(const ScalarCall&, const Values& v) {
  return call(Function::complex_, convert(v[0], DType::f32), convert(v[1], DType::f32));
}
Scalar conjugate(const ScalarCall&, const Values& v) {
  return v[0].type == DType::c64 ? part(Function::conj, v[0]) : v[0];
}

Scalar finite(const ScalarCall&, const Values& v) { return call(Function::isfinite, v[0]); }
Scalar infinite(const ScalarCall&, const Values& v) { return call(Function::isinf, v[0]); }
Scalar positive_infinite(const ScalarCall&, const Values& v) { return call(Function::isinf, v[0]) && v[0] > 0.0; }
Scalar negative_infinite(const ScalarCall&, const Values& v) { return call(Function::isinf, v[0]) && v[0] < 0.0; }

Scalar floor(const ScalarCall&, const Values& v) { return call(Function::floor, v[0]); }
Scalar ceil(const ScalarCall&, const Values& v) { return call(Function::ceil, v[0]); }
Scalar round_even(const ScalarCall&, const Values& v) { return call(Function::round, v[0]); }
Scalar round_away(const ScalarCall&, const Values& v) {
  const Scalar whole = call(Function::trunc, v[0]);
  const Scalar next = whole + call(Function::copysign, number(whole, 1.0), v[0]);
  return select(call(Function::abs, v[0] - whole) >= 0.5, next, whole);
}
Scalar next_after(const ScalarCall&, const Values& v) { return call(Function::nextafter, v[0], v[1]); }
Scalar square(const ScalarCall&, const Values& v) { return v[0] * v[0]; }

}  // namespace

std::vector<ScalarOperator> arithmetic_operators() {
  return {{"stablehlo.add", "lhs, rhs", add},
          {"stablehlo.subtract", "lhs, rhs", subtract},
          {"stablehlo.multiply", "lhs, rhs", multiply},
          {"stablehlo.divide", "lhs, rhs", divide},
          {"stablehlo.remainder", "lhs, rhs", remainder},
          {"stablehlo.maximum", "lhs, rhs", maximum},
          {"stablehlo.minimum", "lhs, rhs", minimum},
          {"stablehlo.clamp", "min, operand, max", clamp},
          {"stablehlo.power", "lhs, rhs", power},
          {"stablehlo.abs", "operand", absolute},
          {"stablehlo.negate", "operand", negate},
          {"stablehlo.sign", "operand", sign},
          {"stablehlo.compare", "lhs, rhs", compare},
          {"stablehlo.select", "pred, on_true, on_false", choose},
          {"stablehlo.and", "lhs, rhs", conjunction},
          {"stablehlo.or", "lhs, rhs", disjunction},
          {"stablehlo.xor", "lhs, rhs", exclusive},
          {"stablehlo.not", "operand", inverted},
          {"stablehlo.real", "operand", real_part},
          {"stablehlo.imag", "operand", imaginary_part},
          {"stablehlo.complex", "lhs, rhs", make_complex},
          {"chlo.conj", "operand", conjugate},
          {"stablehlo.is_finite", "x", finite},
          {"chlo.is_inf", "operand", infinite},
          {"chlo.is_pos_inf", "operand", positive_infinite},
          {"chlo.is_neg_inf", "operand", negative_infinite},
          {"stablehlo.floor", "operand", floor},
          {"stablehlo.ceil", "operand", ceil},
          {"stablehlo.round_nearest_even", "operand", round_even},
          {"stablehlo.round_nearest_afz", "operand", round_away},
          {"chlo.next_after", "x, y", next_after},
          {"chlo.square", "operand", square}};
}

}  // namespace lightline::ops::stablehlo
