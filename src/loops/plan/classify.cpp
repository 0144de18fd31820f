// How computes run: which loop is innermost, which of them share loops, which are contractions.
#include <algorithm>
#include <unordered_set>

#include "loops/plan/steps.h"

namespace lightline::loops::plan {
namespace {

struct Stride {
  bool is_known = false;
  int64_t value = 0;
};

template <class Visit>
void for_each_load(const Nodes& nodes, NodeId root, Visit visit) {
  nodes.for_each(root, [&](const Node& node, NodeId) {
    if (node.kind == NodeKind::load) visit(node);
  });
}

// How far apart neighbours along `var` are read.
Stride stride_along(SteppedProgram& stepped, const Node& load, VarId var) {
  Nodes& nodes = stepped.nodes;
  const std::vector<NodeId> subscripts(nodes.operands(load).begin(), nodes.operands(load).end());
  const auto coefficient =
      nodes.coefficient(nodes.position(subscripts, row_major(stepped.program.arrays[load.array].shape)), var);
  return {coefficient.has_value(), coefficient.value_or(0)};
}

std::vector<Node> loads_of(const Nodes& nodes, NodeId root) {
  std::vector<Node> loads;
  for_each_load(nodes, root, [&](const Node& node) { loads.push_back(node); });
  return loads;
}

// Contiguous reads are good along a vector, repeated ones fair, scattered ones bad.
int score(SteppedProgram& stepped, const std::vector<Node>& loads, VarId var) {
  const Target& target = stepped.target;
  int sum = 0;
  for (const Node& load : loads) {
    const Stride stride = stride_along(stepped, load, var);
    sum += stride.is_known && stride.value == 1   ? target.contiguous_read_gain
           : stride.is_known && stride.value == 0 ? target.repeated_read_gain
                                                  : target.scattered_read_gain;
  }
  return sum;
}

void choose_reduction_order(SteppedProgram& stepped, FoldedCompute& folded, const std::vector<Node>& loads) {
  const Target& target = stepped.target;
  const Nodes& nodes = stepped.nodes;
  const bool in_order = reduces_in_order(folded);
  const auto value = [&](VarId var) {
    return score(stepped, loads, var) - (nodes.extent(var) < target.short_row_elements ? target.short_row_penalty : 0);
  };
  auto best = std::ranges::max_element(folded.reduced, {}, value);
  if (in_order) best = folded.reduced.end() - 1;
  if (!folded.loops.empty() && folded.loops.back() != folded.scan) {
    const int along_row = value(folded.loops.back());
    const int along_reduction = in_order ? value(*best) - 1 : value(*best);
    folded.tiled = along_row >= along_reduction && nodes.extent(folded.loops.back()) >= target.shortest_totals_row;
  }
  if (!folded.tiled && !in_order) std::rotate(best, best + 1, folded.reduced.end());
}

VarId transposed_loop(SteppedProgram& stepped, const FoldedCompute& folded, const std::vector<Node>& loads) {
  const Target& target = stepped.target;
  const Nodes& nodes = stepped.nodes;
  if (folded.loops.size() < 2 || folded.scan != none) return none;
  const VarId row = folded.loops.back();
  if (nodes.extent(row) < target.shortest_transposed) return none;
  for (const Node& load : loads) {
    const Stride stride = stride_along(stepped, load, row);
    if (!stride.is_known || std::abs(stride.value) < target.far_stride_elements) continue;
    for (const VarId other : folded.loops)
      if (other != row && nodes.extent(other) >= target.shortest_transposed &&
          stride_along(stepped, load, other).value == 1)
        return other;
  }
  return none;
}

// Whether the first `depth` loops of `producer` are read by `reader` at its own loops.
bool reads_same_iteration(const Nodes& nodes, const Node& load, const FoldedCompute& producer, size_t depth,
                          std::span<const VarId> reader) {
  for (size_t level = 0; level < depth; ++level) {
    const auto dimension = std::ranges::find(producer.dims, producer.loops[level]) - producer.dims.begin();
    if (!nodes.is_var(nodes.operands(load)[size_t(dimension)], reader[level])) return false;
  }
  return true;
}

// Outer loops that the two can share.
size_t common_depth(const Nodes& nodes, const FoldedCompute& producer, const FoldedCompute& reader) {
  const size_t most = std::min(producer.shared_loops(), reader.shared_loops());
  size_t depth = 0;
  while (depth < most && nodes.extent(producer.loops[depth]) == nodes.extent(reader.loops[depth])) ++depth;
  for_each_load(nodes, reader.body, [&](const Node& load) {
    if (load.array != producer.result) return;
    while (depth > 0 && !reads_same_iteration(nodes, load, producer, depth, reader.loops)) --depth;
  });
  return depth;
}

}  // namespace

bool finds_own_past(const Nodes& nodes, const FoldedCompute& folded) {
  const auto scan = std::ranges::find(folded.loops, folded.scan);
  bool stays = true;
  for_each_load(nodes, folded.body, [&](const Node& load) {
    if (load.array == folded.result)
      stays &= reads_same_iteration(nodes, load, folded, size_t(scan - folded.loops.begin()), folded.loops);
  });
  return stays;
}

bool reduces_in_order(const FoldedCompute& folded) {
  return folded.reducer == Reducer::argmax || folded.reducer == Reducer::argmin ||
         compute_type(folded.accumulator) != folded.accumulator;
}

void measure(const SteppedProgram& stepped, FoldedCompute& folded) {
  const Nodes& nodes = stepped.nodes;
  folded.points = 1;
  for (const VarId var : folded.loops) folded.points *= double(nodes.extent(var));
  for (const VarId var : folded.reduced) folded.points *= double(nodes.extent(var));
  if (folded.is_empty) return;
  nodes.for_each(folded.body, [&](const Node& node, NodeId) {
    if (node.kind == NodeKind::call)
      folded.cost += info(node.function).transcendental_ops > 0 ? stepped.target.transcendental_work : 1;
    if (node.kind == NodeKind::load || node.kind == NodeKind::cast) folded.cost += 1;
  });
}

// A scan that reads its past at other points of a loop around it must be the outermost itself.
void choose_order(SteppedProgram& stepped, FoldedCompute& folded) {
  if (folded.is_empty) return;
  if (const auto scan = std::ranges::find(folded.loops, folded.scan);
      scan != folded.loops.end() && !finds_own_past(stepped.nodes, folded))
    std::rotate(folded.loops.begin(), scan, scan + 1);
  const std::vector<Node> loads = loads_of(stepped.nodes, folded.body);
  if (folded.reducer == Reducer::none)
    folded.transposed = transposed_loop(stepped, folded, loads);
  else if (!folded.reduced.empty())
    choose_reduction_order(stepped, folded, loads);
}

void finish_order(const SteppedProgram& stepped, FoldedCompute& folded) {
  if (folded.is_empty) return;
  const Nodes& nodes = stepped.nodes;
  if (folded.reducer != Reducer::none && !folded.reduced.empty())
    folded.scalar_only = reduces_in_order(folded) && !folded.tiled;
  const bool innermost_is_row = folded.tiled || folded.reduced.empty();
  if (innermost_is_row && folded.loops.empty()) return;
  const VarId innermost = innermost_is_row ? folded.loops.back() : folded.reduced.back();
  nodes.for_each(folded.body, [&](const Node& node, NodeId id) {
    if (node.kind == NodeKind::checked && nodes.depends(id, innermost)) folded.scalar_only = true;
  });
}

bool can_join(const SteppedProgram& stepped, const NestStep& step, const FoldedCompute& folded) {
  const Nodes& nodes = stepped.nodes;
  const Target& target = stepped.target;
  const FoldedCompute& first = step.computes[0];
  if (folded.is_empty || folded.shared_loops() == 0 || folded.loops[0] == folded.scan) return false;
  if (first.is_empty || first.shared_loops() == 0 || first.loops[0] == first.scan ||
      nodes.extent(first.loops[0]) != nodes.extent(folded.loops[0]))
    return false;
  int cost = folded.cost;
  int64_t threads = nodes.extent(folded.loops[0]);
  bool is_related = false;
  const auto ends = [](const FoldedCompute& k) { return k.loops.size() == 1 && k.reduced.empty(); };
  for (const FoldedCompute& other : step.computes) {
    if ((ends(folded) || ends(other)) && folded.scalar_only != other.scalar_only) return false;
    cost += other.cost;
    bool reads = false;
    for_each_load(nodes, folded.body, [&](const Node& load) { reads |= load.array == other.result; });
    const size_t depth = common_depth(nodes, other, folded);
    if (depth == 0) return false;
    int64_t shared = 1;
    for (size_t level = 0; level < depth; ++level) shared *= nodes.extent(folded.loops[level]);
    threads = std::max(threads, shared);
    is_related = true;
    if (!reads) continue;
    const int64_t row = size_of(stepped.program.arrays[other.result].shape) / shared *
                        byte_size(stepped.program.arrays[other.result].dtype);
    if (row > target.core_cache_bytes) return false;
  }
  return is_related && cost <= target.most_work_per_point &&
         (threads >= target.wanted_tasks || folded.points < target.little_work_points);
}

namespace {

void flatten_product(const Nodes& nodes, NodeId id, std::vector<NodeId>& factors) {
  const Node& node = nodes[id];
  if (node.kind == NodeKind::call && node.function == Function::mul) {
    flatten_product(nodes, node.args[0], factors);
    flatten_product(nodes, node.args[1], factors);
  } else {
    factors.push_back(id);
  }
}

double product(const Nodes& nodes, const std::vector<VarId>& vars) {
  double size = 1;
  for (const VarId var : vars) size *= double(nodes.extent(var));
  return size;
}

// Splits the factors so that those with `column` stand on the right. Fails if a side has no loop of its own.
bool split(Nodes& nodes, const std::vector<NodeId>& factors, VarId column, ContractionStep& step) {
  step.a = step.b = none;
  step.batch.clear(), step.m.clear(), step.n.clear();
  for (const NodeId factor : factors) {
    NodeId& side = nodes.depends(factor, column) ? step.b : step.a;
    side = side == none ? factor : nodes.call(Function::mul, step.type, side, factor);
  }
  if (step.a == none || step.b == none) return false;
  for (const VarId var : step.folded.loops) {
    const bool left = nodes.depends(step.a, var), right = nodes.depends(step.b, var);
    (left && right ? step.batch : right ? step.n : step.m).push_back(var);
  }
  return !step.m.empty() && !step.n.empty();
}

}  // namespace

std::vector<ContractionStep> possible_contractions(SteppedProgram& stepped, const FoldedCompute& folded) {
  std::vector<ContractionStep> list;
  if (folded.reducer != Reducer::sum || folded.reduced.empty() || folded.scan != none || folded.loops.size() < 2)
    return list;
  if (folded.accumulator != DType::f32 && folded.accumulator != DType::f64) return list;
  Nodes& nodes = stepped.nodes;
  ContractionStep step;
  step.folded = folded;
  step.type = folded.accumulator;
  step.k = folded.reduced;
  std::vector<NodeId> factors;
  flatten_product(nodes, folded.body, factors);
  if (factors.size() < 2 || factors.size() > stepped.target.product.most_factors) return list;
  for (size_t i = folded.loops.size(); i-- > 0;)
    if (split(nodes, factors, folded.loops[i], step)) {
      list.push_back(step);
      std::swap(step.m, step.n);
      std::swap(step.a, step.b);
      list.push_back(step);
    }
  return list;
}

std::optional<ContractionStep> find_contraction(SteppedProgram& stepped, const FoldedCompute& folded) {
  const std::vector<ContractionStep> list = possible_contractions(stepped, folded);
  if (list.empty()) return std::nullopt;
  const Nodes& nodes = stepped.nodes;
  const ProductBlocking& least = stepped.target.product;
  const bool swaps =
      product(nodes, list[0].n) < least.fewest_columns && product(nodes, list[0].m) > product(nodes, list[0].n);
  const ContractionStep& step = list[swaps ? 1 : 0];
  const double m = product(nodes, step.m), n = product(nodes, step.n), k = product(nodes, step.k);
  if (m < least.fewest_rows || n < least.fewest_columns || k < least.fewest_depth || m * n * k < least.fewest_products)
    return std::nullopt;
  return step;
}

bool can_follow(const SteppedProgram& stepped, const ContractionStep& step, const FoldedCompute& folded) {
  const Nodes& nodes = stepped.nodes;
  const FoldedCompute& product = step.folded;
  if (folded.reducer != Reducer::none || folded.is_empty || folded.scan != none || folded.scalar_only ||
      folded.loops.size() != product.loops.size())
    return false;
  for (size_t level = 0; level < folded.loops.size(); ++level)
    if (nodes.extent(folded.loops[level]) != nodes.extent(product.loops[level])) return false;
  bool reads = false, fits = true;
  const auto check = [&](const Node& load, const FoldedCompute& producer) {
    if (load.array != producer.result) return;
    reads = true;
    fits &= reads_same_iteration(nodes, load, producer, producer.loops.size(), folded.loops);
  };
  for_each_load(nodes, folded.body, [&](const Node& load) {
    check(load, product);
    for (const FoldedCompute& earlier : step.epilogue) check(load, earlier);
  });
  return reads && fits;
}

}  // namespace lightline::loops::plan
