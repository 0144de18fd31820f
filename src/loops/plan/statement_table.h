// Statements by number, with what a schedule says of them: their blocks, their own indices, names for arrays.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loops/ir/program.h"
#include "loops/ir/walk.h"

namespace lightline::loops::plan {

// An index that a statement binds itself: loops in the order of the result's dimensions, then reduced ones; the domain
// of a scatter; the dimensions of a constant, called d0, d1, ...
struct OwnIndex {
  std::string name;
  int64_t extent = 0;
  IndexKind kind = IndexKind::parallel;
};

class StatementTable {
 public:
  explicit StatementTable(const Program& program);

  size_t size() const { return statements_.size(); }
  const Statement& operator[](StatementId id) const { return *statements_[id]; }
  StatementId id_of(const Statement* statement) const { return ids_.at(statement); }
  // The repeat in whose block a statement stands, or `none`.
  StatementId repeat_of(StatementId id) const { return repeats_[id]; }
  // The statement that defines an array, `none` for inputs. Arrays that a repeat carries are its own.
  StatementId definition_of(ArrayId array) const { return definitions_[array]; }
  std::vector<OwnIndex> own_indices(StatementId id) const;

  bool is_carried(ArrayId array) const { return carried_[array]; }

  // Names: an array's own where only one array has it, else NAME@STATEMENT, and NAME@carry@STATEMENT inside a repeat.
  std::string array_text(ArrayId array) const;
  std::string text(StatementId id) const { return array_text(results_of(*statements_[id])[0]); }
  // The arrays of a name.
  std::vector<ArrayId> find(std::string_view name) const;

 private:
  void add(const std::vector<Statement>& statements, StatementId repeat);

  const Program& program_;
  std::vector<const Statement*> statements_;
  std::vector<StatementId> repeats_;
  std::vector<StatementId> definitions_;  // by array
  std::vector<bool> carried_;             // by array
  std::unordered_map<const Statement*, StatementId> ids_;
  std::unordered_multimap<std::string_view, ArrayId> names_;
};

// What is folded is computed by expressions that read it; whoever takes a whole array takes it from memory.
enum class Reading : uint8_t { by_element, whole };

// Calls `visit(ArrayId, Reading)` for every array that the statement itself reads: not those read inside a repeat's
// block.
template <class Visit>
void for_each_array_read(const Program& program, const Statement& statement, const Visit& visit) {
  const auto expression = [&](ExprId root) {
    for_each_expr(program, root, [&](ExprId id) {
      if (program.exprs[id].kind == ExprKind::read) visit(ArrayId(program.exprs[id].args[0]), Reading::by_element);
    });
  };
  if (const auto* compute = std::get_if<Compute>(&statement.node)) {
    expression(compute->body);
  } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
    if (scatter->init_array != none) visit(scatter->init_array, Reading::whole);
    for (const ExprId target : scatter->target) expression(target);
    expression(scatter->body);
  } else if (const auto* opaque = std::get_if<Opaque>(&statement.node)) {
    for (const ArrayId operand : opaque->operands) visit(operand, Reading::whole);
  } else if (const auto* repeat = std::get_if<Repeat>(&statement.node)) {
    for (const auto& carry : repeat->carries) visit(carry.init, Reading::whole), visit(carry.next, Reading::whole);
    for (const ArrayId stacked : repeat->stacked) visit(stacked, Reading::whole);
  }
}

}  // namespace lightline::loops::plan
