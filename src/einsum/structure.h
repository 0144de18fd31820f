// What is known of values without running: where an array is zero or -inf by construction, and which of its
// dimensions only repeat values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "einsum/region.h"
#include "loops/program.h"

namespace lightline::einsum {

// The variables of a statement: its loops, then its reduced indices, then the counters of the repeats around it.
struct Domain {
  std::vector<loops::IndexId> variables;
  size_t loops = 0;                             // how many of them are loops
  int variable_of(loops::IndexId index) const;  // -1 if it is not one of them
};
Domain domain_of(const loops::Compute& compute, const std::vector<loops::IndexId>& counters);

// `kind` wherever one of the cuts fails.
struct Outside {
  enum class Kind : uint8_t { zero, negative_infinity };
  Kind kind = Kind::zero;
  std::vector<HalfSpace> cuts;
};

class Structure {
 public:
  explicit Structure(const loops::Program& program);

  // Of an array, over its dimensions.
  const std::optional<Outside>& outside(loops::ArrayId array) const { return outside_[array]; }
  bool repeats_along(loops::ArrayId array, size_t dimension) const {
    return !free_[array].empty() && free_[array][dimension];
  }
  bool varies_with_repeat(loops::ArrayId array) const { return varies_[array]; }

  // Of an expression, over the variables of its statement.
  std::optional<Outside> outside(loops::ExprId expr, const Domain& domain) const;
  // The variables that the value depends on, as a set of bits.
  uint64_t depends_on(loops::ExprId expr, const Domain& domain) const;
  // A condition that is a conjunction of affine comparisons, as half-spaces; nothing if it is anything else.
  std::optional<std::vector<HalfSpace>> condition(loops::ExprId expr, const Domain& domain) const;
  std::optional<std::vector<HalfSpace>> negated(loops::ExprId expr, const Domain& domain) const;
  // An integer expression as an affine form over the domain: constant + terms.
  std::optional<HalfSpace> affine(loops::ExprId expr, const Domain& domain) const;

 private:
  void visit(const std::vector<loops::Statement>& block, std::vector<loops::IndexId>& counters);
  void visit(const loops::Compute& compute, const std::vector<loops::IndexId>& counters);
  bool reads_varying(loops::ExprId expr) const;
  std::optional<Outside> outside_call(const loops::Expr& e, const Domain& domain) const;
  std::optional<Outside> outside_read(const loops::Expr& e, const Domain& domain) const;

  const loops::Program& program_;
  std::vector<std::optional<Outside>> outside_;
  std::vector<std::vector<bool>> free_;
  std::vector<bool> varies_;
};

}  // namespace lightline::einsum
