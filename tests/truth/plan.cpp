#include "truth/plan.h"

#include <algorithm>
#include <complex>

namespace lightline::truth {

Way Plan::way_of(const ScalarGraph& graph, NodeId id) const {
  if (const auto found = ways.find(id); found != ways.end()) return found->second;
  const Node& node = graph[id];
  Way way{.kind = node.kind, .offset = node.offset};
  for (size_t i = 0; i < node.operands.size(); ++i)
    way.terms.push_back({node.kind == Kind::linear ? node.coefficients[i] : Coefficient::of(1), node.operands[i]});
  return way;
}

std::vector<NodeId> Plan::operands(const ScalarGraph& graph, NodeId id) const {
  const auto found = ways.find(id);
  if (found == ways.end()) return graph[id].operands;
  std::vector<NodeId> result;
  for (const Term& term : found->second.terms) result.push_back(term.node);
  return result;
}

std::vector<NodeId> Plan::users_first(const ScalarGraph& graph, std::span<const NodeId> roots) const {
  std::vector<uint8_t> seen(graph.size(), 0);
  std::vector<NodeId> order;
  struct Frame {
    NodeId node;
    std::vector<NodeId> operands;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](NodeId id) {
    if (seen[id]) return;
    seen[id] = 1;
    stack.push_back({id, operands(graph, id)});
  };
  for (const NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.operands.size()) {
        enter(frame.operands[frame.next++]);
      } else {
        order.push_back(frame.node);
        stack.pop_back();
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

bool Plan::is_acyclic(const ScalarGraph& graph, std::span<const NodeId> order) const {
  std::vector<size_t> place(graph.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (size_t i = 0; i < order.size(); ++i)
    for (const NodeId operand : operands(graph, order[i]))
      if (place[operand] <= i) return false;
  return true;
}

bool Plan::holds(const ScalarGraph& graph) const {
  return std::all_of(ways.begin(), ways.end(), [&](const auto& entry) {
    const auto& [id, way] = entry;
    Field field = way.kind == Kind::linear ? way.offset.field : Field{1};
    std::complex<double> value = way.kind == Kind::linear ? way.offset.number : 1;
    double size = std::abs(value);
    for (const Term& term : way.terms) {
      const Field image = term.coefficient.field * graph[term.node].field;
      const auto number = term.coefficient.number * graph[term.node].value.number();
      field = way.kind == Kind::linear ? field + image : field * image;
      value = way.kind == Kind::linear ? value + number : value * number;
      size = std::max({size, std::abs(number), std::abs(value)});
    }
    const auto wanted = graph[id].value.number();
    const bool near = !std::isfinite(size) || std::abs(value - wanted) <= 1e-3 * std::max(size, std::abs(wanted));
    return field == graph[id].field && near;
  });
}

}  // namespace lightline::truth
