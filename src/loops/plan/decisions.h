// What make_steps asks as it goes through the live statements in program order. Answers come from rules of thumb
// (decide.cpp), or from a schedule (follow.cpp).
#pragma once

#include <memory>
#include <vector>

#include "loops/plan/steps.h"
#include "loops/plan/uses.h"

namespace lightline::loops::plan {

// A statement may be computed by its readers, and in a kernel as well where something needs it in memory.
enum class FoldForm : uint8_t { folded, in_kernel };

class Decisions {
 public:
  virtual ~Decisions() = default;

  // Whether a reduction becomes one expression in that form: so many points, each of so many nodes.
  virtual Result<bool> unrolls(const FoldedCompute& folded, FoldForm form, int64_t points, int nodes) = 0;
  // Whether it is known beforehand that readers compute the array, and that no kernel does.
  virtual bool only_folds(StatementId statement) const = 0;
  // Measures the compute where that matters, and sets the order of its loops and how the innermost one runs.
  virtual Status order(FoldedCompute& folded) = 0;
  // Whether readers compute the array themselves.
  virtual Result<bool> folds(const Compute& compute, const FoldedCompute& folded) = 0;
  virtual bool folds(const Constant& constant, StatementId statement) = 0;

  // Steps are placed in the block that was begun last; `none` is the program's own.
  virtual void begin_block(StatementId repeat, std::vector<Step>& steps) = 0;
  virtual void end_block() = 0;
  virtual Status place(FoldedCompute folded) = 0;
  virtual Status place(StatementId statement, Step step) = 0;
};

std::unique_ptr<Decisions> decide(SteppedProgram& stepped, const ArrayUses& uses);
std::unique_ptr<Decisions> follow(SteppedProgram& stepped, const Schedule& schedule);

// Goes through the statements of `stepped.program` and places every live one.
Status add_steps(SteppedProgram& stepped, const ArrayUses& uses, Decisions& decisions);

// Whether folding keeps what is checked when the program runs: the one reader reads every element, each at its own
// point, so that what is checked here is checked there.
bool keeps_checks(const Program& program, const Compute& compute, const ArrayUse& use);

}  // namespace lightline::loops::plan
