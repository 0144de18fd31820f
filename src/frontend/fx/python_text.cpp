#include "frontend/fx/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/shown.h"
#include "frontend/fx/python_lexer.h"

namespace lightline::frontend::python {
namespace {

constexpr size_t max_text = size_t(256) << 20;
constexpr int max_nesting = 100;  // of brackets
constexpr int max_depth = 500;    // of the tree, which long chains of operators make deep

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Module run() {
    while (token_.kind != TokenKind::end) {
      if (accept_newline()) continue;
      if (is_name("class"))
        module_.classes.push_back(class_definition());
      else if (is_name("import") || is_name("from"))
        skip_line();
      else
        simple_statements(nullptr);  // constants beside the classes mean nothing here
    }
    return std::move(module_);
  }

 private:
  // ---- tokens ----
  void advance() { token_ = lexer_.next(); }
  bool is_symbol(std::string_view text) const { return token_.kind == TokenKind::symbol && token_.text == text; }
  bool is_name(std::string_view text) const { return token_.kind == TokenKind::name && token_.text == text; }
  bool accept(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    advance();
    return true;
  }
  bool accept_newline() {
    if (token_.kind != TokenKind::newline) return false;
    advance();
    return true;
  }
  [[noreturn]] void fail(std::string message, std::string hint = "the text should be what torch.fx prints",
                         ErrorCode code = ErrorCode::parse) const {
    throw SyntaxError{code, std::move(message), std::move(hint), token_.line, token_.column};
  }
  std::string found() const {
    if (token_.kind == TokenKind::end) return "the end of the text";
    if (token_.kind == TokenKind::newline) return "the end of the line";
    return fmt::format("'{}'", shown(token_.text));
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail(fmt::format("expected '{}', found {}", symbol, found()));
  }
  std::string_view expect_name() {
    if (token_.kind != TokenKind::name) fail(fmt::format("expected a name, found {}", found()));
    const std::string_view name = token_.text;
    advance();
    return name;
  }
  void skip_line() {
    while (token_.kind != TokenKind::newline && token_.kind != TokenKind::end) advance();
    accept_newline();
  }

  // ---- definitions ----
  Class class_definition() {
    Class result;
    const int column = token_.column;
    begin_definition(result);
    if (accept("(")) skip_brackets();
    suite(column, result.fields, [&] {
      if (is_name("def"))
        result.methods.push_back(function_definition());
      else
        simple_statements(&result.fields);
    });
    return result;
  }
  template <class Definition>
  void begin_definition(Definition& definition) {
    advance();
    definition.line = token_.line;
    definition.name = expect_name();
  }
  // What follows a colon: statements on the same line, or lines that stand further right than `column`.
  template <class Statements, class Line>
  void suite(int column, Statements& on_same_line, const Line& line) {
    expect(":");
    if (!accept_newline()) return simple_statements(&on_same_line);
    while (token_.kind != TokenKind::end && token_.column > column) line();
  }
  void skip_brackets() {
    for (int depth = 1; depth > 0; advance()) {
      if (token_.kind == TokenKind::end) fail("a bracket does not close");
      if (is_symbol("(")) ++depth;
      if (is_symbol(")")) --depth;
    }
  }
  Function function_definition() {
    Function result;
    const int column = token_.column;
    begin_definition(result);
    expect("(");
    while (!accept(")")) {
      result.parameters.push_back({{}, no_expr, token_.line});
      result.parameters.back().name = expect_name();
      if (accept(":")) result.parameters.back().annotation = expression();
      if (accept("=")) expression();  // defaults play no part
      if (!is_symbol(")")) expect(",");
    }
    if (accept("->")) expression();
    suite(column, result.body, [&] { simple_statements(&result.body); });
    return result;
  }

