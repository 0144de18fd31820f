// One way to run a scalar graph: for every node that the roots need, from what it is computed.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "truth/scalar_graph.h"

namespace lightline::truth {

// A sum of terms or a product of factors, in place of what the node says itself.
struct Way {
  Kind kind = Kind::linear;  // or product
  std::vector<Term> terms;   // a product's have the coefficient 1
  Coefficient offset;
};

struct Plan {
  std::unordered_map<NodeId, Way> ways;  // of nodes that are not computed as they say

  Way way_of(const ScalarGraph& graph, NodeId node) const;  // of a linear node or a product
  std::vector<NodeId> operands(const ScalarGraph& graph, NodeId node) const;
  // Every node the roots need, each before what it is made of.
  std::vector<NodeId> users_first(const ScalarGraph& graph, std::span<const NodeId> roots) const;
  // Whether no node of the order needs itself.
  bool is_acyclic(const ScalarGraph& graph, std::span<const NodeId> order) const;
  // Whether every way in place of a node's own gives the node's value.
  bool holds(const ScalarGraph& graph) const;
};

}  // namespace lightline::truth
