// Graph to loops: every node through its operator's one definition.
//
// Room ops/lower: a graph into loops, node by node, each through its operator's one definition.
// May use: base, graph, loops/ir, ops/build, ops/catalogue, ops/python.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "loops/ir/program.h"

namespace lightline::ops {

struct Lowered {
  loops::Program program;
  std::map<std::string, int64_t> not_executable;  // operators that can not be run: none defined, or opaque ones
  std::map<std::string, int64_t> calls;           // operators with a definition, by canonical name
  std::vector<std::string> assumptions;
  // What each program input is, in order: the graph input it came from.
  std::vector<uint32_t> inputs;
};

// Every node's shape and dtype is compared with the recorded one; a difference is an error that names the node.
// An unknown operator becomes an opaque statement if its result types are recorded, else an error.
Result<Lowered> lower(const graph::Graph& graph);

// The canonical operator name of every node (the target itself where there is none), for graph::content_hash.
std::vector<std::string> canonical_targets(const graph::Graph& graph);

}  // namespace lightline::ops
