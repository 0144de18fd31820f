#include "loops/ir/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/file.h"
#include "base/name_table.h"
#include "loops/ir/lexer.h"
#include "loops/ir/source.h"
#include "loops/ir/verify.h"
#include "loops/ir/words.h"

namespace lightline::loops {
namespace {

constexpr int max_expression_depth = 500;
constexpr int max_block_depth = 32;
constexpr size_t max_rank = 32;
constexpr int64_t max_extent = int64_t(1) << 48;

// Index names are short, and mostly told apart by their first letter.
inline bool is_name(const Index& index, std::string_view name) {
  return index.name.size() == name.size() && index.name[0] == name[0] && (name.size() == 1 || index.name == name);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), arrays_(text.size() / 64) {
    // About what a statement of 60 characters needs; growing later is fine.
    program_.exprs.reserve(text.size() / 8);
    depths_.reserve(text.size() / 8);
    program_.statements.reserve(text.size() / 64);
    program_.arrays.reserve(text.size() / 64);
  }

  Program run() {
    expect_word("program");
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
      fail(ErrorCode::parse, fmt::format("unexpected '{}' after the program", lexer_.text()),
           "a file holds one program");
    for (const PendingOutput& output : outputs) {
      Output& out = program_.outputs.emplace_back();
      out.array = visible(output.name, output.at, "outputs name an input or a result");
      if (!output.replaces.empty()) out.replaces = visible(output.replaces, output.replaces_at, "'as' names an input");
    }
    return std::move(program_);
  }

 private:
  struct Declaration {
    std::string_view name;
    DType dtype = DType::f32;
    Shape shape;
  };

  struct DeclaredResult {
    Declaration first;
    Position second = none;
  };

