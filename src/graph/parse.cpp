#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "base/shown.h"
#include "graph/operators.h"
#include "graph/text.h"

namespace lightline::graph {
namespace {

enum class TokenKind : uint8_t { end, word, number, text, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // of a text without its quotes
  size_t offset = 0;
};

struct SyntaxError {
  std::string message;
  size_t offset;
  ErrorCode code = ErrorCode::parse;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_space();
    const size_t start = at_;
    if (at_ == text_.size()) return {TokenKind::end, "", start};
    const char c = text_[at_];
    if (is_letter(c)) {  // names of operators have dots
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
      return {TokenKind::word, text_.substr(start, at_ - start), start};
    }
    const bool negative = c == '-' && at_ + 1 < text_.size() && (is_digit(text_[at_ + 1]) || text_[at_ + 1] == 'i');
    if (is_digit(c) || negative) return number(start);
    if (c == '"') return quoted(start);
    ++at_;
    return {TokenKind::symbol, text_.substr(start, 1), start};
  }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        ++at_;
      else
        break;
    }
  }
  Token number(size_t start) {
    ++at_;
    if (text_.substr(start).starts_with("-inf")) {
      at_ = start + 4;
      return {TokenKind::number, text_.substr(start, 4), start};
    }
    const auto goes_on = [&](char c) {
      return is_digit(c) || c == '.' || c == 'e' || c == 'E' ||
             ((c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'));
    };
    while (at_ < text_.size() && goes_on(text_[at_])) ++at_;
    return {TokenKind::number, text_.substr(start, at_ - start), start};
  }
  Token quoted(size_t start) {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size() || text_[at_] != '"') throw SyntaxError{"the text has no end", start};
    ++at_;
    return {TokenKind::text, text_.substr(start + 1, at_ - start - 2), start};
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

constexpr int most_nested = 100;
constexpr int64_t most_elements = int64_t(1) << 56;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Graph run() {
    Graph graph = read_graph(0);
    if (token_.kind != TokenKind::end) fail("expected the end of the text behind the graph");
    return graph;
  }

 private:
  using Names = std::unordered_map<std::string_view, ValueId>;

  [[noreturn]] void fail(std::string message, ErrorCode code = ErrorCode::parse) const {
    throw SyntaxError{std::move(message), token_.offset, code};
  }
  void advance() { token_ = lexer_.next(); }
  bool is(std::string_view text) const {
    return (token_.kind == TokenKind::word || token_.kind == TokenKind::symbol) && token_.text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail(fmt::format("expected '{}'{}", text, found()));
  }
  std::string found() const {
    if (token_.kind == TokenKind::end) return ", found the end of the text";
    return fmt::format(", found '{}'", shown(token_.text));
  }
  std::string_view word(std::string_view what) {
    if (token_.kind != TokenKind::word) fail(fmt::format("expected {}{}", what, found()));
    const std::string_view text = token_.text;
    advance();
    return text;
  }

  // ---- a graph ----
  Graph read_graph(int depth) {
    if (depth > most_nested) fail("graphs stand inside of each other too deeply", ErrorCode::limit);
    Graph graph;
    Names names;
    expect("graph");
    if (accept("@")) {
      graph.name = "body";
      advance();
    } else {
      graph.name = std::string(word("the name of the graph"));
    }
    expect("{");
    while (!is("return")) {
      if (token_.kind == TokenKind::end) fail("expected 'return' and a '}' before the end of the text");
      if (is("graph"))
        graph.subgraphs.push_back(read_graph(depth + 1));
      else if (is("input") || is("parameter") || is("buffer") || is("constant"))
        read_input(graph, names);
      else
        read_node(graph, names);
    }
    advance();
    while (!is("}")) {
      Output output;
      output.value = read_use(names);
      if (accept("replaces")) output.replaces = read_use(names);
      graph.outputs.push_back(output);
      if (!accept(",")) break;
    }
    expect("}");
    return graph;
  }

  ValueId define(Graph& graph, Names& names) {
    if (accept("_")) return no_value;
    const size_t offset = token_.offset;
    const std::string_view name = word("the name of a value");
    if (name.find('.') != std::string_view::npos) throw SyntaxError{"the name of a value has no dots", offset};
    const ValueId id = graph.add_value(std::string(name));
    if (!names.emplace(name, id).second)
      throw SyntaxError{fmt::format("'{}' is defined twice", shown(name)), offset, ErrorCode::name};
    Value& value = graph.values[id];
    if (accept(":")) value.type = read_type();
    if (accept("strides")) value.strides = read_integers();
    return id;
  }

  ValueId read_use(const Names& names) {
    const auto found_value = token_.kind == TokenKind::word ? names.find(token_.text) : names.end();
    if (found_value == names.end()) fail(fmt::format("'{}' is not defined", shown(token_.text)), ErrorCode::name);
    advance();
    return found_value->second;
  }

  TensorType read_type() {
    const size_t offset = token_.offset;
    const std::string_view name = word("a dtype");
    const auto dtype = dtype_from_name(name);
    if (!dtype) throw SyntaxError{fmt::format("'{}' is no dtype", shown(name)), offset, ErrorCode::type};
    TensorType type{*dtype, read_integers()};
    int64_t count = 1;
    for (const int64_t extent : type.shape) {
      if (extent < 0) throw SyntaxError{"a size is negative", offset, ErrorCode::shape};
      if (__builtin_mul_overflow(count, extent, &count) || count > most_elements)
        throw SyntaxError{"the shape has too many elements", offset, ErrorCode::limit};
    }
    return type;
  }

  std::vector<int64_t> read_integers() {
    std::vector<int64_t> list;
    expect("[");
    while (!is("]")) {
      const auto value = number();
      const auto* integer = std::get_if<int64_t>(&value);
      if (!integer) fail("expected an integer");
      list.push_back(*integer);
      if (!accept(",")) break;
    }
    expect("]");
    return list;
  }

  // ---- inputs ----
  void read_input(Graph& graph, Names& names) {
    Input input;
    input.kind = is("input")       ? InputKind::user
                 : is("parameter") ? InputKind::parameter
                 : is("buffer")    ? InputKind::buffer
                                   : InputKind::constant;
    advance();
    input.value = define(graph, names);
    if (input.value == no_value) fail("an input needs a name");
    if (token_.kind == TokenKind::text) input.source = text();
    if (accept("=")) read_known(graph, input);
    graph.inputs.push_back(std::move(input));
  }

  void read_known(const Graph& graph, Input& input) {
    if (token_.kind == TokenKind::text) {
      input.digest = text();
      return;
    }
    const auto& type = graph.values[input.value].type;
    if (!type) fail("values need a type before them");
    auto tensor = Tensor::allocate(type->dtype, type->shape);
    if (!tensor.ok()) fail(tensor.error().message, tensor.error().code);
    expect("[");
    for (int64_t i = 0; i < tensor->size(); ++i) {
      if (i > 0) expect(",");
      set_element(*tensor, i, read_value({}));
    }
    expect("]");
    input.known = std::move(tensor).value();
  }

  void set_element(Tensor& tensor, int64_t at, const Argument& value) const {
    if (const auto* flag = std::get_if<bool>(&value))
      tensor.set_i64(at, *flag);
    else if (const auto* integer = std::get_if<int64_t>(&value))
      tensor.set_i64(at, *integer);
    else if (const auto* real = std::get_if<double>(&value))
      tensor.set_f64(at, *real);
    else if (const auto* complex = std::get_if<std::complex<double>>(&value))
      tensor.set_c128(at, *complex);
    else
      fail("expected a number");
  }

  // ---- nodes ----
  void read_node(Graph& graph, Names& names) {
    Node node;
    Names fresh = {};
    const bool several = accept("(");
    std::vector<ValueId> results;
    if (several) {
      while (!is(")")) {
        results.push_back(define(graph, fresh));
        if (!accept(",")) break;
      }
      expect(")");
    } else {
      results.push_back(define(graph, fresh));
    }
    expect("=");
    node.target = std::string(word("an operator"));
    node.name = results.empty() || results[0] == no_value ? node.target : graph.values[results[0]].name;
    node.results = std::move(results);
    read_arguments(node, names);
    if (accept("@")) {
      if (token_.kind != TokenKind::text) fail(fmt::format("expected where the node comes from, in quotes{}", found()));
      node.origin = text();
    }
    for (const auto& [name, id] : fresh)
      if (!names.emplace(name, id).second)
        throw SyntaxError{fmt::format("'{}' is defined twice", shown(name)), token_.offset, ErrorCode::name};
    graph.nodes.push_back(std::move(node));
  }

  void read_arguments(Node& node, const Names& names) {
    const OperatorSignature* op = find_operator(node.target);
    expect("(");
    while (!is(")")) {
      NamedArgument argument;
      const Token before = token_;
      const Lexer back = lexer_;
      if (token_.kind == TokenKind::word) {
        advance();
        if (accept("=")) {
          argument.name = std::string(before.text);
        } else {
          lexer_ = back;
          token_ = before;
        }
      }
      if (op && argument.name.empty() && node.arguments.size() < op->parameters.size())
        argument.name = std::string(op->parameters[node.arguments.size()].name);
      argument.value = read_value(names);
      node.arguments.push_back(std::move(argument));
      if (!accept(",")) break;
    }
    expect(")");
    if (op) complete(node, *op);
  }

  // Every parameter, in order, with what was left out.
  void complete(Node& node, const OperatorSignature& op) const {
    std::vector<NamedArgument> all;
    for (const Parameter& parameter : op.parameters) {
      const auto given = std::ranges::find(node.arguments, parameter.name, &NamedArgument::name);
      if (given != node.arguments.end()) {
        all.push_back(std::move(*given));
        given->name.clear();
      } else if (parameter.fallback) {
        all.push_back({std::string(parameter.name), *parameter.fallback});
      } else {
        fail(fmt::format("'{}' needs the argument '{}'", node.target, parameter.name));
      }
    }
    for (const NamedArgument& left : node.arguments)
      if (!left.name.empty()) fail(fmt::format("'{}' has no argument '{}'", node.target, shown(left.name)));
    for (size_t i = 0; i < all.size(); ++i) adapt(all[i].value, op.parameters[i].kind);
    node.arguments = std::move(all);
  }
  // An empty list, or one of whole numbers, is one of what the parameter takes.
  static void adapt(Argument& value, ParameterKind kind) {
    const auto* integers = std::get_if<std::vector<int64_t>>(&value);
    if (integers && kind == ParameterKind::reals)
      value = std::vector<double>(integers->begin(), integers->end());
    else if (integers && integers->empty() && kind == ParameterKind::tensors)
      value = std::vector<ValueId>{};
  }

  Argument read_value(const Names& names) {
    if (token_.kind == TokenKind::number) return number();
    if (token_.kind == TokenKind::text) return text();
    if (accept("[")) return list(names);
    if (accept("@")) {
      const Argument index = number();
      const auto* integer = std::get_if<int64_t>(&index);
      if (!integer || *integer < 0 || *integer > INT32_MAX) fail("expected the number of a graph");
      return SubgraphRef{uint32_t(*integer)};
    }
    if (token_.kind != TokenKind::word) fail(fmt::format("expected a value{}", found()));
    if (accept("none")) return {};
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (is("inf") || is("nan")) return number();
    if (accept("complex")) return complex_number();
    if (const auto dtype = dtype_from_name(token_.text)) {
      advance();
      return *dtype;
    }
    return ValueRef{read_use(names)};
  }

  Argument complex_number() {
    const auto part = [&] {
      const Argument value = number();
      if (const auto* integer = std::get_if<int64_t>(&value)) return double(*integer);
      return std::get<double>(value);
    };
    expect("(");
    const double real = part();
    expect(",");
    const double imaginary = part();
    expect(")");
    return std::complex<double>(real, imaginary);
  }

  Argument list(const Names& names) {
    std::vector<Argument> items;
    while (!is("]")) {
      items.push_back(read_value(names));
      if (!accept(",")) break;
    }
    expect("]");
    bool values = !items.empty(), integers = true, numbers = true;
    for (const Argument& item : items) {
      const bool integer = std::holds_alternative<int64_t>(item) || std::holds_alternative<bool>(item);
      values &= std::holds_alternative<ValueRef>(item) || std::holds_alternative<std::monostate>(item);
      integers &= integer;
      numbers &= integer || std::holds_alternative<double>(item);
    }
    if (values) {
      std::vector<ValueId> ids;
      for (const Argument& item : items) {
        const auto* ref = std::get_if<ValueRef>(&item);
        ids.push_back(ref ? ref->id : no_value);
      }
      return ids;
    }
    const auto integer_of = [](const Argument& item) {
      const auto* flag = std::get_if<bool>(&item);
      return flag ? int64_t(*flag) : std::get<int64_t>(item);
    };
    if (integers) {
      std::vector<int64_t> all;
      for (const Argument& item : items) all.push_back(integer_of(item));
      return all;
    }
    if (!numbers) fail("a list has values of one kind: numbers, or values of the graph");
    std::vector<double> all;
    for (const Argument& item : items) {
      const auto* real = std::get_if<double>(&item);
      all.push_back(real ? *real : double(integer_of(item)));
    }
    return all;
  }

  Argument number() {
    const std::string_view digits = token_.text;
    const bool special = is("inf") || is("nan");
    if (token_.kind != TokenKind::number && !special) fail(fmt::format("expected a number{}", found()));
    const size_t offset = token_.offset;
    advance();
    if (digits == "inf") return std::numeric_limits<double>::infinity();
    if (digits == "-inf") return -std::numeric_limits<double>::infinity();
    if (digits == "nan") return std::numeric_limits<double>::quiet_NaN();
    const char *begin = digits.data(), *end = begin + digits.size();
    int64_t integer = 0;
    if (const auto read = std::from_chars(begin, end, integer); read.ec == std::errc() && read.ptr == end)
      return integer;
    double real = 0;
    if (const auto read = std::from_chars(begin, end, real); read.ec == std::errc() && read.ptr == end) return real;
    throw SyntaxError{fmt::format("'{}' is no number", shown(digits)), offset};
  }

  std::string text() {
    std::string value = unescaped(token_.text);
    advance();
    return value;
  }

  Lexer lexer_;
  Token token_;
};

}  // namespace

bool is_graph_text(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\r' || text[0] == '\t' || text[0] == '#'))
    text.remove_prefix(text[0] == '#' ? std::min(text.find('\n'), text.size()) : 1);
  return text.starts_with("graph ");
}

Result<Graph> parse(std::string_view text, std::string_view file) {
  try {
    Graph graph = Parser(text).run();
    LL_DO(check(graph));
    return graph;
  } catch (SyntaxError& error) {
    const std::string_view before = text.substr(0, std::min(error.offset, text.size()));
    const size_t newline = before.rfind('\n');
    Where where{std::string(file)};
    where.line = 1 + int(std::ranges::count(before, '\n'));
    where.column = 1 + int(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
    return Error{error.code, std::move(error.message), "", std::move(where)};
  }
}

}  // namespace lightline::graph
