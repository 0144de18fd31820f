#include "loops/plan/statement_table.h"

#include <fmt/format.h>

namespace lightline::loops::plan {

StatementTable::StatementTable(const Program& program)
    : program_(program), definitions_(program.arrays.size(), none), carried_(program.arrays.size(), false) {
  add(program.statements, none);
  for (ArrayId id = 0; id < program.arrays.size(); ++id) names_.emplace(program.arrays[id].name, id);
}

void StatementTable::add(const std::vector<Statement>& statements, StatementId repeat) {
  for (const Statement& statement : statements) {
    const auto id = StatementId(statements_.size());
    statements_.push_back(&statement);
    ids_.emplace(&statement, id);
    repeats_.push_back(repeat);
    for (const ArrayId result : results_of(statement)) definitions_[result] = id;
    if (const auto* inner = std::get_if<Repeat>(&statement.node)) {
      for (const auto& carry : inner->carries) definitions_[carry.inner] = id, carried_[carry.inner] = true;
      add(inner->body, id);
    }
  }
}

std::vector<OwnIndex> StatementTable::own_indices(StatementId id) const {
  std::vector<OwnIndex> list;
  const auto add_all = [&](const std::vector<IndexId>& indices) {
    for (const IndexId index : indices) {
      const Index& each = program_.indices[index];
      list.push_back({each.name, each.extent, each.kind});
    }
  };
  const Statement& statement = *statements_[id];
  if (const auto* compute = std::get_if<Compute>(&statement.node)) {
    add_all(compute->loops);
    add_all(compute->reduced);
  } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
    add_all(scatter->domain);
  } else if (const auto* constant = std::get_if<Constant>(&statement.node)) {
    for (const int64_t extent : program_.arrays[constant->result].shape)
      list.push_back({fmt::format("d{}", list.size()), extent, IndexKind::parallel});
  }
  return list;
}

std::string StatementTable::array_text(ArrayId array) const {
  const std::string& name = program_.arrays[array].name;
  if (names_.count(name) == 1 || definitions_[array] == none) return name;
  return fmt::format("{}@{}{}", name, carried_[array] ? "carry@" : "", definitions_[array]);
}

std::vector<ArrayId> StatementTable::find(std::string_view name) const {
  std::vector<ArrayId> found;
  const auto [begin, end] = names_.equal_range(name);
  for (auto it = begin; it != end; ++it) found.push_back(it->second);
  return found;
}

}  // namespace lightline::loops::plan