  // ---- statements: one line, parts separated by semicolons ----
  void simple_statements(std::vector<Statement>* into) {
    while (true) {
      statement(into);
      if (!accept(";") || token_.kind == TokenKind::newline || token_.kind == TokenKind::end) break;
    }
    if (token_.kind != TokenKind::end && !accept_newline())
      fail(fmt::format("expected the end of the statement, found {}", found()));
  }
  void statement(std::vector<Statement>* into) {
    static constexpr std::string_view refused[] = {"if",    "for",   "while", "with",   "try",      "def",  "class",
                                                   "async", "raise", "yield", "assert", "nonlocal", "else", "lambda"};
    for (const std::string_view word : refused)
      if (is_name(word))
        fail(fmt::format("'{}' is not part of the straight-line code that torch.fx prints", word),
             "the function may only assign, call and return", ErrorCode::unsupported);
    Statement result;
    result.line = token_.line;
    if (is_name("pass") || is_name("global") || is_name("del") || is_name("import") || is_name("from")) {
      while (token_.kind != TokenKind::newline && token_.kind != TokenKind::end && !is_symbol(";")) advance();
      return;
    }
    if (is_name("return")) {
      advance();
      result.kind = StatementKind::returned;
      if (token_.kind != TokenKind::newline && token_.kind != TokenKind::end && !is_symbol(";"))
        result.value = expression_list();
    } else {
      assignment(result);
    }
    if (into) into->push_back(std::move(result));
  }
  void assignment(Statement& result) {
    result.value = expression_list();
    if (accept(":")) expression();  // a type
    if (is_augmented()) augmented(result);
    while (accept("=")) {
      if (result.kind == StatementKind::augmented) fail("an augmented assignment has one target");
      result.kind = StatementKind::assign;
      result.targets.push_back(result.value);
      result.value = expression_list();
    }
    for (const ExprId target : result.targets) check_target(target);
  }
  bool is_augmented() const {
    static constexpr std::string_view operators[] = {
        "+=", "-=", "*=", "/=", "//=", "%=", "@=", "**=", "&=", "|=", "^=", "<<=", ">>="};
    return token_.kind == TokenKind::symbol && std::ranges::find(operators, token_.text) != std::end(operators);
  }
  void augmented(Statement& result) {
    result.kind = StatementKind::augmented;
    result.text = token_.text.substr(0, token_.text.size() - 1);
    advance();
    result.targets = {result.value};
    result.value = expression_list();
  }
  void check_target(ExprId id) const {
    const Expr& target = module_.at(id);
    const bool sequence = target.kind == ExprKind::tuple || target.kind == ExprKind::list;
    if (sequence) {
      for (const ExprId part : module_.children_of(target)) check_target(part);
    } else if (target.kind != ExprKind::name && target.kind != ExprKind::subscript &&
               target.kind != ExprKind::attribute) {
      throw SyntaxError{ErrorCode::parse, "this can not be assigned to", "the target should be a name or an element",
                        target.line, target.column};
    }
  }

  // ---- expressions ----
  ExprId add(ExprKind kind, const Token& where, std::string_view text, std::span<const ExprId> parts) {
    Expr expr{kind, where.line, where.column, text, uint32_t(module_.children.size()), uint32_t(parts.size()), 0};
    for (const ExprId part : parts)
      if (part != no_expr) expr.depth = std::max(expr.depth, module_.at(part).depth + 1);
    if (expr.depth > max_depth)
      fail(fmt::format("an expression has more than {} operators in a row", max_depth), "split the expression",
           ErrorCode::limit);
    module_.children.insert(module_.children.end(), parts.begin(), parts.end());
    module_.exprs.push_back(expr);
    return ExprId(module_.exprs.size() - 1);
  }
  ExprId add(ExprKind kind, const Token& where, std::string_view text, std::initializer_list<ExprId> parts = {}) {
    return add(kind, where, text, std::span(parts.begin(), parts.size()));
  }

