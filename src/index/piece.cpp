#include "index/piece.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/maths.h"

namespace lightline::index {
namespace {

constexpr size_t max_pieces = 192;
constexpr size_t max_cut_pieces = 512;
constexpr size_t few_pieces = 24;  // among which a new one is looked for

HalfSpace with_value(const HalfSpace& cut, int variable, int64_t at) {
  HalfSpace result{cut.constant, {}};
  for (const auto& [v, c] : cut.terms) {
    if (v == variable)
      result.constant += c * at;
    else
      result.terms.emplace_back(v, c);
  }
  return result;
}

// Both can not hold: they are opposite, and leave no room between them.
bool exclude(const HalfSpace& a, const HalfSpace& b) {
  if (a.terms.size() != b.terms.size() || a.constant + b.constant >= 0) return false;
  for (size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].first != b.terms[i].first || a.terms[i].second != -b.terms[i].second) return false;
  return true;
}

// No point of the box satisfies the cut.
bool fails_on(const HalfSpace& cut, const std::vector<Range>& box) {
  int64_t most = cut.constant;
  for (const auto& [v, c] : cut.terms) most += c * (c > 0 ? box[size_t(v)].hi : box[size_t(v)].lo);
  return most < 0;
}

// No value of one is a value of the other, as their steps tell.
bool are_out_of_step(const Range& a, const Range& b) {
  const int64_t common = std::gcd(a.count() == 1 ? 0 : a.step, b.count() == 1 ? 0 : b.step);
  return common > 1 && (a.lo - b.lo) % common != 0;
}

bool disjoint(const Piece& a, const Piece& b) {
  for (size_t i = 0; i < a.box.size(); ++i)
    if (a.box[i].hi < b.box[i].lo || b.box[i].hi < a.box[i].lo || are_out_of_step(a.box[i], b.box[i])) return true;
  for (const HalfSpace& own : a.cuts)
    if (fails_on(own, b.box)) return true;
  for (const HalfSpace& other : b.cuts)
    if (fails_on(other, a.box)) return true;
  for (const HalfSpace& own : a.cuts)
    for (const HalfSpace& other : b.cuts)
      if (exclude(own, other)) return true;
  return false;
}

bool inside(const Range& a, const Range& b) {
  return a.lo >= b.lo && a.hi <= b.hi &&
         (b.step == 1 || (a.step % b.step == 0 && (a.lo - b.lo) % b.step == 0) ||
          (a.count() == 1 && (a.lo - b.lo) % b.step == 0));
}

// The parts of `a` outside `b`, when that is a few pieces: both are dense boxes, or one cut tells them apart.
std::optional<std::vector<Piece>> minus(Piece a, const Piece& b) {
  if (b.cuts.size() == 1 && std::equal(a.box.begin(), a.box.end(), b.box.begin(), inside)) {
    HalfSpace beyond{-b.cuts[0].constant - 1, b.cuts[0].terms};
    for (auto& term : beyond.terms) term.second = -term.second;
    a.cut(std::move(beyond));
    return std::vector<Piece>{std::move(a)};
  }
  if (!a.is_box() || !b.is_box()) return std::nullopt;
  for (const Piece* piece : {static_cast<const Piece*>(&a), &b})
    for (const Range& range : piece->box)
      if (range.step != 1) return std::nullopt;
  std::vector<Piece> parts;
  for (size_t i = 0; i < a.box.size(); ++i) {
    if (a.box[i].lo < b.box[i].lo) {
      Piece part = a;
      part.box[i].hi = b.box[i].lo - 1;
      a.box[i].lo = b.box[i].lo;
      parts.push_back(std::move(part));
    }
    if (a.box[i].hi > b.box[i].hi) {
      Piece part = a;
      part.box[i].lo = b.box[i].hi + 1;
      a.box[i].hi = b.box[i].hi;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

// Neighbours that differ in one dimension only become one, so that a tensor read slice by slice is whole again.
std::vector<Piece> merged(std::vector<Piece> pieces) {
  for (size_t d = 0; !pieces.empty() && pieces.size() > 1 && d < pieces[0].box.size(); ++d) {
    const auto in_order = [d](const Piece& a, const Piece& b) {
      for (size_t i = 0; i < a.box.size(); ++i)
        if (i != d && a.box[i] != b.box[i]) return a.box[i] < b.box[i];
      if (a.cuts != b.cuts) return a.cuts < b.cuts;
      return a.box[d] < b.box[d];
    };
    std::sort(pieces.begin(), pieces.end(), in_order);
    size_t kept = 0;
    for (size_t i = 1; i < pieces.size(); ++i) {
      Piece& last = pieces[kept];
      Piece& next = pieces[i];
      const Range own = last.box[d], other = next.box[d];
      bool same = last.cuts == next.cuts && std::none_of(last.cuts.begin(), last.cuts.end(), [&](const HalfSpace& cut) {
                    return coefficient_of(cut, int(d)) != 0;
                  });
      for (size_t e = 0; same && e < last.box.size(); ++e) same = e == d || last.box[e] == next.box[e];
      const bool dense = (own.step == 1 || own.count() == 1) && (other.step == 1 || other.count() == 1);
      if (same && dense && other.lo <= own.hi + 1)
        last.box[d] = {own.lo, std::max(own.hi, other.hi), 1};
      else if (++kept != i)
        pieces[kept] = std::move(next);
    }
    pieces.resize(kept + 1);
  }
  return pieces;
}

// False if points were dropped.
bool add_disjoint(std::vector<Piece>& pieces, Piece piece, int& left_in_all) {
  bool whole = true;
  std::vector<Piece> pending{std::move(piece)};
  // What takes longer to split is dropped.
  for (int left = 256; !pending.empty() && left > 0 && left_in_all > 0; --left, --left_in_all) {
    Piece next = std::move(pending.back());
    pending.pop_back();
    if (next.bounds_empty()) continue;
    const auto met =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& known) { return !disjoint(next, known); });
    if (met == pieces.end()) {
      if (pieces.size() < (next.is_box() ? max_pieces : max_cut_pieces))
        pieces.push_back(std::move(next));
      else
        whole = false;
    } else if (!contained(next, *met)) {
      auto parts = minus(next, *met);
      whole = whole && parts;
      if (!parts) continue;
      for (Piece& part : *parts) pending.push_back(std::move(part));
    }
  }
  return whole && pending.empty();
}

// The least that the left side of a cut is in a box.
int64_t least_value(const HalfSpace& cut, const std::vector<Range>& box) {
  int64_t least = cut.constant;
  for (const auto& [v, c] : cut.terms) least += c * (c > 0 ? box[size_t(v)].lo : box[size_t(v)].hi);
  return least;
}

constexpr int64_t greatest_factor = 1 << 14;  // of a variable that goes exactly: no product overflows

}  // namespace

bool eliminate(Piece& piece, int variable) {
  const Range range = piece.box[size_t(variable)];
  std::vector<HalfSpace> kept, lower, upper;
  for (HalfSpace& cut : piece.cuts) {
    const int64_t coefficient = coefficient_of(cut, variable);
    (coefficient == 0 ? kept : coefficient > 0 ? lower : upper).push_back(std::move(cut));
  }
  if (lower.empty() && upper.empty()) {
    piece.cuts = std::move(kept);
    return true;
  }
  Piece result{piece.box, std::move(kept), piece.empty};
  // a v + L >= 0 and b v <= U have a whole v between them if b L + a U >= 0 where a or b is 1, and else for sure if
  // that is at least (a - 1) (b - 1), wherever they are.
  std::vector<HalfSpace> between;
  bool one_value = range.step != 1 || lower.size() * upper.size() > 16;
  for (size_t i = 0; i < lower.size() && !one_value; ++i)
    for (const HalfSpace& high : upper) {
      const int64_t a = coefficient_of(lower[i], variable), b = -coefficient_of(high, variable);
      HalfSpace both = combined(with_value(lower[i], variable, 0), b, with_value(high, variable, 0), a);
      one_value |=
          std::max(a, b) > greatest_factor || (a > 1 && b > 1 && least_value(both, piece.box) < (a - 1) * (b - 1));
      between.push_back(std::move(both));
    }
  if (one_value) {
    // one value of the variable: a subset of the projection
    const int64_t at = lower.size() >= upper.size() ? range.hi : range.lo;
    for (const auto* list : {&lower, &upper})
      for (const HalfSpace& cut : *list) result.cut(with_value(cut, variable, at));
  } else {
    // with the box on both sides
    for (const HalfSpace& cut : lower) result.cut(with_value(cut, variable, range.hi));
    for (const HalfSpace& cut : upper) result.cut(with_value(cut, variable, range.lo));
    for (HalfSpace& cut : between) result.cut(std::move(cut));
  }
  piece = std::move(result);
  // Where cuts are on one side only, the value that they allow is the best one.
  return !one_value || lower.empty() || upper.empty();
}

int64_t coefficient_of(const HalfSpace& cut, int variable) {
  for (const auto& [v, c] : cut.terms)
    if (v == variable) return c;
  return 0;
}

HalfSpace half_space(const Form& form) {
  HalfSpace result{form.constant, {}};
  for (const auto& [atom, coefficient] : form.terms) result.terms.emplace_back(int(atom), coefficient);
  return result;
}

HalfSpace combined(const HalfSpace& a, int64_t times_a, const HalfSpace& b, int64_t times_b) {
  HalfSpace result{times_a * a.constant + times_b * b.constant, {}};
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const bool from_a = j == b.terms.size() || (i < a.terms.size() && a.terms[i].first <= b.terms[j].first);
    const bool from_b = i == a.terms.size() || (j < b.terms.size() && b.terms[j].first <= a.terms[i].first);
    const int variable = from_a ? a.terms[i].first : b.terms[j].first;
    const int64_t coefficient = (from_a ? times_a * a.terms[i].second : 0) + (from_b ? times_b * b.terms[j].second : 0);
    if (coefficient != 0) result.terms.emplace_back(variable, coefficient);
    i += from_a;
    j += from_b;
  }
  return result;
}

