// Programs as torch.fx prints them: a class with a `forward` of straight-line code, and tensor metadata beside it, as
// in GraphNet samples. Python is not run. Shapes of intermediate values are not in the text; lowering infers them.
//
// Room frontend/fx: the Python that torch.fx prints (GraphNet samples), into a graph; nothing is executed.
// May use: base, graph.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace lightline::frontend {

// The Python files of one sample as one text: each part follows a comment line that names it.
std::string join_fx_parts(const std::vector<std::pair<std::string, std::string>>& parts);

// Whether a text looks like a program that torch.fx printed.
bool is_fx_text(std::string_view text);

// `text`: one file, or parts joined by join_fx_parts. The classes with a `shape` and a `dtype` describe the tensors
// that the class with a `forward` takes.
Result<graph::Graph> parse_fx_text(std::string_view text, std::string_view file = "");

}  // namespace lightline::frontend
