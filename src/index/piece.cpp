#include "index/piece.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/maths.h"

namespace lightline::index {
namespace {

constexpr size_t max_pieces = 192;
constexpr size_t max_cut_pieces = 24;
constexpr double max_lines = 1 << 20;

// Keeps the points of a range between two bounds.
Range clipped(const Range& range, int64_t low, int64_t high) {
  Range result = range;
  if (low > range.lo) result.lo = range.lo + ceil_div(low - range.lo, range.step) * range.step;
  if (high < range.hi) result.hi = high;
  if (result.hi >= result.lo) result.hi = result.lo + (result.hi - result.lo) / result.step * result.step;
  return result;
}

// Points of a component: iterates over all variables but the last, which is counted in closed form.
class PointCounter {
 public:
  PointCounter(const Piece& piece, std::vector<int> variables, std::vector<const HalfSpace*> cuts)
      : piece_(piece), variables_(std::move(variables)), cuts_(std::move(cuts)) {
    // the longest variable last
    std::stable_sort(variables_.begin(), variables_.end(),
                     [&](int a, int b) { return piece_.box[size_t(a)].count() < piece_.box[size_t(b)].count(); });
    values_.resize(piece_.box.size(), 0);
  }

  double run() {
    double lines = 1;
    for (size_t i = 0; i + 1 < variables_.size(); ++i) lines *= double(piece_.box[size_t(variables_[i])].count());
    if (lines > max_lines) {
      const auto apart = one_apart();
      return apart ? *apart : inner_box();
    }
    return count_from(0);
  }

 private:
  double count_from(size_t depth) {
    const int variable = variables_[depth];
    const Range& range = piece_.box[size_t(variable)];
    if (depth + 1 == variables_.size()) return last(variable, range);
    double total = 0;
    for (int64_t v = range.lo; v <= range.hi; v += range.step) {
      values_[size_t(variable)] = v;
      total += count_from(depth + 1);
    }
    return total;
  }
  double last(int variable, Range range) const {
    int64_t low = range.lo, high = range.hi;
    for (const HalfSpace* cut : cuts_) {
      int64_t rest = cut->constant, coefficient = 0;
      for (const auto& [term, c] : cut->terms) {
        if (term == variable)
          coefficient = c;
        else
          rest += c * values_[size_t(term)];
      }
      if (coefficient == 0) {
        if (rest < 0) return 0;
      } else if (coefficient > 0) {
        low = std::max(low, ceil_div(-rest, coefficient));
      } else {
        high = std::min(high, floor_div(rest, -coefficient));
      }
    }
    return double(clipped(range, low, high).count());
  }
  // A variable of which each value leaves the others in parts that have no cut in common: those are counted by
  // themselves.
  std::optional<double> one_apart() const {
    int best = -1;
    double least = 4 * max_lines;
    for (const int v : variables_)
      if (const double lines = lines_without(v) * double(piece_.box[size_t(v)].count()); lines < least) {
        best = v;
        least = lines;
      }
    if (best < 0) return std::nullopt;
    Piece rest{piece_.box, {}};
    for (size_t v = 0; v < rest.box.size(); ++v)
      if (std::find(variables_.begin(), variables_.end(), int(v)) == variables_.end()) rest.box[v] = {0, 0, 1};
    double total = 0;
    const Range range = piece_.box[size_t(best)];
    for (int64_t at = range.lo; at <= range.hi; at += range.step) {
      Piece one = rest;
      one.box[size_t(best)] = {at, at, 1};
      for (const HalfSpace* cut : cuts_) {
        HalfSpace fixed{cut->constant, {}};
        for (const auto& [v, c] : cut->terms) {
          if (v == best)
            fixed.constant += c * at;
          else
            fixed.terms.emplace_back(v, c);
        }
        one.cut(std::move(fixed));
      }
      total += index::count(one);
    }
    return total;
  }
  double lines_without(int variable) const {
    std::vector<std::vector<int>> parts;
    for (const int v : variables_)
      if (v != variable) parts.push_back({v});
    for (const HalfSpace* cut : cuts_) {
      std::vector<int> joined;
      std::vector<std::vector<int>> others;
      for (std::vector<int>& part : parts) {
        const bool has = std::any_of(cut->terms.begin(), cut->terms.end(), [&](const auto& term) {
          return term.first != variable && std::find(part.begin(), part.end(), term.first) != part.end();
        });
        if (has)
          joined.insert(joined.end(), part.begin(), part.end());
        else
          others.push_back(std::move(part));
      }
      if (!joined.empty()) others.push_back(std::move(joined));
      parts = std::move(others);
    }
    double lines = 0;
    for (const std::vector<int>& part : parts) {
      double own = 1, largest = 1;
      for (const int v : part) {
        own *= double(piece_.box[size_t(v)].count());
        largest = std::max(largest, double(piece_.box[size_t(v)].count()));
      }
      lines += own / largest;
    }
    return lines;
  }
  // Too many lines to walk: the points of the box whose corners satisfy every cut, found by halving the longest
  // variable until the cuts hold.
  double inner_box() const {
    Piece inside{piece_.box, {}};
    for (int round = 0; round < 200; ++round) {
      const HalfSpace* broken = nullptr;
      for (const HalfSpace* cut : cuts_)
        if (worst(*cut, inside) < 0) broken = cut;
      if (broken == nullptr) {
        double points = 1;
        for (const int v : variables_) points *= double(inside.box[size_t(v)].count());
        return points;
      }
      int longest = broken->terms[0].first;
      int64_t coefficient = broken->terms[0].second;
      for (const auto& [v, c] : broken->terms)
        if (inside.box[size_t(v)].count() > inside.box[size_t(longest)].count()) {
          longest = v;
          coefficient = c;
        }
      Range& range = inside.box[size_t(longest)];
      const int64_t middle = range.lo + (range.hi - range.lo) / 2;
      if (range.count() <= 1) return 0;
      range = coefficient > 0 ? clipped(range, middle + 1, range.hi) : clipped(range, range.lo, middle);
    }
    return 0;
  }
  static int64_t worst(const HalfSpace& cut, const Piece& piece) {
    int64_t value = cut.constant;
    for (const auto& [v, c] : cut.terms) value += c * (c > 0 ? piece.box[size_t(v)].lo : piece.box[size_t(v)].hi);
    return value;
  }

