// How a scatter runs: in order along every element, shared by threads where elements are told apart.
#include <algorithm>

#include "loops/plan/kernels.h"

namespace lightline::loops::plan {
namespace {

// A loop whose points write to different elements, whatever the others do.
bool is_disjoint(const Nodes& nodes, const ScatterStep& step, VarId var) {
  return std::ranges::any_of(step.target, [&](NodeId target) { return nodes.is_var(target, var); });
}

bool is_checked_along(const Nodes& nodes, std::span<const NodeId> values, VarId var) {
  bool found = false;
  for (const NodeId root : values)
    nodes.for_each(
        root, [&](const Node& node, NodeId id) { found |= node.kind == NodeKind::checked && nodes.depends(id, var); });
  return found;
}

// Threads share a disjoint loop, which may run outside the others: the writes to one element keep their order.
// If that is the innermost one, each thread takes a piece of it through all the others.
void share_loops(const SteppedProgram& stepped, const ScatterStep& step, ScatterKernel& kernel) {
  const Nodes& nodes = stepped.nodes;
  const Target& target = stepped.target;
  const auto shared = std::ranges::find_if(
      kernel.loops, [&](VarId var) { return step.points > target.parallel_points && is_disjoint(nodes, step, var); });
  if (shared == kernel.loops.end()) return;
  if (shared + 1 != kernel.loops.end()) {
    kernel.share = ScatterKernel::Share::outermost;
    std::rotate(kernel.loops.begin(), shared, shared + 1);
    return;
  }
  kernel.share = ScatterKernel::Share::pieces;
  const int64_t extent = nodes.extent(kernel.loops.back());
  kernel.piece = std::max(target.shortest_scatter_piece, pieces_of(extent, target.scatter_pieces));
  kernel.pieces = pieces_of(extent, kernel.piece);
}

}  // namespace

ScatterKernel plan_scatter(SteppedProgram& stepped, const ScatterStep& step) {
  Nodes& nodes = stepped.nodes;
  ScatterKernel kernel;
  const Shape& shape = stepped.program.arrays[step.result].shape;
  kernel.threads_fill = double(size_of(shape)) > stepped.target.parallel_fill_elements;
  if (step.body == none) return kernel;
  const auto flatten = [&](NodeId value) {
    return nodes.flatten(value, [&](ArrayId array) { return row_major(stepped.program.arrays[array].shape); });
  };
  std::vector<NodeId> target;
  for (const NodeId subscript : step.target) target.push_back(flatten(subscript));
  kernel.position = nodes.position(target, row_major(shape));
  kernel.value = flatten(step.body);
  std::vector<NodeId> values{kernel.value};
  if (step.guard != none) values.push_back(kernel.guard = flatten(step.guard));
  kernel.loops = step.domain;
  if (kernel.loops.empty()) return kernel;
  share_loops(stepped, step, kernel);
  const VarId last = kernel.loops.back();
  kernel.is_vector = is_disjoint(nodes, step, last) && !is_checked_along(nodes, values, last);
  kernel.guards = splitting_guards(stepped, last, values);
  return kernel;
}

}  // namespace lightline::loops::plan
