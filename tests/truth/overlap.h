// Reductions of the same values over overlapping sets: running and sliding sums, pooling.
#pragma once

#include <vector>

#include "truth/scalar_graph.h"

namespace lightline::truth {

// A value that is reduced: a node, and what it is multiplied by on the way.
struct ReducedValue {
  NodeId node = loops::none;
  Field coefficient{1};
  auto operator<=>(const ReducedValue&) const = default;
};
// One result: the values it is taken over, sorted.
using ReducedSet = std::vector<ReducedValue>;

// The fewest operations found for all results together. Sets that are boxes of one array, or that differ by little from
// one to the next, take as many operations as there are values or results, whichever is more.
// For each set, in the order given: how many values it takes beyond the nearest one before it, or all of them.
std::vector<double> chained_steps(const std::vector<ReducedSet>& sets, bool invertible);
double overlapping_operations(const ScalarGraph& graph, std::vector<ReducedSet> sets, bool invertible);

}  // namespace lightline::truth
