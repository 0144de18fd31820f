#include "loops/plan/planned.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops::plan {
namespace {

PlannedProgram plan_steps(SteppedProgram stepped) {
  Layout layout = make_layout(stepped);
  std::vector<Kernel> kernels = make_kernels(stepped, layout);
  return {std::move(stepped), std::move(layout), std::move(kernels)};
}

// Results stay where the loops keep them; a schedule that says otherwise asks too much.
Status check_residency(const Program& program, const ScheduledStatement& wanted, const ScheduledStatement& done) {
  for (const Residency& kept : wanted.residency) {
    if (std::ranges::find(done.residency, kept) != done.residency.end()) continue;
    const StatementTable table(program);
    return Error{ErrorCode::unsupported,
                 fmt::format("emitted C does not keep '{}' in {} as '{}' asks", table.array_text(kept.array),
                             name(kept.level), table.text(wanted.statement)),
                 "leave the line out: results stay as near as the loops allow",
                 {"", wanted.place.line, wanted.place.column}};
  }
  return Ok{};
}

// A schedule that is followed comes back as it went in, but for residency that it left out.
Status check_followed(const PlannedProgram& planned, const Schedule& wanted) {
  Schedule done = schedule_of(planned);
  LL_CHECK(done.kernels.size() == wanted.kernels.size());
  for (size_t k = 0; k < wanted.kernels.size(); ++k) {
    LL_CHECK(done.kernels[k].statements.size() == wanted.kernels[k].statements.size());
    for (size_t s = 0; s < wanted.kernels[k].statements.size(); ++s) {
      ScheduledStatement& each = done.kernels[k].statements[s];
      LL_DO(check_residency(planned.stepped.program, wanted.kernels[k].statements[s], each));
      each.residency = wanted.kernels[k].statements[s].residency;
    }
  }
  LL_CHECK(done.kernels == wanted.kernels);
  return Ok{};
}

}  // namespace

Result<PlannedProgram> plan_program(const Program& program, const Target& target) {
  LL_TRY(SteppedProgram stepped, make_steps(program, target));
  return plan_steps(std::move(stepped));
}

Result<PlannedProgram> plan_program(const Program& program, const Schedule& schedule, const Target& target) {
  LL_DO(verify(program, schedule));
  LL_TRY(SteppedProgram stepped, make_steps(program, schedule, target));
  PlannedProgram planned = plan_steps(std::move(stepped));
  LL_DO(check_followed(planned, schedule));
  return planned;
}

}  // namespace lightline::loops::plan
