#include "loops/plan/folded_statements.h"

#include <fmt/format.h>

#include "loops/plan/decisions.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {
namespace {

constexpr Target any_machine;  // its figures are not asked

// Folds what the schedule folds and keeps the computes, in no order of their own.
class Collector : public Decisions {
 public:
  Collector(FoldedStatements& found, const ArrayUses& uses, const Schedule& schedule)
      : found_(found), schedule_(schedule), stepped_(found.stepped), uses_(uses), table_(found.stepped.program) {
    for (const ScheduledKernel& kernel : schedule.kernels)
      for (const ScheduledStatement& each : kernel.statements) in_kernels_.emplace(each.statement, each.unrolled);
    for (const FoldedStatement& each : schedule.folded) folded_.emplace(each.statement, each.unrolled);
  }

  Result<bool> unrolls(const FoldedCompute& folded, FoldForm form, int64_t, int) override {
    const auto& unrolled = form == FoldForm::folded ? folded_ : in_kernels_;
    const auto found = unrolled.find(folded.statement);
    const bool wanted = found != unrolled.end() && found->second;
    if (wanted && reduces_in_order(folded))
      return wrong(folded.statement, "can not be unrolled: its reduction keeps the order of its points");
    return wanted;
  }
  bool only_folds(StatementId statement) const override {
    return folded_.contains(statement) && !in_kernels_.contains(statement);
  }
  Status order(FoldedCompute&) override { return Ok{}; }
  Result<bool> folds(const Compute& compute, const FoldedCompute& folded) override {
    if (!folded_.contains(folded.statement)) return false;
    if (stepped_.nodes[folded.body].has_checks &&
        !keeps_checks(stepped_.program, compute, uses_.arrays[compute.result]))
      return wrong(folded.statement, "can not be folded: its reads are checked, and its readers would check others");
    return true;
  }
  bool folds(const Constant&, StatementId statement) override { return folded_.contains(statement); }
  void begin_block(StatementId, std::vector<Step>&) override {}
  void end_block() override {}
  Status place(FoldedCompute folded) override {
    const StatementId statement = folded.statement;
    found_.computes.emplace(statement, std::move(folded));
    return Ok{};
  }
  Status place(StatementId statement, Step step) override {
    if (auto* scatter = std::get_if<ScatterStep>(&step.node)) found_.scatters.emplace(statement, std::move(*scatter));
    return Ok{};
  }

 private:
  Error wrong(StatementId statement, std::string_view reason) const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.text(statement), reason), "", where(schedule_, statement)};
  }

  FoldedStatements& found_;
  const Schedule& schedule_;
  SteppedProgram& stepped_;
  const ArrayUses& uses_;
  StatementTable table_;
  std::unordered_map<StatementId, bool> folded_, in_kernels_;  // whether unrolled
};

}  // namespace

FoldedStatements::FoldedStatements(const Program& program) : stepped(program, any_machine) {}

const FoldedCompute* FoldedStatements::compute(StatementId statement) const {
  const auto found = computes.find(statement);
  return found == computes.end() ? nullptr : &found->second;
}

const ScatterStep* FoldedStatements::scatter(StatementId statement) const {
  const auto found = scatters.find(statement);
  return found == scatters.end() ? nullptr : &found->second;
}

Result<std::unique_ptr<FoldedStatements>> fold_statements(const Program& program, const Schedule& schedule) {
  auto folded = std::make_unique<FoldedStatements>(program);
  const ArrayUses uses = find_uses(program);
  Collector collector(*folded, uses, schedule);
  LL_DO(add_steps(folded->stepped, uses, collector));
  return folded;
}

}  // namespace lightline::loops::plan
