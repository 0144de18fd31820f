// The types that the list of operators says, held against those that a source recorded.
#pragma once

#include <string>

#include "graph/graph.h"

namespace lightline::testing {

// Names the first node of which a result has another type than the list of operators says; empty if none has.
// Operators that are not in the list, and results that only the source can know, are passed over.
std::string wrongly_typed_node(const graph::Graph& graph);

}  // namespace lightline::testing
