#include "loops/emit_c/row.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::c {
namespace {

constexpr int64_t shortest_split = 16;  // rows shorter than this test their guards at every point
constexpr size_t most_guards = 32;

std::string ceil_div(const std::string& a, int64_t b) {
  return b == 1 ? a : fmt::format("-ll_floor_div(-({}), {})", a, b);
}
std::string floor_div(const std::string& a, int64_t b) {
  return b == 1 ? a : fmt::format("ll_floor_div({}, {})", a, b);
}

// Guards that hold exactly on an interval of the row.
std::vector<NodeId> splitting_guards(const Nodes& nodes, const Row& row) {
  std::vector<NodeId> guards;
  if (nodes.extent(row.var) < shortest_split) return guards;
  for (const NodeId value_id : row.values) {
    nodes.for_each(value_id, [&](const Node& node, NodeId id) {
      if (node.kind != NodeKind::in_range || std::ranges::find(guards, id) != guards.end()) return;
      if (nodes.coefficient(node.args[0], row.var).value_or(0) == 0) return;
      const Node& value = nodes[node.args[0]];
      if (value.low > INT64_MIN / 4 && value.high < INT64_MAX / 4) guards.push_back(id);
    });
  }
  if (guards.size() > most_guards) guards.clear();
  return guards;
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
  const std::vector<NodeId> guards = splitting_guards(nodes, row);
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
      text += fmt::format("{} = ll_max_index({}, {});\n", low, low, ceil_div(fmt::format("-{}", at), step));
      text += fmt::format("{} = ll_min_index({}, {} + 1);\n", high, high, floor_div(last, step));
    } else {
      text += fmt::format("{} = ll_max_index({}, {});\n", low, low, ceil_div("-" + last, -step));
      text += fmt::format("{} = ll_min_index({}, {} + 1);\n", high, high, floor_div(at, -step));
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
