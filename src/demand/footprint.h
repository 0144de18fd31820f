// The elements that a read touches.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "base/tensor.h"
#include "demand/structure.h"

namespace lightline::demand {

// Values of integer inputs, where they are known.
using KnownValues = std::unordered_map<ArrayId, const Tensor*>;

struct Footprint {
  Piece piece;                // of the array read: the elements touched, or fewer
  size_t dimension = 0;       // whose values come in blocks, if there are any
  std::vector<Range> blocks;  // such as the first half of every head: each gives a piece
  std::vector<Piece> pieces() const;
  double expected = 0;  // elements that a gather usually touches; equal to the piece's if nothing depends on data
};

class Footprints {
 public:
  Footprints(const loops::Program& program, const Structure& structure, const KnownValues& known)
      : program_(program), structure_(structure), known_(known) {}

  // Elements of an array under these subscripts, over `points` of the domain. With `may_leave`, subscripts outside the
  // array touch nothing.
  Footprint of(const Shape& extents, const ExprId* subscripts, bool may_leave, const Domain& domain,
               Piece points) const;

 private:
  // Values outside are moved to the nearest inside.
  struct Clamp {
    int64_t low = -greatest_kept;
    int64_t high = greatest_kept;
    bool is_used() const { return low > -greatest_kept || high < greatest_kept; }
    int64_t operator()(int64_t value) const { return std::min(high, std::max(low, value)); }
    bool operator==(const Clamp&) const = default;
  };
  // (affine form div `divide`) mod `modulo`, plus `shift`, clamped; no modulo if it is 0
  struct Quotient {
    HalfSpace of;
    int64_t divide = 1;
    int64_t modulo = 0;
    int64_t shift = 0;
    Clamp clamp;
    int variable = -1;  // that stands for it
    bool is_same(const Quotient& other) const {
      return divide == other.divide && modulo == other.modulo && shift == other.shift && clamp == other.clamp;
    }
  };
  struct Subscript {
    HalfSpace affine;
    std::vector<std::pair<int64_t, Quotient>> quotients;  // with coefficients
    Clamp clamp;                                          // of the whole
    bool by_data = false;
  };
  Subscript subscript_of(ExprId expr, const Domain& domain) const;
  bool decompose(ExprId expr, const Domain& domain, int64_t factor, Subscript& into) const;
  bool decompose_quotient(const Expr& e, const Domain& domain, int64_t factor, Subscript& into) const;
  bool decompose_clamp(const Expr& e, const Domain& domain, int64_t factor, Subscript& into) const;
  bool read_clamp(const Expr& e, ExprId& inner, Clamp& clamp) const;
  void name_quotients(std::vector<Subscript>& subscripts, Piece& points) const;
  static std::vector<Range> take_apart(const std::vector<Quotient*>& quotients, Range values);

  // Dimensions that follow one variable with step 1.
  struct PlainDimensions {
    std::vector<int> dimension_of;  // the first one that follows a variable, or -1
    std::vector<int> variables;     // those that are followed
    std::vector<bool> is_plain;     // by dimension
  };
  static void cut_to_array(const Shape& extents, const std::vector<Subscript>& subscripts, Piece& points);
  static PlainDimensions plain_dimensions(const std::vector<Subscript>& subscripts, size_t variables, Piece& touched);
  static void separate(const std::vector<Subscript>& subscripts, const PlainDimensions& plain, Piece& points);
  static bool place_plain(const std::vector<Subscript>& subscripts, const PlainDimensions& plain, const Piece& points,
                          Piece& touched);
  double place_gather(ExprId subscript, int64_t extent, const Domain& domain, const Piece& points,
                      Range& touched) const;

  std::vector<int> variables_of(ExprId expr, const Domain& domain) const;  // that the value depends on
  double known_values(ExprId expr, const Domain& domain, const Piece& points) const;
  int64_t evaluate(ExprId expr, const Domain& domain, const std::vector<int64_t>& at, bool& known) const;

  const loops::Program& program_;
  const Structure& structure_;
  const KnownValues& known_;
};

}  // namespace lightline::demand
