#include "demand/equal.h"

#include <string>
#include <unordered_map>

#include "loops/ir/walk.h"

namespace lightline::demand {
namespace {

class EqualStatements {
 public:
  explicit EqualStatements(const loops::Program& program) : program_(program), first_(program.arrays.size()) {
    for (size_t i = 0; i < first_.size(); ++i) first_[i] = ArrayId(i);
  }
  std::vector<ArrayId> run() {
    visit(program_.statements);
    return std::move(first_);
  }

 private:
  // What a block finds is visible in it and in the blocks inside.
  void visit(const std::vector<Statement>& block) {
    std::vector<std::string> added;
    for (const Statement& statement : block) {
      if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
        visit(repeat->body);
      } else if (const auto* compute = std::get_if<Compute>(&statement.node)) {
        const auto [found, fresh] = known_.try_emplace(key_of(*compute), compute->result);
        if (fresh)
          added.push_back(found->first);
        else
          first_[compute->result] = found->second;
      }
    }
    for (const std::string& key : added) known_.erase(key);
  }

  // The statement as bytes, without names: indices by their place, arrays by the first equal one.
  std::string key_of(const Compute& compute) {
    key_.clear();
    place_.clear();
    put(uint64_t(compute.reducer) | uint64_t(compute.accumulator) << 8 | uint64_t(compute.is_view) << 16 |
        uint64_t(program_.arrays[compute.result].dtype) << 24);
    for (const auto* list : {&compute.loops, &compute.reduced}) {
      put(list->size());
      for (const IndexId index : *list) {
        place_.emplace(index, place_.size());
        put(uint64_t(program_.indices[index].extent));
        put(uint64_t(program_.indices[index].kind));
      }
    }
    put_expression(compute.body);
    return key_;
  }
  void put(uint64_t value) { key_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const loops::Literal& literal) {
    put(uint64_t(literal.kind));
    put(uint64_t(literal.integer));
    key_.append(reinterpret_cast<const char*>(&literal.floating), sizeof literal.floating);
  }
  void put_expression(ExprId id) {
    const Expr& e = program_.exprs[id];
    put(uint64_t(e.kind) | uint64_t(e.type) << 8 | uint64_t(e.function) << 16 | uint64_t(e.target) << 24 |
        uint64_t(e.has_fill) << 32);
    if (key_.size() > max_key) return put(uint64_t(id));  // too long to compare: only equal to itself
    switch (e.kind) {
      case ExprKind::literal: return put(e.literal);
      case ExprKind::index: {
        const auto own = place_.find(e.args[0]);
        return put(own == place_.end() ? uint64_t(e.args[0]) << 32 : own->second);
      }
      case ExprKind::cast:
      case ExprKind::call:
        for (const ExprId operand : operands_of(e)) put_expression(operand);
        return;
      case ExprKind::read:
        put(first_[e.args[0]]);
        if (e.has_fill) put(e.literal);
        for (uint32_t i = 0; i < e.args[2]; ++i) put_expression(loops::subscripts_of(program_, e)[i]);
    }
  }

  static constexpr size_t max_key = 1 << 14;
  const loops::Program& program_;
  std::vector<ArrayId> first_;
  std::unordered_map<std::string, ArrayId> known_;
  std::unordered_map<IndexId, uint64_t> place_;
  std::string key_;
};

}  // namespace

std::vector<ArrayId> equal_statements(const loops::Program& program) { return EqualStatements(program).run(); }

}  // namespace lightline::demand
