// Expressions and subscripts of definitions.
#include <fmt/format.h>

#include <cmath>

#include "ops/build/lowering.h"

namespace lightline::ops {

Scalar Lowering::literal(Literal value) {
  const bool boolean = value.kind == Literal::Kind::boolean;
  const DType type = boolean ? DType::boolean : value.kind == Literal::Kind::integer ? DType::i64 : DType::f32;
  return {this, program_.literal(value), type, !boolean};
}

Scalar Lowering::call(Function function, Scalar a, Scalar b, Scalar c) {
  const loops::Signature signature = loops::info(function).signature;
  const bool choice = signature == loops::Signature::choice;
  const Scalar& left = choice ? b : a;
  const Scalar& right = choice ? c : b;
  const bool joins = right.id != loops::none;
  if (joins && !left.open && !right.open && left.type != right.type)
    fail(fmt::format("'{}' joins {} and {}", loops::info(function).text, name(left.type), name(right.type)),
         ErrorCode::internal);
  const Scalar& typed = joins && left.open ? right : left;
  // Every use of a literal takes a type of its own, so it is an expression of its own.
  const auto use = [&](const Scalar& x) {
    return x.open && program_.exprs[x.id].kind == loops::ExprKind::literal
               ? program_.literal(program_.exprs[x.id].literal)
               : x.id;
  };
  Scalar result{this, program_.call(function, use(a), use(b), use(c)), typed.type, typed.open};
  switch (signature) {
    case loops::Signature::equality:
    case loops::Signature::ordering:
    case loops::Signature::logic:
    case loops::Signature::test:
      result.type = DType::boolean;
      result.open = false;
      break;
    case loops::Signature::magnitude:
      if (typed.type == DType::c64) result.type = DType::f32;
      break;
    case loops::Signature::make_complex:
      result.type = DType::c64;
      result.open = false;
      break;
    case loops::Signature::complex_part: result.type = DType::f32; break;
    case loops::Signature::to_bits: result.type = typed.type == DType::f64 ? DType::i64 : DType::i32; break;
    case loops::Signature::from_bits: result.type = typed.type == DType::i64 ? DType::f64 : DType::f32; break;
    default: break;
  }
  return result;
}

Scalar Lowering::convert(Scalar value, DType dtype) {
  if (value.open) {
    const Literal literal =
        program_.exprs[value.id].kind == loops::ExprKind::literal ? program_.exprs[value.id].literal : Literal{};
    const bool plain = program_.exprs[value.id].kind == loops::ExprKind::literal;
    if (plain && (is_float(dtype) || dtype == DType::c64)) return {this, value.id, compute_type(dtype), true};
    if (plain && is_integer(dtype) && literal.kind == Literal::Kind::integer) return {this, value.id, dtype, true};
    return {this, program_.cast(dtype, value.id), compute_type(dtype), false};
  }
  if (value.type == compute_type(dtype)) return value;
  return {this, program_.cast(compute_type(dtype), value.id), compute_type(dtype), false};
}

Scalar Lowering::rounded(Scalar value, DType dtype) {
  return {this, program_.cast(dtype, value.id), compute_type(dtype), false};
}

Scalar Lowering::value(const Subscript& index) {
  Scalar result{this, algebra_.emit(program_, index.sum), DType::i64, false};
  if (index.sum.terms.empty()) result = {this, program_.cast(DType::i64, result.id), DType::i64, false};
  return result;
}

Subscript Lowering::index(Scalar integer, Interval range) { return {this, algebra_.expression(integer.id, range)}; }

namespace {
Scalar binary(Function function, const Scalar& a, const Scalar& b) { return a.lowering->call(function, a, b); }
}  // namespace

Scalar operator+(Scalar a, Scalar b) { return binary(Function::add, a, b); }
Scalar operator-(Scalar a, Scalar b) { return binary(Function::sub, a, b); }
Scalar operator*(Scalar a, Scalar b) { return binary(Function::mul, a, b); }
Scalar operator/(Scalar a, Scalar b) { return binary(Function::divide, a, b); }
Scalar operator-(Scalar a) { return a.lowering->call(Function::neg, a); }
Scalar operator==(Scalar a, Scalar b) { return binary(Function::eq, a, b); }
Scalar operator!=(Scalar a, Scalar b) { return binary(Function::ne, a, b); }
Scalar operator<(Scalar a, Scalar b) { return binary(Function::lt, a, b); }
Scalar operator<=(Scalar a, Scalar b) { return binary(Function::le, a, b); }
Scalar operator>(Scalar a, Scalar b) { return binary(Function::gt, a, b); }
Scalar operator>=(Scalar a, Scalar b) { return binary(Function::ge, a, b); }
Scalar operator&&(Scalar a, Scalar b) { return binary(Function::logical_and, a, b); }
Scalar operator||(Scalar a, Scalar b) { return binary(Function::logical_or, a, b); }
Scalar operator!(Scalar a) { return a.lowering->call(Function::logical_not, a); }
Scalar call(Function function, Scalar a) { return a.lowering->call(function, a); }
Scalar call(Function function, Scalar a, Scalar b) { return a.lowering->call(function, a, b); }
Scalar select(Scalar condition, Scalar yes, Scalar no) {
  return condition.lowering->call(Function::select, condition, yes, no);
}
Scalar max(Scalar a, Scalar b) { return binary(Function::max, a, b); }
Scalar min(Scalar a, Scalar b) { return binary(Function::min, a, b); }
Scalar convert(Scalar value, DType dtype) { return value.lowering->convert(value, dtype); }
Scalar value(const Subscript& index) { return index.lowering->value(index); }

Scalar number(const Scalar& like, double value) {
  if (like.type == DType::boolean) return like.lowering->literal(Literal::of_bool(value != 0));
  const bool whole = std::nearbyint(value) == value && std::fabs(value) < 9e15 && !(value == 0 && std::signbit(value));
  if (whole) return like.lowering->literal(Literal::of(int64_t(value)));
  if (is_integer(like.type)) fail(fmt::format("the number {} stands beside an integer", value), ErrorCode::type);
  return like.lowering->literal(Literal::of(value));
}
Scalar number(const Scalar& like, int64_t value) { return like.lowering->literal(Literal::of(value)); }

Subscript operator+(const Subscript& a, const Subscript& b) {
  return {a.lowering, a.lowering->algebra().add(a.sum, b.sum)};
}
Subscript operator-(const Subscript& a, const Subscript& b) {
  return {a.lowering, a.lowering->algebra().add_scaled(a.sum, b.sum, -1)};
}
Subscript operator+(const Subscript& a, int64_t b) {
  return {a.lowering, a.lowering->algebra().add(a.sum, IndexAlgebra::constant(b))};
}
Subscript operator-(const Subscript& a, int64_t b) { return a + -b; }
Subscript operator-(int64_t a, const Subscript& b) {
  return {b.lowering, b.lowering->algebra().add_scaled(IndexAlgebra::constant(a), b.sum, -1)};
}
Subscript operator*(const Subscript& a, int64_t b) { return {a.lowering, a.lowering->algebra().scale(a.sum, b)}; }
Subscript operator*(int64_t a, const Subscript& b) { return b * a; }
Subscript div(const Subscript& a, int64_t divisor) { return {a.lowering, a.lowering->algebra().div(a.sum, divisor)}; }
Subscript mod(const Subscript& a, int64_t divisor) { return {a.lowering, a.lowering->algebra().mod(a.sum, divisor)}; }

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t effective = rank == 0 ? 1 : rank;
  if (dim < -effective || dim >= effective) fail(fmt::format("dimension {} is outside a tensor of rank {}", dim, rank));
  return dim < 0 ? dim + effective : dim;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) fail(fmt::format("shapes {} and {} do not broadcast", to_string(a), to_string(b)));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace lightline::ops
