// Parts of `verify` of a plan.
#pragma once

#include "loops/plan/plan.h"

namespace lightline::loops::plan {

// How many loops a statement of a kernel shares with an earlier one, and so with all between them.
uint32_t shared_since(const ScheduledKernel& kernel, size_t earlier, size_t later);

// Whether a line keeps an array where a stage of it is: whole, and beside a core or nearer.
inline bool is_kept_in_stage(const Residency& kept, ArrayId array) {
  return kept.array == array && kept.index == none && kept.level <= Level::local;
}

// Rejects plans in which the order of units could change a result: two accesses to one array or place, one of them a
// write, that no loop, phase or kernel keeps apart. The plan is known to fit its schedule.
Status check_units(const Program& program, const Plan& plan);

}  // namespace lightline::loops::plan