HalfSpace add_scaled(const HalfSpace& a, const HalfSpace& b, int64_t factor) { return combined(a, 1, b, factor); }

HalfSpace difference(const HalfSpace& a, const HalfSpace& b, int64_t constant) {
  HalfSpace result = add_scaled(a, b, -1);
  result.constant += constant;
  return result;
}

bool contained(const Piece& a, const Piece& b) {
  for (size_t i = 0; i < a.box.size(); ++i)
    if (!inside(a.box[i], b.box[i])) return false;
  return std::all_of(b.cuts.begin(), b.cuts.end(), [&](const HalfSpace& cut) {
    return std::find(a.cuts.begin(), a.cuts.end(), cut) != a.cuts.end();
  });
}

Piece Piece::whole(const std::vector<int64_t>& extents) {
  Piece piece;
  for (const int64_t extent : extents) piece.box.push_back({0, extent - 1, 1});
  return piece;
}

bool Piece::bounds_empty() const {
  return empty || std::any_of(box.begin(), box.end(), [](const Range& range) { return range.hi < range.lo; });
}

void Piece::cut(HalfSpace half_space) {
  for (auto& [v, c] : half_space.terms)  // variables of one value are numbers
    if (const Range& range = box[size_t(v)]; range.count() == 1) {
      half_space.constant += c * range.lo;
      c = 0;
    }
  erase_if(half_space.terms, [](const auto& term) { return term.second == 0; });
  int64_t least = half_space.constant, most = half_space.constant;
  for (const auto& [v, c] : half_space.terms) {
    least += c * (c > 0 ? box[size_t(v)].lo : box[size_t(v)].hi);
    most += c * (c > 0 ? box[size_t(v)].hi : box[size_t(v)].lo);
  }
  if (empty || most < 0) {
    empty = true;
    return;
  }
  if (least >= 0) return;  // always true
  if (half_space.terms.size() == 1) {
    const auto [v, c] = half_space.terms[0];
    Range& range = box[size_t(v)];
    range = c > 0 ? clipped(range, ceil_div(-half_space.constant, c), range.hi)
                  : clipped(range, range.lo, floor_div(half_space.constant, -c));
    return;
  }
  int64_t common = 0;
  for (const auto& [v, c] : half_space.terms) common = std::gcd(common, c);
  if (common > 1) {
    for (auto& [v, c] : half_space.terms) c /= common;
    half_space.constant = floor_div(half_space.constant, common);
  }
  if (std::find(cuts.begin(), cuts.end(), half_space) == cuts.end()) cuts.push_back(std::move(half_space));
}

