// Integer subscripts as sums of atoms, simplified while they are built, so that a chain of views reads like the
// affine subscript it is: (i * 64 + j) div 64 is i.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loops/ir/program.h"

namespace lightline::ops {

using AtomId = uint32_t;

// constant + sum of coefficient * atom, by ascending atom, no zero coefficients.
struct Sum {
  int64_t constant = 0;
  std::vector<std::pair<AtomId, int64_t>> terms;
  bool operator==(const Sum&) const = default;
};

struct Interval {
  int64_t low = 0;
  int64_t high = 0;
};

class IndexAlgebra {
 public:
  Sum index(loops::IndexId index, int64_t extent);
  Sum expression(loops::ExprId expr, Interval range);  // an integer value that is not a loop index
  static Sum constant(int64_t value) { return {value, {}}; }

  Sum add(const Sum& a, const Sum& b) { return add_scaled(a, b, 1); }
  Sum add_scaled(const Sum& a, const Sum& b, int64_t scale);
  Sum scale(const Sum& a, int64_t factor);
  Sum div(const Sum& a, int64_t divisor);  // floor; divisor > 0
  Sum mod(const Sum& a, int64_t divisor);

  Interval range(const Sum& sum) const;
  // Appends the expression to the program.
  loops::ExprId emit(loops::Program& program, const Sum& sum) const;

  // Forgets the atoms made while it lives: those of a statement.
  class Scope {
   public:
    explicit Scope(IndexAlgebra& algebra) : algebra_(algebra), mark_(algebra.atoms_.size()) {}
    ~Scope() { algebra_.atoms_.resize(mark_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    IndexAlgebra& algebra_;
    size_t mark_;
  };

 private:
  struct Atom {
    enum class Kind : uint8_t { index, quotient, remainder, expression };
    Kind kind;
    uint32_t id;  // IndexId or ExprId
    int64_t divisor;
    Sum inner;
    Interval range;
  };
  AtomId intern(Atom atom);
  Sum recombine(Sum sum);
  // a = divisor * quotient + rest, with what can not be divided exactly in the rest.
  void split(const Sum& a, int64_t divisor, Sum& quotient, Sum& rest) const;

  std::vector<Atom> atoms_;
};

}  // namespace lightline::ops
