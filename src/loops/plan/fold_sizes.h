// How large a schedule makes expressions: what is folded into a statement and unrolled in it multiplies.
#pragma once

#include "loops/plan/schedule.h"

namespace lightline::loops::plan {

// An expression with all that is folded into it and unrolled in it has at most so many operations, or so many for each
// that its own text has; and is nested so much deeper than its text.
inline constexpr int64_t most_operations = 16384, most_growth = 256, most_nesting = 2048;
// All expressions together, or again `most_growth` for each operation of their texts.
inline constexpr int64_t most_in_all = int64_t(1) << 20;

// Rejects expressions that are larger. Counts, and builds nothing: the count is not less than what would be built.
// Statements are known to be scheduled once.
Status check_sizes(const Program& program, const StatementTable& table, const Schedule& schedule);

}  // namespace lightline::loops::plan
