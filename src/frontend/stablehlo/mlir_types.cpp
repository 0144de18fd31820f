// Types of MLIR text, and the tokens that all parts of the parser read.
#include <fmt/format.h>

#include <charconv>

#include "base/shown.h"
#include "frontend/stablehlo/mlir_parser.h"

namespace lightline::frontend::mlir {
namespace {

constexpr int max_nesting = 100;
constexpr size_t max_rank = 64;

struct Element {
  std::string_view text;
  DType dtype;
  bool is_unsigned = false;
  bool narrowed = false;
  int width = 0;
};
constexpr Element elements[] = {
    {"f32", DType::f32},
    {"i32", DType::i32},
    {"i1", DType::boolean},
    {"bf16", DType::bf16},
    {"f16", DType::f16},
    {"f64", DType::f64},
    {"i64", DType::i64},
    {"i16", DType::i16},
    {"i8", DType::i8},
    {"ui8", DType::u8},
    {"ui16", DType::i16, true},
    {"ui32", DType::i32, true},
    {"ui64", DType::i64, true},
    {"index", DType::i64},
    {"complex<f32>", DType::c64},
    {"complex<f64>", DType::c64, false, true},
    {"f8E4M3FN", DType::f8e4m3},
    {"f8E5M2", DType::f8e5m2},
    {"f4E2M1FN", DType::f4e2m1},
    {"i4", DType::i8, false, true, 4},
    {"i2", DType::i8, false, true, 2},
    {"ui4", DType::u8, false, true, 4},
    {"ui2", DType::u8, false, true, 2},
};

}  // namespace

// ---- tokens ----

void Parser::fail(std::string message, std::string hint, ErrorCode code) const {
  throw MlirError{code, std::move(message), std::move(hint), token_.offset};
}

void Parser::expected(std::string_view what) const {
  fail(token_.kind == TokenKind::end ? fmt::format("{} is expected, but the text ends", what)
                                     : fmt::format("{} is expected, not '{}'", what, shown(token_.text)),
       "the text should be what jax.jit(f).lower(...).as_text() prints");
}

bool Parser::take(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool Parser::take_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  advance();
  return true;
}

void Parser::expect(char c) {
  if (!take(c)) expected(fmt::format("'{}'", c));
}

std::string_view Parser::expect_kind(TokenKind kind, std::string_view what) {
  if (token_.kind != kind) expected(what);
  const std::string_view text = token_.text;
  advance();
  return text;
}

int64_t Parser::expect_integer() {
  const bool negative = take('-');
  if (token_.kind != TokenKind::integer) expected("an integer");
  const Attribute value = number(negative);
  return value.integer;
}

void Parser::skip_balanced() {
  NestingGuard deeper(*this);
  const char open = token_.text.empty() ? ' ' : token_.text[0];
  const char close = open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
  advance();
  while (!token_.is(close)) {
    if (token_.kind == TokenKind::end) expected(fmt::format("'{}'", close));
    if (token_.is('(') || token_.is('[') || token_.is('{') || token_.is('<'))
      skip_balanced();
    else
      advance();
  }
  advance();
}

Parser::NestingGuard::NestingGuard(Parser& p) : parser(p) {
  if (++parser.depth_ > max_nesting) {
    --parser.depth_;
    parser.fail(fmt::format("the text nests deeper than {} levels", max_nesting), "", ErrorCode::limit);
  }
}

// ---- types ----

void Parser::element_type(std::string_view text, size_t offset, Type& into) const {
  for (const Element& element : elements) {
    if (element.text != text) continue;
    into.dtype = element.dtype;
    into.is_unsigned = element.is_unsigned;
    into.narrowed = element.narrowed;
    into.width = element.width;
    return;
  }
  throw MlirError{ErrorCode::unsupported,
                  fmt::format("the element type '{}' is not one that Lightline has", shown(text)),
                  "convert the tensor to a supported dtype", offset};
}

// The characters up to the end of an element type: a ',' or the closing '>'.
std::string_view Parser::element_type_text() {
  const std::string_view text = lexer_.text();
  const size_t start = lexer_.position();
  size_t end = start;
  int open = 0;
  while (end < text.size() && end - start < 200) {
    const char c = text[end];
    if (open == 0 && (c == ',' || c == '>')) break;
    open += c == '<';
    open -= c == '>';
    ++end;
  }
  lexer_.move_to(end);
  return text.substr(start, end - start);
}

// After `tensor`: the shape is read from the characters, since `4x5xf32` is no token.
Type Parser::tensor_type() {
  const std::string_view text = lexer_.text();
  const auto at = [&](size_t p) { return p < text.size() ? text[p] : '\0'; };
  Type result;
  result.kind = Type::Kind::tensor;
  lexer_.skip_blank();
  if (at(lexer_.position()) != '<') {
    advance();
    expected("'<'");
  }
  lexer_.move_to(lexer_.position() + 1);
  for (;;) {
    const size_t start = lexer_.position();
    if (at(start) == '?') {
      token_.offset = start;
      fail("the program has an extent that is not known before it runs", "lower it with fixed shapes",
           ErrorCode::unsupported);
    }
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), extent);
    const size_t after = size_t(end - text.data());
    if (error != std::errc() || at(after) != 'x' || at(start) == '-') {
      if (error == std::errc() || error == std::errc::invalid_argument) break;
      token_.offset = start;
      fail("an extent does not fit 64 bits", "", ErrorCode::limit);
    }
    result.shape.push_back(extent);
    if (result.shape.size() > max_rank) {
      token_.offset = start;
      fail(fmt::format("a tensor has more than {} dimensions", max_rank), "", ErrorCode::limit);
    }
    lexer_.move_to(after + 1);
  }
  const size_t start = lexer_.position();
  element_type(element_type_text(), start, result);
  if (const auto count = element_count(result.shape); !count.ok())
    throw MlirError{ErrorCode::limit, "a tensor has too many elements", "", start};
  advance();
  while (!token_.is('>')) {  // an encoding
    if (token_.kind == TokenKind::end) expected("'>'");
    if (token_.is('<'))
      skip_balanced();
    else
      advance();
  }
  advance();
  return result;
}

