// One innermost loop. Where guards hold on an interval of it, that interval runs without tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loops/emit_c_writer.h"

namespace lightline::loops::c {

struct Row {
  VarId var = none;
  std::string from;
  std::string to;
  std::vector<NodeId> values;        // whose guards count
  std::function<void()> body;        // writes one iteration
  std::string clauses;               // reductions, for the vector loop
  bool is_vector = true;
  // Writes the part without tests in its own way, if it is given.
  std::function<void(const std::string& from, const std::string& to)> main = nullptr;
};

void write_row(Nodes& nodes, Writer& writer, const Row& row);
// The loop alone.
void write_loop(Writer& writer, const Row& row, const std::string& from, const std::string& to, bool is_vector);

std::string loop_head(std::string_view var, std::string_view from, std::string_view to);

}  // namespace lightline::loops::c
