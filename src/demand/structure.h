// What is known of values without running: where an array is zero or -inf by construction, which of its dimensions
// only repeat values, which arrays are formulas of their indices, and how few bits a value really has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "demand/names.h"
#include "demand/point_set.h"

namespace lightline::demand {

// The variables of a statement: its loops, then its reduced indices, then the counters of the repeats around it.
struct Domain {
  std::vector<IndexId> variables;
  size_t loops = 0;     // how many of them are loops
  size_t counters = 0;  // how many of them are counters
  size_t first_counter() const { return variables.size() - counters; }
  int variable_of(IndexId index) const;  // -1 if it is not one of them
};
Domain domain_of(const Compute& compute, const std::vector<IndexId>& counters);
Domain domain_of(const Scatter& scatter, const std::vector<IndexId>& counters);

// Values that sums, products and maxima may pass over. Numbers so low that their exponential vanishes count as -inf.
enum class SkippedValue : uint8_t { zero, negative_infinity };
using Cuts = std::vector<HalfSpace>;

using VariableSet =
    uint64_t;  // a set of variables of a domain, or of nested repeats; those from the 64th on are left out
inline VariableSet bit(size_t i) { return i < 64 ? VariableSet(1) << i : 0; }

DType narrower(DType a, DType b);  // by bits; bool stands for no type
DType wider(DType a, DType b);

class Structure {
 public:
  explicit Structure(const loops::Program& program);

  // ---- of an array ----
  bool repeats_along(ArrayId array, size_t dimension) const {
    return !repeats_along_[array].empty() && repeats_along_[array][dimension];
  }
  const Compute* definition(ArrayId array) const { return definition_[array]; }
  // An earlier array with the same values by the same statement, or the array itself.
  ArrayId first_equal(ArrayId array) const { return first_equal_[array]; }

  // ---- of an expression, over the variables of its statement ----
  // Half-spaces such that the value is `kind` wherever one of them fails; empty if none is known.
  Cuts support(ExprId expr, SkippedValue kind, const Domain& domain) const;
  VariableSet depends_on(ExprId expr, const Domain& domain) const;  // the variables that its value depends on
  VariableSet varies(ExprId expr) const;                            // the repeats that change the arrays it reads
  DType precision(ExprId expr) const;
  // Half-spaces that hold wherever the condition has this truth; perhaps not all of them.
  Cuts implied(ExprId condition, bool truth, const Domain& domain) const;
  // Variables of which, the others given, at most one value makes the expression differ from zero (one-hot).
  VariableSet one_hot_variables(ExprId expr, const Domain& domain) const;
  // An integer expression as an affine form over the domain: constant + terms.
  std::optional<HalfSpace> affine(ExprId expr, const Domain& domain) const;
  bool reads_data(ExprId expr) const;  // false: made of indices and literals, known before the program runs

 private:
  void find_groups(const std::vector<Statement>& block, uint32_t outer);
  void note_reads(ExprId expr, uint32_t group);
  void limit_precision(uint32_t group, ArrayId array);
  void visit(const std::vector<Statement>& block, std::vector<IndexId>& counters);
  void visit(const Compute& compute, const std::vector<IndexId>& counters);
  void visit(const loops::Repeat& repeat, std::vector<IndexId>& counters);
  Cuts support_of_call(const Expr& e, SkippedValue kind, const Domain& domain) const;
  Cuts support_of_read(const Expr& e, SkippedValue kind, const Domain& domain) const;
  Cuts support_of_select(const Expr& e, SkippedValue kind, const Domain& domain) const;
  Cuts implied_call(const Expr& e, bool truth, const Domain& domain) const;
  Cuts implied_equal(ExprId expr, double value, const Domain& domain) const;
  // Half-spaces over the dimensions of a read array, seen from the reader; those that can not be seen are left out.
  Cuts through(const Cuts& cuts, const Expr& read, const Domain& domain) const;
  bool is_true(ExprId condition) const;  // a literal, or an array of it
  const Compute* formula(const Expr& read) const;

  const loops::Program& program_;
  std::vector<Cuts> support_[2];  // by kind
  std::vector<std::vector<bool>> repeats_along_;
  std::vector<std::vector<bool>> one_hot_;  // by dimension
  std::vector<VariableSet> varies_;
  std::vector<DType> precision_;
  std::vector<const Compute*> definition_;
  std::vector<bool> is_formula_;  // made of indices and literals
  std::vector<ArrayId> first_equal_;
  // What an operator keeps to itself may be as narrow as what it takes and gives.
  std::vector<uint32_t> group_;                   // of the statement that makes an array
  std::vector<bool> leaves_group_;                // read by another operator, or returned
  std::vector<std::optional<DType>> group_type_;  // the widest float that an operator takes or gives
  mutable int depth_ = 0;                         // of formulas being followed
};

}  // namespace lightline::demand
