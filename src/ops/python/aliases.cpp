#include "ops/python/aliases.h"

#include <algorithm>
#include <string_view>

#include "ops/catalogue/catalogue.h"

namespace lightline::ops {
namespace {

std::string_view last_name(std::string_view target) { return target.substr(target.rfind('.') + 1); }

template <size_t count>
bool is_one_of(std::string_view name, const std::string_view (&names)[count]) {
  return std::ranges::find(names, name) != std::end(names);
}

graph::ValueId first_value(const graph::Node& node) {
  const auto* ref = node.arguments.empty() ? nullptr : std::get_if<graph::ValueRef>(&node.arguments[0].value);
  return ref ? ref->id : graph::no_value;
}

bool is_true(const graph::Argument& argument) {
  const auto* flag = std::get_if<bool>(&argument);
  return flag && *flag;
}

// inplace=True, by name or in its place.
bool asks_for_writing(const graph::Node& node, const Operator& op) {
  size_t place = 0;
  for (std::string_view rest = op.parameters; !rest.empty() && !rest.starts_with("inplace"); ++place) {
    const size_t comma = rest.find(", ");
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  size_t position = 0;
  for (const graph::NamedArgument& argument : node.arguments) {
    if (argument.name == "inplace" && is_true(argument.value)) return true;
    if (argument.name.empty() && position++ == place && op.parameters.ends_with("inplace") && is_true(argument.value))
      return true;
  }
  return false;
}

bool writes_in_place(const graph::Node& node, const Registry::Match& match) {
  const std::string_view target = node.target;
  if (target == "operator.setitem") return true;
  if (target.starts_with("operator.i")) return target != "operator.invert" && target != "operator.inv";
  return match.in_place || (match.op && asks_for_writing(node, *match.op));
}

bool is_view(const graph::Node& node, const Registry::Match& match) {
  if (node.target == "operator.getitem" || node.target == "builtins.getattr") return true;
  return match.op && match.op->family == "views";
}

}  // namespace

std::vector<bool> copying_nodes(const graph::Graph& graph) {
  static constexpr std::string_view reordering[] = {"permute",   "transpose",    "t",       "T",        "mT",
                                                    "swapaxes",  "swapdims",     "movedim", "moveaxis", "expand",
                                                    "expand_as", "broadcast_to", "numpy_T"};
  static constexpr std::string_view copying[] = {"contiguous", "reshape", "flatten"};
  const size_t count = graph.values.size();
  std::vector<bool> reordered(count), written(count), attention(count), copies(graph.nodes.size());
  std::vector<Registry::Match> matches;
  for (const graph::Node& node : graph.nodes) {
    matches.push_back(all_operators().find(node.target));
    const graph::ValueId from = first_value(node);
    if (from == graph::no_value || node.results.empty()) continue;
    std::string_view name = last_name(node.target);
    if (name == "getattr" && node.arguments.size() > 1)
      if (const auto* attribute = std::get_if<std::string>(&node.arguments[1].value)) name = *attribute;
    // attention kernels lay their result out by token: turned back, it is in order
    attention[node.results[0]] = name == "scaled_dot_product_attention";
    const bool follows = is_view(node, matches.back()) && !is_one_of(name, copying) && reordered[from];
    reordered[node.results[0]] = follows || (is_one_of(name, reordering) && !attention[from]);
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[i];
    const graph::ValueId from = first_value(node);
    if (from == graph::no_value) continue;
    const bool result_written = !node.results.empty() && written[node.results[0]];
    if (writes_in_place(node, matches[i])) written[from] = true;
    copies[i] = result_written && reordered[from] && is_one_of(last_name(node.target), copying);
    if (result_written && !copies[i] && is_view(node, matches[i])) written[from] = true;
  }
  return copies;
}

}  // namespace lightline::ops
