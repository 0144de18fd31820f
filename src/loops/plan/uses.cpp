#include "loops/plan/uses.h"

#include <algorithm>

#include "loops/ir/verify.h"

namespace lightline::loops::plan {
namespace {

class UseFinder {
 public:
  explicit UseFinder(const Program& program)
      : program_(program), wanted_(program.arrays.size(), false), depth_(program.arrays.size(), 0) {
    uses_.arrays.resize(program.arrays.size());
  }

  ArrayUses run() {
    for (const Output& output : program_.outputs) need(output.array);
    block(program_.statements, 0);
    std::ranges::sort(uses_.live);
    return std::move(uses_);
  }

 private:
  void need(ArrayId array) {
    wanted_[array] = true;
    ++uses_.arrays[array].others;
  }

  void block(const std::vector<Statement>& statements, int depth) {
    for (const Statement& statement : statements)
      for (const ArrayId result : results_of(statement)) depth_[result] = depth;
    for (size_t i = statements.size(); i-- > 0;) {
      const Statement& statement = statements[i];
      const auto results = results_of(statement);
      const bool live = std::ranges::any_of(results, [&](ArrayId id) { return wanted_[id]; }) || has_effect(statement);
      if (!live) continue;
      uses_.live.push_back(&statement);
      std::visit([&](const auto& node) { use(node, statement, depth); }, statement.node);
    }
  }

  bool has_effect(const Statement& statement) const {
    if (const auto* compute = std::get_if<Compute>(&statement.node)) return has_checked_read(program_, compute->body);
    if (std::holds_alternative<Opaque>(statement.node)) return true;
    if (const auto* repeat = std::get_if<Repeat>(&statement.node))
      return std::ranges::any_of(repeat->body, [&](const Statement& inner) { return has_effect(inner); });
    const auto* scatter = std::get_if<Scatter>(&statement.node);
    if (scatter == nullptr) return false;
    const auto checked = [&](ExprId target) {
      return has_checked_read(program_, target) ||
             (!scatter->drop_outside && interval_of(program_, target).data_dependent);
    };
    return has_checked_read(program_, scatter->body) || std::ranges::any_of(scatter->target, checked);
  }

  void expression(ExprId root, const Statement& statement, double domain, int depth) {
    for_each_expr(program_, root, [&](ExprId id) {
      const Expr& expr = program_.exprs[id];
      if (expr.kind != ExprKind::read) return;
      ArrayUse& use = uses_.arrays[expr.args[0]];
      wanted_[expr.args[0]] = true;
      ++use.reads;
      use.reader = &statement;
      use.site = id;
      use.reader_points = domain;
      use.crosses_block |= depth_[expr.args[0]] != depth;
    });
  }

  void use(const Compute& compute, const Statement& statement, int depth) {
    expression(compute.body, statement, point_count(program_, compute.loops) * point_count(program_, compute.reduced),
               depth);
  }
  void use(const Scatter& scatter, const Statement& statement, int depth) {
    if (scatter.init_array != none) need(scatter.init_array);
    const double domain = point_count(program_, scatter.domain);
    for (const ExprId target : scatter.target) expression(target, statement, domain, depth);
    expression(scatter.body, statement, domain, depth);
  }
  void use(const Constant&, const Statement&, int) {}
  void use(const Opaque& opaque, const Statement&, int) {
    for (const ArrayId operand : opaque.operands) need(operand);
  }
  void use(const Repeat& repeat, const Statement&, int depth) {
    for (const auto& carry : repeat.carries) {
      need(carry.init);
      need(carry.next);
      depth_[carry.inner] = depth + 1;
    }
    for (const ArrayId stacked : repeat.stacked) need(stacked);
    block(repeat.body, depth + 1);
  }

  const Program& program_;
  ArrayUses uses_;
  std::vector<bool> wanted_;
  std::vector<int> depth_;
};

}  // namespace

bool ArrayUses::is_live(const Statement* statement) const { return std::ranges::binary_search(live, statement); }

ArrayUses find_uses(const Program& program) { return UseFinder(program).run(); }

std::vector<bool> fixed_arrays(const Program& program) {
  std::vector<bool> fixed(program.arrays.size(), false);
  for_each_statement(program.statements, [&](const Statement& statement) {
    if (const auto* constant = std::get_if<Constant>(&statement.node)) fixed[constant->result] = true;
    const auto* compute = std::get_if<Compute>(&statement.node);
    if (compute == nullptr) return;
    bool reads_fixed = true;
    for_each_expr(program, compute->body, [&](ExprId id) {
      const Expr& expr = program.exprs[id];
      reads_fixed &= expr.kind != ExprKind::read || expr.args[0] == compute->result || fixed[expr.args[0]];
    });
    fixed[compute->result] = reads_fixed;
  });
  return fixed;
}

const Expr* find_read_at_own_point(const Program& program, const Compute& compute,
                                   const std::function<bool(ArrayId)>& wanted) {
  const auto is_found = [&](const Expr& expr) {
    if (expr.kind != ExprKind::read || expr.has_fill || !wanted(expr.args[0]) ||
        program.arrays[expr.args[0]].shape != program.arrays[compute.result].shape)
      return false;
    for (uint32_t d = 0; d < expr.args[2]; ++d) {
      const Expr& subscript = program.exprs[subscripts_of(program, expr)[d]];
      if (subscript.kind != ExprKind::index || subscript.args[0] != compute.loops[d]) return false;
    }
    return true;
  };
  const Expr* found = nullptr;
  for_each_expr(program, compute.body, [&](ExprId id) {
    if (found == nullptr && is_found(program.exprs[id])) found = &program.exprs[id];
  });
  return found;
}

bool has_checked_read(const Program& program, ExprId root) {
  bool found = false;
  for_each_expr(program, root, [&](ExprId id) {
    const Expr& expr = program.exprs[id];
    if (found || expr.kind != ExprKind::read || expr.has_fill) return;
    for (uint32_t i = 0; i < expr.args[2]; ++i)
      found |= interval_of(program, subscripts_of(program, expr)[i]).data_dependent;
  });
  return found;
}

}  // namespace lightline::loops::plan