void Piece::fix_variable(size_t variable) {
  const int64_t at = box[variable].lo;
  box[variable].hi = at;
  for (HalfSpace half_space : std::exchange(cuts, {})) {
    for (auto& [v, c] : half_space.terms)
      if (v == int(variable)) {
        half_space.constant += c * at;
        c = 0;
      }
    cut(std::move(half_space));
  }
}

Piece project(const Piece& piece, const std::vector<int>& kept, bool* exact) {
  Piece work = piece;
  std::vector<int> place(piece.box.size(), -1);
  for (size_t i = 0; i < kept.size(); ++i) place[size_t(kept[i])] = int(i);
  for (size_t v = 0; v < piece.box.size(); ++v)
    if (place[v] < 0 && !eliminate(work, int(v)) && exact != nullptr) *exact = false;
  Piece result;
  for (const int v : kept) result.box.push_back(work.box[size_t(v)]);
  result.empty = work.bounds_empty();
  for (HalfSpace& cut : work.cuts) {
    for (auto& term : cut.terms) term.first = place[size_t(term.first)];
    std::sort(cut.terms.begin(), cut.terms.end());
    result.cut(std::move(cut));
  }
  return result;
}

void PointSet::add(Piece piece) {
  constexpr size_t most_added = 2048;
  if (piece.bounds_empty()) return;
  overflows_ |= added_.size() >= most_added;
  if (added_.size() >= most_added) return;
  if (added_.size() <= few_pieces &&
      std::any_of(added_.begin(), added_.end(), [&](const Piece& known) { return contained(piece, known); }))
    return;
  added_.push_back(std::move(piece));
  current_ = false;
}

