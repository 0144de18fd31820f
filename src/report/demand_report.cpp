#include "report/demand_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/amount.h"
#include "report/table.h"

namespace lightline::report {
namespace {

std::string names_text(const loops::Program& program, const std::vector<loops::ArrayId>& arrays) {
  constexpr size_t most_names = 3;
  std::string text;
  for (size_t i = 0; i < arrays.size() && i < most_names; ++i)
    text += (i > 0 ? " " : "") + program.arrays[arrays[i]].name;
  return arrays.size() > most_names ? fmt::format("{} and {} more", text, arrays.size() - most_names) : text;
}

// "f16" or, where the operands of products have unlike types, "i8 f16"
std::string type_text(const demand::Operands& operands) {
  return operands.narrow == operands.wide ? std::string(name(operands.wide))
                                          : fmt::format("{} {}", name(operands.narrow), name(operands.wide));
}

Json work_json(const demand::Work& work) {
  Json json = Json::object();
  for (const auto& [operands, macs] : work.macs) json["macs"][type_text(operands)] = macs;
  for (const auto& [type, count] : work.sums) json["sums"][std::string(name(type))] = count;
  for (const auto& [type, count] : work.vector_ops) json["vector_ops"][std::string(name(type))] = count;
  if (work.transcendental_ops > 0) json["transcendental_ops"] = work.transcendental_ops;
  return json;
}

}  // namespace

std::string given_up_text(const std::vector<demand::GivenUp>& list) {
  if (list.empty()) return "given up: nothing\n";
  Table table({{"given up in", Align::left},
               {"times", Align::right},
               {"at most MAC", Align::right},
               {"at most bytes", Align::right},
               {"what", Align::left}});
  for (const demand::GivenUp& one : list)
    table.add_row({one.group, std::to_string(one.times), amount(one.macs.number()), amount(one.bytes.number(), "B"),
                   one.unknown ? one.what + "; counts nothing" : one.what});
  return table.text() + "Bounds may be lower than they could be by that much, by each line alone.\n";
}

Json given_up_json(const std::vector<demand::GivenUp>& list) {
  Json json = Json::array();
  for (const demand::GivenUp& one : list)
    json.push_back({{"operator", one.group},
                    {"what", one.what},
                    {"times", one.times},
                    {"unknown", one.unknown},
                    {"macs_at_most", one.macs.number()},
                    {"bytes_at_most", one.bytes.number()}});
  return json;
}

std::string terms_text(const loops::Program& program, const std::vector<demand::TermDemand>& terms, size_t top) {
  std::vector<const demand::TermDemand*> order;
  for (const demand::TermDemand& term : terms) order.push_back(&term);
  const auto weight = [](const demand::TermDemand* term) {
    return std::pair(term->work.total_macs(), term->work.total_vector_ops() + term->work.transcendental_ops);
  };
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return weight(a) > weight(b); });
  Table table({{"term", Align::right},
               {"kind", Align::left},
               {"operator", Align::left},
               {"arrays", Align::left},
               {"elements", Align::right},
               {"MAC", Align::right},
               {"reads", Align::left}});
  for (size_t i = 0; i < order.size() && i < top; ++i) {
    const demand::TermDemand& term = *order[i];
    std::vector<std::string> reads;
    for (const demand::TermDemand::Read& read : term.reads)
      reads.push_back(fmt::format("{} of {}", amount(read.elements), read.term));
    table.add_row({std::to_string(term.term), term.kind, term.group, names_text(program, term.arrays),
                   amount(term.elements), amount(term.work.total_macs()), fmt::format("{}", fmt::join(reads, ", "))});
  }
  return table.text() + (order.size() > top ? fmt::format("... and {} more\n", order.size() - top) : "");
}

Json terms_json(const loops::Program& program, const std::vector<demand::TermDemand>& terms) {
  Json json = Json::array();
  for (const demand::TermDemand& term : terms) {
    Json entry = {{"term", term.term}, {"kind", term.kind}};
    if (term.statement != loops::none) entry["statement"] = term.statement;
    if (!term.group.empty()) entry["operator"] = term.group;
    if (term.input != loops::none) entry["input"] = program.arrays[term.input].name;
    entry["arrays"] = Json::array();
    for (const loops::ArrayId array : term.arrays) entry["arrays"].push_back(program.arrays[array].name);
    entry["dtype"] = std::string(name(term.width));
    entry["rank"] = term.rank;
    entry["elements"] = term.elements;
    entry["where"] = term.where_text;
    entry["formula"] = term.formula;
    entry["reads"] = Json::array();
    for (const demand::TermDemand::Read& read : term.reads)
      entry["reads"].push_back({{"term", read.term}, {"elements", read.elements}});
    entry["work"] = work_json(term.work);
    entry["counts_for"] = term.counts_for;
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace lightline::report
