// Parts of `verify` that more than one of them needs.
#pragma once

#include "loops/plan/schedule.h"
#include "loops/plan/steps.h"
#include "loops/plan/uses.h"

namespace lightline::loops::plan {

// Whether no output needs a statement, or the repeat around it.
bool is_dead(const StatementTable& table, const ArrayUses& uses, StatementId statement);
// Whether a live statement is not computed: a table, or without elements.
bool needs_no_kernel(const Program& program, const StatementTable& table, StatementId statement);
// The own indices that need a loop.
std::vector<uint32_t> looping_indices(const StatementTable& table, StatementId statement, bool unrolled);

// The place of a statement in the text of a schedule, the last one if there are several.
Where where(const Schedule& schedule, StatementId statement);

// What a statement finds in memory: what it reads, and what is read by that which is folded into it.
class FoldedReads {
 public:
  FoldedReads(const Program& program, const StatementTable& table, const Schedule& schedule);
  bool reads(StatementId reader, ArrayId array) const;

 private:
  const Program& program_;
  const StatementTable& table_;
  std::vector<bool> is_folded_;  // by statement
};

// Rejects shared loops between an element and its reader at another iteration, scans that would not find their past,
// reductions and writes whose order matters in another one, and folding that would change what is checked when the
// program runs. The statements are known to fit. Asks nothing of a machine, nor whether opaque statements can run.
Status check_values(const Program& program, const Schedule& schedule);

}  // namespace lightline::loops::plan