bool PointSet::contains(const PointSet& other) const {
  const auto& own = pieces();
  return std::all_of(other.pieces().begin(), other.pieces().end(), [&](const Piece& piece) {
    return std::any_of(own.begin(), own.end(), [&](const Piece& known) { return contained(piece, known); });
  });
}

// The result depends on the set of pieces alone, not on their order: they are sorted, and the largest come first.
const std::vector<Piece>& PointSet::pieces() const {
  if (current_) return pieces_;
  current_ = true;
  dropped_ = overflows_;
  if (added_.size() == 1) return pieces_ = added_;
  std::vector<std::pair<double, Piece>> sorted;
  for (Piece& piece : merged(added_)) sorted.emplace_back(-count(piece), std::move(piece));
  std::sort(sorted.begin(), sorted.end());
  pieces_.clear();
  int left = 1 << 14;
  for (auto& [size, piece] : sorted) {
    if (sorted.size() > 1)
      dropped_ |= !add_disjoint(pieces_, std::move(piece), left);
    else
      pieces_.push_back(std::move(piece));
  }
  return pieces_;
}

namespace {

HalfSpace opposite(HalfSpace cut) {
  cut.constant = -cut.constant;
  for (auto& term : cut.terms) term.second = -term.second;
  return cut;
}

}  // namespace

bool has_equation(const Piece& piece, const HalfSpace& cut) {
  const auto has = [&](const HalfSpace& one) {
    return std::find(piece.cuts.begin(), piece.cuts.end(), one) != piece.cuts.end();
  };
  return has(cut) && has(opposite(cut));
}

void solve(Piece& piece, const HalfSpace& equation, int variable) {
  const int64_t unit = coefficient_of(equation, variable);
  const Range range = std::exchange(piece.box[size_t(variable)], {0, 0, 1});
  std::vector<HalfSpace> cuts = std::exchange(piece.cuts, {});
  std::erase(cuts, equation);
  std::erase(cuts, opposite(equation));
  cuts.push_back({-range.lo, {{variable, 1}}});
  cuts.push_back({range.hi, {{variable, -1}}});
  for (const HalfSpace& cut : cuts) piece.cut(add_scaled(cut, equation, -coefficient_of(cut, variable) * unit));
}

namespace {

// Whatever the others are, the equation gives the variable one of the values that its steps allow.
bool keeps_steps(const Piece& piece, const HalfSpace& equation, int variable) {
  const Range& range = piece.box[size_t(variable)];
  int64_t first = equation.constant + coefficient_of(equation, variable) * range.lo;
  for (const auto& [v, c] : equation.terms) {
    if (v == variable) continue;
    first += c * piece.box[size_t(v)].lo;
    if (c * piece.box[size_t(v)].step % range.step != 0) return false;
  }
  return first % range.step == 0;
}

// Variables that the same equation tells in all pieces are left out: as many points, and perhaps boxes. Whether there
// are any.
bool solve_common_equations(std::vector<Piece>& pieces) {
  bool any = false;
  for (const HalfSpace& equation : std::vector<HalfSpace>(pieces[0].cuts)) {
    if (!std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return has_equation(piece, equation); }))
      continue;
    for (const auto& [variable, coefficient] : equation.terms) {
      const bool solvable = std::abs(coefficient) == 1 &&
                            std::all_of(pieces.begin(), pieces.end(), [&, v = variable](const Piece& piece) {
                              return keeps_steps(piece, equation, v);
                            });
      if (!solvable) continue;
      for (Piece& piece : pieces) solve(piece, equation, variable);
      any = true;
      break;
    }
  }
  return any;
}

}  // namespace

double PointSet::points(Counting& counting) const {
  const auto points_of = [&](const std::vector<Piece>& disjoint_pieces) {
    double total = 0;
    for (const Piece& piece : disjoint_pieces) total += count(piece, counting);
    return total;
  };
  std::vector<Piece> own = added_;
  if (own.size() < 2 || !solve_common_equations(own)) return points_of(pieces());
  PointSet solved;
  for (Piece& piece : own) solved.add(std::move(piece));
  return points_of(solved.pieces());
}

}  // namespace lightline::index
