#include "report/analyze_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "einsum/lift.h"
#include "report/amount.h"
#include "report/demand_report.h"
#include "report/json.h"
#include "report/run_report.h"
#include "report/table.h"
#include "report/written_report.h"

namespace lightline::report {
namespace {

// The shape of an equation, whatever letters its ranks have: numbers by first appearance.
std::string unlettered(const std::string& equation) {
  std::string result, letter;
  std::unordered_map<std::string, size_t> numbers;
  const auto flush = [&] {
    if (letter.empty()) return;
    result += fmt::format("{},", numbers.try_emplace(letter, numbers.size()).first->second);
    letter.clear();
  };
  for (const char c : equation) {
    if (c >= 'A' && c <= 'Z') {
      flush();
      letter = c;
    } else if (!letter.empty() && (c == '\'' || (c >= '0' && c <= '9'))) {
      letter += c;
    } else {
      flush();
      result += c;
    }
  }
  flush();
  return result;
}

struct OpaqueShare {
  double operators = 0;
  double bytes = 0;  // of what the operators move one by one
};

OpaqueShare opaque_share(const demand::Analysis& analysis) {
  double opaque = 0, opaque_bytes = 0, bytes = 0;
  for (const demand::GroupDemand& group : analysis.groups) {
    bytes += group.bytes();
    if (!group.opaque) continue;
    opaque += 1;
    opaque_bytes += group.bytes();
  }
  return {analysis.groups.empty() ? 0 : opaque / double(analysis.groups.size()), bytes > 0 ? opaque_bytes / bytes : 0};
}

std::string shortened(const std::string& text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// Operators of one name and equation together, the slowest first.
std::string operator_table(const AnalyzeReport& r, size_t top) {
  struct Row {
    std::string name, einsum, limit;
    int64_t calls = 0;
    double ms = 0, macs = 0, bytes = 0;
  };
  einsum::Lifting lifting(*r.loops);
  std::vector<Row> rows;
  std::unordered_map<std::string, size_t> known;
  for (const bound::GroupBound& o : r.bounds.groups) {
    const demand::GroupDemand& group = r.analysis->groups[o.group];
    const einsum::Einsum lifted = lifting.of(group);
    const auto [found, fresh] = known.try_emplace(group.name + "\n" + unlettered(lifted.equation), rows.size());
    if (fresh) rows.push_back({group.name, lifted.equation, o.cost.binding});
    Row& row = rows[found->second];
    ++row.calls;
    row.ms += o.cost.ms;
    row.macs += group.work.total_macs();
    row.bytes += group.bytes();
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ms > b.ms; });
  Table table({{"operator", Align::left},
               {"calls", Align::right},
               {"time", Align::right},
               {"share", Align::right},
               {"limit", Align::left},
               {"MAC", Align::right},
               {"bytes", Align::right},
               {"einsum", Align::left}});
  for (size_t i = 0; i < rows.size() && i < top; ++i)
    table.add_row({rows[i].name, std::to_string(rows[i].calls), time_text(rows[i].ms),
                   fmt::format("{:.1f} %", r.bounds.unfused_ms > 0 ? 100 * rows[i].ms / r.bounds.unfused_ms : 0),
                   rows[i].limit, amount(rows[i].macs, ""), amount(rows[i].bytes, "B"), shortened(rows[i].einsum, 40)});
  return table.text() + (rows.size() > top ? fmt::format("... and {} more\n", rows.size() - top) : "");
}

std::string verdict(const AnalyzeReport& r) {
  const bound::Bounds& b = r.bounds;
  std::string text = fmt::format("{}: this arithmetic can not run faster than {} on {}: {} is the limit", r.program,
                                 time_text(b.fused.ms), r.machine->name, b.fused.binding);
  if (b.fused.binding == "memory")
    text += fmt::format(" ({} at {}/s)", amount(b.fused.bytes, "B"), amount(r.machine->bandwidth(), "B"));
  text += ".\n";
  if (b.fused.ms > 0 && b.unfused_ms > 1.05 * b.fused.ms)
    text += fmt::format(
        "Operator by operator it can not run faster than {}, {:.2f} times that: fusion is worth up to that much.\n",
        time_text(b.unfused_ms), b.unfused_ms / b.fused.ms);
  if (b.floor.ms < 0.999 * b.fused.ms)
    text += fmt::format(
        "No implementation at all, on whatever data suit it best, can beat {}, the time of its bytes alone.\n",
        time_text(b.floor.memory_ms));
  if (r.measured_ms)
    text += fmt::format("Measured {}: {:.2f} times the limit, {:.1f} % of the speed of light.\n",
                        time_text(*r.measured_ms), *r.measured_ms / b.fused.ms, 100 * b.fused.ms / *r.measured_ms);
  return text;
}

Json operators_json(const AnalyzeReport& r, size_t top) {
  Json list = Json::array();
  einsum::Lifting lifting(*r.loops);
  for (size_t i = 0; i < r.bounds.groups.size() && i < top; ++i) {
    const bound::GroupBound& o = r.bounds.groups[i];
    const demand::GroupDemand& group = r.analysis->groups[o.group];
    Json entry;
    entry["name"] = group.name;
    entry["ms"] = o.cost.ms;
    entry["binding"] = o.cost.binding;
    entry["share"] = r.bounds.unfused_ms > 0 ? o.cost.ms / r.bounds.unfused_ms : 0;
    entry["macs"] = group.work.total_macs();
    entry["bytes"] = group.bytes();
    const einsum::Einsum lifted = lifting.of(group);
    entry["class"] = std::string(einsum::name(lifted.statement_class));
    entry["einsum"] = lifted.equation;
    list.push_back(entry);
  }
  return list;
}

}  // namespace

std::string to_text(const AnalyzeReport& r, size_t top) {
  const bound::Bounds& b = r.bounds;
  std::string text = verdict(r) + "\n";
  Table tiers({{"tier", Align::left}, {"time", Align::right}, {"bytes", Align::right}, {"meaning", Align::left}});
  tiers.add_row({"unfused", time_text(b.unfused_ms), amount(b.unfused_bytes, "B"),
                 "each operator as a perfect kernel of its own"});
  tiers.add_row(
      {"fused", time_text(b.fused.ms), amount(b.fused.bytes, "B"), "one kernel, each input and output moved once"});
  tiers.add_row({"floor", time_text(b.floor.ms), amount(b.floor.bytes, "B"),
                 "any implementation, on the data that suit it best"});
  text += tiers.text();
  text += fmt::format("\nwork: {}, {}, {}; {:.4g} MAC per byte (ridge {:.4g}); math {}{}\n",
                      amount(r.analysis->fused.work.total_macs(), "MAC"),
                      amount(r.analysis->fused.work.total_vector_ops(), " vector operations"),
                      amount(r.analysis->fused.work.transcendental_ops, " transcendentals"), b.intensity, b.ridge,
                      machine::name(r.options.math), r.options.any_algorithm ? ", any algorithm" : "");
  text += written_text(r.analysis->written);
  text += "\n" + operator_table(r, top);
  if (!r.analysis->opaque.empty()) {
    const OpaqueShare share = opaque_share(*r.analysis);
    text += fmt::format("opaque operators: {:.1f} % of operators, {:.1f} % of bytes\n", 100 * share.operators,
                        100 * share.bytes);
  }
  for (const auto& [name, count] : r.analysis->opaque)
    text += fmt::format("opaque: {} ({} times), priced by bytes only\n", name, count);
  for (const std::string& assumption : r.assumptions) text += fmt::format("assumption: {}\n", assumption);
  for (const demand::GivenUp& one : r.analysis->given_up)
    if (one.unknown) text += fmt::format("counted as nothing: {} ({})\n", one.what, one.group);
  if (r.explain) text += "\n" + given_up_text(r.analysis->given_up);
  if (r.demand) text += "\n" + terms_text(*r.loops, r.analysis->terms, top);
  return text;
}

std::string to_json(const AnalyzeReport& r, size_t top, const std::string& carried, bool indented) {
  const bound::Bounds& b = r.bounds;
  Json json = document("lightline.analyze", 2);
  json["program"] = r.program;
  json["arch"] = r.machine->name;
  json["clock_hz"] = r.machine->clock();
  json["math"] = std::string(machine::name(r.options.math));
  json["algorithms"] = r.options.any_algorithm ? "any" : "standard";
  json["ops"] = r.analysis->groups.size();
  json["opaque"] = r.analysis->opaque;
  const OpaqueShare share = opaque_share(*r.analysis);
  json["opaque_share"] = {{"ops", share.operators}, {"bytes", share.bytes}};
  json["macs"] = Json::object();
  std::map<DType, double> products;
  for (const auto& [operands, macs] : r.analysis->fused.work.macs) products[operands.wide] += macs;
  for (const auto& [dtype, macs] : products) json["macs"][std::string(name(dtype))] = macs;
  json["vector_ops"] = r.analysis->fused.work.total_vector_ops();
  json["transcendental_ops"] = r.analysis->fused.work.transcendental_ops;
  json["written"] = written_json(r.analysis->written);
  json["bytes"] = {{"floor", b.floor.bytes}, {"fused", b.fused.bytes}, {"unfused", b.unfused_bytes}};
  json["bounds_ms"] = {{"floor", b.floor.ms}, {"fused", b.fused.ms}, {"unfused", b.unfused_ms}};
  json["binding"] = b.fused.binding;
  json["resources_ms"] = {{"matrix", b.fused.matrix_ms},
                          {"vector", b.fused.vector_ms},
                          {"transcendental", b.fused.transcendental_ms},
                          {"memory", b.fused.memory_ms}};
  json["intensity"] = b.intensity;
  json["ridge"] = b.ridge;
  if (r.measured_ms) {
    json["measured_ms"] = *r.measured_ms;
    if (b.fused.ms > 0) json["headroom"] = *r.measured_ms / b.fused.ms;
  }
  json["operators"] = operators_json(r, top);
  json["assumptions"] = r.assumptions;
  json["given_up"] = Json::array();
  for (const demand::GivenUp& one : r.analysis->given_up)
    if (one.unknown) json["given_up"].push_back(fmt::format("{} ({})", one.what, one.group));
  if (r.explain) json["explain"] = given_up_json(r.analysis->given_up);
  if (r.demand) json["demand"] = terms_json(*r.loops, r.analysis->terms);
  carry_through(json, carried, {"measured_ms", "headroom", "explain", "demand"});
  return indented ? to_text(json) : json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lightline::report
