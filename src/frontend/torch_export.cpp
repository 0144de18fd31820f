#include "frontend/torch_export.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include "frontend/sym_expr.h"

namespace lightline::frontend {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t max_nodes = 400'000;
constexpr size_t max_text = size_t(128) << 20;
constexpr int max_nesting = 16;

// Thrown inside this file only.
struct Failure {
  ErrorCode code;
  std::string message;
  std::string hint;
};
[[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = "") {
  throw Failure{code, std::move(message), std::move(hint)};
}

template <class T>
T take(simdjson::simdjson_result<T> result, std::string_view what) {
  if (result.error() != simdjson::SUCCESS)
    fail(ErrorCode::parse, fmt::format("{} is missing or of the wrong kind", what),
         "the file should be what torch.export.save writes");
  return std::move(result).value_unsafe();
}
element field(const object& o, std::string_view key, std::string_view where) {
  element found;
  if (o[key].get(found) != simdjson::SUCCESS)
    fail(ErrorCode::parse, fmt::format("{} has no '{}'", where, key),
         "the file should be what torch.export.save writes");
  return found;
}
bool find(const object& o, std::string_view key, element& into) {
  return o[key].get(into) == simdjson::SUCCESS && !into.is_null();
}
std::string_view text_of(const element& e, std::string_view what) { return take(e.get_string(), what); }
int64_t integer_of(const element& e, std::string_view what) {
  int64_t value = 0;
  if (e.get_int64().get(value) == simdjson::SUCCESS) return value;
  uint64_t large = 0;
  if (e.get_uint64().get(large) == simdjson::SUCCESS)
    fail(ErrorCode::limit, fmt::format("{} is {}, which does not fit 64 bits", what, large));
  fail(ErrorCode::parse, fmt::format("{} is not an integer", what));
}
double real_of(const element& e, std::string_view what) {
  double value = 0;
  if (e.get_double().get(value) == simdjson::SUCCESS) return value;
  std::string_view text;  // "inf", "-inf" and "nan" are written as strings
  if (e.get_string().get(text) == simdjson::SUCCESS) {
    if (text == "Infinity" || text == "inf") return __builtin_inf();
    if (text == "-Infinity" || text == "-inf") return -__builtin_inf();
    if (text == "NaN" || text == "nan") return __builtin_nan("");
  }
  fail(ErrorCode::parse, fmt::format("{} is not a number", what));
}
// The one entry of a tagged union {"as_int": 3}; older writers add null siblings.
std::pair<std::string_view, element> tagged(const element& e, std::string_view what) {
  const object o = take(e.get_object(), what);
  for (const auto& [key, value] : o)
    if (!value.is_null()) return {key, value};
  for (const auto& [key, value] : o) return {key, value};
  fail(ErrorCode::parse, fmt::format("{} is an empty union", what));
}

std::optional<DType> dtype_from_scalar_type(int64_t type) {
  switch (type) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 10: return DType::c64;
    case 12: return DType::boolean;
    case 13: return DType::bf16;
    case 29: return DType::f8e4m3;
    case 30: return DType::f8e5m2;
    default: return std::nullopt;
  }
}
std::string_view scalar_type_name(int64_t type) {
  static const std::unordered_map<int64_t, std::string_view> names = {
      {0, "unknown"},          {9, "complex32"},       {11, "complex128"}, {28, "uint16"}, {31, "float8_e4m3fnuz"},
      {32, "float8_e5m2fnuz"}, {33, "float8_e8m0fnu"}, {34, "uint32"},     {35, "uint64"}};
  const auto found = names.find(type);
  return found == names.end() ? "an unknown dtype" : found->second;
}
DType dtype_of(const element& e, std::string_view what) {
  const int64_t type = integer_of(e, what);
  const auto dtype = dtype_from_scalar_type(type);
  if (!dtype)
    fail(ErrorCode::unsupported, fmt::format("{} is {}, which Lightline does not have", what, scalar_type_name(type)),
         "convert the tensor to a supported dtype before export");
  return *dtype;
}

class Reader {
 public:
  graph::Graph run(const object& root) {
    const object module = take(field(root, "graph_module", "the program").get_object(), "graph_module");
    const object top = take(field(module, "graph", "graph_module").get_object(), "graph");
    Scope scope;
    open_scope(top, scope);
    read_inputs(top, module, scope);
    read_nodes(top, scope, 0);
    read_outputs(module, scope);
    read_known_values(root, scope);
    for (const auto& [symbol, value] : assumed_)
      graph_.assumptions.push_back(
          fmt::format("the size {} is not known before the program runs; taken as {}", symbol, value));
    return std::move(graph_);
  }

