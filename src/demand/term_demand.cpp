#include "demand/term_demand.h"

#include <algorithm>
#include <map>
#include <set>

#include "demand/describe.h"
#include "demand/needs.h"

namespace lightline::demand {
namespace {

constexpr std::string_view kind_name(TermKind kind) {
  switch (kind) {
    case TermKind::input: return "input";
    case TermKind::stored: return "stored";
    case TermKind::unknown: return "unknown";
    case TermKind::call: return "call";
    case TermKind::sum: return "sum";
    case TermKind::product: return "product";
    case TermKind::reduce: return "reduce";
    case TermKind::opaque: return "opaque";
    case TermKind::array: return "array";
    case TermKind::scatter: return "scatter";
    case TermKind::carried: return "carried";
  }
  return "";
}

std::string group_name(const loops::Program& program, const std::vector<const loops::Statement*>& statements,
                       uint32_t id) {
  if (id >= statements.size()) return "";
  if (statements[id]->group != loops::none) return program.groups[statements[id]->group];
  const auto results = loops::results_of(*statements[id]);
  return results.empty() ? "" : program.arrays[results[0]].name;
}

// By term, the arrays that are made of its elements.
std::map<TermId, std::set<loops::ArrayId>> holders_of(const NormalForm& form) {
  std::map<TermId, std::set<loops::ArrayId>> holders;
  for (loops::ArrayId array = 0; array < form.arrays.size(); ++array)
    for (const Case& one : form.arrays[array])
      if (one.value.is_element()) holders[one.value.term].insert(array);
  return holders;
}

}  // namespace

std::vector<TermDemand> term_demands(NormalForm& form, const Needs& fused) {
  const loops::Program& program = *form.program;
  const auto statements = loops::statements_by_id(program);
  const auto holders = holders_of(form);
  Atoms& atoms = form.terms.atoms();
  std::map<TermId, size_t> place;
  std::vector<TermDemand> result;
  for (TermId id = 0; id < fused.of_terms().size(); ++id) {
    const std::vector<Region>& needed = fused.of_terms()[id];
    if (needed.empty() && !fused.work.contains(id)) continue;
    const Term& term = form.terms[id];
    TermDemand one;
    one.term = id;
    one.kind = kind_name(term.kind);
    one.statement = term.statement;
    one.group = group_name(program, statements, term.statement);
    if (term.kind == TermKind::input) one.input = term.array;
    if (const auto found = holders.find(id); found != holders.end())
      one.arrays.assign(found->second.begin(), found->second.end());
    one.width = term.width;
    one.rank = term.rank;
    one.elements = needed.empty() ? 0.0 : double(index::count(needed, atoms));
    one.where = needed;
    for (const Region& region : needed) one.where_text.push_back(to_text(region, atoms));
    one.formula = to_text(term, atoms);
    if (const auto found = fused.work.find(id); found != fused.work.end()) one.work = found->second;
    place[id] = result.size();
    result.push_back(std::move(one));
  }
  for (const auto& [who, regions] : fused.reads)
    if (const auto found = place.find(who.first); found != place.end())
      result[found->second].reads.push_back({who.second, index::count(regions, atoms)});
  for (const Link& link : fused.links) {
    const auto found = place.find(link.counted);
    if (found == place.end() || link.counted == link.other) continue;
    std::vector<uint32_t>& others = result[found->second].counts_for;
    if (std::find(others.begin(), others.end(), link.other) == others.end()) others.push_back(link.other);
  }
  return result;
}

}  // namespace lightline::demand
