// C text of types, literals, functions and conversions.
#include <fmt/format.h>

#include <cmath>

#include "loops/emit_c/writer.h"

namespace lightline::loops::c {

std::string_view storage_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16:
    case DType::bf16: return "uint16_t";
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    case DType::i16: return "int16_t";
    case DType::i8: return "int8_t";
    case DType::c64: return "ll_c64";
    default: return "uint8_t";
  }
}

std::string_view value_type(DType dtype) {
  return compute_type(dtype) == DType::boolean ? "_Bool" : storage_type(compute_type(dtype));
}

std::string_view suffix(DType dtype) { return name(dtype); }

namespace {

std::string floating_text(double value, bool is_single) {
  const char* end = is_single ? "f" : "";
  if (std::isnan(value)) return fmt::format("({}__builtin_nan{}(\"\"))", std::signbit(value) ? "-" : "", end);
  if (std::isinf(value)) return fmt::format("({}__builtin_inf{}())", value < 0 ? "-" : "", end);
  std::string text = is_single ? fmt::format("{}", float(value)) : fmt::format("{}", value);
  if (is_single && std::isinf(float(value))) return floating_text(double(float(value)), true);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return value < 0 || std::signbit(value) ? fmt::format("({}{})", text, end) : text + end;
}

std::string_view unsigned_type(DType type) {
  switch (type) {
    case DType::i64: return "uint64_t";
    case DType::i32: return "uint32_t";
    case DType::i16: return "uint16_t";
    default: return "uint8_t";
  }
}

// An operator that wraps around.
std::string wrapping(DType type, const std::string& a, std::string_view sign, const std::string& b) {
  const std::string_view through = type == DType::i64 ? "uint64_t" : "uint32_t";  // promotion to int would overflow
  return fmt::format("({})(({}){} {} ({}){})", value_type(type), through, a, sign, through, b);
}

std::string_view infix(Function function) {
  switch (function) {
    case Function::add: return "+";
    case Function::sub: return "-";
    case Function::mul: return "*";
    case Function::divide: return "/";
    case Function::eq: return "==";
    case Function::ne: return "!=";
    case Function::lt: return "<";
    case Function::le: return "<=";
    case Function::gt: return ">";
    case Function::ge: return ">=";
    case Function::logical_and:
    case Function::bitand_: return "&";
    case Function::logical_or:
    case Function::bitor_: return "|";
    case Function::bitxor_: return "^";
    default: return "";
  }
}

bool is_comparison(Function function) { return function >= Function::eq && function <= Function::ge; }

std::string integer_call(Function function, DType type, const std::string& a, const std::string& b) {
  switch (function) {
    case Function::add:
    case Function::sub:
    case Function::mul: return wrapping(type, a, infix(function), b);
    case Function::neg: return wrapping(type, "0", "-", a);
    case Function::bitand_:
    case Function::bitor_:
    case Function::bitxor_: return fmt::format("({})({} {} {})", value_type(type), a, infix(function), b);
    case Function::bitnot: return fmt::format("({})(~{})", value_type(type), a);
    default: return "";
  }
}

}  // namespace

std::string literal_text(DType type, const Literal& literal) {
  const double real = literal.kind == Literal::Kind::floating ? literal.floating : double(literal.integer);
  switch (type) {
    case DType::f64: return floating_text(real, false);
    case DType::boolean: return literal.integer != 0 ? "1" : "0";
    case DType::c64: return fmt::format("__builtin_complex({}, 0.0f)", floating_text(real, true));
    case DType::i64:
      if (literal.integer == INT64_MIN) return "(-9223372036854775807LL - 1)";
      return literal.integer < 0 ? fmt::format("({}LL)", literal.integer) : fmt::format("{}LL", literal.integer);
    case DType::i32:
      if (literal.integer == INT32_MIN) return "(-2147483647 - 1)";
      [[fallthrough]];
    case DType::i16:
    case DType::i8:
    case DType::u8: return fmt::format("(({}){})", value_type(type), literal.integer);
    default:
      return floating_text(literal.kind == Literal::Kind::floating ? real : double(float(literal.integer)), true);
  }
}

std::string call_text(Function function, DType operand, const std::string& a, const std::string& b,
                      const std::string& c) {
  if (function == Function::select) return fmt::format("{} ? {} : {}", a, b, c);
  if (is_comparison(function)) return fmt::format("{} {} {}", a, infix(function), b);
  if (operand == DType::boolean && (function == Function::logical_not || function == Function::bitnot))
    return fmt::format("!{}", a);
  if (operand == DType::boolean) return fmt::format("{} {} {}", a, infix(function), b);
  if (is_integer(operand)) {
    if (std::string text = integer_call(function, operand, a, b); !text.empty()) return text;
  } else {
    const bool by_function = operand == DType::c64 && (function == Function::mul || function == Function::divide);
    if (function == Function::neg) return fmt::format("-{}", a);
    if (!infix(function).empty() && !by_function) return fmt::format("{} {} {}", a, infix(function), b);
    if (function == Function::complex_) return fmt::format("__builtin_complex({}, {})", a, b);
    if (function == Function::real) return fmt::format("__real__ {}", a);
    if (function == Function::imag) return fmt::format("__imag__ {}", a);
    if (function == Function::conj) return fmt::format("~{}", a);
  }
  std::string_view id;
  switch (function) {
#define LL_FUNCTION(name, text, arity, signature, vector_ops, transcendental_ops) \
  case Function::name: id = #name; break;
#include "loops/ir/functions.def"
#undef LL_FUNCTION
  }
  return b.empty() ? fmt::format("ll_{}_{}({})", id, suffix(operand), a)
                   : fmt::format("ll_{}_{}({}, {})", id, suffix(operand), a, b);
}

std::string cast_text(DType from, DType target, const std::string& value) {
  const DType to = compute_type(target);
  if (target == DType::boolean) return fmt::format("{} != 0", value);
  if (from == DType::c64 && target != DType::c64)
    return cast_text(DType::f32, target, fmt::format("(__real__ {})", value));
  if (target == DType::c64)
    return from == DType::c64 ? value : fmt::format("__builtin_complex((float){}, 0.0f)", value);
  if (to != target) {  // a narrow float: rounded once
    if (from == DType::f32) return fmt::format("ll_round_{}({})", suffix(target), value);
    return fmt::format("ll_round_{}(ll_odd{}({}))", suffix(target), from == DType::f64 ? "" : "_i64", value);
  }
  if (is_integer(to)) {
    if (is_float(from)) return fmt::format("({})ll_to_i64_{}({})", value_type(to), suffix(from), value);
    return to == DType::i64 || from == DType::boolean
               ? fmt::format("({}){}", value_type(to), value)
               : fmt::format("({})({}){}", value_type(to), unsigned_type(to), value);
  }
  return fmt::format("({}){}", value_type(to), value);
}

std::string from_storage(DType dtype, const std::string& element) {
  if (dtype == DType::boolean) return fmt::format("({} != 0)", element);
  if (compute_type(dtype) != dtype) return fmt::format("ll_load_{}({})", suffix(dtype), element);
  return element;
}

std::string to_storage(DType dtype, const std::string& value) {
  if (compute_type(dtype) != dtype) return fmt::format("ll_store_{}({})", suffix(dtype), value);
  return value;
}

}  // namespace lightline::loops::c
