// Sets of integer points: boxes cut by half-spaces, and disjoint unions of them. Whatever can not be kept exactly
// becomes smaller, never larger, so that every count is a lower bound of the true one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lightline::einsum {

// lo, lo + step, ..., at most hi. Empty if hi < lo.
struct Range {
  int64_t lo = 0;
  int64_t hi = -1;
  int64_t step = 1;
  int64_t count() const { return hi < lo ? 0 : (hi - lo) / step + 1; }
  bool operator==(const Range&) const = default;
};

// constant + sum of coefficient * variable >= 0
struct HalfSpace {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> terms;  // by ascending variable, no zero coefficients
  bool operator==(const HalfSpace&) const = default;
};

struct Piece {
  std::vector<Range> box;
  std::vector<HalfSpace> cuts;

  static Piece whole(const std::vector<int64_t>& extents);
  bool is_box() const { return cuts.empty(); }
  // Adds a cut; one that only bounds a single variable shrinks the box instead.
  void cut(HalfSpace half_space);
  bool bounds_empty() const;  // the box has no points (cuts may empty it too)
};

// The number of points, exact while it fits a double. Enumerates at most about a million lines; beyond that the
// count is that of a box inside.
double count(const Piece& piece);

// The points of `piece` seen in the variables `kept` only (in that order): exact for unit coefficients, else smaller.
Piece project(const Piece& piece, const std::vector<int>& kept);

// A union of disjoint pieces.
class Region {
 public:
  // Adds the points of a piece that are not there yet; overlapping pieces that can not be split exactly are dropped.
  void add(Piece piece);
  bool empty() const { return pieces_.empty(); }
  const std::vector<Piece>& pieces() const { return pieces_; }
  double points() const;

 private:
  std::vector<Piece> pieces_;
};

}  // namespace lightline::einsum
