// Operations and regions of MLIR text.
#include <fmt/format.h>

#include "frontend/stablehlo/mlir_parser.h"

namespace lightline::frontend::mlir {

std::vector<Operation> parse(std::string_view text) { return Parser(text).run(); }

std::vector<Operation> Parser::run() {
  Region top;
  while (token_.kind != TokenKind::end) {
    if (token_.is('{')) {  // {-# resources #-} at the end
      skip_balanced();
      continue;
    }
    aliases();
    if (token_.kind != TokenKind::end) top.operations.push_back(operation());
  }
  return std::move(top.operations);
}

// #loc1 = loc(...), !t = tensor<4xf32>
void Parser::aliases() {
  while (token_.kind == TokenKind::attribute || token_.kind == TokenKind::type) {
    const bool is_type = token_.kind == TokenKind::type;
    const std::string_view name = token_.text;
    advance();
    expect('=');
    if (is_type)
      type_aliases_[name] = type();
    else
      attribute_aliases_[name] = attribute();
  }
}

void Parser::skip_location() {
  while (take_word("loc")) {
    if (!token_.is('(')) expected("'('");
    skip_balanced();
  }
}

Use Parser::use() {
  Use result;
  result.offset = token_.offset;
  result.name = expect_kind(TokenKind::value, "a value");
  if (token_.kind == TokenKind::attribute && token_.offset == result.offset + 1 + result.name.size()) {
    // %0#1: the number was read as the name of an attribute
    int64_t number = 0;
    for (const char c : token_.text) {
      if (c < '0' || c > '9' || number > 1'000'000) expected("the number of a result");
      number = number * 10 + (c - '0');
    }
    result.number = number;
    advance();
  }
  return result;
}

void Parser::results(Operation& op) {
  if (token_.kind != TokenKind::value) return;
  do {
    const std::string_view name = expect_kind(TokenKind::value, "a value");
    int64_t count = 1;
    if (take(':')) count = expect_integer();
    if (count < 1 || count > 100'000) fail("an operation has an absurd number of results", "", ErrorCode::limit);
    op.results.emplace_back(name, count);
  } while (take(','));
  expect('=');
}

Operation Parser::operation() {
  NestingGuard deeper(*this);
  Operation op;
  results(op);
  op.offset = token_.offset;
  if (token_.kind == TokenKind::string) {
    op.name = std::string(token_.text);
    advance();
    generic(op);
  } else {
    op.name = std::string(expect_kind(TokenKind::word, "an operation"));
    if (op.name == "module" || op.name == "builtin.module") {
      op.name = "builtin.module";
      module(op);
    } else if (op.name == "func.func" || op.name == "func") {
      op.name = "func.func";
      function(op);
    } else {
      pretty(op);
    }
  }
  skip_location();
  return op;
}

// "name"(operands) <{properties}> ({region}, ...) {attributes} : (types) -> types
void Parser::generic(Operation& op) {
  expect('(');
  while (!token_.is(')')) {
    op.operands.push_back(use());
    if (!take(',')) break;
  }
  expect(')');
  if (token_.is('[')) fail("an operation branches to other blocks", "", ErrorCode::unsupported);
  if (take('<')) {
    op.attributes = dictionary();
    expect('>');
  }
  if (take('(')) {
    while (!token_.is(')')) {
      op.regions.push_back(region());
      if (!take(',')) break;
    }
    expect(')');
  }
  if (token_.is('{')) {
    Attributes more = dictionary();
    op.attributes.insert(op.attributes.end(), std::make_move_iterator(more.begin()),
                         std::make_move_iterator(more.end()));
  }
  finish_types(op);
}

void Parser::finish_types(Operation& op) {
  if (!take(':')) return;
  std::vector<Type> types;
  if (token_.is('(')) {
    types = type_list();
  } else {
    do types.push_back(type());
    while (take(','));
  }
  size_t count = 0;
  for (const auto& result : op.results) count += size_t(result.second);
  if (token_.kind == TokenKind::arrow) {
    advance();
    op.result_types = type_list();
    if (op.result_types.size() != count && !op.results.empty())
      fail(fmt::format("'{}' has {} results but {} types for them", op.name, count, op.result_types.size()));
  } else if (count == types.size()) {
    op.result_types = std::move(types);
  } else if (count > 0) {
    if (types.empty() || count != 1)
      fail(fmt::format("'{}' has {} results but {} types for them", op.name, count, types.size()));
    op.result_types = {types.back()};
  }
}

Region::Argument Parser::block_argument() {
  Region::Argument argument;
  argument.name = expect_kind(TokenKind::value, "an argument");
  expect(':');
  argument.type = type();
  if (token_.is('{')) argument.attributes = dictionary();
  skip_location();
  return argument;
}

void Parser::operations(Region& into) {
  while (!token_.is('}')) {
    if (token_.kind == TokenKind::block) fail("a region has more than one block", "", ErrorCode::unsupported);
    if (token_.kind == TokenKind::end) expected("'}'");
    aliases();
    into.operations.push_back(operation());
  }
}

// { ^bb0(%a: t, ...): operations }
Region Parser::region() {
  expect('{');
  return rest_of_region();
}

Region Parser::rest_of_region() {
  Region result;
  if (token_.kind == TokenKind::block) {
    advance();
    if (take('(')) {
      while (!token_.is(')')) {
        result.arguments.push_back(block_argument());
        if (!take(',')) break;
      }
      expect(')');
    }
    expect(':');
  }
  operations(result);
  expect('}');
  return result;
}

void Parser::module(Operation& op) {
  if (token_.kind == TokenKind::symbol) {
    op.attributes.emplace_back("sym_name", Attribute::of_word(std::string(token_.text)));
    advance();
  }
  if (take_word("attributes")) {
    Attributes more = dictionary();
    op.attributes.insert(op.attributes.end(), more.begin(), more.end());
  }
  op.regions.push_back(region());
}

// func.func public @main(%arg0: t {..}, ...) -> (t {..}, ...) attributes {..} { ... }
void Parser::function(Operation& op) {
  for (const std::string_view visibility : {"public", "private", "nested"})
    if (take_word(visibility))
      op.attributes.emplace_back("sym_visibility", Attribute::of_word(std::string(visibility)));
  op.attributes.emplace_back(
      "sym_name", Attribute::of_word(std::string(expect_kind(TokenKind::symbol, "the name of the function"))));
  Region body;
  expect('(');
  while (!token_.is(')')) {
    if (token_.kind != TokenKind::value) {  // a declaration names no arguments
      type();
      if (token_.is('{')) dictionary();
    } else {
      body.arguments.push_back(block_argument());
    }
    if (!take(',')) break;
  }
  expect(')');
  if (token_.kind == TokenKind::arrow) {
    advance();
    const bool several = take('(');
    while (!several || !token_.is(')')) {
      op.result_types.push_back(type());
      op.result_attributes.push_back(token_.is('{') && several ? dictionary() : Attributes{});
      if (!several || !take(',')) break;
    }
    if (several) expect(')');
  }
  if (take_word("attributes")) {
    Attributes more = dictionary();
    op.attributes.insert(op.attributes.end(), more.begin(), more.end());
  }
  if (!take('{')) return;
  operations(body);
  expect('}');
  op.regions.push_back(std::move(body));
}

}  // namespace lightline::frontend::mlir
