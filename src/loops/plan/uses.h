// Who reads what: liveness and use counts of a program's arrays.
#pragma once

#include <functional>
#include <vector>

#include "loops/ir/program.h"
#include "loops/ir/walk.h"

namespace lightline::loops::plan {

// How an array that a statement defines is used by live statements.
struct ArrayUse {
  int reads = 0;                      // read expressions
  int others = 0;                     // outputs, operands, initial and yielded arrays: they need it in memory
  const Statement* reader = nullptr;  // of the last read
  ExprId site = none;                 // the last read
  double reader_points = 0;
  bool crosses_block = false;  // a read inside a repeat of an array from outside it
};

struct ArrayUses {
  std::vector<ArrayUse> arrays;
  std::vector<const Statement*> live;  // sorted
  bool is_live(const Statement* statement) const;
};

ArrayUses find_uses(const Program& program);

// By array: whether its values follow from the program's text alone, being constants or computed from such.
std::vector<bool> fixed_arrays(const Program& program);

// The first read in a compute, of an array of its result's shape that `wanted` holds for, at the point that is
// computed.
const Expr* find_read_at_own_point(const Program& program, const Compute& compute,
                                   const std::function<bool(ArrayId)>& wanted);

// A read that must be checked when the program runs: data-dependent, without a fill.
bool has_checked_read(const Program& program, ExprId expr);

}  // namespace lightline::loops::plan
