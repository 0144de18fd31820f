// Higher-order operators of an exported program: wrappers and branches are inlined, loops keep their bodies.
#include "frontend/export/reader.h"

namespace lightline::frontend {
namespace {

bool is_wrapper(std::string_view target) {
  return target == "higher_order.wrap_with_set_grad_enabled" || target == "higher_order.wrap_with_autocast" ||
         target == "higher_order.wrap" || target == "higher_order.invoke_subgraph" ||
         target == "higher_order.tag_activation_checkpoint" || target == "higher_order.strict_mode";
}

}  // namespace

ExportReader::HigherOrderArguments ExportReader::higher_order_arguments(const JsonArray& inputs, Scope& scope) {
  HigherOrderArguments result;
  for (const JsonElement input : inputs) {
    const JsonElement given = field(object_of(input, "an argument"), "arg", "an argument");
    const auto [tag, value] = tagged(given, "an argument");
    if (tag == "as_graph") {
      const JsonObject holder = object_of(value, "a graph argument");
      result.graphs.push_back(object_of(field(holder, "graph", "a graph argument"), "a nested graph"));
      continue;
    }
    const graph::Argument argument = read_argument(scope, given, "an argument");
    if (result.graphs.empty()) {
      result.before.push_back(argument);
    } else if (const auto* list = std::get_if<std::vector<graph::ValueId>>(&argument)) {
      for (const graph::ValueId id : *list) result.after.push_back(graph::ValueRef{id});
      result.list_sizes.push_back(list->size());
    } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&argument)) {
      for (const int64_t number : *numbers) result.after.push_back(number);
      result.list_sizes.push_back(numbers->size());
    } else {
      result.after.push_back(argument);
      result.list_sizes.push_back(1);
    }
  }
  return result;
}

bool ExportReader::read_higher_order(std::string_view target, const JsonArray& inputs, const JsonArray& outputs,
                                     Scope& scope, int depth) {
  const bool wrapper = is_wrapper(target);
  const bool loop = target == "higher_order.scan" || target == "higher_order.while_loop";
  if (!wrapper && !loop && target != "higher_order.cond") return false;  // an opaque node
  const HigherOrderArguments arguments = higher_order_arguments(inputs, scope);
  if (target == "higher_order.cond") {
    if (arguments.graphs.size() != 2 || arguments.before.size() != 1)
      fail(ErrorCode::parse, fmt::format("node '{}' ({}) lacks a condition or a branch", current_, target));
    read_cond(arguments, outputs, scope, depth);
    return true;
  }
  if (target == "higher_order.while_loop") return read_while(arguments, outputs, scope, depth);
  if (arguments.graphs.size() != 1)
    fail(ErrorCode::parse, fmt::format("node '{}' ({}) has no graph", current_, target));
  if (target == "higher_order.scan") {
    read_scan(arguments, outputs, scope, depth);
    return true;
  }
  std::vector<graph::Argument> passed = arguments.after;
  // invoke_subgraph passes an identifier first
  if (!passed.empty() && std::holds_alternative<std::string>(passed[0])) passed.erase(passed.begin());
  name_results(outputs, inline_graph(arguments.graphs[0], passed, depth), scope);
  return true;
}

// A call that is kept in its place by tokens, the first argument and the first result: the call without them.
void ExportReader::read_with_effects(const JsonArray& inputs, const JsonArray& outputs, Scope& scope) {
  graph::Node node;
  node.name = current_;
  size_t place = 0;
  for (const JsonElement input : inputs) {
    const JsonObject argument = object_of(input, "an argument");
    const std::string_view name = text_of(field(argument, "name", "an argument"), "an argument's name");
    const size_t at = place++;
    if (at == 0) continue;
    const JsonElement given = field(argument, "arg", "an argument");
    graph::Argument value = read_argument(scope, given, name);
    if (at > 1) {
      node.arguments.push_back({std::string(name), std::move(value)});
    } else if (const auto* target = std::get_if<std::string>(&value)) {
      node.target = target->starts_with("torch.ops.") ? target->substr(10) : *target;
    }
  }
  if (node.target.empty()) fail(ErrorCode::parse, fmt::format("node '{}' does not say what it calls", current_));
  place = 0;
  for (const JsonElement output : outputs)
    if (place++ > 0) read_result(node, output, scope);
  graph_.nodes.push_back(std::move(node));
}

