#include "loops/ir/walk.h"

namespace lightline::loops {
namespace {

class Reads {
 public:
  explicit Reads(const Program& program) : program_(program) {}
  std::vector<ArrayId> found;

  void visit(const Statement& statement) {
    std::visit([&](const auto& node) { of(node); }, statement.node);
  }

 private:
  void expression(ExprId root) {
    for_each_expr(program_, root, [&](ExprId id) {
      const Expr& e = program_.exprs[id];
      if (e.kind == ExprKind::read) found.push_back(e.args[0]);
    });
  }
  void of(const Compute& node) { expression(node.body); }
  void of(const Scatter& node) {
    expression(node.body);
    for (const ExprId target : node.target) expression(target);
    if (node.init_array != none) found.push_back(node.init_array);
  }
  void of(const Constant&) {}
  void of(const Opaque& node) { found.insert(found.end(), node.operands.begin(), node.operands.end()); }
  void of(const Repeat& node) {
    for (const Repeat::Carry& carry : node.carries) found.insert(found.end(), {carry.init, carry.next});
    found.insert(found.end(), node.stacked.begin(), node.stacked.end());
    for (const Statement& inner : node.body) visit(inner);
  }

  const Program& program_;
};

}  // namespace

std::vector<ArrayId> arrays_read_by(const Program& program, const Statement& statement) {
  Reads reads(program);
  reads.visit(statement);
  return std::move(reads.found);
}

std::vector<const Statement*> statements_by_id(const Program& program) {
  std::vector<const Statement*> statements;
  for_each_statement(program.statements, [&](const Statement& statement) { statements.push_back(&statement); });
  return statements;
}

std::unordered_map<const Statement*, StatementId> statement_ids(const Program& program) {
  std::unordered_map<const Statement*, StatementId> ids;
  for_each_statement(program.statements,
                     [&](const Statement& statement) { ids.emplace(&statement, StatementId(ids.size())); });
  return ids;
}

}  // namespace lightline::loops