 private:
  // Names of one graph. Values of a nested graph get fresh ids, so a body can be inlined many times.
  struct Scope {
    std::unordered_map<std::string_view, graph::ValueId> values;
    std::unordered_map<std::string_view, element> tensors;   // recorded types, by name
    std::unordered_map<std::string_view, element> integers;  // symbolic scalars, by name
    std::unordered_map<std::string_view, graph::Argument> constants;
    int depth = 0;
  };

  // ---- symbols ----
  std::optional<int64_t> symbol_value(std::string_view symbol) const {
    const auto found = symbols_.find(std::string(symbol));
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<int64_t> sym_int(const element& e, std::string_view what) {
    const auto [tag, value] = tagged(e, what);
    if (tag == "as_int") return integer_of(value, what);
    if (tag == "as_bool") return take(value.get_bool(), what) ? 1 : 0;
    if (tag != "as_expr") return std::nullopt;
    const object expr = take(value.get_object(), what);
    element hint, text;
    if (find(expr, "hint", hint)) {
      const auto [hint_tag, hint_value] = tagged(hint, what);
      if (hint_tag == "as_int") {
        const int64_t known = integer_of(hint_value, what);
        if (find(expr, "expr_str", text)) learn_symbol(text_of(text, what), known);
        return known;
      }
    }
    if (!find(expr, "expr_str", text)) return std::nullopt;
    return evaluate_sym_expr(text_of(text, what), [&](std::string_view s) { return symbol_value(s); });
  }
  // A plain "Symbol('s0', ...)" with a hint tells the value of s0.
  void learn_symbol(std::string_view text, int64_t value) {
    if (const std::string_view symbol = plain_symbol(text); !symbol.empty()) symbols_.emplace(symbol, value);
  }
  static std::string_view plain_symbol(std::string_view text) {
    if (!text.starts_with("Symbol('")) return {};
    const size_t end = text.find('\'', 8);
    if (end == std::string_view::npos || text.find(')', end) != text.size() - 1) return {};
    return text.substr(8, end - 8);
  }
  std::string_view symbol_of(const element& e) {
    const auto [tag, value] = tagged(e, "a symbolic integer");
    element text;
    object expr;
    if (tag != "as_expr" || value.get_object().get(expr) != simdjson::SUCCESS || !find(expr, "expr_str", text))
      return {};
    return plain_symbol(text_of(text, "a symbolic integer"));
  }
  void assume(std::string_view symbol, int64_t value) {
    if (symbols_.emplace(symbol, value).second) assumed_.emplace_back(symbol, value);
  }

  // ---- values ----
  void open_scope(const object& g, Scope& scope) {
    const auto fill = [&](std::string_view key, auto& map) {
      element e;
      object entries;
      if (!find(g, key, e)) return;
      entries = take(e.get_object(), key);
      for (const auto& [name, value] : entries) map.emplace(name, value);
    };
    fill("tensor_values", scope.tensors);
    fill("sym_int_values", scope.integers);
    fill("sym_float_values", scope.integers);
    fill("sym_bool_values", scope.integers);
  }
  std::optional<graph::TensorType> recorded_type(const Scope& scope, std::string_view name) {
    const auto found = scope.tensors.find(name);
    if (found == scope.tensors.end()) return std::nullopt;
    const std::string what = fmt::format("tensor '{}'", name);
    const object meta = take(found->second.get_object(), what);
    graph::TensorType type;
    type.dtype = dtype_of(field(meta, "dtype", what), fmt::format("the dtype of {}", what));
    for (const element size : take(field(meta, "sizes", what).get_array(), what)) {
      const auto extent = sym_int(size, what);
      if (!extent)
        fail(ErrorCode::unsupported, fmt::format("a size of {} depends on data and has no example value", what),
             "export with example inputs that fix the size");
      if (*extent < 0) fail(ErrorCode::shape, fmt::format("{} has a negative size {}", what, *extent));
      type.shape.push_back(*extent);
    }
    const auto count = element_count(type.shape);
    if (!count.ok() || *count > (int64_t(1) << 56))
      fail(ErrorCode::limit, fmt::format("{} of shape {} has too many elements", what, to_string(type.shape)));
    return type;
  }
  graph::ValueId define(Scope& scope, std::string_view name, std::optional<graph::TensorType> type) {
    const graph::ValueId id = graph_.add_value(std::string(name), std::move(type));
    if (!scope.values.emplace(name, id).second)
      fail(ErrorCode::name, fmt::format("'{}' is defined twice", name), "the graph must define every value once");
    return id;
  }
  graph::ValueId use(const Scope& scope, std::string_view name) {
    const auto found = scope.values.find(name);
    if (found == scope.values.end())
      fail(ErrorCode::name, fmt::format("node '{}' uses '{}' before it is defined", current_, name),
           "the graph is cyclic or its nodes are out of order");
    return found->second;
  }
  static std::string_view tensor_name(const element& e) {
    return text_of(field(take(e.get_object(), "a tensor argument"), "name", "a tensor argument"), "a tensor's name");
  }

  // A named symbolic scalar: its number if known, else the value that computes it.
  graph::Argument symbol_argument(Scope& scope, std::string_view name) {
    if (const auto constant = scope.constants.find(name); constant != scope.constants.end()) return constant->second;
    if (const auto found = scope.integers.find(name); found != scope.integers.end())
      if (const auto value = sym_int(found->second, name)) return *value;
    return graph::ValueRef{use(scope, name)};
  }
  graph::Argument sym_argument(Scope& scope, const element& e, std::string_view what) {
    const auto [tag, value] = tagged(e, what);
    if (tag == "as_name") return symbol_argument(scope, text_of(value, what));
    if (tag == "as_int") return integer_of(value, what);
    if (tag == "as_float") return real_of(value, what);
    if (tag == "as_bool") return take(value.get_bool(), what);
    fail(ErrorCode::parse, fmt::format("{} is a symbolic value of kind '{}'", what, tag));
  }
  std::vector<graph::ValueId> tensor_list(Scope& scope, const element& list) {
    std::vector<graph::ValueId> ids;
    for (const element item : take(list.get_array(), "a list of tensors")) {
      object o;
      element nested;
      if (item.get_object().get(o) == simdjson::SUCCESS && find(o, "as_tensor", nested))
        ids.push_back(use(scope, tensor_name(nested)));
      else if (o["as_none"].get(nested) == simdjson::SUCCESS)
        ids.push_back(graph::no_value);
      else
        ids.push_back(use(scope, tensor_name(item)));
    }
    return ids;
  }

  graph::Argument read_argument(Scope& scope, const element& e, std::string_view what) {
    const auto [tag, value] = tagged(e, what);
    if (tag == "as_none") return std::monostate{};
    if (tag == "as_tensor") return graph::ValueRef{use(scope, tensor_name(value))};
    if (tag == "as_tensors" || tag == "as_optional_tensors") return tensor_list(scope, value);
    if (tag == "as_optional_tensor") return read_argument(scope, value, what);
    if (tag == "as_int") return integer_of(value, what);
    if (tag == "as_bool") return take(value.get_bool(), what);
    if (tag == "as_float") return real_of(value, what);
    if (tag == "as_string" || tag == "as_operator") return std::string(text_of(value, what));
    if (tag == "as_scalar_type") return dtype_of(value, what);
    if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") return sym_argument(scope, value, what);
    if (tag == "as_complex") {
      const object o = take(value.get_object(), what);
      return std::complex<double>(real_of(field(o, "real", what), what), real_of(field(o, "imag", what), what));
    }
    if (tag == "as_ints" || tag == "as_bools") {
      std::vector<int64_t> list;
      for (const element item : take(value.get_array(), what)) {
        bool flag = false;
        list.push_back(item.get_bool().get(flag) == simdjson::SUCCESS ? int64_t(flag) : integer_of(item, what));
      }
      return list;
    }
    if (tag == "as_floats") {
      std::vector<double> list;
      for (const element item : take(value.get_array(), what)) list.push_back(real_of(item, what));
      return list;
    }
    if (tag == "as_sym_ints" || tag == "as_sym_bools") return sym_list(scope, value, what);
    if (tag == "as_sym_floats") {
      std::vector<double> list;
      for (const element item : take(value.get_array(), what)) {
        const graph::Argument part = sym_argument(scope, item, what);
        if (const auto* d = std::get_if<double>(&part))
          list.push_back(*d);
        else if (const auto* i = std::get_if<int64_t>(&part))
          list.push_back(double(*i));
        else
          fail(ErrorCode::unsupported, fmt::format("{} has an element whose value is not known", what));
      }
      return list;
    }
    // devices, layouts, memory formats and script objects do not change what is computed
    return std::monostate{};
  }
  graph::Argument sym_list(Scope& scope, const element& value, std::string_view what) {
    std::vector<int64_t> list;
    for (const element item : take(value.get_array(), what)) {
      const graph::Argument part = sym_argument(scope, item, what);
      if (const auto* i = std::get_if<int64_t>(&part))
        list.push_back(*i);
      else if (const auto* b = std::get_if<bool>(&part))
        list.push_back(*b);
      else
        fail(ErrorCode::unsupported,
             fmt::format("{} has an element whose value is not known before the program runs", what),
             "export with example inputs that fix it");
    }
    return list;
  }

  // ---- inputs and outputs ----
  void read_inputs(const object& top, const object& module, Scope& scope) {
    const object signature = take(field(module, "signature", "graph_module").get_object(), "signature");
    for (const element spec : take(field(signature, "input_specs", "signature").get_array(), "input_specs")) {
      const auto [kind, body] = tagged(spec, "an input spec");
      const object o = take(body.get_object(), "an input spec");
      if (kind == "constant_input") {
        element value;
        if (!find(o, "value", value)) continue;
        scope.constants.emplace(text_of(field(o, "name", "an input spec"), "an input's name"),
                                read_argument(scope, value, "a constant input"));
      } else if (kind == "user_input") {
        const auto [tag, value] = tagged(field(o, "arg", "a user input"), "a user input");
        if (tag == "as_tensor")
          add_input(scope, tensor_name(value), graph::InputKind::user, "");
        else if (tag.starts_with("as_sym"))
          add_symbol_input(scope, value);
      } else if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
        const std::string_view name = tensor_name(field(o, "arg", "an input spec"));
        const std::string key = kind == "parameter" ? "parameter_name"
                                : kind == "buffer"  ? "buffer_name"
                                                    : "tensor_constant_name";
        const graph::InputKind input = kind == "parameter" ? graph::InputKind::parameter
                                       : kind == "buffer"  ? graph::InputKind::buffer
                                                           : graph::InputKind::constant;
        add_input(scope, name, input, std::string(text_of(field(o, key, "an input spec"), key)));
      }
    }
    // Graph inputs that the signature leaves out keep their place, so that uses of them resolve.
    for (const element input : take(field(top, "inputs", "graph").get_array(), "inputs")) {
      const auto [tag, value] = tagged(input, "a graph input");
      if (tag == "as_tensor" && !scope.values.contains(tensor_name(value)))
        add_input(scope, tensor_name(value), graph::InputKind::user, "");
    }
  }
  void add_input(Scope& scope, std::string_view name, graph::InputKind kind, std::string source) {
    if (scope.values.contains(name)) return;
    auto type = recorded_type(scope, name);
    if (!type) fail(ErrorCode::parse, fmt::format("the input '{}' has no entry in tensor_values", name));
    graph_.inputs.push_back({define(scope, name, std::move(type)), kind, std::move(source), {}});
  }
  void add_symbol_input(Scope& scope, const element& value) {
    const auto [tag, name] = tagged(value, "a symbolic input");
    if (tag != "as_name") return;
    const std::string_view symbol = text_of(name, "a symbolic input");
    if (const auto found = scope.integers.find(symbol); found != scope.integers.end())
      if (sym_int(found->second, symbol)) return;  // its example value stands for it
    graph_.inputs.push_back({define(scope, symbol, graph::TensorType{DType::i64, {}}), graph::InputKind::user, "", {}});
  }
  void read_outputs(const object& module, Scope& scope) {
    current_ = "output";
    const object signature = take(field(module, "signature", "graph_module").get_object(), "signature");
    for (const element spec : take(field(signature, "output_specs", "signature").get_array(), "output_specs")) {
      const auto [kind, body] = tagged(spec, "an output spec");
      const object o = take(body.get_object(), "an output spec");
      const element arg = field(o, "arg", "an output spec");
      if (kind == "token") continue;
      if (kind == "user_output") {
        const auto [tag, value] = tagged(arg, "an output");
        if (tag == "as_tensor")
          graph_.outputs.push_back({use(scope, tensor_name(value)), graph::no_value});
        else if (tag == "as_tensors" || tag == "as_optional_tensors")
          for (const graph::ValueId id : tensor_list(scope, value)) graph_.outputs.push_back({id, graph::no_value});
        continue;
      }
      graph::Output output{use(scope, tensor_name(arg)), graph::no_value};
      output.replaces = replaced_input(o, kind, scope);
      graph_.outputs.push_back(output);
    }
  }
  graph::ValueId replaced_input(const object& o, std::string_view kind, const Scope& scope) {
    element name;
    if (kind == "user_input_mutation" && find(o, "user_input_name", name)) {
      const auto found = scope.values.find(text_of(name, "user_input_name"));
      return found == scope.values.end() ? graph::no_value : found->second;
    }
    const bool buffer = kind == "buffer_mutation" && find(o, "buffer_name", name);
    const bool parameter = kind == "parameter_mutation" && find(o, "parameter_name", name);
    if (!buffer && !parameter) return graph::no_value;
    const std::string_view wanted = text_of(name, "a mutated buffer");
    for (const graph::Input& input : graph_.inputs)
      if (input.source == wanted && (input.kind == graph::InputKind::parameter) == parameter) return input.value;
    return graph::no_value;
  }

