// A schedule on a machine, as data: which index runs over blocks, threads and lanes, what is between two barriers,
// where a reduction is done and what is staged beside a core. Emitters print it. docs/schedules.md is its text.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "loops/plan/schedule.h"

namespace lightline::loops::plan {

// Outermost first. On a CPU a block is a task that one thread takes, and lanes are those of its vectors.
enum class Axis : uint8_t { blocks, warps, threads, lanes };
inline constexpr size_t axis_count = 4;

// Indices of a statement, counted as one number in row-major order, over one axis of the machine.
struct AxisUse {
  static constexpr int64_t any = 0;  // chosen when it runs
  Axis axis = Axis::blocks;
  std::vector<uint32_t> indices;  // places among the statement's own indices
  int64_t step = 1;               // values that one unit takes at a time
  int64_t pieces = 0;             // if not 0: the number is cut into so many, instead
  bool operator==(const AxisUse&) const = default;
};

enum class Part : uint8_t {
  whole,
  pack,     // the factors of a product, into panels
  partial,  // a reduction as far as one unit does it
  combine,  // the rest of it
};

struct PhasePart {
  StatementId statement = none;
  Part part = Part::whole;
  bool operator==(const PhasePart&) const = default;
};

// What runs between two barriers, in order.
struct Phase {
  std::vector<PhasePart> parts;
  bool operator==(const Phase&) const = default;
};

// Where the values of a reduction come together.
enum class ReductionSite : uint8_t {
  thread,
  lanes,
  warp,
  block,
  blocks,  // several, and a second step
};

struct ReductionPlace {
  StatementId statement = none;
  ReductionSite site = ReductionSite::thread;
  bool operator==(const ReductionPlace&) const = default;
};

// What lies beside a core while a kernel runs.
struct Staged {
  ArrayId array = none;
  int64_t elements = AxisUse::any;  // at a time
  ArrayId in_place_of = none;       // if not `none`: in the memory of this array, until that is computed
  bool operator==(const Staged&) const = default;
};

struct KernelPlan {
  std::vector<std::vector<AxisUse>> axes;   // by statement of the kernel
  std::array<int64_t, axis_count> units{};  // of each axis; `any` where the machine or the extents say it
  std::vector<Phase> phases;
  std::vector<ReductionPlace> reductions;
  std::vector<Staged> staged;
  bool operator==(const KernelPlan&) const = default;
};

struct Plan {
  std::string target;
  Schedule schedule;
  std::vector<KernelPlan> kernels;  // one for each of the schedule
  bool operator==(const Plan&) const = default;
};

std::string print(const Program& program, const Plan& plan);
Result<Plan> parse_plan(const Program& program, std::string_view text, std::string_view file = "");

// Also rejects: axes over indices that are not the statement's, or twice; phases that leave out a statement, run in
// another order than the kernel or in parts what is no reduction; places and stages of strangers; what is staged twice,
// too small or too large; and whatever units that run in any order between phases and kernels could change.
Status verify(const Program& program, const Plan& plan);

std::string_view name(Axis axis);
std::string_view name(Part part);
std::string_view name(ReductionSite site);

}  // namespace lightline::loops::plan
