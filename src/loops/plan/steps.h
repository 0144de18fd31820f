// What is emitted, before how: a program as a list of steps over nodes. Dead statements are gone, views and cheap maps
// are folded into their readers, small reductions are written out, contractions are found, and statements that can
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
#include "loops/plan/target.h"

namespace lightline::loops::plan {

// One compute statement, with what it folds in. Loops of extent 1 are gone.
struct FoldedCompute {
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

  // How the innermost loop runs.
  bool tiled = false;        // reduction: accumulates a row of the last loop at a time
  VarId transposed = none;   // map: the loop along which a read is contiguous while the store is not
  bool scalar_only = false;  // has checked reads or a position reducer: not for vectors

  // Loops that may be shared with other computes.
  size_t shared_loops() const { return transposed != none ? 0 : loops.size() - (tiled ? 1 : 0); }
};

// Computes that share the outermost loop, in program order.
struct NestStep {
  std::vector<FoldedCompute> computes;
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
  const Opaque* statement = nullptr;
  int number = 0;
};

struct Step;

struct RepeatStep {
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
  std::vector<const Constant*> constant;  // by array: its values, if it is a table of them
};

// Which arrays have memory of their own, by array; the others live inside one step.
using Stored = std::vector<bool>;

Result<SteppedProgram> make_steps(const Program& program, const Target& target = generic_cpu());

// Opaque statements in the order of the text; a step's number is its place here.
std::vector<const Opaque*> opaque_statements(const Program& program);

// The arrays a step reads and defines. An inlined array appears in neither.
void for_each_read(const SteppedProgram& stepped, const Step& step, const std::function<void(ArrayId)>& visit);
std::vector<ArrayId> defined_by(const Step& step);

// ---- parts of make_steps ----
// Chooses how the innermost loop runs and sets points and cost.
void classify(SteppedProgram& stepped, FoldedCompute& folded);
// Whether `folded` may run inside the outermost loop of `step`, and gains from it.
bool can_join(const SteppedProgram& stepped, const NestStep& step, const FoldedCompute& folded);
// A contraction worth packing, if the compute is one.
std::optional<ContractionStep> find_contraction(SteppedProgram& stepped, const FoldedCompute& folded);
bool can_follow(const SteppedProgram& stepped, const ContractionStep& step, const FoldedCompute& folded);

// Row-major strides of an array, in elements.
std::vector<int64_t> row_major(const Shape& shape);
int64_t size_of(const Shape& shape);

}  // namespace lightline::loops::plan
