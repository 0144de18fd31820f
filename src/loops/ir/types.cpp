#include "loops/ir/types.h"

#include <fmt/format.h>

#include "loops/ir/source.h"

namespace lightline::loops {
namespace {

constexpr ValueType typed(DType type) { return {ValueType::Kind::typed, type}; }
constexpr ValueType open_floating() { return {ValueType::Kind::floating_literal, DType::f32}; }

bool accepts(Signature signature, DType type) {
  const bool floating = type == DType::f32 || type == DType::f64;
  const bool integer = is_integer(type);
  const bool complex = type == DType::c64;
  const bool boolean = type == DType::boolean;
  switch (signature) {
    case Signature::numeric: return integer || floating || complex;
    case Signature::fractional: return floating || complex;
    case Signature::floating:
    case Signature::test: return floating;
    case Signature::real:
    case Signature::power: return integer || floating;
    case Signature::integer: return integer;
    case Signature::magnitude: return integer || floating || complex;
    case Signature::bitwise: return integer || boolean;
    case Signature::equality:
    case Signature::choice: return true;
    case Signature::ordering: return integer || floating || boolean;
    case Signature::logic: return boolean;
    case Signature::make_complex: return type == DType::f32;
    case Signature::complex_part:
    case Signature::conjugate: return complex;
    case Signature::to_bits: return floating;
    case Signature::from_bits: return type == DType::i32 || type == DType::i64;
  }
  return false;
}

std::string_view expected(Signature signature) {
  switch (signature) {
    case Signature::numeric:
    case Signature::magnitude: return "numbers";
    case Signature::fractional:
    case Signature::floating:
    case Signature::to_bits:
    case Signature::test: return "floats";
    case Signature::from_bits: return "i32 or i64";
    case Signature::real:
    case Signature::power: return "real numbers";
    case Signature::integer: return "integers";
    case Signature::bitwise: return "integers or bool";
    case Signature::ordering: return "ordered numbers";
    case Signature::logic: return "bool";
    case Signature::make_complex: return "f32";
    case Signature::complex_part:
    case Signature::conjugate: return "c64";
    case Signature::equality:
    case Signature::choice: return "values";
  }
  return "values";
}

// As the user wrote it.
std::string_view written(const FunctionInfo& function) {
  return function.function == Function::neg ? "-" : function.text;
}

std::string_view advice(const FunctionInfo& function, DType type) {
  if (is_integer(type) && function.function == Function::divide) return "convert with f32(...), or use div";
  if (is_integer(type) && (function.signature == Signature::fractional || function.signature == Signature::floating))
    return "convert with f32(...)";
  if (is_float(type) && function.function == Function::div) return "use /, and floor(...) to round down";
  if (is_float(type) && function.function == Function::mod) return "use remainder(a, b)";
  if (function.signature == Signature::logic) return "compare first: x != 0";
  return "";
}

// Functions whose value is a float even when all their arguments are integer literals.
bool makes_floating(Signature signature) {
  return signature == Signature::fractional || signature == Signature::floating;
}

}  // namespace

Error TypeChecker::error(ExprId at, std::string message, std::string hint) const {
  return {ErrorCode::type, std::move(message), std::move(hint), place(text_, file_, program_.exprs[at].position)};
}

Result<ValueType> TypeChecker::infer(ExprId id) {
  Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal:
      switch (e.literal.kind) {
        case Literal::Kind::boolean: e.type = DType::boolean; return typed(DType::boolean);
        case Literal::Kind::integer: return ValueType{ValueType::Kind::integer_literal, DType::i64};
        case Literal::Kind::floating: return open_floating();
      }
      break;
    case ExprKind::index: e.type = DType::i64; return typed(DType::i64);
    case ExprKind::read: return infer_read(id);
    case ExprKind::cast: {
      LL_TRY(const ValueType argument, infer(e.args[0]));
      if (!argument.is_typed())
        LL_DO(settle(e.args[0], argument.kind == ValueType::Kind::integer_literal ? DType::i64 : DType::f64));
      program_.exprs[id].type = compute_type(program_.exprs[id].target);
      return typed(program_.exprs[id].type);
    }
    case ExprKind::call: return infer_call(id);
  }
  return error(id, "malformed expression");
}

Result<ValueType> TypeChecker::infer_read(ExprId id) {
  Expr& e = program_.exprs[id];
  if (e.args[0] >= program_.arrays.size()) return error(id, "a read names an array that does not exist");
  const Array& array = program_.arrays[e.args[0]];
  e.type = compute_type(array.dtype);
  if (e.has_fill) {
    const Literal::Kind kind = e.literal.kind;
    const bool fits = kind == Literal::Kind::boolean   ? array.dtype == DType::boolean
                      : kind == Literal::Kind::integer ? array.dtype != DType::boolean
                                                       : is_float(array.dtype) || array.dtype == DType::c64;
    if (!fits)
      return error(id, fmt::format("the fill of '{}' does not fit {}", array.name, name(array.dtype)),
                   "bool takes true and false, integers take integers, floats take both");
  }
  return typed(e.type);
}

