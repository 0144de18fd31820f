// The part of `verify` that looks at values: needs the expressions of the program with folded statements put in.
#pragma once

#include "loops/plan/schedule.h"
#include "loops/plan/steps.h"
#include "loops/plan/uses.h"

namespace lightline::loops::plan {

// Rejects shared loops between an element and its reader at another iteration, scans that would not find their past,
// and folding that would change what is checked when the program runs. The statements are known to fit.
Status check_values(const Program& program, const Schedule& schedule);

}  // namespace lightline::loops::plan
