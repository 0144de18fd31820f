// From the tree of a StableHLO module to a graph.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/stablehlo/mlir.h"
#include "graph/graph.h"

namespace lightline::frontend {

// Starts at `main`, or at the only function. `text` is what the tree was read from, for line numbers. Throws
// mlir::MlirError.
graph::Graph build_graph(const std::vector<mlir::Operation>& top, std::string_view text);

// The arguments that an attribute becomes: dimension numbers give one per member, dictionaries one per entry
// ("backend_config.uplo"); what a graph can not hold gives none.
void add_arguments(const std::string& name, const mlir::Attribute& attribute, std::vector<graph::NamedArgument>& into);

}  // namespace lightline::frontend
