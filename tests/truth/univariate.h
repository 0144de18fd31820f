// Functions of one variable: a chain of them is one function, and takes at most one transcendental.
#pragma once

#include <span>
#include <unordered_set>

#include "truth/plan.h"

namespace lightline::truth {

struct Univariate {
  std::unordered_set<NodeId> absorbed;  // nodes that are part of such a function and cost nothing of their own
  double transcendentals = 0;
};

// `order` has users first; `needed` are the nodes whose value is used as such.
Univariate univariate_functions(const ScalarGraph& graph, const Plan& plan, std::span<const NodeId> order,
                                std::span<const NodeId> needed);

}  // namespace lightline::truth
