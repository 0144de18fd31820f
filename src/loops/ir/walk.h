// Walks over a program's expressions and statements, and the numbers of its statements.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/short_vector.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// The expressions that a call or a cast takes; none for the others. Subscripts are no operands.
inline int arity(const Expr& expr) {
  return expr.kind == ExprKind::cast ? 1 : expr.kind == ExprKind::call ? info(expr.function).arity : 0;
}
inline std::span<const ExprId> operands_of(const Expr& expr) { return {expr.args, size_t(arity(expr))}; }

// Calls `visit(ExprId)` for every expression below and including `root`, subscripts too. An expression comes before
// what it is made of; of its operands, or of its subscripts, the last comes first.
template <class Visit>
void for_each_expr(const Program& program, ExprId root, const Visit& visit) {
  ShortVector<ExprId, 32> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    visit(id);
    const Expr& expr = program.exprs[id];
    for (const ExprId operand : operands_of(expr)) stack.push_back(operand);
    if (expr.kind != ExprKind::read) continue;
    for (uint32_t i = 0; i < expr.args[2]; ++i) stack.push_back(subscripts_of(program, expr)[i]);
  }
}

// Calls `visit(const Expr&)` for every read that the value of `root` is computed from, in the order of the text. What
// is read to find a subscript does not count.
template <class Visit>
void for_each_read(const Program& program, ExprId root, const Visit& visit) {
  const Expr& expr = program.exprs[root];
  if (expr.kind == ExprKind::read) visit(expr);
  for (const ExprId operand : operands_of(expr)) for_each_read(program, operand, visit);
}

// Calls `visit(const Statement&)` for every statement of a block and of the repeats in it, in the order of the text: a
// repeat comes before its body.
template <class Visit>
void for_each_statement(std::span<const Statement> block, const Visit& visit) {
  for (const Statement& statement : block) {
    visit(statement);
    if (const auto* repeat = std::get_if<Repeat>(&statement.node))
      for_each_statement(std::span<const Statement>(repeat->body), visit);
  }
}

// Every array that a statement reads, in whatever way, and what a repeat yields; perhaps several times.
std::vector<ArrayId> arrays_read_by(const Program& program, const Statement& statement);

// The place of a statement in the text, those inside repeats included: as `for_each_statement` meets them, from 0.
using StatementId = uint32_t;
std::vector<const Statement*> statements_by_id(const Program& program);
std::unordered_map<const Statement*, StatementId> statement_ids(const Program& program);

}  // namespace lightline::loops
