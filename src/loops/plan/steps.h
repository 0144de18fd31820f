// What is emitted, before how: a program as a list of steps over nodes. Dead statements are gone, views and cheap maps
// are folded into their readers, small reductions are unrolled, contractions are found, and statements that can
// share their outer loop stand in one step.
//
// Room loops/plan: which statements are one kernel, in which order their loops run, with which tiles, and where arrays
// live; for any target, whose figures are data.
// May use: base, loops/ir.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "loops/plan/nodes.h"
#include "loops/plan/schedule.h"
#include "loops/plan/target.h"

namespace lightline::loops::plan {

// One compute statement, with what it folds in. Loops of extent 1 are gone.
struct FoldedCompute {
  StatementId statement = none;
  ArrayId result = none;
  std::vector<VarId> dims;     // the variable of each dimension of the result; `none` where the extent is 1
  std::vector<VarId> loops;    // outermost first
  std::vector<VarId> reduced;  // outermost first
  VarId scan = none;
  Reducer reducer = Reducer::none;
  DType accumulator = DType::f32;
  NodeId body = none;     // with a reducer in the accumulator's compute type, else in the result's
  double points = 1;      // of the domain, reduction included
  int cost = 0;           // of one point
  bool is_empty = false;  // nothing to reduce: every element is the reducer's empty value
  bool unrolled = false;  // it was a reduction of a few points

  // How the innermost loop runs.
  bool tiled = false;        // reduction: accumulates a row of the last loop at a time
  int64_t tile = 0;          // elements of that row, or of a block of both loops of a transposed map; 0: not decided
  bool one_tile = false;     // that row is one tile, and has the loop over tiles all the same
  VarId transposed = none;   // map: the loop along which a read is contiguous while the store is not
  bool scalar_only = false;  // has checked reads or a position reducer: not for vectors

  // Loops that may be shared with other computes.
  size_t shared_loops() const { return transposed != none ? 0 : loops.size() - (tiled ? 1 : 0); }
};

// A compute in the order of execution, and how many loops it shares with the one before.
struct TreeLine {
  size_t compute = 0;
  uint32_t shared = 0;
};

// Computes that share the outermost loop, in program order.
struct NestStep {
  std::vector<FoldedCompute> computes;
  std::vector<TreeLine> lines;  // the loop tree; empty: not decided
};

// result[batch, m, n] = sum k: a[batch, m, k] * b[batch, n, k], each of m, n, k a list of variables.
struct ContractionStep {
  FoldedCompute folded;
  std::vector<VarId> batch, m, n, k;
  NodeId a = none;
  NodeId b = none;
  DType type = DType::f32;
  std::vector<FoldedCompute> epilogue;  // maps over the result's own domain, applied to each element as it is finished
};

struct ScatterStep {
  StatementId id = none;
  ArrayId result = none;
  ArrayId init = none;
  NodeId fill = none;
  Reducer reducer = Reducer::set;
  std::vector<VarId> domain;
  std::vector<NodeId> target;
  NodeId guard = none;  // writes happen where it is true
  NodeId body = none;
  double points = 1;
};

struct OpaqueStep {
  StatementId id = none;
  const Opaque* statement = nullptr;
  int number = 0;
};

struct Step;

struct RepeatStep {
  StatementId id = none;
  const Repeat* repeat = nullptr;
  VarId counter = none;
  std::vector<Step> body;
};

struct Step {
  std::variant<NestStep, ContractionStep, ScatterStep, OpaqueStep, RepeatStep> node;
};

struct SteppedProgram {
  SteppedProgram(const Program& source, const Target& machine)
      : program(source), target(machine), nodes(source), constant(source.arrays.size(), nullptr) {}
  const Program& program;
  const Target& target;
  Nodes nodes;
  std::vector<Step> steps;
  std::vector<const Constant*> constant;          // by array: its values, if it is a table of them
  std::vector<FoldedStatement> folded;            // in program order
  std::unordered_map<VarId, uint32_t> own_index;  // of a compute's loops: the place among its statement's own indices
};

// Which arrays have memory of their own, by array; the others live inside one step.
using Stored = std::vector<bool>;

// Decides by rules of thumb what to fold, to join and to reorder.
Result<SteppedProgram> make_steps(const Program& program, const Target& target);
// Does as a verified schedule says; an error where steps can not.
Result<SteppedProgram> make_steps(const Program& program, const Schedule& schedule, const Target& target);

// Opaque statements in the order of the text; a step's number is its place here.
std::vector<const Opaque*> opaque_statements(const Program& program);

// The arrays a step reads and defines. A folded array appears in neither.
void for_each_read(const SteppedProgram& stepped, const Step& step, const std::function<void(ArrayId)>& visit);
std::vector<ArrayId> defined_by(const Step& step);

// ---- parts of make_steps ----
// Sets points and cost.
void measure(const SteppedProgram& stepped, FoldedCompute& folded);
// Chooses the order of the loops and how the innermost one runs.
void choose_order(SteppedProgram& stepped, FoldedCompute& folded);
// Sets what follows from the order.
void finish_order(const SteppedProgram& stepped, FoldedCompute& folded);
// Whether the reducer needs its points in the order of the text.
bool reduces_in_order(const FoldedCompute& folded);
// Whether a scan finds its own past computed, in the order of its loops.
bool finds_own_past(const Nodes& nodes, const FoldedCompute& folded);
// Whether `folded` may run inside the outermost loop of `step`, and gains from it.
bool can_join(const SteppedProgram& stepped, const NestStep& step, const FoldedCompute& folded);
// A contraction worth packing, if the compute is one.
std::optional<ContractionStep> find_contraction(SteppedProgram& stepped, const FoldedCompute& folded);
// All ways to see the compute as a contraction, whatever its size.
std::vector<ContractionStep> possible_contractions(SteppedProgram& stepped, const FoldedCompute& folded);
bool can_follow(const SteppedProgram& stepped, const ContractionStep& step, const FoldedCompute& folded);

// The variable of a statement's own index, if the compute has a loop over it.
VarId var_of(const SteppedProgram& stepped, const FoldedCompute& folded, uint32_t index);
// The variables of a scatter that need a loop.
std::vector<VarId> looping_vars(const SteppedProgram& stepped, const ScatterStep& step);

// Row-major strides of an array, in elements.
std::vector<int64_t> row_major(const Shape& shape);
int64_t size_of(const Shape& shape);

}  // namespace lightline::loops::plan
