// Sets of integer points: boxes cut by half-spaces, and disjoint unions of them. Whatever can not be kept exactly
// becomes smaller, never larger, so that every count is a lower bound of the true one.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/short_vector.h"
#include "index/form.h"

namespace lightline::index {

// constant + sum of coefficient * variable >= 0
struct HalfSpace {
  int64_t constant = 0;
  ShortVector<std::pair<int, int64_t>, 2> terms;  // by ascending variable, no zero coefficients
  bool operator==(const HalfSpace&) const = default;
  auto operator<=>(const HalfSpace&) const = default;
};

HalfSpace half_space(const Form& form);  // over variables alone
HalfSpace combined(const HalfSpace& a, int64_t times_a, const HalfSpace& b, int64_t times_b);
HalfSpace add_scaled(const HalfSpace& a, const HalfSpace& b, int64_t factor);        // a + factor * b
HalfSpace difference(const HalfSpace& a, const HalfSpace& b, int64_t constant = 0);  // a - b + constant
int64_t coefficient_of(const HalfSpace& form, int variable);

struct Piece {
  std::vector<Range> box;
  std::vector<HalfSpace> cuts;
  bool empty = false;  // seen to have no points
  bool operator==(const Piece&) const = default;
  auto operator<=>(const Piece&) const = default;

  static Piece whole(const std::vector<int64_t>& extents);
  bool is_box() const { return cuts.empty(); }
  // Adds a cut; one that only bounds a single variable shrinks the box instead.
  void cut(HalfSpace half_space);
  void fix_variable(size_t variable);  // at the least value that the box gives it
  bool bounds_empty() const;           // no point, as the box or a cut by itself tells (cuts may do so together, too)
};

// What counting may take, and whether it was exact.
struct Counting {
  double lines = double(1 << 28);  // that may still be walked
  bool exact = true;
};

// The number of points, exact while it fits a double. Walks about a million lines at most, and no more than
// `counting` allows; beyond that the count is that of a box inside.
double count(const Piece& piece, Counting& counting);
double count(const Piece& piece);

// Calls `visit(const std::vector<int64_t>&)` for every point, in row-major order; for small pieces.
template <class Visit>
void for_each_point(const Piece& piece, const Visit& visit) {
  std::vector<int64_t> at;
  for (const Range& range : piece.box) {
    if (range.hi < range.lo) return;
    at.push_back(range.lo);
  }
  for (bool more = true; more;) {
    const bool allowed = std::all_of(piece.cuts.begin(), piece.cuts.end(), [&](const HalfSpace& cut) {
      int64_t value = cut.constant;
      for (const auto& [v, c] : cut.terms) value += c * at[size_t(v)];
      return value >= 0;
    });
    if (allowed) visit(at);
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      at[i] += piece.box[i].step;
      more = at[i] <= piece.box[i].hi;
      if (!more) at[i] = piece.box[i].lo;
    }
  }
}

// Makes the cuts say what they say of the other variables alone, for some value of this one: exact for unit
// coefficients and where there is always a value between two cuts, else for one value. False if points may be lost.
bool eliminate(Piece& piece, int variable);

// The points of `piece` seen in the variables `kept` only (in that order): exact for unit coefficients, else smaller,
// and `exact` becomes false.
Piece project(const Piece& piece, const std::vector<int>& kept, bool* exact = nullptr);

// Two cuts say together that this is 0.
bool has_equation(const Piece& piece, const HalfSpace& cut);
// The variable, whose factor there is 1 or -1, is what the equation says of the others; its place in the box is empty.
void solve(Piece& piece, const HalfSpace& equation, int variable);

// True if every point of `a` is seen at once to be in `b`.
bool contained(const Piece& a, const Piece& b);

// A union of points, in whatever order they were added.
class PointSet {
 public:
  void add(Piece piece);
  bool empty() const { return added_.empty(); }
  bool contains(const PointSet& other) const;
  // The same points as disjoint pieces; overlaps that can not be split exactly are dropped.
  const std::vector<Piece>& pieces() const;
  double points(Counting& counting) const;
  bool drops_points() const {  // pieces() are fewer points than were added
    pieces();
    return dropped_ || overflows_;
  }

 private:
  std::vector<Piece> added_;
  mutable std::vector<Piece> pieces_;
  mutable bool dropped_ = false;
  bool overflows_ = false;       // more were added than are kept
  mutable bool current_ = true;  // pieces_ says the same as added_
};

}  // namespace lightline::index
