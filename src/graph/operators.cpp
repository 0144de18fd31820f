#include "graph/operators.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

#include "base/words.h"
#include "graph/operator_text.h"

namespace lightline::graph {
namespace {

std::optional<ParameterKind> kind_named(std::string_view word) {
  static constexpr std::pair<std::string_view, ParameterKind> kinds[] = {
      {"tensor", ParameterKind::tensor}, {"tensors", ParameterKind::tensors}, {"operand", ParameterKind::operand},
      {"number", ParameterKind::number}, {"integer", ParameterKind::integer}, {"integers", ParameterKind::integers},
      {"real", ParameterKind::real},     {"reals", ParameterKind::reals},     {"flag", ParameterKind::flag},
      {"flags", ParameterKind::flags},   {"text", ParameterKind::text},       {"dtype", ParameterKind::dtype},
      {"graph", ParameterKind::graph},   {"any", ParameterKind::any}};
  for (const auto& [name, kind] : kinds)
    if (name == word) return kind;
  return std::nullopt;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// none, true, 1, 1e-05, 'text', f32, [1, 2]
}  // namespace

std::optional<Argument> argument_from(std::string_view text) {
  if (text == "none") return Argument{};
  if (text == "true" || text == "false") return Argument(text == "true");
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
    return Argument(std::string(text.substr(1, text.size() - 2)));
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    std::vector<int64_t> list;
    std::string_view rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
      const auto item = number_in<int64_t>(take_until(rest, ","));
      if (!item) return std::nullopt;
      list.push_back(*item);
    }
    return Argument(std::move(list));
  }
  if (const auto dtype = dtype_from_name(text)) return Argument(*dtype);
  if (const auto integer = number_in<int64_t>(text)) return Argument(*integer);
  if (const auto real = number_in<double>(text)) return Argument(*real);
  return std::nullopt;
}

namespace {

class ListReader {
 public:
  ListReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<OperatorSignature>> run() {
    while (!text_.empty()) {
      ++line_;
      const std::string_view line = take_until(text_, "\n");
      if (line.starts_with('#'))
        family_ = trimmed(line.substr(1));
      else if (!line.empty())
        LL_DO(read(line));
    }
    return std::move(list_);
  }

 private:
  Error error(std::string message) const {
    return {ErrorCode::parse,
            std::move(message),
            "write name(parameter: kind = default, ...) -> results | names",
            {std::string(file_), line_}};
  }

  Status read(std::string_view line) {
    const size_t open = line.find('('), close = line.find(") ->");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return error("the line is not an operator");
    OperatorSignature op;
    op.name = line.substr(0, open);
    op.family = family_;
    LL_DO(read_parameters(line.substr(open + 1, close - open - 1), op));
    std::string_view rest = line.substr(close + 4);
    op.results = take_until(rest, "|");
    if (op.results.empty()) return error("the types of the results are missing");
    while (!trimmed(rest).empty()) {
      rest = trimmed(rest);
      op.names.push_back(take_until(rest, " "));
    }
    list_.push_back(std::move(op));
    return Ok{};
  }

  Status read_parameters(std::string_view text, OperatorSignature& op) {
    while (!trimmed(text).empty()) {
      size_t end = 0;  // a comma inside of a list or a text does not end a parameter
      bool quoted = false;
      for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0 || quoted); ++end) {
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
        quoted ^= text[end] == '\'';
      }
      std::string_view one = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      const size_t equals = one.find(" = ");
      Parameter parameter;
      if (equals != std::string_view::npos) {
        parameter.fallback = argument_from(trimmed(one.substr(equals + 3)));
        if (!parameter.fallback) return error(fmt::format("'{}' is no value", one.substr(equals + 3)));
        one = one.substr(0, equals);
      }
      parameter.name = take_until(one, ":");
      std::string_view kind = trimmed(one);
      if (kind.ends_with('?')) {
        parameter.optional = true;
        kind.remove_suffix(1);
        if (!parameter.fallback) parameter.fallback = Argument{};
      }
      const auto found = kind.empty() ? ParameterKind::tensor : kind_named(kind);
      if (!found) return error(fmt::format("'{}' is no kind of parameter", kind));
      parameter.kind = *found;
      op.parameters.push_back(std::move(parameter));
    }
    return Ok{};
  }

  std::string_view text_, file_, family_;
  int line_ = 0;
  std::vector<OperatorSignature> list_;
};

struct List {
  std::vector<OperatorSignature> operators;
  std::unordered_map<std::string_view, size_t> by_name;
};

const List& list() {
  static const List list = [] {
    auto read = parse_operator_list(operator_text, "operators.txt");
    LL_CHECK(read.ok());
    List made{*std::move(read), {}};
    for (size_t i = 0; i < made.operators.size(); ++i) LL_CHECK(made.by_name.emplace(made.operators[i].name, i).second);
    return made;
  }();
  return list;
}

}  // namespace

Result<std::vector<OperatorSignature>> parse_operator_list(std::string_view text, std::string_view file) {
  return ListReader(text, file).run();
}

std::span<const OperatorSignature> operator_list() { return list().operators; }

const OperatorSignature* find_operator(std::string_view name) {
  const auto found = list().by_name.find(name);
  return found == list().by_name.end() ? nullptr : &list().operators[found->second];
}

}  // namespace lightline::graph