  // `a, b` without brackets is a tuple.
  ExprId expression_list() {
    const Token where = token_;
    const ExprId first = starred_or_expression();
    if (!is_symbol(",")) return first;
    std::vector<ExprId> parts = {first};
    while (accept(",")) {
      if (token_.kind == TokenKind::newline || token_.kind == TokenKind::end || is_symbol("=") || is_symbol(";")) break;
      parts.push_back(starred_or_expression());
    }
    return add(ExprKind::tuple, where, "", parts);
  }
  ExprId starred_or_expression() {
    const Token where = token_;
    if (!accept("*")) return expression();
    return add(ExprKind::starred, where, "*", {expression()});
  }

  struct Nested {
    explicit Nested(Parser& p) : parser(p) {
      if (++parser.depth_ > max_nesting)
        parser.fail(fmt::format("expressions nest more than {} deep", max_nesting), "split the expression",
                    ErrorCode::limit);
    }
    ~Nested() { --parser.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser;
  };

  ExprId expression() {
    const Nested nested(*this);
    const ExprId left = binary(0);
    static constexpr std::string_view operators[] = {"==", "!=", "<", "<=", ">", ">="};
    for (const std::string_view op : operators) {
      if (!is_symbol(op)) continue;
      const Token where = token_;
      advance();
      const ExprId right = binary(0);
      return add(ExprKind::compare, where, op, {left, right});
    }
    for (const std::string_view word : {"and", "or", "not", "is", "in", "if", "for", "lambda"})
      if (is_name(word))
        fail(fmt::format("'{}' is not part of what torch.fx prints", word), "use calls and operators only",
             ErrorCode::unsupported);
    return left;
  }

  static int precedence(std::string_view op) {
    if (op == "|") return 1;
    if (op == "^") return 2;
    if (op == "&") return 3;
    if (op == "<<" || op == ">>") return 4;
    if (op == "+" || op == "-") return 5;
    if (op == "*" || op == "/" || op == "//" || op == "%" || op == "@") return 6;
    return 0;
  }
  ExprId binary(int above) {
    ExprId left = unary();
    while (token_.kind == TokenKind::symbol) {
      const int own = precedence(token_.text);
      if (own <= above) break;
      const Token op = token_;
      advance();
      const ExprId right = binary(own);
      left = add(ExprKind::binary, op, op.text, {left, right});
    }
    return left;
  }
  ExprId unary() {
    const Token op = token_;
    if (is_symbol("-") || is_symbol("+") || is_symbol("~")) {
      const Nested nested(*this);
      advance();
      const ExprId operand = unary();
      return add(ExprKind::unary, op, op.text, {operand});
    }
    const ExprId base = postfix();
    if (!is_symbol("**")) return base;
    const Nested nested(*this);
    const Token power = token_;
    advance();
    const ExprId exponent = unary();
    return add(ExprKind::binary, power, "**", {base, exponent});
  }
  ExprId postfix() {
    ExprId value = atom();
    while (true) {
      const Token where = token_;
      if (accept(".")) {
        value = add(ExprKind::attribute, where, expect_name(), {value});
      } else if (accept("(")) {
        std::vector<ExprId> parts = {value};
        while (!accept(")")) {
          parts.push_back(argument());
          if (!is_symbol(")")) expect(",");
        }
        value = add(ExprKind::call, where, "", parts);
      } else if (accept("[")) {
        const ExprId index = subscript();
        expect("]");
        value = add(ExprKind::subscript, where, "", {value, index});
      } else {
        return value;
      }
    }
  }
  ExprId argument() {
    const Token where = token_;
    if (is_symbol("**"))
      fail("'**' arguments are not part of what torch.fx prints", "name the arguments", ErrorCode::unsupported);
    const ExprId value = starred_or_expression();
    if (!accept("=")) return value;
    if (module_.at(value).kind != ExprKind::name) fail("an argument's name is expected before '='");
    const std::string_view name = module_.at(value).text;
    return add(ExprKind::keyword, where, name, {expression()});
  }
  ExprId subscript() {
    const Token where = token_;
    std::vector<ExprId> parts;
    bool tuple = false;
    while (!is_symbol("]")) {
      parts.push_back(slice_or_expression());
      if (!accept(",")) break;
      tuple = true;
    }
    if (parts.empty()) fail("an index is missing");
    return tuple ? add(ExprKind::tuple, where, "", parts) : parts[0];
  }
  ExprId slice_or_expression() {
    const Token where = token_;
    ExprId bounds[3] = {no_expr, no_expr, no_expr};
    if (!is_symbol(":")) bounds[0] = expression();
    if (!is_symbol(":")) return bounds[0];
    for (int i = 1; i < 3 && accept(":"); ++i)
      if (!is_symbol(":") && !is_symbol(",") && !is_symbol("]")) bounds[i] = expression();
    return add(ExprKind::slice, where, "", bounds);
  }

