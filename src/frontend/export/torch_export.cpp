#include "frontend/export/torch_export.h"

#include "frontend/export/reader.h"

namespace lightline::frontend {
namespace {

constexpr size_t max_nodes = 400'000;
constexpr int max_nesting = 16;

}  // namespace

graph::Graph ExportReader::run(const JsonObject& root) {
  const JsonObject module = object_of(field(root, "graph_module", "the program"), "graph_module");
  const JsonObject top = object_of(field(module, "graph", "graph_module"), "graph");
  Scope scope;
  read_ranges(root);
  open_scope(top, scope);
  graph_.values.reserve(scope.names.size());
  read_inputs(top, module, scope);
  read_nodes(top, scope, 0);
  read_outputs(module, scope);
  read_known_values(root, scope);
  for (const auto& [symbol, value] : assumed_)
    graph_.assumptions.push_back(
        fmt::format("the size {} is not known before the program runs; taken as {}", symbol, value));
  return std::move(graph_);
}

void ExportReader::read_nodes(const JsonObject& g, Scope& scope, int depth) {
  if (depth > max_nesting) fail(ErrorCode::limit, fmt::format("graphs nest more than {} deep", max_nesting));
  const JsonArray nodes = array_of(field(g, "nodes", "graph"), "nodes");
  if (graph_.nodes.size() + nodes.size() > max_nodes)
    fail(ErrorCode::limit,
         fmt::format("the graph has {} nodes; the limit is {}", graph_.nodes.size() + nodes.size(), max_nodes),
         "split the program");
  if (depth == 0) graph_.nodes.reserve(nodes.size());
  for (const JsonElement item : nodes) read_node(object_of(item, "a node"), scope, depth);
}

void ExportReader::read_node(const JsonObject& o, Scope& scope, int depth) {
  std::string_view target = text_of(field(o, "target", "a node"), "a node's target");
  JsonElement name;
  current_ = find(o, "name", name) ? text_of(name, "a node's name") : std::string_view();
  if (target.starts_with("torch.ops.")) target.remove_prefix(10);
  const JsonArray inputs = array_of(field(o, "inputs", "a node"), "a node's inputs");
  const JsonArray outputs = array_of(field(o, "outputs", "a node"), "a node's outputs");
  if (current_.empty()) current_ = target;
  if (target == "higher_order.with_effects") return read_with_effects(inputs, outputs, scope);
  if (target.starts_with("higher_order.") && read_higher_order(target, inputs, outputs, scope, depth)) return;
  if (target == "aten.split_with_sizes.default") assume_split(inputs, scope);
  graph::Node node;
  node.target = target;
  node.name = current_;
  // Results first: their sizes may fix symbols that the arguments use.
  for (const JsonElement output : outputs) read_result(node, output, scope);
  if (target == "aten.slice.Tensor") assume_end(inputs, scope);
  node.arguments.reserve(inputs.size());
  for (const JsonElement input : inputs) {
    const JsonObject argument = object_of(input, "an argument");
    const std::string_view argument_name = text_of(field(argument, "name", "an argument"), "an argument's name");
    node.arguments.push_back(
        {std::string(argument_name), read_argument(scope, field(argument, "arg", "an argument"), argument_name)});
  }
  graph_.nodes.push_back(std::move(node));
}

void ExportReader::read_result(graph::Node& node, const JsonElement& output, Scope& scope) {
  const auto [tag, value] = tagged(output, "a result");
  if (tag == "as_tensor") {
    define_result(node, scope, tensor_name(value));
  } else if (tag == "as_tensors" || tag == "as_optional_tensors") {
    for (const JsonElement item : array_of(value, "a list of results")) {
      const JsonObject o = object_of(item, "a result");
      JsonElement nested;
      if (find(o, "as_tensor", nested))
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
    node.results.push_back(define(scope, text_of(name, "a symbolic result"), TensorType{dtype, {}}));
  } else {
    node.results.push_back(graph::no_value);
  }
}

void ExportReader::define_result(graph::Node& node, Scope& scope, std::string_view name) {
  if (name.empty()) return node.results.push_back(graph::no_value);
  node.results.push_back(define(scope, name, recorded_type(scope, name)));
}

Result<graph::Graph> parse_torch_export(std::string_view json, std::string_view file) {
  simdjson::dom::parser parser;
  auto root = parse_json(parser, json);
  if (!root.ok()) {
    root.error().where.file = std::string(file);
    return root.error();
  }
  try {
    return ExportReader().run(object_of(*root, "the program"));
  } catch (const ExportError& failure) {
    return Error{failure.code, failure.message, failure.hint, {std::string(file)}};
  }
}

}  // namespace lightline::frontend
