// Graphs as text, for people, tests and patterns:
//   graph mlp {
//     input x: f32[2, 3]
//     parameter w: f32[4, 3] "fc.weight"
//     constant c: i64[2] = [1, 2]
//     h: f32[2, 4] = linear(x, w)
//     (v: f32[2], _) = max(h, dim = 1)
//     return v, h replaces x
//   }
// Arguments of operators in the list stand in its order, without names as long as none is left out; what has its default
// is left out. A graph that another one uses stands inside of it, before its nodes, and is named @name.
#pragma once

#include "graph/graph.h"

namespace lightline::graph {

std::string print(const Graph& graph);
// An error says line and column. What is read is checked: every value is defined once, before its uses.
Result<Graph> parse(std::string_view text, std::string_view file);

// Whether a text begins as a graph does.
bool is_graph_text(std::string_view text);

}  // namespace lightline::graph
