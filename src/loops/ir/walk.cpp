#include "loops/ir/walk.h"

namespace lightline::loops {

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