// Reads a nested graph with its inputs bound to outer values; gives the values it returns.
std::vector<graph::ValueId> ExportReader::inline_graph(const JsonObject& g,
                                                       const std::vector<graph::Argument>& arguments, int depth) {
  Scope inner;
  open_scope(g, inner);
  size_t position = 0;
  for (const JsonElement input : array_of(field(g, "inputs", "a nested graph"), "inputs")) {
    if (position >= arguments.size())
      fail(ErrorCode::parse, fmt::format("node '{}' passes too few arguments to its graph", current_));
    bind(inner, input, arguments[position++]);
  }
  const std::string outer = current_;
  read_nodes(g, inner, depth + 1);
  current_ = outer;
  std::vector<graph::ValueId> results;
  for (const JsonElement output : array_of(field(g, "outputs", "a nested graph"), "outputs")) {
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

void ExportReader::bind(Scope& inner, const JsonElement& input, const graph::Argument& argument) {
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
    inner.names[name].value = ref->id;
  else
    inner.constants.emplace(name, argument);
}

// Gives the results of a higher-order node the names its outputs carry.
void ExportReader::name_results(const JsonArray& outputs, const std::vector<graph::ValueId>& results, Scope& scope) {
  size_t next = 0;
  const auto bind_name = [&](std::string_view name) {
    if (next >= results.size())
      fail(ErrorCode::parse, fmt::format("node '{}' has more results than its graph returns", current_));
    scope.names[name].value = results[next++];
  };
  for (const JsonElement output : outputs) {
    const auto [tag, value] = tagged(output, "a result");
    if (tag == "as_tensor")
      bind_name(tensor_name(value));
    else if (tag == "as_tensors")
      for (const JsonElement item : array_of(value, "a list of results")) bind_name(tensor_name(item));
    else
      ++next;
  }
}

// Both branches are computed and the condition chooses, unless it is known.
void ExportReader::read_cond(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope, int depth) {
  const graph::Argument& condition = arguments.before[0];
  std::optional<bool> known;
  if (const auto* flag = std::get_if<bool>(&condition)) known = *flag;
  if (const auto* number = std::get_if<int64_t>(&condition)) known = *number != 0;
  if (known)
    return name_results(outputs, inline_graph(arguments.graphs[*known ? 0 : 1], arguments.after, depth), scope);
  const std::vector<graph::ValueId> yes = inline_graph(arguments.graphs[0], arguments.after, depth);
  const std::vector<graph::ValueId> no = inline_graph(arguments.graphs[1], arguments.after, depth);
  graph_.assumptions.push_back(
      fmt::format("'{}' is a branch by data: the cheaper side counts, operator by operator both are listed", current_));
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

// Reads a nested graph as a graph of its own.
graph::SubgraphRef ExportReader::read_body(const JsonObject& g, int depth) {
  ExportReader body;
  body.symbols_ = symbols_;
  body.least_ = least_;
  Scope inner;
  body.open_scope(g, inner);
  for (const JsonElement input : array_of(field(g, "inputs", "a nested graph"), "inputs")) {
    const auto [tag, value] = tagged(input, "an input of a nested graph");
    if (tag == "as_tensor") body.add_input(inner, tensor_name(value), graph::InputKind::user, "");
  }
  body.read_nodes(g, inner, depth + 1);
  for (const JsonElement output : array_of(field(g, "outputs", "a nested graph"), "outputs")) {
    const auto [tag, value] = tagged(output, "an output");
    if (tag == "as_tensor") body.graph_.outputs.push_back({body.use(inner, tensor_name(value)), graph::no_value});
  }
  graph_.subgraphs.push_back(std::move(body.graph_));
  return {uint32_t(graph_.subgraphs.size() - 1)};
}

// The tensors of one list that a higher-order node was given after its graphs; nothing if one is no tensor.
std::optional<std::vector<graph::ValueId>> ExportReader::tensors_of(const HigherOrderArguments& arguments,
                                                                    size_t list) {
  size_t first = 0;
  for (size_t i = 0; i < list && i < arguments.list_sizes.size(); ++i) first += arguments.list_sizes[i];
  std::vector<graph::ValueId> ids;
  for (size_t i = 0; list < arguments.list_sizes.size() && i < arguments.list_sizes[list]; ++i) {
    const auto* ref = std::get_if<graph::ValueRef>(&arguments.after[first + i]);
    if (ref == nullptr) return std::nullopt;
    ids.push_back(ref->id);
  }
  return ids;
}

// scan(combine, init, xs, additional): the body becomes a subgraph, its definition lives in `ops`.
void ExportReader::read_scan(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope, int depth) {
  const auto init = tensors_of(arguments, 0), xs = tensors_of(arguments, 1), additional = tensors_of(arguments, 2);
  if (arguments.list_sizes.size() < 2 || !init || !xs || !additional)
    fail(ErrorCode::parse, fmt::format("node '{}' (higher_order.scan) lacks its tensors", current_));
  graph::Node node;
  node.target = "higher_order.scan";
  node.name = current_;
  node.arguments = {
      {"body", read_body(arguments.graphs[0], depth)}, {"init", *init}, {"xs", *xs}, {"additional", *additional}};
  for (const JsonElement output : outputs) read_result(node, output, scope);
  graph_.nodes.push_back(std::move(node));
}

// while_loop(condition, body, carried, additional); one that carries plain numbers stays opaque.
bool ExportReader::read_while(const HigherOrderArguments& arguments, const JsonArray& outputs, Scope& scope,
                              int depth) {
  const auto carried = tensors_of(arguments, 0), additional = tensors_of(arguments, 1);
  if (arguments.graphs.size() != 2 || !carried || !additional) return false;
  graph::Node node;
  node.target = "higher_order.while_loop";
  node.name = current_;
  node.arguments = {{"condition", read_body(arguments.graphs[0], depth)},
                    {"body", read_body(arguments.graphs[1], depth)},
                    {"carried", *carried},
                    {"additional", *additional}};
  for (const JsonElement output : outputs) read_result(node, output, scope);
  graph_.nodes.push_back(std::move(node));
  return true;
}

}  // namespace lightline::frontend