  // {"lightline": {"name": ..., "values": {"idx": {"shape": [4], "data": [1, 0, 2, 3]}}}}: what our capture adds.
  void read_known_values(const object& root, const Scope& scope) {
    element extra, values;
    object members, entries;
    if (!find(root, "lightline", extra) || extra.get_object().get(members) != simdjson::SUCCESS) return;
    if (!find(members, "values", values) || values.get_object().get(entries) != simdjson::SUCCESS) return;
    for (const auto& [name, entry] : entries) {
      const auto value = scope.values.find(name);
      if (value == scope.values.end()) continue;
      for (graph::Input& input : graph_.inputs) {
        if (input.value != value->second) continue;
        const graph::TensorType& type = *graph_.values[input.value].type;
        const array data = take(field(take(entry.get_object(), "a known value"), "data", "a known value").get_array(),
                                "a known value");
        if (int64_t(data.size()) != *element_count(type.shape))
          fail(ErrorCode::shape,
               fmt::format("the known values of '{}' do not fit its shape {}", name, to_string(type.shape)));
        Tensor known(type.dtype, type.shape);
        int64_t i = 0;
        for (const element item : data) {
          bool flag = false;
          if (item.get_bool().get(flag) == simdjson::SUCCESS)
            known.set_i64(i++, flag);
          else if (is_integer(type.dtype))
            known.set_i64(i++, integer_of(item, name));
          else
            known.set_f64(i++, real_of(item, name));
        }
        input.known = std::move(known);
      }
    }
  }