  // ---- tokens ----
  [[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = "") {
    fail_at(lexer_.position(), code, std::move(message), std::move(hint));
  }
  [[noreturn]] static void fail_at(Position at, ErrorCode code, std::string message, std::string hint = "") {
    throw SyntaxError{code, std::move(message), std::move(hint), at};
  }
  std::string found() const {
    return lexer_.kind() == Token::end ? "the end of the text" : fmt::format("'{}'", lexer_.text());
  }
  void expect(char symbol, std::string_view hint = "") {
    if (lexer_.symbol() != symbol || lexer_.text().size() != 1)
      fail(ErrorCode::parse, fmt::format("expected '{}', found {}", symbol, found()), std::string(hint));
    lexer_.advance();
  }
  void expect(std::string_view symbol) {
    if (!lexer_.is(symbol)) fail(ErrorCode::parse, fmt::format("expected '{}', found {}", symbol, found()));
    lexer_.advance();
  }
  void expect_word(std::string_view word) { expect(word); }
  bool accept(char symbol) {
    if (lexer_.symbol() != symbol || lexer_.text().size() != 1) return false;
    lexer_.advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (lexer_.kind() != Token::name || lexer_.text() != word) return false;
    lexer_.advance();
    return true;
  }
  std::string_view any_name(std::string_view what) {
    if (lexer_.kind() != Token::name) fail(ErrorCode::parse, fmt::format("expected {}, found {}", what, found()));
    const std::string_view word = lexer_.text();
    previous_ = lexer_.position();
    lexer_.advance();
    return word;
  }
  std::string_view new_name(std::string_view what) {
    if (lexer_.kind() == Token::name && is_reserved(lexer_.text()))
      fail(ErrorCode::parse, fmt::format("'{}' is a reserved word, not {}", lexer_.text(), what),
           "choose another name");
    return any_name(what);
  }
  template <class Item>
  void list(char close, Item item) {
    if (accept(close)) return;
    do item();
    while (accept(','));
    expect(close);
  }
  int64_t parse_extent() {
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
  DType parse_dtype() {
    const auto dtype = lexer_.kind() == Token::name ? dtype_from_name(lexer_.text()) : std::nullopt;
    if (!dtype)
      fail(ErrorCode::type, fmt::format("expected a dtype, found {}", found()),
           "dtypes are f64 f32 f16 bf16 f8e4m3 f8e5m2 f4e2m1 i64 i32 i16 i8 u8 bool c64");
    lexer_.advance();
    return *dtype;
  }
  Declaration parse_param() {
    Declaration typed{new_name("an array name"), DType::f32, {}};
    expect(':', "arrays are declared as name: dtype[extents]");
    typed.dtype = parse_dtype();
    expect('[', "a scalar has the type f32[]");
    std::array<int64_t, max_rank> extents;
    size_t rank = 0;
    list(']', [&] {
      if (rank == max_rank)
        fail(ErrorCode::limit, fmt::format("'{}' has more than {} dimensions", typed.name, max_rank));
      extents[rank++] = parse_extent();
    });
    typed.shape.assign(extents.begin(), extents.begin() + rank);
    return typed;
  }

  // ---- names ----
  ArrayId declare(Declaration typed, Position at) {
    const auto id = ArrayId(program_.arrays.size());
    if (!arrays_.insert(typed.name, id))
      fail_at(at, ErrorCode::name, fmt::format("'{}' is defined twice", typed.name),
              "every array is defined once; choose another name");
    scope_.push_back(typed.name);
    return program_.add_array(std::string(typed.name), typed.dtype, std::move(typed.shape), at);
  }
  ArrayId visible(std::string_view name, Position at, std::string_view hint) {
    if (const ArrayId* found = arrays_.find(name)) return *found;
    fail_at(at, ErrorCode::name, fmt::format("unknown array '{}'", name), std::string(hint));
  }
  IndexId add_index(std::string_view name, int64_t extent, IndexKind kind, Position at) {
    for (const IndexId other : visible_indices_)
      if (is_name(program_.indices[other], name))
        fail_at(at, ErrorCode::name, fmt::format("index '{}' is bound twice", name),
                "choose another name for one of them");
    const IndexId id = program_.add_index(std::string(name), extent, kind);
    visible_indices_.push_back(id);
    return id;
  }

  // ---- statements ----
  void parse_block(std::vector<Statement>& block, std::string_view end) {
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
  void parse_group() {
    lexer_.advance();
    if (lexer_.kind() != Token::string)
      fail(ErrorCode::parse, fmt::format("expected the name of an operator in quotes, found {}", found()));
    const std::string_view quoted = lexer_.text();
    program_.groups.emplace_back(quoted.substr(1, quoted.size() - 2));
    group_ = uint32_t(program_.groups.size() - 1);
    lexer_.advance();
  }

  Statement parse_statement() {
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

  Compute parse_compute(DeclaredResult& typed) {
    Compute compute;
    compute.result = declare(std::move(typed.first), typed.second);
    const Shape& shape = program_.arrays[compute.result].shape;
    const std::string_view name = program_.arrays[compute.result].name;
    compute.loops.reserve(shape.size());
    own_result_ = compute.result;
    own_result_readable_ = false;
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
              fmt::format("'{}' has {} but its loops bind {}", name, counted(shape.size(), "dimension"),
                          counted(compute.loops.size(), "index", "indices")),
              "bind one index per dimension, in order");
    if (lexer_.kind() == Token::name) {
      const Position reducer_at = lexer_.position();
      const auto reducer = reducer_from_name(lexer_.text());
      if (reducer && starts_reduction()) {
        if (compute.is_view)
          fail_at(reducer_at, ErrorCode::parse, fmt::format("the view '{}' has a reduction", name),
                  "a view is one read; use for otherwise");
        if (*reducer == Reducer::set)
          fail_at(reducer_at, ErrorCode::parse, "'set' is not a reduction",
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
    }
    compute.body = parse_expression();
    own_result_ = none;
    return compute;
  }

  // At a reducer's name: a reduction goes on with a name or '[', a function call with '('.
  bool starts_reduction() {
    const Lexer::Mark name = lexer_.mark();
    lexer_.advance();
    if (lexer_.symbol() != '(') return true;
    lexer_.reset(name);
    return false;
  }

  void parse_ranges(std::vector<IndexId>& into, IndexKind kind) {
    do {
      const Position at = lexer_.position();
      const std::string_view name = new_name("an index name");
      expect_word("in");
      const int64_t extent = parse_extent();
      into.push_back(add_index(name, extent, kind, at));
    } while (accept(','));
  }

  Scatter parse_scatter(DeclaredResult& typed) {
    Scatter scatter;
    lexer_.advance();
    const auto reducer = lexer_.kind() == Token::name ? reducer_from_name(lexer_.text()) : std::nullopt;
    if (!reducer || *reducer == Reducer::argmax || *reducer == Reducer::argmin)
      fail(ErrorCode::parse, fmt::format("expected how to combine, found {}", found()),
           "scatter combines by set, sum, prod, max, min, and, or");
    scatter.reducer = *reducer;
    lexer_.advance();
    if (!lexer_.is("into")) parse_ranges(scatter.domain, IndexKind::parallel);
    expect_word("into");
    if (lexer_.kind() == Token::name && !is_literal_word() && !lexer_.is("-")) {
      const std::string_view name = any_name("an array or a literal");
      scatter.init_array =
          visible(name, previous_, "scatter starts from an array defined before it, or from a literal");
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
      expect_word("drop");
      scatter.drop_outside = true;
    }
    expect(']');
    expect("<-");
    scatter.body = parse_expression();
    scatter.result = declare(std::move(typed.first), typed.second);
    return scatter;
  }

  Constant parse_constant(DeclaredResult& typed) {
    Constant constant;
    lexer_.advance();
    expect('[');
    list(']', [&] { constant.values.push_back(literal_value()); });
    constant.result = declare(std::move(typed.first), typed.second);
    return constant;
  }

  Opaque parse_opaque(std::span<DeclaredResult> results) {
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

  Attribute parse_attribute() {
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

  Repeat parse_repeat(std::span<DeclaredResult> results) {
    if (++block_depth_ > max_block_depth)
      fail(ErrorCode::limit, fmt::format("repeats nest more than {} deep", max_block_depth));
    Repeat repeat;
    lexer_.advance();
    const size_t scope_before = scope_.size();
    const Position at = lexer_.position();
    const std::string_view counter = new_name("the name of the counter");
    expect_word("in");
    const int64_t count = parse_extent();
    repeat.counter = add_index(counter, count, IndexKind::repeat, at);
    expect_word("carry");
    expect('(');
    list(')', [&] {
      const Position name_at = lexer_.position();
      const std::string_view name = new_name("the name of a carried array");
      expect('=');
      if (lexer_.kind() != Token::name)
        fail(ErrorCode::parse, fmt::format("expected the array that '{}' starts from, found {}", name, found()),
             "define it before the repeat, with const or for");
      const std::string_view init_name = any_name("an array");
      Repeat::Carry& carry = repeat.carries.emplace_back();
      carry.init = visible(init_name, previous_, "a carried array starts from an array defined before");
      const Array& init = program_.arrays[carry.init];
      carry.inner = declare({name, init.dtype, init.shape}, name_at);
    });
    expect('{');
    end_line();
    parse_block(repeat.body, "yield");
    const Position yield_at = lexer_.position();
    expect_word("yield");
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
      fail_at(yield_at, ErrorCode::shape,
              fmt::format("{} {} carried but {} yielded", counted(repeat.carries.size(), "array"),
                          repeat.carries.size() == 1 ? "is" : "are", next.size()),
              "yield the next value of every carried array, in order");
    for (size_t i = 0; i < next.size(); ++i) repeat.carries[i].next = next[i];
    end_line();
    expect('}');
    while (scope_.size() > scope_before) {
      arrays_.erase(scope_.back());
      scope_.pop_back();
    }
    if (results.size() != repeat.carries.size() + repeat.stacked.size())
      fail_at(results[0].second, ErrorCode::shape,
              fmt::format("{} {} named, but the repeat gives {}", counted(results.size(), "result"),
                          results.size() == 1 ? "is" : "are", repeat.carries.size() + repeat.stacked.size()),
              "name the carried arrays, then the stacked ones");
    for (auto& [typed, name_at] : results) repeat.results.push_back(declare(std::move(typed), name_at));
    --block_depth_;
    return repeat;
  }

  // ---- expressions ----
  bool is_literal_word() const {
    return lexer_.is("inf") || lexer_.is("nan") || lexer_.is("true") || lexer_.is("false");
  }

  Literal literal_value() {
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
  ExprId parse_literal() {
    const Position at = lexer_.position();
    const Literal value = literal_value();
    return note(program_.literal(value, at), 1);
  }

  // Keeps the depth of every expression, so that a long chain can not exhaust the stack later.
  ExprId note(ExprId id, int depth) {
    if (depth > max_expression_depth)
      fail_at(program_.exprs[id].position, ErrorCode::limit,
              fmt::format("the expression is more than {} deep", max_expression_depth),
              "split it into several statements");
    depths_.push_back(uint16_t(depth));  // expressions are noted in the order they are made
    return id;
  }
  int depth(ExprId id) const { return depths_[id]; }
  ExprId make_call(Function function, Position at, ExprId a, ExprId b = none, ExprId c = none) {
    int deepest = depth(a);
    if (b != none) deepest = std::max(deepest, depth(b));
    if (c != none) deepest = std::max(deepest, depth(c));
    return note(program_.call(function, a, b, c, at), deepest + 1);
  }

  // Binding strength, weakest first: or 1, and 2, not 3, comparison 4, + - 5, * / div mod 6.
  struct InfixOperator {
    Function function;
    int strength;
  };
  std::optional<InfixOperator> infix() const {
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

  ExprId parse_expression(int weakest = 1) {
    if (++nesting_ > max_expression_depth)
      fail(ErrorCode::limit, fmt::format("the expression is more than {} deep", max_expression_depth),
           "split it into several statements");
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

  ExprId parse_prefix() {
    if (lexer_.symbol() == '-' && lexer_.text().size() == 1) {
      const Position at = lexer_.position();
      const Lexer::Mark minus = lexer_.mark();
      lexer_.advance();
      const bool literal =
          lexer_.kind() == Token::integer || lexer_.kind() == Token::floating || lexer_.is("inf") || lexer_.is("nan");
      if (literal) {
        lexer_.reset(minus);
        return parse_literal();
      }
      if (++nesting_ > max_expression_depth)
        fail(ErrorCode::limit, fmt::format("the expression is more than {} deep", max_expression_depth),
             "split it into several statements");
      const ExprId value = parse_prefix();
      --nesting_;
      return make_call(Function::neg, at, value);
    }
    return parse_primary();
  }

  ExprId parse_primary() {
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
    if (lexer_.symbol() == '(') return parse_call(name, at);
    if (lexer_.symbol() == '[') return parse_read(name, at);
    for (auto it = visible_indices_.rbegin(); it != visible_indices_.rend(); ++it)
      if (is_name(program_.indices[*it], name)) return note(program_.index(*it, at), 1);
    if (reducer_from_name(name))
      fail_at(at, ErrorCode::parse, fmt::format("the reduction '{}' stands inside an expression", name),
              "a reduction comes right after the loops and covers the rest; use two statements");
    if (arrays_.find(name) != nullptr)
      fail_at(at, ErrorCode::name, fmt::format("array '{}' is read without subscripts", name),
              fmt::format("write {}[...]; a scalar is read as {}[]", name, name));
    fail_at(at, ErrorCode::name, fmt::format("unknown index '{}'", name),
            "indices are bound by for, scan, a reduction or repeat");
  }

  ExprId parse_call(std::string_view name, Position at) {
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

  ExprId parse_read(std::string_view name, Position at) {
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

  // ---- comments ----
  // At the end of a canonical line: a comment inside it moves before it, one right after it trails it, and those on the
  // lines that follow lead the next one.
  void end_line() {
    if (!lexer_.remarks.empty()) take_remarks();
    ++line_;
  }
  void take_remarks() {
    for (const Lexer::Remark& remark : lexer_.remarks) {
      const bool inside = remark.before < lexer_.position();
      const bool trailing = !inside && remark.same_line;
      program_.comments.push_back({inside || trailing ? line_ : line_ + 1, trailing, std::string(remark.text)});
    }
    lexer_.remarks.clear();
  }

  Lexer lexer_;
  Program program_;
  NameTable<ArrayId> arrays_;
  std::vector<std::string_view> scope_;
  std::vector<IndexId> visible_indices_;
  std::vector<uint16_t> depths_;
  uint32_t group_ = none;
  ArrayId own_result_ = none;
  bool own_result_readable_ = false;
  int nesting_ = 0;
  int block_depth_ = 0;
  Position previous_ = none;
  uint32_t line_ = 0;  // of the canonical text
};

}  // namespace

Result<Program> parse(std::string_view text, std::string_view file) {
  if (text.size() >= none)
    return Error{ErrorCode::limit, "the program text is larger than 4 GiB", "", {std::string(file)}};
  try {
    return Parser(text).run();
  } catch (const SyntaxError& error) {
    return Error{error.code, error.message, error.hint, place(text, file, error.position)};
  }
}

Result<Program> parse_and_verify(std::string_view text, std::string_view file) {
  LL_TRY(Program program, parse(text, file));
  LL_DO(verify(program, text, file));
  return program;
}

Result<Program> load(const std::string& path) {
  LL_TRY(const std::string text, read_file(path));
  return parse_and_verify(text, path);
}

}  // namespace lightline::loops
