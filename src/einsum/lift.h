// Loops as einsums: one equation per statement, with ranks that keep their letter from producer to consumer.
//
// Room einsum: loops seen as einsum equations, for people and for export.
// May use: base, index, loops/ir, demand.
#pragma once

#include <string>
#include <vector>

#include "demand/analysis.h"
#include "loops/ir/program.h"

namespace lightline::einsum {

// What kind of work a statement is.
enum class StatementClass : uint8_t {
  contraction,
  convolution,  // a contraction over sliding windows
  reduction,
  elementwise,
  copy,
  gather,
  scan,
  scatter,
  repeat,
  constant,
  opaque,
};
std::string_view name(StatementClass statement_class);

struct Einsum {
  std::string equation;  // "BC(2P+R)(2Q+S),OCRS->BOPQ"; * is a subscript that depends on data
  StatementClass statement_class = StatementClass::elementwise;
};

class Lifting {
 public:
  explicit Lifting(const loops::Program& program);
  Einsum of(const loops::Statement& statement);
  Einsum of(const demand::GroupDemand& group);  // the statement with the most points stands for it

 private:
  void unify(const std::vector<loops::Statement>& block);
  void unify(loops::ExprId expr);
  size_t dimension(loops::ArrayId array, size_t d) const { return first_dimension_[array] + d; }
  size_t rank(loops::IndexId index) const { return dimensions_ + index; }
  size_t root(size_t node) const;
  void join(size_t a, size_t b);
  double points(const loops::Statement& statement) const;
  std::string letter(size_t node);
  std::string index_letter(loops::IndexId index);
  std::string subscript(loops::ExprId expr);
  std::string operand(const loops::Expr& read);
  std::string result(loops::ArrayId array);
  std::vector<const loops::Expr*> reads(loops::ExprId expr) const;
  StatementClass class_of(const loops::Compute& compute, const std::vector<const loops::Expr*>& operands) const;

  const loops::Program& program_;
  const std::vector<const loops::Statement*> statements_;  // by id
  std::vector<size_t> first_dimension_;
  size_t dimensions_ = 0;
  mutable std::vector<size_t> parent_;
  std::vector<int> letter_;
  int letters_ = 0;
  std::vector<std::pair<std::string, std::vector<loops::IndexId>>> in_statement_;  // letters and who has them
};

}  // namespace lightline::einsum
