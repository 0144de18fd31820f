// The program and its statements.
#include <fmt/format.h>

#include "loops/ir/parser.h"
#include "loops/ir/source.h"

namespace lightline::loops {

Parser::Parser(std::string_view text) : lexer_(text), arrays_(text.size() / 64) {
  // About what a statement of 60 characters needs; growing later is fine.
  program_.exprs.reserve(text.size() / 8);
  depths_.reserve(text.size() / 8);
  program_.statements.reserve(text.size() / 64);
  program_.arrays.reserve(text.size() / 64);
}

Program Parser::run() {
  expect("program");
  program_.name = new_name("a program name");
  expect('(');
  list(')', [&] {
    const Position at = lexer_.position();
    program_.inputs.push_back(declare(parse_param(), at));
  });
  expect("->");
  struct PendingOutput {
    std::string_view name, replaces;
    Position at, replaces_at;
  };
  std::vector<PendingOutput> outputs;
  expect('(');
  list(')', [&] {
    PendingOutput output{any_name("an output name"), {}, previous_, none};
    if (lexer_.is("as")) {
      lexer_.advance();
      output.replaces = any_name("the name of an input");
      output.replaces_at = previous_;
    }
    outputs.push_back(output);
  });
  expect('{');
  end_line();
  parse_block(program_.statements, "}");
  expect('}');
  end_line();
  if (lexer_.kind() != Token::end)
    fail(ErrorCode::parse, fmt::format("unexpected '{}' after the program", lexer_.text()), "a file holds one program");
  for (const PendingOutput& output : outputs) {
    Output& out = program_.outputs.emplace_back();
    out.array = visible(output.name, output.at, "outputs name an input or a result");
    if (!output.replaces.empty()) out.replaces = visible(output.replaces, output.replaces_at, "'as' names an input");
  }
  return std::move(program_);
}

void Parser::parse_block(std::vector<Statement>& block, std::string_view end) {
  const uint32_t outer_group = group_;
  uint32_t printed_group = none;
  group_ = none;
  while (!lexer_.is(end)) {
    if (lexer_.symbol() == '@') {
      parse_group();
      continue;
    }
    if (lexer_.kind() == Token::end || lexer_.is("}"))
      fail(ErrorCode::parse, fmt::format("expected a statement or '{}', found {}", end, found()));
    if (lexer_.is("=")) fail(ErrorCode::parse, "unexpected '='", "write == to compare");
    if (group_ != printed_group) end_line();  // of the group; one without statements is not printed
    printed_group = group_;
    block.push_back(parse_statement());
  }
  group_ = outer_group;
}

// @ "name": the statements up to the next one, or to the end of the block, are one operator.
void Parser::parse_group() {
  lexer_.advance();
  if (lexer_.kind() != Token::string)
    fail(ErrorCode::parse, fmt::format("expected the name of an operator in quotes, found {}", found()));
  const std::string_view quoted = lexer_.text();
  program_.groups.emplace_back(quoted.substr(1, quoted.size() - 2));
  group_ = uint32_t(program_.groups.size() - 1);
  lexer_.advance();
}

Statement Parser::parse_statement() {
  const Position at = lexer_.position();
  Statement statement;
  statement.position = at;
  statement.group = group_;
  DeclaredResult single;
  std::vector<DeclaredResult> several;
  if (accept('(')) {
    list(')', [&] {
      const Position name_at = lexer_.position();
      several.push_back({parse_param(), name_at});
    });
    if (several.empty()) fail_at(at, ErrorCode::parse, "a statement defines at least one array");
  } else {
    single = {parse_param(), at};
  }
  const std::span<DeclaredResult> results =
      several.empty() ? std::span<DeclaredResult>(&single, 1) : std::span<DeclaredResult>(several);
  expect('=');
  const size_t indices_before = visible_indices_.size();
  if (lexer_.is("opaque")) {
    statement.node = parse_opaque(results);
  } else if (lexer_.is("repeat")) {
    statement.node = parse_repeat(results);
  } else if (results.size() != 1) {
    fail(ErrorCode::parse, fmt::format("expected 'opaque' or 'repeat', found {}", found()),
         "other statements define one array");
  } else if (lexer_.is("scatter")) {
    statement.node = parse_scatter(results[0]);
  } else if (lexer_.is("const")) {
    statement.node = parse_constant(results[0]);
  } else {
    statement.node = parse_compute(results[0]);
  }
  visible_indices_.resize(indices_before);
  end_line();
  return statement;
}

Compute Parser::parse_compute(DeclaredResult& typed) {
  Compute compute;
  compute.result = declare(std::move(typed.declaration), typed.at);
  own_result_ = compute.result;
  own_result_readable_ = false;
  parse_loops(compute);
  if (lexer_.kind() == Token::name) parse_reduction(compute);
  compute.body = parse_expression();
  own_result_ = none;
  return compute;
}

// for i, scan t: or view i, j: or nothing, for a scalar.
void Parser::parse_loops(Compute& compute) {
  const Array& result = program_.arrays[compute.result];
  const Shape& shape = result.shape;
  compute.loops.reserve(shape.size());
  const Position head_at = lexer_.position();
  if (lexer_.is("for") || lexer_.is("scan") || lexer_.is("view")) {
    compute.is_view = lexer_.is("view");
    const bool starts_with_scan = lexer_.is("scan");
    if (!starts_with_scan) lexer_.advance();
    if (!(compute.is_view && lexer_.symbol() == ':')) {
      do {
        const bool scan = !compute.is_view && accept_word("scan");
        const Position at = lexer_.position();
        const std::string_view index = new_name("an index name");
        const size_t dimension = compute.loops.size();
        const int64_t extent = dimension < shape.size() ? shape[dimension] : 0;
        own_result_readable_ |= scan;
        compute.loops.push_back(add_index(index, extent, scan ? IndexKind::scan : IndexKind::parallel, at));
      } while (accept(','));
    }
    expect(':');
  }
  if (lexer_.kind() == Token::end || lexer_.is("}"))
    fail(ErrorCode::parse, fmt::format("expected a value, found {}", found()));
  if (compute.loops.size() != shape.size())
    fail_at(head_at, ErrorCode::shape,
            fmt::format("'{}' has {} but its loops bind {}", result.name, counted(shape.size(), "dimension"),
                        counted(compute.loops.size(), "index", "indices")),
            "bind one index per dimension, in order");
}

// sum k in 8, l in 3: or sum[f64] ...: where the name is that of a reducer.
void Parser::parse_reduction(Compute& compute) {
  const Position at = lexer_.position();
  const auto reducer = reducer_from_name(lexer_.text());
  if (!reducer || !starts_reduction()) return;
  if (compute.is_view)
    fail_at(at, ErrorCode::parse, fmt::format("the view '{}' has a reduction", program_.arrays[compute.result].name),
            "a view is one read; use for otherwise");
  if (*reducer == Reducer::set)
    fail_at(at, ErrorCode::parse, "'set' is not a reduction",
            "reductions are sum, prod, max, min, and, or, argmax, argmin; set combines in a scatter");
  compute.reducer = *reducer;
  if (accept('[')) {
    compute.has_accumulator = true;
    compute.accumulator = parse_dtype();
    expect(']');
  }
  parse_ranges(compute.reduced, IndexKind::reduce);
  expect(':');
}

// At a reducer's name: a reduction goes on with a name or '[', a function call with '('.
bool Parser::starts_reduction() {
  const Lexer::Mark name = lexer_.mark();
  lexer_.advance();
  if (lexer_.symbol() != '(') return true;
  lexer_.reset(name);
  return false;
}

void Parser::parse_ranges(std::vector<IndexId>& into, IndexKind kind) {
  do {
    const Position at = lexer_.position();
    const std::string_view name = new_name("an index name");
    expect("in");
    const int64_t extent = parse_extent();
    into.push_back(add_index(name, extent, kind, at));
  } while (accept(','));
}

Scatter Parser::parse_scatter(DeclaredResult& typed) {
  Scatter scatter;
  lexer_.advance();
  const auto reducer = lexer_.kind() == Token::name ? reducer_from_name(lexer_.text()) : std::nullopt;
  if (!reducer || *reducer == Reducer::argmax || *reducer == Reducer::argmin)
    fail(ErrorCode::parse, fmt::format("expected how to combine, found {}", found()),
         "scatter combines by set, sum, prod, max, min, and, or");
  scatter.reducer = *reducer;
  lexer_.advance();
  if (!lexer_.is("into")) parse_ranges(scatter.domain, IndexKind::parallel);
  expect("into");
  if (lexer_.kind() == Token::name && !is_literal_word() && !lexer_.is("-")) {
    const std::string_view name = any_name("an array or a literal");
    scatter.init_array = visible(name, previous_, "scatter starts from an array defined before it, or from a literal");
  } else {
    scatter.init_literal = parse_literal();
  }
  expect(':');
  expect('[');
  while (lexer_.symbol() != ']' && lexer_.symbol() != '|') {
    scatter.target.push_back(parse_expression());
    if (!accept(',')) break;
  }
  if (accept('|')) {
    expect("drop");
    scatter.drop_outside = true;
  }
  expect(']');
  expect("<-");
  scatter.body = parse_expression();
  scatter.result = declare(std::move(typed.declaration), typed.at);
  return scatter;
}

Constant Parser::parse_constant(DeclaredResult& typed) {
  Constant constant;
  lexer_.advance();
  expect('[');
  list(']', [&] { constant.values.push_back(literal_value()); });
  constant.result = declare(std::move(typed.declaration), typed.at);
  return constant;
}

Opaque Parser::parse_opaque(std::span<DeclaredResult> results) {
  Opaque opaque;
  lexer_.advance();
  opaque.name = std::string(any_name("the name of an operation"));
  expect('(');
  list(')', [&] {
    const std::string_view name = any_name("an array or an attribute");
    const Position at = previous_;
    if (accept('=')) {
      for (const auto& attribute : opaque.attributes)
        if (attribute.first == name) fail_at(at, ErrorCode::name, fmt::format("attribute '{}' is given twice", name));
      opaque.attributes.emplace_back(std::string(name), parse_attribute());
    } else {
      if (!opaque.attributes.empty())
        fail_at(at, ErrorCode::parse, fmt::format("'{}' stands after an attribute", name),
                "arrays come first, then attributes");
      opaque.operands.push_back(visible(name, at, "operands are inputs or arrays defined before"));
    }
  });
  for (auto& [typed, at] : results) opaque.results.push_back(declare(std::move(typed), at));
  return opaque;
}

Attribute Parser::parse_attribute() {
  if (lexer_.kind() == Token::string) {
    const std::string_view quoted = lexer_.text();
    Attribute text = std::string(quoted.substr(1, quoted.size() - 2));
    lexer_.advance();
    return text;
  }
  if (accept('[')) {
    std::vector<int64_t> values;
    list(']', [&] {
      const Position at = lexer_.position();
      const Literal value = literal_value();
      if (value.kind != Literal::Kind::integer) fail_at(at, ErrorCode::type, "attribute lists hold integers");
      values.push_back(value.integer);
    });
    return values;
  }
  const Literal value = literal_value();
  switch (value.kind) {
    case Literal::Kind::integer: return value.integer;
    case Literal::Kind::boolean: return value.integer != 0;
    case Literal::Kind::floating: break;
  }
  return value.floating;
}

Repeat Parser::parse_repeat(std::span<DeclaredResult> results) {
  if (++block_depth_ > max_block_depth)
    fail(ErrorCode::limit, fmt::format("repeats nest more than {} deep", max_block_depth));
  Repeat repeat;
  lexer_.advance();
  const size_t scope_before = scope_.size();
  const Position at = lexer_.position();
  const std::string_view counter = new_name("the name of the counter");
  expect("in");
  const int64_t count = parse_extent();
  repeat.counter = add_index(counter, count, IndexKind::repeat, at);
  expect("carry");
  expect('(');
  list(')', [&] { parse_carry(repeat); });
  if (accept_word("while")) parse_condition(repeat);
  expect('{');
  end_line();
  parse_block(repeat.body, "yield");
  parse_yield(repeat);
  end_line();
  expect('}');
  while (scope_.size() > scope_before) {
    arrays_.erase(scope_.back());
    scope_.pop_back();
  }
  if (results.size() != repeat.carries.size() + repeat.stacked.size())
    fail_at(results[0].at, ErrorCode::shape,
            fmt::format("{} {} named, but the repeat gives {}", counted(results.size(), "result"),
                        results.size() == 1 ? "is" : "are", repeat.carries.size() + repeat.stacked.size()),
            "name the carried arrays, then the stacked ones");
  for (auto& [typed, name_at] : results) repeat.results.push_back(declare(std::move(typed), name_at));
  --block_depth_;
  return repeat;
}

// inner = init
void Parser::parse_carry(Repeat& repeat) {
  const Position at = lexer_.position();
  const std::string_view name = new_name("the name of a carried array");
  expect('=');
  if (lexer_.kind() != Token::name)
    fail(ErrorCode::parse, fmt::format("expected the array that '{}' starts from, found {}", name, found()),
         "define it before the repeat, with const or for");
  const std::string_view init_name = any_name("an array");
  Repeat::Carry& carry = repeat.carries.emplace_back();
  carry.init = visible(init_name, previous_, "a carried array starts from an array defined before");
  const Array& init = program_.arrays[carry.init];
  carry.inner = declare({name, init.dtype, init.shape}, at);
}

void Parser::parse_condition(Repeat& repeat) {
  const std::string_view name = any_name("a carried array");
  repeat.condition = visible(name, previous_, "a repeat goes on while a carried array holds");
  for (const Repeat::Carry& carry : repeat.carries)
    if (carry.inner == repeat.condition) return;
  fail_at(previous_, ErrorCode::name, fmt::format("'{}' is not carried by this repeat", name),
          "a repeat goes on while a carried bool[] holds");
}

// yield (next, stack y)
void Parser::parse_yield(Repeat& repeat) {
  const Position at = lexer_.position();
  expect("yield");
  expect('(');
  std::vector<ArrayId> next;
  list(')', [&] {
    const bool stack = accept_word("stack");
    const std::string_view name = any_name("an array of the block");
    const ArrayId array = visible(name, previous_, "yield names arrays of the block");
    if (!stack && !repeat.stacked.empty())
      fail_at(previous_, ErrorCode::parse, "carried arrays come before stacked ones");
    (stack ? repeat.stacked : next).push_back(array);
  });
  if (next.size() != repeat.carries.size())
    fail_at(at, ErrorCode::shape,
            fmt::format("{} {} carried but {} yielded", counted(repeat.carries.size(), "array"),
                        repeat.carries.size() == 1 ? "is" : "are", next.size()),
            "yield the next value of every carried array, in order");
  for (size_t i = 0; i < next.size(); ++i) repeat.carries[i].next = next[i];
}

}  // namespace lightline::loops
