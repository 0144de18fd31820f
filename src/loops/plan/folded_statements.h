// The computes and scatters of a program with what a schedule folds into them: what is asked about their values.
#pragma once

#include <memory>
#include <unordered_map>

#include "loops/plan/steps.h"

namespace lightline::loops::plan {

struct FoldedStatements {
  explicit FoldedStatements(const Program& program);

  // Also one that reduces over nothing. A null pointer for what is no compute, or is only folded.
  const FoldedCompute* compute(StatementId statement) const;
  const ScatterStep* scatter(StatementId statement) const;

  SteppedProgram stepped;
  std::unordered_map<StatementId, FoldedCompute> computes;
  std::unordered_map<StatementId, ScatterStep> scatters;
};

// Rejects folding that would change what is checked when the program runs, and unrolling of what keeps an order.
// The statements are known to fit. Asks nothing of a machine, nor whether opaque statements can run.
Result<std::unique_ptr<FoldedStatements>> fold_statements(const Program& program, const Schedule& schedule);

}  // namespace lightline::loops::plan