  // ---- nodes ----
  void read_nodes(const object& g, Scope& scope, int depth) {
    if (depth > max_nesting) fail(ErrorCode::limit, fmt::format("graphs nest more than {} deep", max_nesting));
    const array nodes = take(field(g, "nodes", "graph").get_array(), "nodes");
    if (graph_.nodes.size() + nodes.size() > max_nodes)
      fail(ErrorCode::limit,
           fmt::format("the graph has {} nodes; the limit is {}", graph_.nodes.size() + nodes.size(), max_nodes),
           "split the program");
    for (const element item : nodes) read_node(take(item.get_object(), "a node"), scope, depth);
  }

  void read_node(const object& o, Scope& scope, int depth) {
    std::string_view target = text_of(field(o, "target", "a node"), "a node's target");
    element name;
    current_ = find(o, "name", name) ? std::string(text_of(name, "a node's name")) : std::string();
    if (target.starts_with("torch.ops.")) target.remove_prefix(10);
    const array inputs = take(field(o, "inputs", "a node").get_array(), "a node's inputs");
    const array outputs = take(field(o, "outputs", "a node").get_array(), "a node's outputs");
    if (current_.empty()) current_ = std::string(target);
    if (target.starts_with("higher_order.") && read_higher_order(target, inputs, outputs, scope, depth)) return;
    graph::Node node;
    node.target = std::string(target);
    node.name = current_;
    if (target == "aten.split_with_sizes.default") assume_split(inputs, scope);
    for (const element input : inputs) {
      const object argument = take(input.get_object(), "an argument");
      const std::string_view argument_name = text_of(field(argument, "name", "an argument"), "an argument's name");
      node.arguments.push_back(
          {std::string(argument_name), read_argument(scope, field(argument, "arg", "an argument"), argument_name)});
    }
    for (const element output : outputs) read_result(node, output, scope);
    graph_.nodes.push_back(std::move(node));
  }

