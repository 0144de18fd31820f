// The graph of a `forward` that torch.fx printed. Used by fx_text.cpp.
#pragma once

#include <string_view>

#include "base/error.h"
#include "frontend/fx/fx_meta.h"
#include "frontend/fx/python_text.h"
#include "graph/graph.h"

namespace lightline::frontend {

// Takes the known values out of `metas`. `file` names the text in errors.
Result<graph::Graph> build_fx_graph(const python::Module& module, const python::Function& forward, TensorMetas& metas,
                                    std::string_view file);

}  // namespace lightline::frontend