Type Parser::type() {
  NestingGuard deeper(*this);
  if (token_.is_word("tensor")) return tensor_type();
  Type result;
  if (token_.is_word("tuple")) {
    result.kind = Type::Kind::tuple;
    advance();
    expect('<');
    while (!token_.is('>')) {
      result.parts.push_back(type());
      if (!take(',')) break;
    }
    expect('>');
    return result;
  }
  if (token_.kind == TokenKind::type) {
    const auto alias = type_aliases_.find(token_.text);
    if (alias != type_aliases_.end()) result = alias->second;
    advance();
    if (token_.is('<')) skip_balanced();
    return result;
  }
  if (token_.is('(')) {
    skip_function_type();
    return result;
  }
  if (token_.kind != TokenKind::word) expected("a type");
  const bool complex = token_.is_word("complex");
  if (!complex) {
    for (const Element& element : elements)
      if (element.text == token_.text) element_type(token_.text, token_.offset, result);
  }
  advance();
  if (token_.is('<')) skip_balanced();
  return result;
}

std::vector<Type> Parser::type_list() {
  std::vector<Type> types;
  if (!take('(')) {
    types.push_back(type());
    return types;
  }
  while (!token_.is(')')) {
    types.push_back(type());
    if (token_.is('{')) skip_balanced();
    if (!take(',')) break;
  }
  expect(')');
  return types;
}

void Parser::skip_function_type() {
  skip_balanced();
  if (token_.kind != TokenKind::arrow) return;
  advance();
  if (token_.is('('))
    skip_balanced();
  else
    type();
}

}  // namespace lightline::frontend::mlir