  void read_result(graph::Node& node, const element& output, Scope& scope) {
    const auto [tag, value] = tagged(output, "a result");
    if (tag == "as_tensor") {
      define_result(node, scope, tensor_name(value));
    } else if (tag == "as_tensors" || tag == "as_optional_tensors") {
      for (const element item : take(value.get_array(), "a list of results")) {
        object o;
        element nested;
        if (item.get_object().get(o) == simdjson::SUCCESS && find(o, "as_tensor", nested))
          define_result(node, scope, tensor_name(nested));
        else if (o["as_none"].get(nested) == simdjson::SUCCESS)
          node.results.push_back(graph::no_value);
        else
          define_result(node, scope, tensor_name(item));
      }
    } else if (tag.starts_with("as_sym")) {
      const auto [kind, name] = tagged(value, "a symbolic result");
      if (kind != "as_name") return node.results.push_back(graph::no_value);
      const DType dtype = tag == "as_sym_int" ? DType::i64 : tag == "as_sym_bool" ? DType::boolean : DType::f64;
      node.results.push_back(define(scope, text_of(name, "a symbolic result"), graph::TensorType{dtype, {}}));
    } else {
      node.results.push_back(graph::no_value);
    }
  }
  void define_result(graph::Node& node, Scope& scope, std::string_view name) {
    if (name.empty()) return node.results.push_back(graph::no_value);
    node.results.push_back(define(scope, name, recorded_type(scope, name)));
  }

