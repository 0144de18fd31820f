// Expressions and literals.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "loops/ir/parser.h"

namespace lightline::loops {

bool Parser::is_literal_word() const {
  return lexer_.is("inf") || lexer_.is("nan") || lexer_.is("true") || lexer_.is("false");
}

Literal Parser::literal_value() {
  const bool negative = accept('-');
  const std::string_view text = lexer_.text();
  Literal value;
  if (lexer_.kind() == Token::integer) {
    uint64_t magnitude = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
    if (error != std::errc() || end != text.data() + text.size() ||
        magnitude > uint64_t(INT64_MAX) + (negative ? 1 : 0))
      fail(ErrorCode::limit, fmt::format("{} does not fit 64 bits", text));
    value = Literal::of(int64_t(negative ? 0 - magnitude : magnitude));
  } else if (lexer_.kind() == Token::floating) {
    double magnitude = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
    if (error == std::errc::result_out_of_range)
      fail(ErrorCode::limit, fmt::format("{} is beyond the range of f64", text), "write inf or 0");
    if (error != std::errc() || end != text.data() + text.size())
      fail(ErrorCode::parse, fmt::format("'{}' is not a number", text));
    value = Literal::of(negative ? -magnitude : magnitude);
  } else if (lexer_.is("inf") || lexer_.is("nan")) {
    const double magnitude = lexer_.is("inf") ? __builtin_inf() : __builtin_nan("");
    value = Literal::of(negative ? -magnitude : magnitude);
  } else if (!negative && (lexer_.is("true") || lexer_.is("false"))) {
    value = Literal::of_bool(lexer_.is("true"));
  } else if (negative) {
    fail(ErrorCode::parse, fmt::format("expected a number after '-', found {}", found()));
  } else {
    fail(ErrorCode::parse, fmt::format("expected a literal, found {}", found()),
         "literals are numbers, inf, nan, true and false");
  }
  lexer_.advance();
  return value;
}

ExprId Parser::parse_literal() {
  const Position at = lexer_.position();
  const Literal value = literal_value();
  return note(program_.literal(value, at), 1);
}

// Keeps the depth of every expression, so that a long chain can not exhaust the stack later.
ExprId Parser::note(ExprId id, int depth) {
  if (depth > max_expression_depth)
    fail_at(program_.exprs[id].position, ErrorCode::limit,
            fmt::format("the expression is more than {} deep", max_expression_depth),
            "split it into several statements");
  depths_.push_back(uint16_t(depth));  // expressions are noted in the order they are made
  return id;
}

ExprId Parser::make_call(Function function, Position at, ExprId a, ExprId b, ExprId c) {
  int deepest = depth(a);
  if (b != none) deepest = std::max(deepest, depth(b));
  if (c != none) deepest = std::max(deepest, depth(c));
  return note(program_.call(function, a, b, c, at), deepest + 1);
}

std::optional<Parser::InfixOperator> Parser::infix() const {
  const std::string_view text = lexer_.text();
  if (lexer_.kind() == Token::symbol) {
    switch (text[0]) {
      case '+': return InfixOperator{Function::add, 5};
      case '-': return text.size() == 1 ? std::optional(InfixOperator{Function::sub, 5}) : std::nullopt;
      case '*': return InfixOperator{Function::mul, 6};
      case '/': return InfixOperator{Function::divide, 6};
      case '<':
        if (text == "<-") return std::nullopt;
        return InfixOperator{text.size() == 2 ? Function::le : Function::lt, 4};
      case '>': return InfixOperator{text.size() == 2 ? Function::ge : Function::gt, 4};
      case '=': return text.size() == 2 ? std::optional(InfixOperator{Function::eq, 4}) : std::nullopt;
      case '!': return text.size() == 2 ? std::optional(InfixOperator{Function::ne, 4}) : std::nullopt;
      default: return std::nullopt;
    }
  }
  if (lexer_.kind() != Token::name || text.size() > 3) return std::nullopt;
  if (text == "div") return InfixOperator{Function::div, 6};
  if (text == "mod") return InfixOperator{Function::mod, 6};
  if (text == "and") return InfixOperator{Function::logical_and, 2};
  if (text == "or") return InfixOperator{Function::logical_or, 1};
  return std::nullopt;
}

void Parser::enter_expression() {
  if (++nesting_ > max_expression_depth)
    fail(ErrorCode::limit, fmt::format("the expression is more than {} deep", max_expression_depth),
         "split it into several statements");
}

ExprId Parser::parse_expression(int weakest) {
  enter_expression();
  ExprId left;
  if (lexer_.is("not") && weakest <= 3) {
    const Position at = lexer_.position();
    lexer_.advance();
    left = make_call(Function::logical_not, at, parse_expression(3));
  } else {
    left = parse_prefix();
  }
  while (const auto op = infix()) {
    if (op->strength < weakest) break;
    const Position at = lexer_.position();
    lexer_.advance();
    const ExprId right = parse_expression(op->strength + 1);
    left = make_call(op->function, at, left, right);
    if (op->strength == 4 && infix() && infix()->strength == 4)
      fail(ErrorCode::parse, "comparisons do not chain", "write a < b and b < c");
  }
  --nesting_;
  return left;
}

ExprId Parser::parse_prefix() {
  if (is_at('-')) {
    const Position at = lexer_.position();
    const Lexer::Mark minus = lexer_.mark();
    lexer_.advance();
    const bool literal =
        lexer_.kind() == Token::integer || lexer_.kind() == Token::floating || lexer_.is("inf") || lexer_.is("nan");
    if (literal) {
      lexer_.reset(minus);
      return parse_literal();
    }
    enter_expression();
    const ExprId value = parse_prefix();
    --nesting_;
    return make_call(Function::neg, at, value);
  }
  return parse_primary();
}

ExprId Parser::parse_primary() {
  const Position at = lexer_.position();
  if (lexer_.kind() == Token::integer || lexer_.kind() == Token::floating ||
      (lexer_.kind() == Token::name && is_literal_word()))
    return parse_literal();
  if (accept('(')) {
    const ExprId inner = parse_expression();
    expect(')');
    return inner;
  }
  if (lexer_.kind() != Token::name) fail(ErrorCode::parse, fmt::format("expected a value, found {}", found()));
  const std::string_view name = lexer_.text();
  lexer_.advance();
  const bool opens = lexer_.symbol() == '(';  // after an index it is the next statement's
  if (opens && (function_from_name(name) || dtype_from_name(name))) return parse_call(name, at);
  if (lexer_.symbol() == '[') return parse_read(name, at);
  for (auto it = visible_indices_.rbegin(); it != visible_indices_.rend(); ++it)
    if (is_name(program_.indices[*it], name)) return note(program_.index(*it, at), 1);
  if (opens) return parse_call(name, at);
  if (reducer_from_name(name))
    fail_at(at, ErrorCode::parse, fmt::format("the reduction '{}' stands inside an expression", name),
            "a reduction comes right after the loops and covers the rest; use two statements");
  if (arrays_.find(name) != nullptr)
    fail_at(at, ErrorCode::name, fmt::format("array '{}' is read without subscripts", name),
            fmt::format("write {}[...]; a scalar is read as {}[]", name, name));
  fail_at(at, ErrorCode::name, fmt::format("unknown index '{}'", name),
          "indices are bound by for, scan, a reduction or repeat");
}

ExprId Parser::parse_call(std::string_view name, Position at) {
  lexer_.advance();
  std::array<ExprId, 3> args{none, none, none};
  size_t given = 0;
  list(')', [&] {
    const ExprId arg = parse_expression();
    if (given < args.size()) args[given] = arg;
    ++given;
  });
  if (const auto dtype = dtype_from_name(name)) {
    if (given != 1) fail_at(at, ErrorCode::parse, fmt::format("{}() converts one value, not {}", name, given));
    return note(program_.cast(*dtype, args[0], at), depth(args[0]) + 1);
  }
  const auto function = function_from_name(name);
  if (!function) {
    const bool between = name == "div" || name == "mod" || name == "and" || name == "or";
    fail_at(at, ErrorCode::name, fmt::format("unknown function '{}'", name),
            between ? fmt::format("write a {} b", name) : "docs/loop-ir.md lists the scalar functions");
  }
  const int arity = info(*function).arity;
  if (int(given) != arity)
    fail_at(at, ErrorCode::parse,
            fmt::format("'{}' takes {} argument{}, not {}", name, arity, arity == 1 ? "" : "s", given));
  return make_call(*function, at, args[0], args[1], args[2]);
}

ExprId Parser::parse_read(std::string_view name, Position at) {
  const ArrayId array = visible(name, at, "arrays are defined before they are read");
  if (array == own_result_ && !own_result_readable_)
    fail_at(at, ErrorCode::name, fmt::format("'{}' is read in its own definition", name),
            "mark one of its indices as scan to read earlier elements");
  lexer_.advance();
  std::array<ExprId, max_rank> subscripts;
  size_t count = 0;
  int deepest = 0;
  while (lexer_.symbol() != ']' && lexer_.symbol() != '|') {
    if (count == max_rank)
      fail(ErrorCode::limit, fmt::format("'{}' is read with more than {} subscripts", name, max_rank));
    subscripts[count] = parse_expression(4);
    deepest = std::max(deepest, depth(subscripts[count++]));
    if (!accept(',')) break;
  }
  std::optional<Literal> fill;
  if (accept('|')) fill = literal_value();
  expect(']');
  return note(program_.read(array, std::span(subscripts.data(), count), fill, at), deepest + 1);
}

}  // namespace lightline::loops
