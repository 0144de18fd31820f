// What runs together and in which order, as data: groups of statements, loop orders, tiles, and what stays in which
// level of memory meanwhile. It knows no threads: see plan.h. docs/schedules.md is its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "loops/plan/statement_table.h"

namespace lightline::loops::plan {

enum class Level : uint8_t {
  registers,  // of one thread
  local,      // beside a core: its own cache, or memory that the threads of a block share
  cache,      // the last level before memory
  memory,
};

// A loop over one of a statement's own indices, or over tiles of it. Each index has one loop of single values; loops
// over its tiles stand outside that, the largest tiles outermost.
struct Loop {
  uint32_t index = 0;            // place among the statement's own indices
  int64_t step = 1;              // values in one iteration; the last tile is smaller where it does not divide
  std::vector<int64_t> extents;  // of unequal tiles, in order; `step` is then the largest
  bool turning = false;          // every other time from the end to the start, so that what was last is first
  bool operator==(const Loop&) const = default;
};

// What one iteration of a loop touches of an array is fetched or made once, and stays until the iteration ends.
struct Residency {
  static constexpr uint32_t whole_kernel = none;
  ArrayId array = none;
  Level level = Level::local;
  uint32_t loop = whole_kernel;  // place among the statement's loops
  uint32_t index = none;         // if not `none`, only the part where this own index of the statement
  int64_t below = 0;             // is less than this
  bool operator==(const Residency&) const = default;
};

// Where a text has it, from 1; nothing that a schedule says.
struct TextPlace {
  int line = 0;
  int column = 0;
  bool operator==(const TextPlace&) const { return true; }
};

struct ScheduledStatement {
  StatementId statement = none;
  std::vector<Loop> loops;  // outermost first; indices of extent 1 have none
  uint32_t shared = 0;      // loops that are one with those of the statement before it in the kernel
  bool unrolled = false;    // its reduction is one expression; the reduced indices have no loops
  std::vector<Residency> residency;
  TextPlace place;
  bool operator==(const ScheduledStatement&) const = default;
};

enum class KernelKind : uint8_t {
  loops,
  product,  // the first statement is a sum of products with packed factors; the others are maps over its result
  repeat,   // the one statement is a repeat; the kernels inside follow
};

struct ScheduledKernel {
  KernelKind kind = KernelKind::loops;
  StatementId inside = none;                   // the repeat whose block it belongs to
  std::vector<ScheduledStatement> statements;  // in the order they run
  TextPlace place;
  bool operator==(const ScheduledKernel&) const = default;
};

// Computed by its readers, wherever they need it.
struct FoldedStatement {
  StatementId statement = none;
  bool unrolled = false;
  TextPlace place;
  bool operator==(const FoldedStatement&) const = default;
};

struct Schedule {
  std::vector<FoldedStatement> folded;
  std::vector<ScheduledKernel> kernels;  // in the order they run; those inside a repeat after it
  bool operator==(const Schedule&) const = default;
};

std::string print(const Program& program, const Schedule& schedule);

// Well-formed as text and names; `verify` decides whether it means something. `file` names the text in errors.
Result<Schedule> parse_schedule(const Program& program, std::string_view text, std::string_view file = "");

// Rejects: a statement that is missing, dead or there twice; folding what is not a map; a read before its definition;
// loops, tiles and shared loops that do not fit; expressions that folding and unrolling make too large; a shared loop
// between an element and its reader at another iteration; an order that changes the result (of argmax and argmin, of
// sums that round at every step, of writes where the last one stays). The same for every machine. Errors have the place
// of the statement in the text that the schedule was parsed from; the file is for the caller to add.
Status verify(const Program& program, const Schedule& schedule);

std::string_view name(Level level);

}  // namespace lightline::loops::plan
