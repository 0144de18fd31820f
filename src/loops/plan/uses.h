// Who reads what: liveness and use counts of a program's arrays.
#pragma once

#include <vector>

#include "loops/ir/program.h"

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

// A read that must be checked when the program runs: data-dependent, without a fill.
bool has_checked_read(const Program& program, ExprId expr);

// Calls `visit(ExprId)` for every expression below and including `root`, subscripts too.
template <class Visit>
void for_each_expr(const Program& program, ExprId root, const Visit& visit) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    visit(id);
    const Expr& expr = program.exprs[id];
    switch (expr.kind) {
      case ExprKind::literal:
      case ExprKind::index: break;
      case ExprKind::cast: stack.push_back(expr.args[0]); break;
      case ExprKind::call:
        for (int i = 0; i < info(expr.function).arity; ++i) stack.push_back(expr.args[i]);
        break;
      case ExprKind::read:
        for (uint32_t i = 0; i < expr.args[2]; ++i) stack.push_back(subscripts_of(program, expr)[i]);
        break;
    }
  }
}

}  // namespace lightline::loops::plan
