#include "demand/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/large_stack.h"
#include "demand/needs.h"

namespace lightline::demand {
namespace {

Demand demand_of(const Needs& needs) {
  Demand demand;
  for (const auto& [term, work] : needs.work) demand.work.add(work);
  demand.input_bytes = needs.input_bytes;
  demand.output_bytes = needs.output_bytes;
  return demand;
}

template <class Key>
void take_lesser(std::map<Key, double>& a, const std::map<Key, double>& b) {
  for (auto& [key, count] : a) {
    const auto found = b.find(key);
    count = std::min(count, found == b.end() ? 0 : found->second);
  }
}

// Of two ways the cheaper one, whatever the machine is.
void take_lesser(Demand& a, const Demand& b) {
  take_lesser(a.work.macs, b.work.macs);
  take_lesser(a.work.transformed_macs, b.work.transformed_macs);
  take_lesser(a.work.sums, b.work.sums);
  take_lesser(a.work.vector_ops, b.work.vector_ops);
  a.work.transcendental_ops = std::min(a.work.transcendental_ops, b.work.transcendental_ops);
  a.input_bytes = std::min(a.input_bytes, b.input_bytes);
  a.output_bytes = std::min(a.output_bytes, b.output_bytes);
}

// Branches by one truth for a whole array go one way: all ways are tried, if they are few.
Demand cheapest_branches(NormalForm& form, Needs& both, std::vector<std::string>& assumptions) {
  constexpr size_t most_branches = 3;
  Demand least = demand_of(both);
  if (both.branches.empty()) return least;
  const std::vector<TermId> truths(both.branches.begin(), both.branches.end());
  const size_t told = std::min(truths.size(), most_branches);
  for (size_t i = told; i < truths.size(); ++i)
    ++both.drops[{form.terms[truths[i]].statement, "more branches than are tried: neither side counts"}];
  for (size_t ways = 0; ways < size_t(1) << told; ++ways) {
    std::map<TermId, Needs::Way> taken;
    for (size_t i = 0; i < truths.size(); ++i)
      taken[truths[i]] = i >= told              ? Needs::Way::neither
                         : (ways >> i & 1) != 0 ? Needs::Way::first
                                                : Needs::Way::second;
    Needs one(form, Tier::fused, taken);
    one.run();
    take_lesser(least, demand_of(one));
  }
  assumptions.push_back(
      fmt::format("{} branch{} by data: the cheaper way is counted", truths.size(), truths.size() == 1 ? "" : "es"));
  return least;
}

// Groups in the order of the text, with what they demand.
class Groups {
 public:
  explicit Groups(const loops::Program& program) : program_(program), statements_(loops::statements_by_id(program)) {
    group_of_.resize(statements_.size());
    const auto ids = loops::statement_ids(program);
    for (const loops::Statement& statement : program.statements) {
      const loops::StatementId id = ids.at(&statement);
      const uint32_t key = statement.group == loops::none ? uint32_t(program.groups.size()) + id : statement.group;
      const auto [at, added] = place_.try_emplace(key, groups_.size());
      if (added) {
        GroupDemand group;
        group.name = statement.group == loops::none ? name_of(statement) : program.groups[statement.group];
        groups_.push_back(std::move(group));
      }
      const size_t place = at->second;
      groups_[place].statements.push_back(id);
      if (std::holds_alternative<loops::Opaque>(statement.node)) groups_[place].opaque = true;
      group_of_[id] = place;
      const auto* repeat = std::get_if<loops::Repeat>(&statement.node);
      if (repeat != nullptr && repeat->condition != loops::none) groups_[place].opaque = true;
      if (repeat != nullptr)
        loops::for_each_statement(std::span(repeat->body),
                                  [&](const loops::Statement& inner) { group_of_[ids.at(&inner)] = place; });
    }
  }

  std::vector<GroupDemand> take(const NormalForm& form, const Needs& needs) {
    for (const auto& [term, work] : needs.work)
      if (const uint32_t statement = form.terms[term].statement; statement < group_of_.size())
        groups_[group_of_[statement]].work.add(work);
    for (const auto& [key, traffic] : needs.traffic) {
      const auto found = place_.find(key);
      if (found == place_.end()) continue;
      groups_[found->second].operand_bytes += traffic.operand_bytes;
      groups_[found->second].result_bytes += traffic.result_bytes;
    }
    std::erase_if(groups_, [](const GroupDemand& group) { return group.work.empty() && group.bytes() == 0; });
    return std::move(groups_);
  }

 private:
  std::string name_of(const loops::Statement& statement) const {
    const auto results = loops::results_of(statement);
    return results.empty() ? "" : program_.arrays[results[0]].name;
  }

  const loops::Program& program_;
  std::vector<const loops::Statement*> statements_;
  std::map<uint32_t, size_t> place_;
  std::vector<size_t> group_of_;
  std::vector<GroupDemand> groups_;
};

void note_gathers(const loops::Program& program, const Needs& needs, Analysis& analysis) {
  for (const auto& [array, elements] : needs.expected) {
    const auto least = needs.least.find(array);
    const double width = bits(program.arrays[array].dtype) / 8.0;
    analysis.assumptions.push_back(fmt::format(
        "{} is read where data tell: random indices touch {:.6g} bytes of it, the kindest {:.6g}",
        program.arrays[array].name, elements * width, least == needs.least.end() ? 0 : least->second * width));
  }
}

Demand floor_of(NormalForm& form) {
  Needs floor(form, Tier::floor);
  floor.run();
  return demand_of(floor);
}

// Operator by operator.
struct Bordered {
  NormalForm form;
  std::optional<Needs> needs;

  void run(const loops::Program& program, const KnownValues& known) {
    form = normal_form(program, known, true);
    needs.emplace(form, Tier::unfused);
    needs->run();
  }
};

constexpr size_t large = 1000;  // statements: from here on threads are worth their start, and a form of their own

}  // namespace

Analysis analyze(const loops::Program& program, const KnownValues& known, bool data) {
  Analysis analysis;
  Bordered bordered;
  std::optional<Beside> floor, operators;
  if (program.statements.size() >= large) {
    floor.emplace([&] {
      NormalForm own = normal_form(program, known);
      analysis.floor = floor_of(own);
    });
    operators.emplace([&] { bordered.run(program, known); });
  }
  NormalForm form = normal_form(program, known);
  Needs fused(form, Tier::fused);
  fused.recording = data;
  fused.run();
  analysis.fused = cheapest_branches(form, fused, analysis.assumptions);
  for (const uint32_t call : fused.opaque) ++analysis.opaque[form.opaque[call].node->name];
  note_gathers(program, fused, analysis);
  if (!floor) analysis.floor = floor_of(form);
  analysis.given_up = given_up(form, fused);
  if (data) analysis.terms = term_demands(form, fused);
  if (operators)
    operators->wait();
  else
    bordered.run(program, known);
  if (floor) floor->wait();
  analysis.groups = Groups(program).take(bordered.form, *bordered.needs);
  analysis.written = written(bordered.form, *bordered.needs, form, fused, analysis.fused.work.total_macs());
  return analysis;
}

}  // namespace lightline::demand