  // Sizes that only the data tell, such as the lengths of packed sequences: assume that the parts are equal.
  void assume_split(const array& inputs, Scope& scope) {
    std::vector<std::string_view> unknown;
    int64_t known = 0, total = -1, dim = 0;
    std::string_view tensor;
    for (const element input : inputs) {
      const object argument = take(input.get_object(), "an argument");
      const std::string_view name = text_of(field(argument, "name", "an argument"), "an argument's name");
      const auto [tag, value] = tagged(field(argument, "arg", "an argument"), name);
      if (name == "self" && tag == "as_tensor") tensor = tensor_name(value);
      if (name == "dim" && tag == "as_int") dim = integer_of(value, name);
      if (name != "split_sizes" || tag != "as_sym_ints") continue;
      for (const element item : take(value.get_array(), name)) {
        const auto [kind, part] = tagged(item, name);
        if (kind == "as_int") known += integer_of(part, name);
        if (kind != "as_name") continue;
        const auto found = scope.integers.find(text_of(part, name));
        if (found == scope.integers.end()) return;
        if (const auto size = sym_int(found->second, name))
          known += *size;
        else if (const std::string_view symbol = symbol_of(found->second); !symbol.empty())
          unknown.push_back(symbol);
      }
    }
    if (unknown.empty() || tensor.empty()) return;
    const auto type = graph_.values[use(scope, tensor)].type;
    if (!type || type->shape.empty()) return;
    if (dim < 0) dim += int64_t(type->shape.size());
    if (dim < 0 || dim >= int64_t(type->shape.size())) return;
    total = type->shape[size_t(dim)] - known;
    int64_t left = int64_t(unknown.size());
    for (const std::string_view symbol : unknown) {
      const int64_t part = std::max<int64_t>(total, 0) / left--;
      assume(symbol, part);
      total -= part;
    }
  }

  // ---- higher-order operators ----
  struct HigherOrderArguments {
    std::vector<object> graphs;
    std::vector<graph::Argument> before;  // arguments ahead of the first graph
    std::vector<graph::Argument> after;   // lists are flattened
    std::vector<size_t> list_sizes;       // how many of `after` each list had
  };
  HigherOrderArguments higher_order_arguments(const array& inputs, Scope& scope) {
    HigherOrderArguments result;
    for (const element input : inputs) {
      const auto [tag, value] =
          tagged(field(take(input.get_object(), "an argument"), "arg", "an argument"), "an argument");
      if (tag == "as_graph") {
        result.graphs.push_back(
            take(field(take(value.get_object(), "a graph argument"), "graph", "a graph argument").get_object(),
                 "a nested graph"));
        continue;
      }
      const graph::Argument argument =
          read_argument(scope, field(take(input.get_object(), "an argument"), "arg", "an argument"), "an argument");
      if (result.graphs.empty()) {
        result.before.push_back(argument);
      } else if (const auto* list = std::get_if<std::vector<graph::ValueId>>(&argument)) {
        for (const graph::ValueId id : *list) result.after.push_back(graph::ValueRef{id});
        result.list_sizes.push_back(list->size());
      } else {
        result.after.push_back(argument);
        result.list_sizes.push_back(1);
      }
    }
    return result;
  }

