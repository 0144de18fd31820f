// How many points a piece has.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/maths.h"
#include "index/piece.h"

namespace lightline::index {
namespace {

constexpr double max_lines = 1 << 20;

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

  double run(Counting& counting) {
    double lines = 1;
    for (size_t i = 0; i + 1 < variables_.size(); ++i) lines *= double(piece_.box[size_t(variables_[i])].count());
    if (lines > std::min(max_lines, counting.lines)) {
      if (const auto apart = one_apart(counting)) return *apart;
      counting.exact = false;
      return inner_box();
    }
    counting.lines -= lines;
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
  std::optional<double> one_apart(Counting& counting) const {
    int best = -1;
    double least = std::min(4 * max_lines, counting.lines);
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
      total += index::count(one, counting);
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
        for (const auto& term : first.terms) {
          const int v = term.first;
          const int64_t c = term.second;
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

double count(const Piece& piece) {
  Counting counting;
  return count(piece, counting);
}

double count(const Piece& whole, Counting& counting) {
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
    total *= PointCounter(piece, std::move(variables), std::move(cuts)).run(counting);
  }
  return total;
}

}  // namespace lightline::index
