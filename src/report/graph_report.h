// A canonical graph as JSON.
#pragma once

#include <string>

#include "graph/graph.h"

namespace lightline::report {

// Schema lightline.graph: what it is made of, its hashes and its text.
std::string graph_json(const graph::Graph& graph);

}  // namespace lightline::report
