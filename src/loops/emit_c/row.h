// One innermost loop. Where guards hold on an interval of it, that interval runs without tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loops/emit_c/writer.h"

namespace lightline::loops::c {

struct Row {
  VarId var = none;
  std::string from;
  std::string to;
  std::vector<NodeId> guards;  // that hold on an interval
  std::function<void()> body;  // writes one iteration
  std::string clauses;         // reductions, for the vector loop
  bool is_vector = true;
};

void write_row(Nodes& nodes, Writer& writer, const Row& row);

std::string loop_head(std::string_view var, std::string_view from, std::string_view to);

}  // namespace lightline::loops::c
