// StableHLO programs: the MLIR text that JAX prints, as a graph.
//
// Room frontend/stablehlo: StableHLO text, as JAX prints it, into a graph; the small part of MLIR that it takes.
// May use: base, graph.
#pragma once

#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

namespace lightline::frontend {

// Whether a text begins like MLIR: a module, a function, or an alias.
bool looks_like_stablehlo(std::string_view text);

// Functions are inlined, bodies of operators become subgraphs whose last inputs are the outer values they use (the
// node's argument "captures_N" for "region_N"). Operands are positional, attributes are named as in the generic form.
Result<graph::Graph> parse_stablehlo(std::string_view text, std::string_view file);

}  // namespace lightline::frontend