  ExprId atom() {
    const Token where = token_;
    switch (token_.kind) {
      case TokenKind::name: advance(); return add(ExprKind::name, where, where.text);
      case TokenKind::integer: advance(); return add(ExprKind::integer, where, where.text);
      case TokenKind::real: advance(); return add(ExprKind::real, where, where.text);
      case TokenKind::imaginary: advance(); return add(ExprKind::imaginary, where, where.text);
      case TokenKind::string: return string();
      default: break;
    }
    const Nested nested(*this);
    if (accept("...")) return add(ExprKind::ellipsis, where, "...");
    if (accept("(")) return parenthesised(where);
    if (accept("[")) return add(ExprKind::list, where, "", items("]"));
    if (accept("{")) return dict(where);
    fail(fmt::format("expected an expression, found {}", found()));
  }
  ExprId string() {
    const Token where = token_;
    advance();
    if (token_.kind == TokenKind::string)
      fail("strings in parts are not part of what torch.fx prints", "join the string", ErrorCode::unsupported);
    return add(ExprKind::string, where, where.text);
  }
  std::vector<ExprId> items(std::string_view close) {
    std::vector<ExprId> parts;
    while (!accept(close)) {
      parts.push_back(starred_or_expression());
      if (!is_symbol(close)) expect(",");
    }
    return parts;
  }
  ExprId parenthesised(const Token& where) {
    if (accept(")")) return add(ExprKind::tuple, where, "");
    const ExprId first = starred_or_expression();
    if (accept(")")) return first;
    expect(",");
    std::vector<ExprId> parts = items(")");
    parts.insert(parts.begin(), first);
    return add(ExprKind::tuple, where, "", parts);
  }
  ExprId dict(const Token& where) {
    std::vector<ExprId> parts;
    while (!accept("}")) {
      parts.push_back(expression());
      expect(":");
      parts.push_back(expression());
      if (!is_symbol("}")) expect(",");
    }
    return add(ExprKind::dict, where, "", parts);
  }

  Lexer lexer_;
  Token token_;
  Module module_;
  int depth_ = 0;
};

}  // namespace

Result<Module> parse(std::string_view text, std::string_view file) {
  if (text.size() > max_text)
    return Error{ErrorCode::limit,
                 fmt::format("the text has {} bytes; the limit is {}", text.size(), max_text),
                 "split the program",
                 {std::string(file)}};
  try {
    return Parser(text).run();
  } catch (const SyntaxError& error) {
    return Error{error.code, error.message, error.hint, {std::string(file), error.line, error.column}};
  }
}

Result<int64_t> integer_value(const Expr& literal, bool negative, std::string_view file) {
  std::string digits = negative ? "-" : "";
  for (const char c : literal.text)
    if (c != '_') digits += c;
  int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size())
    return Error{ErrorCode::limit,
                 fmt::format("the integer {} does not fit 64 bits", shown(digits)),
                 "sizes and indices have at most 64 bits",
                 {std::string(file), literal.line, literal.column}};
  return value;
}

std::string string_value(const Expr& literal) {
  std::string value;
  for (size_t i = 0; i < literal.text.size(); ++i) {
    char c = literal.text[i];
    if (c == '\\' && i + 1 < literal.text.size()) {
      c = literal.text[++i];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    value += c;
  }
  return value;
}

}  // namespace lightline::frontend::python