  // Reads a nested graph with its inputs bound to outer values; gives the values it returns.
  std::vector<graph::ValueId> inline_graph(const object& g, const std::vector<graph::Argument>& arguments, int depth) {
    Scope inner;
    open_scope(g, inner);
    size_t position = 0;
    for (const element input : take(field(g, "inputs", "a nested graph").get_array(), "inputs")) {
      if (position >= arguments.size())
        fail(ErrorCode::parse, fmt::format("node '{}' passes too few arguments to its graph", current_));
      bind(inner, input, arguments[position++]);
    }
    const std::string outer = current_;
    read_nodes(g, inner, depth + 1);
    current_ = outer;
    std::vector<graph::ValueId> results;
    for (const element output : take(field(g, "outputs", "a nested graph").get_array(), "outputs")) {
      const auto [tag, value] = tagged(output, "an output");
      if (tag == "as_tensor")
        results.push_back(use(inner, tensor_name(value)));
      else if (tag == "as_tensors" || tag == "as_optional_tensors")
        for (const graph::ValueId id : tensor_list(inner, value)) results.push_back(id);
      else
        results.push_back(graph::no_value);
    }
    return results;
  }
  void bind(Scope& inner, const element& input, const graph::Argument& argument) {
    const auto [tag, value] = tagged(input, "an input of a nested graph");
    std::string_view name;
    if (tag == "as_tensor") {
      name = tensor_name(value);
    } else if (tag.starts_with("as_sym")) {
      const auto [kind, symbol] = tagged(value, "an input of a nested graph");
      if (kind == "as_name") name = text_of(symbol, "a symbolic input");
    }
    if (name.empty()) return;
    if (const auto* ref = std::get_if<graph::ValueRef>(&argument))
      inner.values.emplace(name, ref->id);
    else
      inner.constants.emplace(name, argument);
  }

  // Gives the results of a higher-order node the names its outputs carry.
  void name_results(const array& outputs, const std::vector<graph::ValueId>& results, Scope& scope) {
    size_t next = 0;
    const auto bind_name = [&](std::string_view name) {
      if (next >= results.size())
        fail(ErrorCode::parse, fmt::format("node '{}' has more results than its graph returns", current_));
      scope.values.emplace(name, results[next++]);
    };
    for (const element output : outputs) {
      const auto [tag, value] = tagged(output, "a result");
      if (tag == "as_tensor")
        bind_name(tensor_name(value));
      else if (tag == "as_tensors")
        for (const element item : take(value.get_array(), "a list of results")) bind_name(tensor_name(item));
      else
        ++next;
    }
  }

  bool read_higher_order(std::string_view target, const array& inputs, const array& outputs, Scope& scope, int depth) {
    if (target == "higher_order.wrap_with_set_grad_enabled" || target == "higher_order.wrap_with_autocast" ||
        target == "higher_order.wrap" || target == "higher_order.invoke_subgraph" ||
        target == "higher_order.tag_activation_checkpoint" || target == "higher_order.strict_mode") {
      const HigherOrderArguments arguments = higher_order_arguments(inputs, scope);
      if (arguments.graphs.size() != 1)
        fail(ErrorCode::parse, fmt::format("node '{}' ({}) has no graph", current_, target));
      std::vector<graph::Argument> passed = arguments.after;
      // invoke_subgraph passes an identifier first
      if (!passed.empty() && std::holds_alternative<std::string>(passed[0])) passed.erase(passed.begin());
      name_results(outputs, inline_graph(arguments.graphs[0], passed, depth), scope);
      return true;
    }
    if (target == "higher_order.cond") {
      const HigherOrderArguments arguments = higher_order_arguments(inputs, scope);
      if (arguments.graphs.size() != 2 || arguments.before.size() != 1)
        fail(ErrorCode::parse, fmt::format("node '{}' ({}) lacks a condition or a branch", current_, target));
      read_cond(arguments, outputs, scope, depth);
      return true;
    }
    if (target == "higher_order.scan") {
      read_scan(inputs, outputs, scope, depth);
      return true;
    }
    return false;  // an opaque node
  }

