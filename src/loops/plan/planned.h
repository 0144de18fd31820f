// A program planned for a machine, from what is folded to what every thread does: all that an emitter prints.
#pragma once

#include <vector>

#include "loops/plan/kernels.h"
#include "loops/plan/layout.h"
#include "loops/plan/plan.h"
#include "loops/plan/steps.h"

namespace lightline::loops::plan {

struct PlannedProgram {
  SteppedProgram stepped;
  Layout layout;
  std::vector<Kernel> kernels;  // as make_kernels gives them
};

// Decides by rules of thumb.
Result<PlannedProgram> plan_program(const Program& program, const Target& target = generic_cpu());
// Does as the schedule says. An error if it does not verify, or asks for what emitted loops can not do.
Result<PlannedProgram> plan_program(const Program& program, const Schedule& schedule,
                                    const Target& target = generic_cpu());

// What was decided: following it gives the same plan again.
Schedule schedule_of(const PlannedProgram& planned);
Plan plan_of(const PlannedProgram& planned);

}  // namespace lightline::loops::plan
