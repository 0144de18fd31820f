// Other ways to take the sums of a graph: flattened into what uses them, factors taken out, in any order.
#pragma once

#include <functional>
#include <span>

#include "truth/plan.h"

namespace lightline::truth {

struct Rewrite {
  // Whether a sum is written out inside what uses it.
  std::function<bool(NodeId sum)> flatten;
  // Factors are taken out of sums by where they come from, in this order.
  std::vector<uint32_t> order;
  // Factors also leave sums whose terms come from different sides of a + in the text: x @ a + x @ b.
  bool across_additions = false;
  size_t term_limit = 3000;  // of one sum; what would grow larger stays as it is
};

// New sums and products are added to the graph.
Plan rewritten(ScalarGraph& graph, std::span<const NodeId> roots, const Rewrite& rewrite);

// Where factors of products of more than two of them come from once everything is flattened, most frequent first; empty
// if there are no such products.
std::vector<uint32_t> chain_colours(ScalarGraph& graph, std::span<const NodeId> roots);

}  // namespace lightline::truth
