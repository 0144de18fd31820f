// One graph for all spellings of a program: names of the list, every argument in its order with its default, one operator
// for what means the same (views are reshape, permute, expand, slice, select, ...), nothing written in place. What the
// list does not know keeps its name and its arguments.
#pragma once

#include "graph/graph.h"

namespace lightline::frontend {

// Takes a graph whose values are typed.
Result<graph::Graph> canonicalise(graph::Graph source);

}  // namespace lightline::frontend
