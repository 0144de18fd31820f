// Tokens, names and comments.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "loops/ir/parser.h"
#include "loops/ir/words.h"

namespace lightline::loops {

void Parser::fail(ErrorCode code, std::string message, std::string hint) const {
  fail_at(lexer_.position(), code, std::move(message), std::move(hint));
}

void Parser::fail_at(Position at, ErrorCode code, std::string message, std::string hint) {
  throw SyntaxError{code, std::move(message), std::move(hint), at};
}

void Parser::fail_expected(std::string_view symbol, std::string_view hint) const {
  fail(ErrorCode::parse, fmt::format("expected '{}', found {}", symbol, found()), std::string(hint));
}

std::string Parser::found() const {
  return lexer_.kind() == Token::end ? "the end of the text" : fmt::format("'{}'", lexer_.text());
}

std::string_view Parser::any_name(std::string_view what) {
  if (lexer_.kind() != Token::name) fail(ErrorCode::parse, fmt::format("expected {}, found {}", what, found()));
  const std::string_view word = lexer_.text();
  previous_ = lexer_.position();
  lexer_.advance();
  return word;
}

std::string_view Parser::new_name(std::string_view what) {
  if (lexer_.kind() == Token::name && is_reserved(lexer_.text()))
    fail(ErrorCode::parse, fmt::format("'{}' is a reserved word, not {}", lexer_.text(), what), "choose another name");
  return any_name(what);
}

int64_t Parser::parse_extent() {
  if (lexer_.kind() != Token::integer)
    fail(ErrorCode::parse, fmt::format("expected an extent, found {}", found()), "extents are integers of 0 or more");
  int64_t value = 0;
  const std::string_view digits = lexer_.text();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > max_extent)
    fail(ErrorCode::limit, fmt::format("the extent {} is larger than 2^48", digits));
  lexer_.advance();
  return value;
}

DType Parser::parse_dtype() {
  const auto dtype = lexer_.kind() == Token::name ? dtype_from_name(lexer_.text()) : std::nullopt;
  if (!dtype)
    fail(ErrorCode::type, fmt::format("expected a dtype, found {}", found()),
         "dtypes are f64 f32 f16 bf16 f8e4m3 f8e5m2 f4e2m1 i64 i32 i16 i8 u8 bool c64");
  lexer_.advance();
  return *dtype;
}

Parser::Declaration Parser::parse_param() {
  Declaration typed{new_name("an array name"), DType::f32, {}};
  expect(':', "arrays are declared as name: dtype[extents]");
  typed.dtype = parse_dtype();
  expect('[', "a scalar has the type f32[]");
  std::array<int64_t, max_rank> extents;
  size_t rank = 0;
  list(']', [&] {
    if (rank == max_rank) fail(ErrorCode::limit, fmt::format("'{}' has more than {} dimensions", typed.name, max_rank));
    extents[rank++] = parse_extent();
  });
  typed.shape.assign(extents.begin(), extents.begin() + rank);
  return typed;
}

// ---- names ----

ArrayId Parser::declare(Declaration typed, Position at) {
  const auto id = ArrayId(program_.arrays.size());
  if (!arrays_.insert(typed.name, id))
    fail_at(at, ErrorCode::name, fmt::format("'{}' is defined twice", typed.name),
            "every array is defined once; choose another name");
  scope_.push_back(typed.name);
  return program_.add_array(std::string(typed.name), typed.dtype, std::move(typed.shape), at);
}

ArrayId Parser::visible(std::string_view name, Position at, std::string_view hint) const {
  if (const ArrayId* id = arrays_.find(name)) return *id;
  fail_at(at, ErrorCode::name, fmt::format("unknown array '{}'", name), std::string(hint));
}

IndexId Parser::add_index(std::string_view name, int64_t extent, IndexKind kind, Position at) {
  for (const IndexId other : visible_indices_)
    if (is_name(program_.indices[other], name))
      fail_at(at, ErrorCode::name, fmt::format("index '{}' is bound twice", name),
              "choose another name for one of them");
  const IndexId id = program_.add_index(std::string(name), extent, kind);
  visible_indices_.push_back(id);
  return id;
}

// ---- comments ----

void Parser::take_remarks() {
  for (const Lexer::Remark& remark : lexer_.remarks) {
    const bool inside = remark.before < lexer_.position();
    const bool trailing = !inside && remark.same_line;
    program_.comments.push_back({inside || trailing ? line_ : line_ + 1, trailing, std::string(remark.text)});
  }
  lexer_.remarks.clear();
}

}  // namespace lightline::loops
