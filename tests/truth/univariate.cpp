#include "truth/univariate.h"

#include <unordered_map>
#include <vector>

namespace lightline::truth {
namespace {

bool is_transcendental(const Node& node) {
  return node.kind == Kind::call && loops::info(node.function).transcendental_ops > 0;
}

struct Chain {
  std::vector<NodeId> members;
  double transcendentals = 0;  // of its members, one by one
  double tops = 0;             // members that something else uses and that hold a transcendental
};

}  // namespace

Univariate univariate_functions(const ScalarGraph& graph, const Plan& plan, std::span<const NodeId> order,
                                std::span<const NodeId> needed) {
  std::unordered_map<NodeId, NodeId> variable;  // what a node is a function of, if of one thing only
  std::unordered_map<NodeId, bool> holds_transcendental;
  for (size_t i = order.size(); i-- > 0;) {
    const NodeId id = order[i];
    NodeId source = loops::none;
    bool single = graph[id].kind != Kind::leaf && graph[id].kind != Kind::oracle, holds = is_transcendental(graph[id]);
    for (const NodeId operand : plan.operands(graph, id)) {
      if (graph.is_constant(operand)) continue;
      const NodeId below = variable.at(operand);
      single = single && (source == loops::none || source == below);
      source = below;
      holds = holds || (below != operand && holds_transcendental[operand]);
    }
    variable[id] = single && source != loops::none ? source : id;
    holds_transcendental[id] = variable[id] == id ? false : holds;
  }
  std::unordered_set<NodeId> seen_outside(needed.begin(), needed.end());
  for (const NodeId id : order)
    for (const NodeId operand : plan.operands(graph, id))
      if (variable.at(id) == id || variable.at(id) != variable.at(operand)) seen_outside.insert(operand);
  std::unordered_map<NodeId, Chain> chains;
  Univariate result;
  for (const NodeId id : order) {
    if (variable.at(id) == id) {
      result.transcendentals += is_transcendental(graph[id]);
      continue;
    }
    Chain& chain = chains[variable.at(id)];
    chain.members.push_back(id);
    chain.transcendentals += is_transcendental(graph[id]);
    chain.tops += holds_transcendental[id] && seen_outside.contains(id);
  }
  for (const auto& [source, chain] : chains) {
    if (chain.tops > 0 && chain.tops <= chain.transcendentals) {
      result.transcendentals += chain.tops;
      for (const NodeId id : chain.members)
        if (holds_transcendental[id] || !seen_outside.contains(id)) result.absorbed.insert(id);
    } else {
      result.transcendentals += chain.transcendentals;
    }
  }
  return result;
}

}  // namespace lightline::truth
