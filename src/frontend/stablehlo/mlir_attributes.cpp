// Attributes of MLIR text.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "frontend/stablehlo/mlir_dense.h"
#include "frontend/stablehlo/mlir_parser.h"

namespace lightline::frontend::mlir {

using Kind = Attribute::Kind;

Attribute Attribute::of(int64_t value) {
  Attribute a;
  a.kind = Kind::integer;
  a.integer = value;
  return a;
}

Attribute Attribute::of_word(std::string word) {
  Attribute a;
  a.kind = Kind::word;
  a.text = std::move(word);
  return a;
}

const Attribute* Operation::attribute(std::string_view key) const {
  for (const auto& entry : attributes)
    if (entry.name == key) return &entry.value;
  return nullptr;
}

void Parser::skip_type_suffix() {
  if (take(':')) type();
}

Attribute Parser::number(bool negative) {
  Attribute result;
  const std::string_view text = token_.text;
  if (token_.kind == TokenKind::real) {
    result.kind = Kind::real;
    result.real = std::strtod(std::string(text).c_str(), nullptr);
    if (negative) result.real = -result.real;
  } else {
    result.kind = Kind::integer;
    const bool hex = text.starts_with("0x");
    uint64_t magnitude = 0;
    const char* first = text.data() + (hex ? 2 : 0);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), magnitude, hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size())
      fail("an integer does not fit 64 bits", "", ErrorCode::limit);
    result.integer = int64_t(negative ? 0 - magnitude : magnitude);
  }
  advance();
  return result;
}

Attribute Parser::attribute() {
  NestingGuard deeper(*this);
  switch (token_.kind) {
    case TokenKind::integer:
    case TokenKind::real: {
      Attribute result = number(false);
      skip_type_suffix();
      return result;
    }
    case TokenKind::string: {
      Attribute result;
      result.kind = Kind::text;
      result.text = unescaped(token_.text);
      advance();
      skip_type_suffix();
      return result;
    }
    case TokenKind::symbol: {
      Attribute result = Attribute::of_word(std::string(token_.text));
      advance();
      while (take(':')) {  // a nested name, @a::@b
        expect(':');
        result.text = std::string(expect_kind(TokenKind::symbol, "a symbol"));
      }
      return result;
    }
    case TokenKind::attribute: return dialect_attribute();
    case TokenKind::type: type(); return {Kind::other};
    case TokenKind::word: break;
    default:
      if (token_.is('-')) {
        advance();
        if (token_.kind != TokenKind::integer && token_.kind != TokenKind::real) expected("a number");
        Attribute result = number(true);
        skip_type_suffix();
        return result;
      }
      if (token_.is('[')) return list();
      if (token_.is('{')) return dictionary_attribute();
      if (token_.is('<')) return members();
      if (token_.is('(')) {
        skip_function_type();
        return {Kind::other};
      }
      expected("an attribute");
  }
  return word_attribute();
}

Attribute Parser::word_attribute() {
  const std::string_view word = token_.text;
  if (word == "true" || word == "false") {
    Attribute result;
    result.kind = Kind::boolean;
    result.integer = word == "true";
    advance();
    return result;
  }
  if (word == "unit") {
    advance();
    return {};
  }
  if (word == "array") return array();
  if (word == "dense") return dense();
  if (word == "dense_resource")
    fail("a constant is not in the text: it is a resource", "print the module with its constants",
         ErrorCode::unsupported);
  if (word == "loc") {
    skip_location();
    return {Kind::other};
  }
  if (word == "tensor" || word == "tuple" || word == "complex") {
    type();
    return {Kind::other};
  }
  Attribute result = Attribute::of_word(std::string(word));
  advance();
  return result;
}

Attribute Parser::list() {
  Attribute result;
  result.kind = Kind::list;
  expect('[');
  while (!token_.is(']')) {
    result.list.push_back(attribute());
    if (!take(',')) break;
  }
  expect(']');
  return result;
}

// array<i64: 1, 2>
Attribute Parser::array() {
  Attribute result;
  result.kind = Kind::list;
  advance();
  expect('<');
  type();
  if (take(':')) {
    while (!token_.is('>')) {
      result.list.push_back(attribute());
      if (!take(',')) break;
    }
  }
  expect('>');
  return result;
}

Attributes Parser::dictionary() {
  expect('{');
  return rest_of_dictionary();
}

Attributes Parser::rest_of_dictionary() {
  NestingGuard deeper(*this);
  Attributes result;
  while (!token_.is('}')) {
    if (token_.kind != TokenKind::word && token_.kind != TokenKind::string) expected("the name of an attribute");
    std::string key(token_.text);
    advance();
    result.emplace_back(std::move(key), take('=') ? attribute() : Attribute{});
    if (!take(',')) break;
  }
  expect('}');
  return result;
}

Attribute Parser::dictionary_attribute() {
  Attribute result;
  result.kind = Kind::dictionary;
  result.dictionary = dictionary();
  return result;
}

