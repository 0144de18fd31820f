#include "loops/emit_c/row.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::c {
namespace {

std::string ceil_div_text(const std::string& a, int64_t b) {
  return b == 1 ? a : fmt::format("-ll_floor_div(-({}), {})", a, b);
}
std::string floor_div_text(const std::string& a, int64_t b) {
  return b == 1 ? a : fmt::format("ll_floor_div({}, {})", a, b);
}

void write_loop(Writer& writer, const Row& row, const std::string& from, const std::string& to, bool is_vector) {
  writer.open();
  writer.bring(row.var);
  row.body();
  const std::string body = writer.close();
  writer.line((is_vector ? fmt::format("#pragma omp simd{}\n", row.clauses) : "") +
              loop_head(var_name(row.var), from, to) + body + "}");
}

}  // namespace

std::string loop_head(std::string_view var, std::string_view from, std::string_view to) {
  return fmt::format("for (int64_t {} = {}; {} < {}; ++{}) {{\n", var, from, var, to, var);
}

// The part of the row where every guard holds runs without tests.
void write_row(Nodes& nodes, Writer& writer, const Row& row) {
  const std::vector<NodeId>& guards = row.guards;
  if (guards.empty()) return write_loop(writer, row, row.from, row.to, row.is_vector);
  const std::string low = writer.fresh("low"), high = writer.fresh("high");
  std::string text;
  for (const NodeId id : guards) {
    const Node guard = nodes[id];
    const int64_t step = *nodes.coefficient(guard.args[0], row.var);
    const NodeId rest = nodes.substitute(guard.args[0], {{row.var, nodes.integer(0)}});
    const std::string at = writer.value(rest);
    const std::string last = fmt::format("({} - {})", guard.constant - 1, at);
    if (step > 0) {
      text += fmt::format("{} = ll_max_index({}, {});\n", low, low, ceil_div_text(fmt::format("-{}", at), step));
      text += fmt::format("{} = ll_min_index({}, {} + 1);\n", high, high, floor_div_text(last, step));
    } else {
      text += fmt::format("{} = ll_max_index({}, {});\n", low, low, ceil_div_text("-" + last, -step));
      text += fmt::format("{} = ll_min_index({}, {} + 1);\n", high, high, floor_div_text(at, -step));
    }
  }
  writer.line(fmt::format("int64_t {} = {}, {} = {};\n{}{} = ll_min_index({}, {});\n{} = ll_max_index({}, {});", low,
                          row.from, high, row.to, text, low, low, row.to, high, low, high));
  const auto middle = [&] {
    for (const NodeId id : guards) writer.assumed.insert(id);
    write_loop(writer, row, low, high, row.is_vector);
    for (const NodeId id : guards) writer.assumed.erase(id);
  };
  if (!row.is_vector) {  // perhaps in order
    write_loop(writer, row, row.from, low, false);
    middle();
    return write_loop(writer, row, high, row.to, false);
  }
  middle();
  writer.open();
  writer.bring(row.var);
  row.body();
  const std::string body = writer.close(), var = var_name(row.var);
  writer.line(fmt::format(
      "for (int64_t {0} = {1} > {2} ? {2} : {3}; {0} < {4}; {0} = {0} + 1 == {1} ? {3} : {0} + 1) {{\n{5}}}", var, low,
      row.from, high, row.to, body));
}

}  // namespace lightline::loops::c
