// operators.txt, as text inside of the program.
#pragma once

#include <string_view>

namespace lightline::graph {

extern const std::string_view operator_text;

}  // namespace lightline::graph