Result<ValueType> TypeChecker::unify(ExprId parent, ExprId a, ValueType type_a, ExprId b, ValueType type_b) {
  if (type_a.is_typed() && type_b.is_typed()) {
    if (type_a.type == type_b.type) return type_a;
    const FunctionInfo& function = info(program_.exprs[parent].function);
    return error(parent, fmt::format("'{}' joins {} and {}", written(function), name(type_a.type), name(type_b.type)),
                 fmt::format("convert one side, such as {}(...)", name(type_a.type)));
  }
  if (type_a.is_typed()) {
    LL_DO(settle(b, type_a.type));
    return type_a;
  }
  if (type_b.is_typed()) {
    LL_DO(settle(a, type_b.type));
    return type_b;
  }
  return type_a.kind == ValueType::Kind::floating_literal ? type_a : type_b;
}

Result<ValueType> TypeChecker::infer_call(ExprId id) {
  const Expr e = program_.exprs[id];
  const FunctionInfo& function = info(e.function);
  LL_TRY(ValueType first, infer(e.args[0]));
  if (function.signature == Signature::choice) {
    if (!first.is_typed() || first.type != DType::boolean)
      return error(
          e.args[0],
          fmt::format("the condition of 'if' is {}, not bool", first.is_typed() ? name(first.type) : "a number"),
          "compare first: x != 0");
    LL_TRY(const ValueType yes, infer(e.args[1]));
    LL_TRY(const ValueType no, infer(e.args[2]));
    LL_TRY(const ValueType both, unify(id, e.args[1], yes, e.args[2], no));
    if (both.is_typed()) program_.exprs[id].type = both.type;
    return both;
  }
  if (function.arity == 2) {
    LL_TRY(const ValueType second, infer(e.args[1]));
    LL_TRY(first, unify(id, e.args[0], first, e.args[1], second));
  }
  return result_of(id, first);
}

Result<ValueType> TypeChecker::result_of(ExprId id, ValueType argument) {
  const Expr e = program_.exprs[id];
  const FunctionInfo& function = info(e.function);
  const Signature signature = function.signature;
  if (!argument.is_typed()) {
    const bool decided = signature == Signature::equality || signature == Signature::ordering ||
                         signature == Signature::test || signature == Signature::make_complex;
    if (!decided) {
      if (signature == Signature::logic || signature == Signature::complex_part || signature == Signature::conjugate ||
          signature == Signature::to_bits || signature == Signature::from_bits ||
          (signature == Signature::integer && argument.kind == ValueType::Kind::floating_literal))
        return error(id, fmt::format("'{}' takes {}, not a {} literal", written(function), expected(signature),
                                     signature == Signature::integer ? "float" : "number"));
      return makes_floating(signature) ? open_floating() : argument;
    }
    const bool floating = argument.kind == ValueType::Kind::floating_literal || signature == Signature::test ||
                          signature == Signature::make_complex;
    const DType type = floating ? DType::f32 : DType::i64;
    for (int i = 0; i < function.arity; ++i) LL_DO(settle(e.args[i], type));
    argument = typed(type);
  }
  if (!accepts(signature, argument.type))
    return error(id, fmt::format("'{}' takes {}, not {}", written(function), expected(signature), name(argument.type)),
                 std::string(advice(function, argument.type)));
  DType type = argument.type;
  switch (signature) {
    case Signature::equality:
    case Signature::ordering:
    case Signature::logic:
    case Signature::test: type = DType::boolean; break;
    case Signature::magnitude: type = type == DType::c64 ? DType::f32 : type; break;
    case Signature::make_complex: type = DType::c64; break;
    case Signature::complex_part: type = DType::f32; break;
    case Signature::to_bits: type = type == DType::f64 ? DType::i64 : DType::i32; break;
    case Signature::from_bits: type = type == DType::i64 ? DType::f64 : DType::f32; break;
    default: break;
  }
  program_.exprs[id].type = type;
  return typed(type);
}

Status TypeChecker::settle(ExprId id, DType type) {
  const Expr e = program_.exprs[id];
  if (e.kind == ExprKind::literal && e.literal.kind != Literal::Kind::boolean) {
    const bool floating = e.literal.kind == Literal::Kind::floating;
    if (type == DType::boolean || (floating && is_integer(type)))
      return error(id,
                   fmt::format("the literal {} can not be {}",
                               floating ? fmt::format("{}", e.literal.floating) : fmt::format("{}", e.literal.integer),
                               name(type)),
                   type == DType::boolean ? "use true or false"
                                          : "write an integer, or convert what stands beside it: f32(...)");
    program_.exprs[id].type = type;
    return Ok{};
  }
  if (e.kind == ExprKind::call) {
    const FunctionInfo& function = info(e.function);
    LL_TRY(const ValueType own, infer(id));
    if (!own.is_typed()) {
      if (!accepts(function.signature, type))
        return error(id,
                     fmt::format("'{}' takes {}, not {}", written(function), expected(function.signature), name(type)),
                     std::string(advice(function, type)));
      const int from = function.signature == Signature::choice ? 1 : 0;
      for (int i = from; i < function.arity; ++i) LL_DO(settle(e.args[i], type));
      program_.exprs[id].type = type;
      return Ok{};
    }
  }
  if (program_.exprs[id].type != type)
    return error(id, fmt::format("expected {}, found {}", name(type), name(program_.exprs[id].type)),
                 fmt::format("convert with {}(...)", name(type)));
  return Ok{};
}

}  // namespace lightline::loops
