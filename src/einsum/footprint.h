// The elements that a read touches.
#pragma once

#include <unordered_map>

#include "base/tensor.h"
#include "einsum/structure.h"

namespace lightline::einsum {

// Values of integer inputs, where they are known.
using KnownValues = std::unordered_map<loops::ArrayId, const Tensor*>;

struct Footprint {
  Piece piece;          // of the array read: the elements touched, or fewer
  double expected = 0;  // elements that a gather usually touches; equal to the piece's if nothing depends on data
};

class Footprints {
 public:
  Footprints(const loops::Program& program, const Structure& structure, const KnownValues& known)
      : program_(program), structure_(structure), known_(known) {}

  // Elements of an array under these subscripts, over `points` of the domain. With `may_leave`, subscripts outside the
  // array touch nothing.
  Footprint of(const Shape& extents, const loops::ExprId* subscripts, bool may_leave, const Domain& domain,
               Piece points) const;

 private:
  // (affine form div `divide`) mod `modulo`; no modulo if it is 0
  struct Quotient {
    HalfSpace of;
    int64_t divide = 1;
    int64_t modulo = 0;
  };
  struct Subscript {
    HalfSpace affine;
    std::vector<std::pair<int64_t, Quotient>> quotients;  // with coefficients
    bool by_data = false;
    bool is_plain() const { return !by_data && quotients.empty(); }
    bool is_part() const {  // of a row-major form
      return !by_data && quotients.size() == 1 && quotients[0].first == 1 && affine == HalfSpace{};
    }
  };
  Subscript subscript_of(loops::ExprId expr, const Domain& domain) const;
  bool decompose(loops::ExprId expr, const Domain& domain, int64_t factor, Subscript& into) const;
  void separate(const std::vector<Subscript>& subscripts, Piece& points) const;
  void take_apart(const std::vector<Subscript>& subscripts, const Shape& extents, const Piece& points,
                  std::vector<bool>& done, Piece& piece) const;
  Range values_of(const Subscript& subscript, int64_t extent, const Piece& points) const;
  double known_values(loops::ExprId expr, const Domain& domain, const Piece& points) const;
  int64_t evaluate(loops::ExprId expr, const Domain& domain, const std::vector<int64_t>& at, bool& known) const;

  const loops::Program& program_;
  const Structure& structure_;
  const KnownValues& known_;
};

// The longest run of neighbouring values of constant + terms over a piece, within [0, extent).
Range run_of_values(const HalfSpace& form, const Piece& points, int64_t extent);

}  // namespace lightline::einsum
