#include "loops/plan/kernels.h"

#include <algorithm>

namespace lightline::loops::plan {
namespace {

void add_kernels(SteppedProgram& stepped, const std::vector<Step>& steps, const Layout& layout,
                 std::vector<Kernel>& kernels) {
  for (const Step& step : steps) {
    if (const auto* nest = std::get_if<NestStep>(&step.node))
      kernels.emplace_back(plan_nest(stepped, *nest, layout.stored));
    else if (const auto* contraction = std::get_if<ContractionStep>(&step.node))
      kernels.emplace_back(plan_product(stepped, *contraction));
    else if (const auto* scatter = std::get_if<ScatterStep>(&step.node))
      kernels.emplace_back(plan_scatter(stepped, *scatter));
    else
      kernels.emplace_back();
    if (const auto* repeat = std::get_if<RepeatStep>(&step.node)) add_kernels(stepped, repeat->body, layout, kernels);
  }
}

}  // namespace

std::vector<Kernel> make_kernels(SteppedProgram& stepped, const Layout& layout) {
  std::vector<Kernel> kernels;
  add_kernels(stepped, stepped.steps, layout, kernels);
  return kernels;
}

std::vector<NodeId> splitting_guards(const SteppedProgram& stepped, VarId var, std::span<const NodeId> values) {
  const Nodes& nodes = stepped.nodes;
  std::vector<NodeId> guards;
  if (nodes.extent(var) < stepped.target.shortest_split_row) return guards;
  for (const NodeId root : values) {
    nodes.for_each(root, [&](const Node& node, NodeId id) {
      if (node.kind != NodeKind::in_range || std::ranges::find(guards, id) != guards.end()) return;
      if (nodes.coefficient(node.args[0], var).value_or(0) == 0) return;
      const Node& value = nodes[node.args[0]];
      if (value.low > INT64_MIN / 4 && value.high < INT64_MAX / 4) guards.push_back(id);
    });
  }
  if (guards.size() > stepped.target.most_split_guards) guards.clear();
  return guards;
}

bool combines_in_any_order(Reducer reducer, DType accumulator) {
  if (compute_type(accumulator) != accumulator || accumulator == DType::c64) return false;
  switch (reducer) {
    case Reducer::sum:
    case Reducer::prod:
    case Reducer::max:
    case Reducer::min:
    case Reducer::all:
    case Reducer::any: return true;
    default: return false;
  }
}

bool takes_apart(const Nodes& nodes, NodeId root, VarId merged, int64_t inner) {
  bool found = false;
  nodes.for_each(root, [&](const Node& node, NodeId) {
    if (node.kind != NodeKind::call || (node.function != Function::div && node.function != Function::mod)) return;
    found |= nodes.is_var(node.args[0], merged) && nodes.is_literal(node.args[1]) &&
             nodes[node.args[1]].literal.integer == inner;
  });
  return found;
}

}  // namespace lightline::loops::plan
