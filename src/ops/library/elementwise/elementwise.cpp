// Elementwise operators: one expression per element, broadcast and promoted as PyTorch does.
#include "ops/library/elementwise/elementwise.h"

#include <cmath>

#include "ops/library/elementwise/complex_functions.h"

namespace lightline::ops {

void elementwise_of(OpCall& c, const std::vector<Operand>& operands, Promotion promotion,
                    const OpCall::ElementBody& body) {
  DType type = result_type(operands);
  if (promotion == Promotion::floating) type = floating_type(type);
  c.add_result(c.elementwise(operands, type, promotion == Promotion::test ? DType::boolean : type, body));
}

void unary(OpCall& c, Promotion promotion, const UnaryBody& body) {
  elementwise_of(c, {c.operand("self")}, promotion, [&](const std::vector<Scalar>& v) { return body(v[0]); });
}

void binary(OpCall& c, Promotion promotion, const BinaryBody& body, std::string_view first, std::string_view second) {
  elementwise_of(c, {c.operand(first), c.operand(second)}, promotion,
                 [&](const std::vector<Scalar>& v) { return body(v[0], v[1]); });
}

Scalar logical_xor(Scalar a, Scalar b) { return a != b; }
Scalar clamped(Scalar x, double low, double high) { return min(max(x, low), high); }
Scalar sigmoid_of(Scalar x) { return analytic(Function::sigmoid, x); }

Scalar power_of(Scalar x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (is_integer(x.type)) return call(Function::pow, x, number(x, exponent));
  if (exponent == 0.5) return call(Function::sqrt, x);
  if (exponent == -1) return 1.0 / x;
  if (exponent == -2) return 1.0 / (x * x);
  if (x.type == DType::c64) return call(Function::exp, exponent * call(Function::log, x));
  if (exponent == -0.5) return call(Function::rsqrt, x);
  return call(Function::pow, x, number(x, exponent));
}

namespace {

// PyTorch's name, and the scalar function that it is.
constexpr std::pair<const char*, Function> floating_functions[] = {
    {"exp", Function::exp},   {"log", Function::log},     {"log2", Function::log2}, {"log10", Function::log10},
    {"sqrt", Function::sqrt}, {"rsqrt", Function::rsqrt}, {"sin", Function::sin},   {"cos", Function::cos},
    {"tan", Function::tan},   {"sinh", Function::sinh},   {"cosh", Function::cosh}, {"tanh", Function::tanh},
};
// The same, in torch.special as well.
constexpr std::pair<const char*, Function> special_functions[] = {
    {"exp2", Function::exp2}, {"expm1", Function::expm1}, {"log1p", Function::log1p},
    {"erf", Function::erf},   {"erfc", Function::erfc},   {"erfinv", Function::erfinv},
};
constexpr std::pair<const char*, Function> arc_functions[] = {
    {"asin", Function::asin},   {"acos", Function::acos},   {"atan", Function::atan},
    {"asinh", Function::asinh}, {"acosh", Function::acosh}, {"atanh", Function::atanh},
};
// Integers stay as they are.
constexpr std::pair<const char*, Function> rounding_functions[] = {
    {"floor", Function::floor}, {"ceil", Function::ceil}, {"trunc", Function::trunc}};

Definition floating_definition(Function function) {
  return [function](OpCall& c) { unary(c, Promotion::floating, [&](Scalar x) { return analytic(function, x); }); };
}

void define_round(OpCall& c) {
  const double scale = std::pow(10.0, std::abs(c.number("decimals", 0)));
  const bool left = c.number("decimals", 0) < 0;
  unary(c, Promotion::same, [&](Scalar x) {
    if (is_integer(x.type)) return x;
    if (scale == 1) return call(Function::round, x);
    return left ? call(Function::round, x / scale) * scale : call(Function::round, x * scale) / scale;
  });
}

}  // namespace

void register_elementwise(Registry& r) {
  for (const auto& [name, function] : floating_functions) r.add(name, "self", floating_definition(function));
  for (const auto& [name, function] : special_functions)
    r.add(name, "self", floating_definition(function), {std::string("special_") + name});
  for (const auto& [name, function] : arc_functions)
    r.add(name, "self", floating_definition(function), {"arc" + std::string(name).substr(1)});
  for (const auto& [name, function] : rounding_functions) {
    r.add(
        name, "self",
        [function = function](OpCall& c) {
          unary(c, Promotion::same, [&](Scalar x) { return is_integer(x.type) ? x : call(function, x); });
        },
        function == Function::trunc ? std::vector<std::string>{"fix"} : std::vector<std::string>{});
  }
  r.add("sigmoid", "self", floating_definition(Function::sigmoid), {"special_expit"});
  r.add("round", "self, decimals", define_round, {"special_round"});
  register_arithmetic(r);
  register_logic(r);
  register_activations(r);
  register_activations_backward(r);
  register_special_functions(r);
  register_complex(r);
  register_number_parts(r);
  register_symbols(r);
}

}  // namespace lightline::ops
