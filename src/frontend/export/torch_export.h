// Programs written by torch.export: .pt2 archives and the bare program JSON, PyTorch 2.5 to 2.13.
//
// Room frontend/export: what torch.export writes: program JSON and .pt2 archives, into a graph.
// May use: base, graph.
#pragma once

#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

namespace lightline::frontend {

// The serialised ExportedProgram as JSON text. `file` names it in errors.
Result<graph::Graph> parse_torch_export(std::string_view json, std::string_view file = "");

// A .pt2 archive; small integer constants and buffers keep their values.
Result<graph::Graph> parse_pt2(std::string_view archive, std::string_view file = "");

}  // namespace lightline::frontend
