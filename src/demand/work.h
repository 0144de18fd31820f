// The arithmetic of one statement.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "demand/structure.h"

namespace lightline::demand {

struct Work {
  std::map<DType, double> macs;              // multiply-accumulates of contractions, by the type they can run in
  std::map<DType, double> transformed_macs;  // the same where convolutions may use transform-domain algorithms
  std::map<DType, double> vector_ops;        // other scalar operations, by compute type
  double transcendental_ops = 0;

  void add(const Work& other);
  bool empty() const { return macs.empty() && vector_ops.empty() && transcendental_ops == 0; }
  double total_macs() const;
  double total_vector_ops() const;
};

// The points of a statement that are needed, in one round of the repeats around it.
struct NeededPoints {
  const Domain& domain;
  const Piece& points;
  VariableSet counted_elsewhere =
      0;  // repeats, by depth, whose other steps are counted elsewhere: what they do not change is not counted again
};

class WorkCounter {
 public:
  WorkCounter(const loops::Program& program, const Structure& structure) : program_(program), structure_(structure) {}

  Work of(const Compute& compute, const NeededPoints& needed);
  Work of(const Scatter& scatter, const NeededPoints& needed);

  // The factors of a product, through nested products.
  void factors(ExprId expr, std::vector<ExprId>& list) const;
  bool is_contraction(const Compute& compute) const;

 private:
  double distinct(VariableSet used, VariableSet varies, const NeededPoints& needed) const;
  double distinct(ExprId expr, const NeededPoints& needed) const;
  void contraction(ExprId body, const NeededPoints& needed, Work& work) const;
  void reduction(const Compute& compute, const NeededPoints& needed, Work& work) const;
  double window_taps(const Scatter& scatter, const NeededPoints& needed) const;
  void expression(ExprId expr, const NeededPoints& needed, Work& work);
  bool folds_into_operand(const Expr& e) const;
  int literal_chain(ExprId expr, int depth) const;
  DType argument_type(const Expr& e) const;
  uint64_t number_of(ExprId expr);

  const loops::Program& program_;
  const Structure& structure_;
  std::unordered_map<ExprId, uint64_t> numbers_;  // equal for equal expressions of one statement
  std::unordered_set<uint64_t> counted_;
};

// One computed condition for all elements: a branch, of which only one side runs.
bool is_branch(const Structure& structure, const Expr& select, const Domain& domain);
Piece cut_by(Piece points, const std::vector<HalfSpace>& cuts);

// The dtype in which a product can be taken exactly: the wider of its two narrowest factors.
DType product_type(const std::vector<DType>& factors);

// Whether two points give a form the same value, as neighbouring windows do: p + r, but not 16 h + d with d < 16.
bool overlaps(const HalfSpace& form, const std::vector<Range>& ranges);

// A factor of a product, by the variables that it depends on.
struct Factor {
  VariableSet variables = 0;
  VariableSet windows = 0;  // those that it has only as part of a sum with a loop variable, such as r in x[p + r]
};
// The fewest points over which a sum of products is taken, two factors at a time in the best order.
double cheapest_order(const std::vector<Factor>& factors, VariableSet kept, const Piece& points);

}  // namespace lightline::demand
