#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "graph/operators.h"
#include "graph/text.h"

namespace lightline::graph {
namespace {

constexpr int64_t most_printed = 256;  // elements of a constant; larger ones are told by a digest

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_reserved(std::string_view word) {
  static constexpr std::string_view words[] = {"graph",  "input",    "parameter", "buffer", "constant",
                                               "return", "replaces", "strides",   "none",   "true",
                                               "false",  "inf",      "nan",       "complex"};
  for (const std::string_view one : words)
    if (one == word) return true;
  return dtype_from_name(word).has_value();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  explicit Printer(const Graph& graph, std::string indent) : graph_(graph), indent_(std::move(indent)) {
    name_values();
  }

  std::string run(std::string_view name) {
    out_ += fmt::format("{}graph {} {{\n", indent_, name);
    for (const Input& input : graph_.inputs) print_input(input);
    for (size_t i = 0; i < graph_.subgraphs.size(); ++i)
      out_ += Printer(graph_.subgraphs[i], indent_ + "  ").run(fmt::format("@{}", i));
    for (const Node& node : graph_.nodes) print_node(node);
    print_outputs();
    out_ += indent_ + "}\n";
    return std::move(out_);
  }

 private:
  // Names of values as they are, where they are words of their own.
  void name_values() {
    std::unordered_set<std::string> taken;
    for (const Value& value : graph_.values) {
      std::string name;
      for (const char c : value.name) name += is_word(c) ? c : '_';
      if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name == "_") name.insert(0, "v");
      if (is_reserved(name)) name += '_';
      std::string own = name;
      for (int n = 1; !taken.insert(own).second; ++n) own = fmt::format("{}_{}", name, n);
      names_.push_back(std::move(own));
    }
  }

  std::string name_of(ValueId id) const { return id == no_value ? "_" : names_[id]; }

  std::string typed(ValueId id) const {
    if (id == no_value) return "_";
    const Value& value = graph_.values[id];
    std::string text = names_[id];
    if (value.type) text += ": " + to_string(*value.type);
    if (value.strides && !value.strides->empty()) text += " strides " + to_string(*value.strides);
    return text;
  }

  void print_input(const Input& input) {
    static constexpr std::string_view kinds[] = {"input", "parameter", "buffer", "constant"};
    out_ += fmt::format("{}  {} {}", indent_, kinds[size_t(input.kind)], typed(input.value));
    if (!input.source.empty()) out_ += " " + quoted(input.source);
    if (input.known)
      print_known(*input.known);
    else if (!input.digest.empty())
      out_ += " = " + quoted(input.digest);
    out_ += '\n';
  }

  void print_known(const Tensor& tensor) {
    out_ += " = ";
    if (tensor.size() > most_printed) {
      out_ += quoted(digest_of(tensor));
      return;
    }
    out_ += '[';
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += element(tensor, i);
    }
    out_ += ']';
  }
  static std::string element(const Tensor& tensor, int64_t at) {
    if (tensor.dtype() == DType::boolean) return tensor.get_i64(at) != 0 ? "true" : "false";
    if (is_integer(tensor.dtype())) return fmt::format("{}", tensor.get_i64(at));
    if (tensor.dtype() != DType::c64) return real_text(tensor.get_f64(at));
    const std::complex<double> value = tensor.get_c128(at);
    return fmt::format("complex({}, {})", real_text(value.real()), real_text(value.imag()));
  }

  void print_node(const Node& node) {
    const bool one = node.results.size() == 1;
    std::string results;
    for (const ValueId id : node.results) results += (results.empty() ? "" : ", ") + typed(id);
    out_ +=
        indent_ + "  " + (one ? results : "(" + results + ")") + " = " + node.target + "(" + arguments_of(node) + ")";
    if (!node.origin.empty()) out_ += " @ " + quoted(node.origin);
    out_ += '\n';
  }

  std::string arguments_of(const Node& node) const {
    const OperatorSignature* op = find_operator(node.target);
    std::string text;
    const auto add = [&](std::string_view name, const Argument& value) {
      if (!text.empty()) text += ", ";
      if (!name.empty()) text += fmt::format("{} = ", name);
      text += argument(value);
    };
    if (!op || !is_in_order(*op, node)) {
      for (const NamedArgument& one : node.arguments) add(one.name, one.value);
      return text;
    }
    bool left_out = false;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      const Parameter& parameter = op->parameters[i];
      if (parameter.fallback && *parameter.fallback == node.arguments[i].value) {
        left_out = true;
        continue;
      }
      const bool plain = parameter.kind == ParameterKind::tensor || parameter.kind == ParameterKind::tensors ||
                         parameter.kind == ParameterKind::operand;
      left_out |= !plain;
      add(left_out ? parameter.name : "", node.arguments[i].value);
    }
    return text;
  }
  static bool is_in_order(const OperatorSignature& op, const Node& node) {
    if (node.arguments.size() != op.parameters.size()) return false;
    for (size_t i = 0; i < node.arguments.size(); ++i)
      if (node.arguments[i].name != op.parameters[i].name) return false;
    return true;
  }

  std::string argument(const Argument& value) const { return std::visit(Shown{*this}, value); }

  struct Shown {
    const Printer& printer;
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(const ValueRef& ref) const { return printer.name_of(ref.id); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return real_text(value); }
    std::string operator()(const std::complex<double>& value) const {
      return fmt::format("complex({}, {})", real_text(value.real()), real_text(value.imag()));
    }
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(DType dtype) const { return std::string(name(dtype)); }
    std::string operator()(const SubgraphRef& ref) const { return fmt::format("@{}", ref.index); }
    std::string operator()(const std::vector<ValueId>& ids) const {
      std::string text;
      for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + (id == no_value ? "none" : printer.name_of(id));
      return "[" + text + "]";
    }
    std::string operator()(const std::vector<int64_t>& list) const { return to_string(list); }
    std::string operator()(const std::vector<double>& list) const {
      std::string text;
      for (const double value : list) text += (text.empty() ? "" : ", ") + real_text(value);
      return "[" + text + "]";
    }
  };

  void print_outputs() {
    std::string text;
    for (const Output& output : graph_.outputs) {
      text += (text.empty() ? "" : ", ") + name_of(output.value);
      if (output.replaces != no_value) text += " replaces " + name_of(output.replaces);
    }
    out_ += fmt::format("{}  return {}\n", indent_, text);
  }

  const Graph& graph_;
  std::string indent_;
  std::string out_;
  std::vector<std::string> names_;
};

}  // namespace

std::string print(const Graph& graph) {
  std::string name;
  for (const char c : graph.name) name += is_word(c) ? c : '_';
  if (name.empty() || is_reserved(name) || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "g_");
  return Printer(graph, "").run(name);
}

}  // namespace lightline::graph