  const Piece& piece_;
  std::vector<int> variables_;
  std::vector<const HalfSpace*> cuts_;
  std::vector<int64_t> values_;
};

int64_t coefficient_of(const HalfSpace& cut, int variable) {
  for (const auto& [v, c] : cut.terms)
    if (v == variable) return c;
  return 0;
}

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

HalfSpace add_scaled(HalfSpace a, const HalfSpace& b, int64_t factor) {
  a.constant += factor * b.constant;
  for (const auto& [v, c] : b.terms) {
    const auto found = std::find_if(a.terms.begin(), a.terms.end(), [v = v](const auto& t) { return t.first == v; });
    if (found == a.terms.end())
      a.terms.emplace_back(v, factor * c);
    else
      found->second += factor * c;
  }
  std::erase_if(a.terms, [](const auto& t) { return t.second == 0; });
  std::sort(a.terms.begin(), a.terms.end());
  return a;
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

bool disjoint(const Piece& a, const Piece& b) {
  for (size_t i = 0; i < a.box.size(); ++i)
    if (a.box[i].hi < b.box[i].lo || b.box[i].hi < a.box[i].lo) return true;
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
      bool same = last.cuts.empty() && next.cuts.empty();
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

void add_disjoint(std::vector<Piece>& pieces, Piece piece) {
  std::vector<Piece> pending{std::move(piece)};
  for (int left = 256; !pending.empty() && left > 0; --left) {  // what takes longer to split is dropped
    Piece next = std::move(pending.back());
    pending.pop_back();
    if (next.bounds_empty()) continue;
    const auto met =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& known) { return !disjoint(next, known); });
    if (met == pieces.end()) {
      if (pieces.size() < (next.is_box() ? max_pieces : max_cut_pieces)) pieces.push_back(std::move(next));
    } else if (auto parts = contained(next, *met) ? std::nullopt : minus(next, *met)) {
      for (Piece& part : *parts) pending.push_back(std::move(part));
    }
  }
}

}  // namespace

void eliminate(Piece& piece, int variable) {
  const Range range = piece.box[size_t(variable)];
  std::vector<HalfSpace> kept, lower, upper;
  bool unit = range.step == 1;
  for (HalfSpace& cut : piece.cuts) {
    const int64_t coefficient = coefficient_of(cut, variable);
    if (coefficient != 0) unit &= coefficient == 1 || coefficient == -1;
    (coefficient == 0 ? kept : coefficient > 0 ? lower : upper).push_back(std::move(cut));
  }
  if (lower.empty() && upper.empty()) {
    piece.cuts = std::move(kept);
    return;
  }
  Piece result{piece.box, std::move(kept), piece.empty};
  if (!unit || lower.size() * upper.size() > 16) {
    // one value of the variable: a subset of the projection
    const int64_t at = lower.size() >= upper.size() ? range.hi : range.lo;
    for (const auto* list : {&lower, &upper})
      for (const HalfSpace& cut : *list) result.cut(with_value(cut, variable, at));
  } else {
    // v >= -(rest of lower) and v <= (rest of upper), with the box on both sides
    for (const HalfSpace& cut : lower) result.cut(with_value(cut, variable, range.hi));
    for (const HalfSpace& cut : upper) result.cut(with_value(cut, variable, range.lo));
    for (const HalfSpace& low : lower)
      for (const HalfSpace& high : upper)
        result.cut(add_scaled(with_value(low, variable, 0), with_value(high, variable, 0), 1));
  }
  piece = std::move(result);
}

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
  std::erase_if(half_space.terms, [](const auto& term) { return term.second == 0; });
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

namespace {

// A variable that an equation gives takes no part in counting: its bounds become cuts of the others.
std::optional<Piece> without_equations(const Piece& piece) {
  std::optional<Piece> result;
  for (bool more = true; more;) {
    more = false;
    const Piece& now = result ? *result : piece;
    for (size_t a = 0; a < now.cuts.size() && !more; ++a)
      for (size_t b = a + 1; b < now.cuts.size() && !more; ++b) {
        const HalfSpace &first = now.cuts[a], &second = now.cuts[b];
        if (first.constant != -second.constant || first.terms.size() != second.terms.size()) continue;
        bool opposite = true;
        for (size_t t = 0; t < first.terms.size() && opposite; ++t)
          opposite = first.terms[t].first == second.terms[t].first && first.terms[t].second == -second.terms[t].second;
        if (!opposite) continue;
        for (const auto& [v, c] : first.terms) {
          const Range range = now.box[size_t(v)];
          if ((c != 1 && c != -1) || range.step != 1) continue;
          // c v + rest = 0
          const HalfSpace equation = first;
          Piece next{now.box, {}, now.empty};
          next.box[size_t(v)] = {range.lo, range.lo, 1};
          const auto replaced = [&](const HalfSpace& cut) {
            const int64_t own = coefficient_of(cut, v);
            return own == 0 ? cut : add_scaled(cut, equation, c == 1 ? -own : own);
          };
          for (size_t i = 0; i < now.cuts.size(); ++i)
            if (i != a && i != b) next.cut(replaced(now.cuts[i]));
          next.cut(replaced({-range.lo, {{v, 1}}}));
          next.cut(replaced({range.hi, {{v, -1}}}));
          result = std::move(next);
          more = true;
          break;
        }
      }
  }
  return result;
}

}  // namespace

double count(const Piece& whole) {
  if (whole.bounds_empty()) return 0;
  const std::optional<Piece> shorter = whole.cuts.size() > 1 ? without_equations(whole) : std::nullopt;
  const Piece& piece = shorter ? *shorter : whole;
  if (piece.bounds_empty()) return 0;
  // Variables that share a cut are counted together.
  std::vector<int> component(piece.box.size());
  for (size_t i = 0; i < component.size(); ++i) component[i] = int(i);
  const auto find = [&](int v) {
    while (component[size_t(v)] != v) v = component[size_t(v)];
    return v;
  };
  for (const HalfSpace& cut : piece.cuts)
    for (size_t i = 1; i < cut.terms.size(); ++i)
      component[size_t(find(cut.terms[i].first))] = find(cut.terms[0].first);
  double total = 1;
  for (size_t root = 0; root < piece.box.size(); ++root) {
    if (find(int(root)) != int(root)) continue;
    std::vector<int> variables;
    for (size_t v = 0; v < piece.box.size(); ++v)
      if (find(int(v)) == int(root)) variables.push_back(int(v));
    if (variables.size() == 1 && std::none_of(piece.cuts.begin(), piece.cuts.end(),
                                              [&](const HalfSpace& cut) { return cut.terms[0].first == int(root); })) {
      total *= double(piece.box[root].count());
      continue;
    }
    std::vector<const HalfSpace*> cuts;
    for (const HalfSpace& cut : piece.cuts)
      if (find(cut.terms[0].first) == int(root)) cuts.push_back(&cut);
    total *= PointCounter(piece, std::move(variables), std::move(cuts)).run();
  }
  return total;
}

Piece project(const Piece& piece, const std::vector<int>& kept) {
  Piece work = piece;
  std::vector<int> place(piece.box.size(), -1);
  for (size_t i = 0; i < kept.size(); ++i) place[size_t(kept[i])] = int(i);
  for (size_t v = 0; v < piece.box.size(); ++v)
    if (place[v] < 0) eliminate(work, int(v));
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
  if (piece.bounds_empty()) return;
  for (const Piece& known : added_)
    if (added_.size() <= max_cut_pieces && contained(piece, known)) return;
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
  if (added_.size() == 1) return pieces_ = added_;
  std::vector<std::pair<double, Piece>> sorted;
  for (Piece& piece : merged(added_)) sorted.emplace_back(-count(piece), std::move(piece));
  std::sort(sorted.begin(), sorted.end());
  pieces_.clear();
  for (auto& [size, piece] : sorted) {
    if (sorted.size() > 1)
      add_disjoint(pieces_, std::move(piece));
    else
      pieces_.push_back(std::move(piece));
  }
  return pieces_;
}

double PointSet::points() const {
  double total = 0;
  for (const Piece& piece : pieces()) total += count(piece);
  return total;
}

}  // namespace lightline::index
