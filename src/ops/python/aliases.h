// Which calls of a Python program make a copy that later writes can tell from a view.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace lightline::ops {

// One flag per node: contiguous(), reshape() or flatten() of a tensor whose elements lie in another order, when the
// result is written in place further down. Elsewhere a view is as good as the copy, and costs nothing.
std::vector<bool> copying_nodes(const graph::Graph& graph);

}  // namespace lightline::ops