  // Both branches are computed and the condition chooses, unless it is known.
  void read_cond(const HigherOrderArguments& arguments, const array& outputs, Scope& scope, int depth) {
    const graph::Argument& condition = arguments.before[0];
    if (const auto* known = std::get_if<bool>(&condition))
      return name_results(outputs, inline_graph(arguments.graphs[*known ? 0 : 1], arguments.after, depth), scope);
    if (const auto* known = std::get_if<int64_t>(&condition))
      return name_results(outputs, inline_graph(arguments.graphs[*known ? 0 : 1], arguments.after, depth), scope);
    const std::vector<graph::ValueId> yes = inline_graph(arguments.graphs[0], arguments.after, depth);
    const std::vector<graph::ValueId> no = inline_graph(arguments.graphs[1], arguments.after, depth);
    graph_.assumptions.push_back(
        fmt::format("'{}' chooses between two branches by data; both are computed here", current_));
    std::vector<graph::ValueId> chosen;
    for (size_t i = 0; i < yes.size() && i < no.size(); ++i) {
      graph::Node node;
      node.target = "aten.where.self";
      node.name = current_;
      node.arguments = {{"condition", condition}, {"self", graph::ValueRef{yes[i]}}, {"other", graph::ValueRef{no[i]}}};
      const graph::ValueId id =
          graph_.add_value(current_, yes[i] == graph::no_value ? std::nullopt : graph_.values[yes[i]].type);
      node.results = {id};
      chosen.push_back(id);
      graph_.nodes.push_back(std::move(node));
    }
    name_results(outputs, chosen, scope);
  }

  // scan(combine, init, xs, additional): the body becomes a subgraph, its definition lives in `ops`.
  void read_scan(const array& inputs, const array& outputs, Scope& scope, int depth) {
    const HigherOrderArguments arguments = higher_order_arguments(inputs, scope);
    if (arguments.graphs.size() != 1 || arguments.list_sizes.size() < 2)
      fail(ErrorCode::parse, fmt::format("node '{}' (higher_order.scan) lacks its graph or its arguments", current_));
    Reader body;
    body.symbols_ = symbols_;
    Scope inner;
    body.open_scope(arguments.graphs[0], inner);
    for (const element input : take(field(arguments.graphs[0], "inputs", "a nested graph").get_array(), "inputs")) {
      const auto [tag, value] = tagged(input, "an input of a nested graph");
      if (tag == "as_tensor") body.add_input(inner, tensor_name(value), graph::InputKind::user, "");
    }
    body.read_nodes(arguments.graphs[0], inner, depth + 1);
    for (const element output : take(field(arguments.graphs[0], "outputs", "a nested graph").get_array(), "outputs")) {
      const auto [tag, value] = tagged(output, "an output");
      if (tag == "as_tensor") body.graph_.outputs.push_back({body.use(inner, tensor_name(value)), graph::no_value});
    }
    graph::Node node;
    node.target = "higher_order.scan";
    node.name = current_;
    graph_.subgraphs.push_back(std::move(body.graph_));
    std::vector<graph::ValueId> lists[3];
    size_t list = 0, in_list = 0;
    for (const graph::Argument& argument : arguments.after) {
      while (list < 3 && list < arguments.list_sizes.size() && in_list == arguments.list_sizes[list]) {
        ++list;
        in_list = 0;
      }
      const auto* ref = std::get_if<graph::ValueRef>(&argument);
      if (list < 3 && ref) lists[list].push_back(ref->id);
      ++in_list;
    }
    node.arguments = {{"body", graph::SubgraphRef{uint32_t(graph_.subgraphs.size() - 1)}},
                      {"init", lists[0]},
                      {"xs", lists[1]},
                      {"additional", lists[2]}};
    for (const element output : outputs) read_result(node, output, scope);
    graph_.nodes.push_back(std::move(node));
  }

  graph::Graph graph_;
  std::unordered_map<std::string, int64_t> symbols_;
  std::vector<std::pair<std::string, int64_t>> assumed_;
  std::string current_;  // the node being read, for messages
};

}  // namespace

Result<graph::Graph> parse_torch_export(std::string_view json, std::string_view file) {
  const auto error = [&](ErrorCode code, std::string message, std::string hint) {
    return Error{code, std::move(message), std::move(hint), {std::string(file)}};
  };
  if (json.size() > max_text)
    return error(ErrorCode::limit, fmt::format("the program text has {} bytes; the limit is {}", json.size(), max_text),
                 "export without weights, or split the program");
  simdjson::dom::parser parser(max_text + 64);
  element root;
  if (const auto code = parser.parse(json.data(), json.size()).get(root); code != simdjson::SUCCESS)
    return error(ErrorCode::parse, fmt::format("not valid JSON: {}", simdjson::error_message(code)),
                 "the file should be what torch.export.save writes");
  try {
    return Reader().run(take(root.get_object(), "the program"));
  } catch (const Failure& failure) {
    return error(failure.code, failure.message, failure.hint);
  }
}

}  // namespace lightline::frontend
