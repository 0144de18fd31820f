// Arithmetic of one, two and three operands.
#include <cmath>

#include "ops/library/elementwise/complex_functions.h"
#include "ops/library/elementwise/elementwise.h"

namespace lightline::ops {
namespace {

// first + alpha * second, or first - alpha * second.
void add_scaled(OpCall& c, std::string_view first, std::string_view second, bool subtract) {
  const Operand a = c.operand(first), b = c.operand(second), alpha = c.operand_or("alpha", 1);
  const DType type = result_type({a, b});
  c.add_result(c.elementwise({a, b}, type, type, [&](const std::vector<Scalar>& v) {
    if (type == DType::boolean) return is_number(alpha, 0) ? v[0] : v[0] || v[1];
    const Scalar scaled = is_number(alpha, 1) ? v[1] : c.read_as(alpha, {}, type) * v[1];
    return subtract ? v[0] - scaled : v[0] + scaled;
  }));
}

Scalar multiplied(Scalar a, Scalar b) { return a.type == DType::boolean ? a && b : a * b; }

// Quotients that round, exactly as fmod makes them; floats divide by zero as usual.
Scalar divided(Scalar a, Scalar b, bool floor) {
  if (is_integer(a.type))
    return floor ? call(Function::div, a, b) : call(Function::div, a - call(Function::fmod, a, b), b);
  if (!floor) return call(Function::trunc, a / b);
  const Scalar rest = call(Function::fmod, a, b);
  const Scalar quotient = (a - rest) / b;
  const Scalar below = select(rest != 0.0 && (b < 0.0) != (rest < 0.0), quotient - 1.0, quotient);
  return select(b == 0.0, a / b, call(Function::round, below));
}

void define_div(OpCall& c) {
  const std::string mode = c.text("rounding_mode", "");
  require(mode.empty() || mode == "floor" || mode == "trunc", "'rounding_mode' is none of 'floor', 'trunc' and None");
  if (mode.empty())
    binary(c, Promotion::floating, [](Scalar a, Scalar b) { return a / b; });
  else
    binary(c, Promotion::same, [&](Scalar a, Scalar b) { return divided(a, b, mode == "floor"); });
}

void define_pow(OpCall& c) {
  const Operand base = c.operand("self"), exponent = c.operand("exponent");
  const DType type = result_type({base, exponent});
  if (is_number(exponent, 0) || is_number(base, 1)) {
    c.add_result(
        c.elementwise({base, exponent}, type, type, [&](const std::vector<Scalar>& v) { return number(v[0], 1.0); }));
    return;
  }
  const bool fixed =
      !exponent.tensor && type != DType::boolean && !std::holds_alternative<std::complex<double>>(exponent.scalar);
  c.add_result(c.elementwise({base, exponent}, type, type, [&](const std::vector<Scalar>& v) {
    if (fixed) return power_of(v[0], c.number("exponent", 1));
    if (type == DType::boolean) return v[0] || !v[1];
    if (type == DType::c64) return call(Function::exp, v[1] * call(Function::log, v[0]));
    return call(Function::pow, v[0], v[1]);
  }));
}

void define_float_power(OpCall& c) {
  const Operand base = c.operand("self"), exponent = c.operand("exponent");
  c.add_result(c.elementwise({base, exponent}, DType::f64, DType::f64,
                             [&](const std::vector<Scalar>& v) { return call(Function::pow, v[0], v[1]); }));
}

void define_lerp(OpCall& c) {
  const Operand start = c.operand("self"), end = c.operand("end"), weight = c.operand("weight");
  elementwise_of(c, {start, end, weight}, Promotion::same, [](const std::vector<Scalar>& v) {
    const Scalar span = v[1] - v[0];
    return select(v[2] < 0.5, v[0] + v[2] * span, v[1] - span * (1.0 - v[2]));
  });
}

// self + value * (tensor1 op tensor2)
void define_fused(OpCall& c, const BinaryBody& join) {
  const Operand a = c.operand("self"), b = c.operand("tensor1"), d = c.operand("tensor2"),
                value = c.operand_or("value", 1);
  const DType type = result_type({a, b, d});
  c.add_result(c.elementwise({a, b, d}, type, type, [&](const std::vector<Scalar>& v) {
    const Scalar scaled = is_number(value, 1) ? v[1] : c.read_as(value, {}, type) * v[1];
    return v[0] + join(scaled, v[2]);
  }));
}

Scalar greater(Scalar a, Scalar b) { return a.type == DType::boolean ? a || b : max(a, b); }
Scalar lesser(Scalar a, Scalar b) { return a.type == DType::boolean ? a && b : min(a, b); }

void define_clamp(OpCall& c) {
  std::vector<Operand> operands = {c.operand("self")};
  const bool low = c.has("min"), high = c.has("max");
  require(low || high, "clamp needs a lower or an upper bound");
  if (low) operands.push_back(c.operand("min"));
  if (high) operands.push_back(c.operand("max"));
  elementwise_of(c, operands, Promotion::same, [&](const std::vector<Scalar>& v) {
    const Scalar raised = low ? greater(v[0], v[1]) : v[0];
    return high ? lesser(raised, v.back()) : raised;
  });
}

void define_sign(OpCall& c) {
  unary(c, Promotion::same, [](Scalar x) {
    if (x.type == DType::boolean) return x;
    if (x.type != DType::c64) return call(Function::sign, x);
    const Scalar size = call(Function::abs, x);
    const Scalar divisor = select(size == 0.0, number(size, 1.0), size);
    return call(Function::complex_, call(Function::real, x) / divisor, call(Function::imag, x) / divisor);
  });
}

void define_nextafter(OpCall& c) {
  const Operand a = c.operand("self"), b = c.operand("other");
  const DType type = result_type({a, b});
  if (compute_type(type) == type)
    return binary(c, Promotion::same, [](Scalar x, Scalar y) { return call(Function::nextafter, x, y); });
  // computed in f32, the neighbour would be too near
  const Shape shape = broadcast(a.shape(), b.shape());
  c.add_result(c.lowering().opaque("nextafter", {c.tensor("self"), c.tensor("other")}, {}, {{type, shape}})[0]);
}

Scalar log_of_sum(Scalar a, Scalar b, Function exponential, double scale) {
  if (a.type == DType::c64) {
    const Scalar a_leads = call(Function::real, a) >= call(Function::real, b);
    const Scalar greatest = select(a_leads, a, b), rest = select(a_leads, b, a) - greatest;
    return greatest + analytic(Function::log1p, analytic(exponential, rest)) * scale;
  }
  const Scalar greatest = max(a, b);
  const Scalar rest = call(Function::log1p, call(exponential, -call(Function::abs, a - b)));
  return select(call(Function::isinf, a) && a == b, a, greatest + (scale == 1 ? rest : rest * scale));
}

void register_two_operands(Registry& r) {
  const auto add = [&](const char* name, Promotion promotion, Scalar (*body)(Scalar, Scalar),
                       std::vector<std::string> aliases = {}) {
    r.add(
        name, "self, other", [=](OpCall& c) { binary(c, promotion, body); }, std::move(aliases));
  };
  add("mul", Promotion::same, multiplied, {"multiply", "__mul__", "__rmul__"});
  add("maximum", Promotion::same, greater, {"max.other"});
  add("minimum", Promotion::same, lesser, {"min.other"});
  add("fmax", Promotion::same,
      [](Scalar a, Scalar b) { return a.type == DType::boolean ? a || b : call(Function::fmax, a, b); });
  add("fmin", Promotion::same,
      [](Scalar a, Scalar b) { return a.type == DType::boolean ? a && b : call(Function::fmin, a, b); });
  add("remainder", Promotion::same, [](Scalar a, Scalar b) { return call(Function::remainder, a, b); }, {"__mod__"});
  add("fmod", Promotion::same, [](Scalar a, Scalar b) { return call(Function::fmod, a, b); });
  add("floor_divide", Promotion::same, [](Scalar a, Scalar b) { return divided(a, b, true); }, {"__floordiv__"});
  add("true_divide", Promotion::floating, [](Scalar a, Scalar b) { return a / b; }, {"__truediv__"});
  add("atan2", Promotion::floating, [](Scalar a, Scalar b) { return call(Function::atan2, a, b); }, {"arctan2"});
  add("hypot", Promotion::same, [](Scalar a, Scalar b) { return call(Function::hypot, a, b); });
  add("copysign", Promotion::floating, [](Scalar a, Scalar b) { return call(Function::copysign, a, b); });
  add("ldexp", Promotion::floating, [](Scalar a, Scalar b) { return a * analytic(Function::exp2, b); });
  add("logaddexp", Promotion::floating, [](Scalar a, Scalar b) { return log_of_sum(a, b, Function::exp, 1); });
  add("logaddexp2", Promotion::floating,
      [](Scalar a, Scalar b) { return log_of_sum(a, b, Function::exp2, 1 / std::log(2.0)); });
}

}  // namespace

void register_arithmetic(Registry& r) {
  register_two_operands(r);
  r.add("add", "self, other, alpha", [](OpCall& c) { add_scaled(c, "self", "other", false); }, {"__add__", "__radd__"});
  r.add("sub", "self, other, alpha", [](OpCall& c) { add_scaled(c, "self", "other", true); }, {"subtract", "__sub__"});
  r.add("rsub", "self, other, alpha", [](OpCall& c) { add_scaled(c, "other", "self", true); }, {"__rsub__"});
  r.add("div", "self, other, rounding_mode", define_div, {"divide"});
  r.add("nextafter", "self, other", define_nextafter);
  r.add("pow", "self, exponent", define_pow, {"__pow__", "__rpow__"});
  r.add("float_power", "self, exponent", define_float_power);
  r.add("lerp", "self, end, weight", define_lerp);
  r.add("addcmul", "self, tensor1, tensor2, value",
        [](OpCall& c) { define_fused(c, [](Scalar a, Scalar b) { return a * b; }); });
  r.add("addcdiv", "self, tensor1, tensor2, value",
        [](OpCall& c) { define_fused(c, [](Scalar a, Scalar b) { return a / b; }); });
  r.add("clamp", "self, min, max", define_clamp, {"clip", "clamp_min", "clamp_max"});
  r.add("neg", "self", [](OpCall& c) { unary(c, Promotion::same, [](Scalar x) { return -x; }); }, {"negative"});
  r.add(
      "abs", "self",
      [](OpCall& c) {
        const Operand x = c.operand("self");
        const DType type = result_type({x});
        c.add_result(c.elementwise({x}, type, type == DType::c64 ? DType::f32 : type, [](const std::vector<Scalar>& v) {
          return v[0].type == DType::boolean ? v[0] : call(Function::abs, v[0]);
        }));
      },
      {"absolute"});
  r.add("sign", "self", define_sign, {"sgn"});
  r.add("square", "self", [](OpCall& c) {
    const Operand x = c.operand("self");
    const DType type = result_type({x, {std::nullopt, int64_t(2)}});
    c.add_result(c.elementwise({x}, type, type, [](const std::vector<Scalar>& v) { return v[0] * v[0]; }));
  });
  r.add("reciprocal", "self", [](OpCall& c) { unary(c, Promotion::floating, [](Scalar x) { return 1.0 / x; }); });
  r.add("frac", "self",
        [](OpCall& c) { unary(c, Promotion::same, [](Scalar x) { return x - call(Function::trunc, x); }); });
}

}  // namespace lightline::ops
