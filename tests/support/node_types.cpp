#include "support/node_types.h"

#include <fmt/format.h>

#include "graph/result_types.h"
#include "ops/catalogue/catalogue.h"

namespace lightline::testing {
namespace {

const TensorType* first_type(const graph::Graph& graph, const graph::Node& node) {
  const auto* ref = node.arguments.empty() ? nullptr : std::get_if<graph::ValueRef>(&node.arguments[0].value);
  return ref && graph.values[ref->id].type ? &*graph.values[ref->id].type : nullptr;
}

std::string wrong_result(const graph::Graph& graph, const graph::Node& node) {
  const ops::Registry::Match match = ops::all_operators().find(node.target);
  const graph::OperatorSignature* op = match.op ? graph::find_operator(match.op->name) : nullptr;
  if (!op) return "";
  auto types = graph::result_types(*op, graph, node);
  if (!types.ok())
    return types.error().code == ErrorCode::unsupported ? ""
                                                        : fmt::format("{}: {}", node.target, types.error().message);
  // what is written in place keeps its type
  if (const TensorType* written = match.in_place ? first_type(graph, node) : nullptr; written && !types->empty())
    (*types)[0] = *written;
  for (size_t i = 0; i < node.results.size(); ++i) {
    if (node.results[i] == graph::no_value || !graph.values[node.results[i]].type) continue;
    const TensorType& recorded = *graph.values[node.results[i]].type;
    if (i >= types->size() || (*types)[i] != recorded)
      return fmt::format("{}: result {} is {} but should be {} by the list of operators", node.target, i,
                         to_string(recorded), i < types->size() ? to_string((*types)[i]) : "absent");
  }
  return "";
}

}  // namespace

std::string wrongly_typed_node(const graph::Graph& graph) {
  if (graph.untyped) return "";
  for (const graph::Node& node : graph.nodes)
    if (std::string wrong = wrong_result(graph, node); !wrong.empty()) return wrong;
  for (const graph::Graph& inner : graph.subgraphs)
    if (std::string wrong = wrongly_typed_node(inner); !wrong.empty()) return wrong;
  return "";
}

}  // namespace lightline::testing