Attribute Parser::members() {
  Attribute result;
  result.kind = Kind::dictionary;
  expect('<');
  while (!token_.is('>')) {
    std::string key(expect_kind(TokenKind::word, "the name of a member"));
    expect('=');
    result.dictionary.emplace_back(std::move(key), attribute());
    if (!take(',')) break;
  }
  expect('>');
  return result;
}

Attribute Parser::dialect_attribute() {
  const std::string_view name = token_.text;
  advance();
  if (!token_.is('<')) {
    const auto alias = attribute_aliases_.find(name);
    return alias == attribute_aliases_.end() ? Attribute{Kind::other} : alias->second;
  }
  if (name == "stablehlo" || name == "chlo") {  // #stablehlo<comparison_direction LT>
    advance();
    expect_kind(TokenKind::word, "the kind of an enumerator");
    Attribute result = Attribute::of_word(std::string(expect_kind(TokenKind::word, "an enumerator")));
    expect('>');
    return result;
  }
  if (name == "stablehlo.gather" || name == "stablehlo.scatter" || name == "stablehlo.dot" || name == "chlo.ragged_dot")
    return members();
  if (name == "stablehlo.conv") {
    advance();
    Attribute result;
    if (take_word("raw")) {
      result.kind = Kind::dictionary;
      while (!token_.is('>')) {
        std::string key(expect_kind(TokenKind::word, "the name of a member"));
        expect('=');
        result.dictionary.emplace_back(std::move(key), attribute());
        if (!take(',')) break;
      }
    } else {
      result = convolution_dimensions();
    }
    expect('>');
    return result;
  }
  skip_balanced();
  return {Kind::other};
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
Attribute Parser::convolution_dimensions() {
  Attribute result;
  result.kind = Kind::dictionary;
  convolution_side("input", 'b', 'f', result);
  if (!take_word("x")) expected("'x'");
  convolution_side("kernel", 'o', 'i', result);
  if (token_.kind != TokenKind::arrow) expected("'->'");
  advance();
  convolution_side("output", 'b', 'f', result);
  return result;
}

void Parser::convolution_side(std::string_view prefix, char batch, char feature, Attribute& into) {
  const bool kernel = prefix == "kernel";
  expect('[');
  std::vector<std::pair<int64_t, int64_t>> spatial;  // number, dimension
  for (int64_t dimension = 0; !token_.is(']'); ++dimension) {
    if (token_.kind == TokenKind::integer) {
      spatial.emplace_back(expect_integer(), dimension);
    } else if (token_.kind == TokenKind::word && token_.text.size() == 1 && token_.text[0] == batch) {
      into.dictionary.emplace_back(
          kernel ? "kernel_output_feature_dimension" : fmt::format("{}_batch_dimension", prefix),
          Attribute::of(dimension));
      advance();
    } else if (token_.kind == TokenKind::word && token_.text.size() == 1 && token_.text[0] == feature) {
      into.dictionary.emplace_back(
          kernel ? "kernel_input_feature_dimension" : fmt::format("{}_feature_dimension", prefix),
          Attribute::of(dimension));
      advance();
    } else {
      expected("a dimension of the convolution");
    }
    if (!take(',')) break;
  }
  expect(']');
  Attribute dimensions;
  dimensions.kind = Kind::list;
  dimensions.list.resize(spatial.size(), Attribute::of(-1));
  for (const auto& [number, dimension] : spatial) {
    if (number < 0 || number >= int64_t(spatial.size()))
      fail("the dimensions of a convolution are not numbered 0, 1, ...");
    dimensions.list[size_t(number)] = Attribute::of(dimension);
  }
  into.dictionary.emplace_back(fmt::format("{}_spatial_dimensions", prefix), std::move(dimensions));
}

// The elements are read once their type, which comes after them, is known.
Attribute Parser::dense() {
  const size_t place = token_.offset;
  lexer_.skip_blank();
  const std::string_view text = lexer_.text();
  size_t start = lexer_.position();
  if (start >= text.size() || text[start] != '<') {
    advance();
    expected("'<'");
  }
  ++start;
  size_t end = start;
  while (end < text.size() && text[end] != '>') {
    if (text[end] == '"') {
      end = text.find('"', end + 1);
      if (end == std::string_view::npos) end = text.size() - 1;
    }
    ++end;
  }
  if (end >= text.size()) fail("a dense constant does not end", "close it with '>'");
  lexer_.move_to(end + 1);
  advance();
  expect(':');
  auto value = std::make_shared<Dense>();
  value->type = type();
  if (value->type.kind != Type::Kind::tensor)
    throw MlirError{ErrorCode::unsupported, "a dense constant is not a tensor", "", place};
  read_dense(text.substr(start, end - start), start, *value);
  Attribute result;
  result.kind = Kind::dense;
  result.dense = std::move(value);
  return result;
}

}  // namespace lightline::frontend::mlir
