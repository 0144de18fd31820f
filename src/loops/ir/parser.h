// The parser's inside: recursive descent over the tokens of a program, as docs/loop-ir.md gives its grammar. What is
// called for every token is inline.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_table.h"
#include "loops/ir/lexer.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// Hidden, so that calls between its functions are direct and can be inlined in a library that may be shared.
class [[gnu::visibility("hidden")]] Parser {
 public:
  explicit Parser(std::string_view text);
  Program run();  // throws SyntaxError

 private:
  static constexpr int max_expression_depth = 500;
  static constexpr int max_block_depth = 32;
  static constexpr size_t max_rank = 32;
  static constexpr int64_t max_extent = int64_t(1) << 48;

  struct Declaration {
    std::string_view name;
    DType dtype = DType::f32;
    Shape shape;
  };
  struct DeclaredResult {
    Declaration declaration;
    Position at = none;
  };

  // ---- tokens ----
  [[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = "") const;
  [[noreturn]] static void fail_at(Position at, ErrorCode code, std::string message, std::string hint = "");
  [[noreturn]] void fail_expected(std::string_view symbol, std::string_view hint) const;
  std::string found() const;
  bool is_at(char symbol) const { return lexer_.symbol() == symbol && lexer_.text().size() == 1; }
  void expect(char symbol, std::string_view hint = "") {
    if (!is_at(symbol)) fail_expected({&symbol, 1}, hint);
    lexer_.advance();
  }
  void expect(std::string_view word) {
    if (!lexer_.is(word)) fail_expected(word, "");
    lexer_.advance();
  }
  bool accept(char symbol) {
    if (!is_at(symbol)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (lexer_.kind() != Token::name || lexer_.text() != word) return false;
    lexer_.advance();
    return true;
  }
  template <class Item>
  void list(char close, Item item) {
    if (accept(close)) return;
    do item();
    while (accept(','));
    expect(close);
  }
  std::string_view any_name(std::string_view what);
  std::string_view new_name(std::string_view what);
  int64_t parse_extent();
  DType parse_dtype();
  Declaration parse_param();

  // ---- names ----
  ArrayId declare(Declaration typed, Position at);
  ArrayId visible(std::string_view name, Position at, std::string_view hint) const;
  IndexId add_index(std::string_view name, int64_t extent, IndexKind kind, Position at);
  // Index names are short, and mostly told apart by their first letter.
  static bool is_name(const Index& index, std::string_view name) {
    return index.name.size() == name.size() && index.name[0] == name[0] && (name.size() == 1 || index.name == name);
  }

  // ---- statements ----
  void parse_block(std::vector<Statement>& block, std::string_view end);
  void parse_group();
  Statement parse_statement();
  Compute parse_compute(DeclaredResult& typed);
  void parse_loops(Compute& compute);
  void parse_reduction(Compute& compute);
  bool starts_reduction();
  void parse_ranges(std::vector<IndexId>& into, IndexKind kind);
  Scatter parse_scatter(DeclaredResult& typed);
  Constant parse_constant(DeclaredResult& typed);
  Opaque parse_opaque(std::span<DeclaredResult> results);
  Attribute parse_attribute();
  Repeat parse_repeat(std::span<DeclaredResult> results);
  void parse_carry(Repeat& repeat);
  void parse_condition(Repeat& repeat);
  void parse_yield(Repeat& repeat);

  // ---- expressions ----
  ExprId parse_expression(int weakest = 1);
  ExprId parse_prefix();
  ExprId parse_primary();
  ExprId parse_call(std::string_view name, Position at);
  ExprId parse_read(std::string_view name, Position at);
  ExprId parse_literal();
  Literal literal_value();
  bool is_literal_word() const;
  // Binding strength, weakest first: or 1, and 2, not 3, comparison 4, + - 5, * / div mod 6.
  struct InfixOperator {
    Function function;
    int strength;
  };
  std::optional<InfixOperator> infix() const;
  ExprId note(ExprId id, int depth);
  int depth(ExprId id) const { return depths_[id]; }
  ExprId make_call(Function function, Position at, ExprId a, ExprId b = none, ExprId c = none);
  void enter_expression();

  // ---- comments ----
  // At the end of a canonical line: a comment inside it moves before it, one right after it trails it, and those on the
  // lines that follow lead the next one.
  void end_line() {
    if (!lexer_.remarks.empty()) take_remarks();
    ++line_;
  }
  void take_remarks();

  Lexer lexer_;
  Program program_;
  NameTable<ArrayId> arrays_;
  std::vector<std::string_view> scope_;
  std::vector<IndexId> visible_indices_;
  std::vector<uint16_t> depths_;  // of expressions
  uint32_t group_ = none;
  ArrayId own_result_ = none;
  bool own_result_readable_ = false;
  int nesting_ = 0;
  int block_depth_ = 0;
  Position previous_ = none;
  uint32_t line_ = 0;  // of the canonical text
};

}  // namespace lightline::loops
