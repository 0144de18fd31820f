#include "demand/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

Demand demand_of(const Needs& needs) {
  Demand demand;
  for (const auto& [statement, work] : needs.work) demand.work.add(work);
  demand.input_bytes = needs.input_bytes;
  demand.output_bytes = needs.output_bytes;
  return demand;
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
      groups_[at->second].statements.push_back(id);
      if (std::holds_alternative<loops::Opaque>(statement.node)) groups_[at->second].opaque = true;
      group_of_[id] = at->second;
      if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node))
        loops::for_each_statement(std::span(repeat->body),
                                  [&](const loops::Statement& inner) { group_of_[ids.at(&inner)] = at->second; });
    }
  }

  std::vector<GroupDemand> take(const Needs& needs) {
    for (const auto& [statement, work] : needs.work)
      if (statement < group_of_.size()) groups_[group_of_[statement]].work.add(work);
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

}  // namespace

Analysis analyze(const loops::Program& program, const KnownValues& known) {
  Analysis analysis;
  {
    NormalForm form = normal_form(program, known);
    Needs fused(form, Tier::fused);
    fused.run();
    analysis.fused = demand_of(fused);
    for (const uint32_t call : fused.opaque) ++analysis.opaque[form.opaque[call].node->name];
    note_gathers(program, fused, analysis);
    Needs floor(form, Tier::floor);
    floor.run();
    analysis.floor = demand_of(floor);
    analysis.given_up = form.given_up;
  }
  NormalForm form = normal_form(program, known, true);
  Needs unfused(form, Tier::unfused);
  unfused.run();
  analysis.groups = Groups(program).take(unfused);
  return analysis;
}

}  // namespace lightline::demand
