#include "demand/value_runs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/maths.h"

namespace lightline::demand {
namespace {

constexpr double max_enumerated = 1 << 14;
constexpr Range empty{0, -1, 1};

// Whether a cut is the form itself or its negative, up to the constant; gives the sign.
int parallel_to(const HalfSpace& cut, const HalfSpace& form) {
  if (cut.terms.size() != form.terms.size()) return 0;
  int sign = 0;
  for (size_t i = 0; i < cut.terms.size(); ++i) {
    if (cut.terms[i].first != form.terms[i].first || std::abs(cut.terms[i].second) != std::abs(form.terms[i].second))
      return 0;
    const int own = cut.terms[i].second == form.terms[i].second ? 1 : -1;
    if (sign != 0 && sign != own) return 0;
    sign = own;
  }
  return sign;
}

std::vector<int> variables_of(const HalfSpace& form) {
  std::vector<int> list;
  for (const auto& term : form.terms) list.push_back(term.first);
  return list;
}

Range within(Range range, int64_t extent) {
  if (range.lo < 0) range.lo += ceil_div(-range.lo, range.step) * range.step;
  range.hi = std::min(range.hi, extent - 1);
  if (range.hi >= range.lo) range.hi = range.lo + (range.hi - range.lo) / range.step * range.step;
  return range;
}

// The values of a form over a box, when each range fills the gaps of the next larger coefficient.
std::optional<Range> dense_values(const HalfSpace& form, const std::vector<Range>& box) {
  std::vector<std::pair<int64_t, int64_t>> terms;  // |step|, count
  int64_t low = form.constant;
  for (size_t i = 0; i < box.size(); ++i) {
    const int64_t c = form.terms[i].second;
    low += c * (c > 0 ? box[i].lo : box[i].hi);
    if (box[i].count() > 1) terms.emplace_back(std::abs(c * box[i].step), box[i].count());
  }
  if (terms.empty()) return Range{low, low, 1};
  std::sort(terms.begin(), terms.end());
  const int64_t step = terms[0].first;
  int64_t reach = 0;
  for (const auto& [c, n] : terms) {
    if (c % step != 0 || c > reach + step) return std::nullopt;
    reach += c * (n - 1);
  }
  return Range{low, low + reach, step};
}

Range longest_run(const std::vector<int64_t>& sorted) {
  Range best{0, -1, 1};
  for (size_t from = 0; from < sorted.size();) {
    size_t to = from;
    while (to + 1 < sorted.size() && sorted[to + 1] == sorted[to] + 1) ++to;
    if (sorted[to] - sorted[from] + 1 > best.count()) best = {sorted[from], sorted[to], 1};
    from = to + 1;
  }
  return best;
}

// The values while every variable but the longest stands at one value; nothing where the cuts forbid that.
std::optional<Range> run_along_longest(const HalfSpace& form, Piece points) {
  size_t longest = 0;
  for (size_t i = 0; i < points.box.size(); ++i)
    if (points.box[i].count() > points.box[longest].count()) longest = i;
  int64_t constant = form.constant;
  for (size_t i = 0; i < points.box.size(); ++i) {
    if (i == longest) continue;
    points.box[i].hi = points.box[i].lo;
    constant += form.terms[i].second * points.box[i].lo;
  }
  for (HalfSpace cut : std::exchange(points.cuts, {})) {
    for (auto& [v, c] : cut.terms)
      if (size_t(v) != longest) {
        cut.constant += c * points.box[size_t(v)].lo;
        c = 0;
      }
    points.cut(std::move(cut));
  }
  if (points.bounds_empty()) return std::nullopt;
  const Range r = points.box[longest];
  const int64_t c = form.terms[longest].second;
  const int64_t a = constant + c * r.lo, b = constant + c * r.hi;
  return Range{std::min(a, b), std::max(a, b), r.count() == 1 ? 1 : std::abs(c) * r.step};
}

}  // namespace

Range clamped(const Range& range, int64_t low, int64_t high, int64_t extent) {
  const auto moved = [&](int64_t value) { return std::min(high, std::max(low, value)); };
  if (range.hi < range.lo || range.step != 1) {
    const int64_t one = moved(range.lo);
    return within({one, one, 1}, extent);
  }
  return within({moved(range.lo), moved(range.hi), 1}, extent);
}

Range run_of_values(const HalfSpace& form, const Piece& points, int64_t extent) {
  Piece own = project(points, variables_of(form));
  if (own.bounds_empty()) return empty;
  HalfSpace local{form.constant, {}};
  for (size_t i = 0; i < form.terms.size(); ++i) local.terms.emplace_back(int(i), form.terms[i].second);
  // Cuts along the form itself only clip its values.
  int64_t low = 0, high = extent - 1;
  std::erase_if(own.cuts, [&](const HalfSpace& cut) {
    const int sign = parallel_to(cut, local);
    if (sign > 0) low = std::max(low, local.constant - cut.constant);
    if (sign < 0) high = std::min(high, cut.constant + local.constant);
    return sign != 0;
  });
  const auto clip = [&](Range range) {
    if (low > range.lo) range.lo += ceil_div(low - range.lo, range.step) * range.step;
    return within(range, high + 1);
  };
  if (own.cuts.empty())
    if (const auto dense = dense_values(local, own.box)) return clip(*dense);
  double size = 1;
  for (const Range& range : own.box) size *= double(range.count());
  if (size > max_enumerated) {
    const auto along = run_along_longest(local, std::move(own));
    return along ? clip(*along) : empty;
  }
  std::set<int64_t> seen;
  for_each_point(own, [&](const std::vector<int64_t>& at) {
    int64_t value = local.constant;
    for (size_t i = 0; i < at.size(); ++i) value += local.terms[i].second * at[i];
    if (value >= low && value <= high) seen.insert(value);
  });
  return longest_run({seen.begin(), seen.end()});
}

std::vector<Range> runs_of_values(const HalfSpace& form, const Piece& points, int64_t extent) {
  constexpr double max_runs = 160;
  const Range longest = run_of_values(form, points, extent);
  const Piece own = project(points, variables_of(form));
  if (form.terms.size() < 2 || !own.cuts.empty() || own.bounds_empty()) return {longest};
  // By coefficient: those that leave no gap make a run, the others say where runs start.
  std::vector<size_t> order(form.terms.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto step = [&](size_t i) { return std::abs(form.terms[i].second * own.box[i].step); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return step(a) < step(b); });
  HalfSpace starts{form.constant, {}};
  Piece outer;
  int64_t reach = 0;
  double runs = 1;
  bool gap = false;
  for (const size_t i : order) {
    const int64_t count = own.box[i].count(), c = form.terms[i].second;
    gap |= count > 1 && step(i) > reach + 1;
    if (!gap) {
      starts.constant += c * (c > 0 ? own.box[i].lo : own.box[i].hi);
      reach += step(i) * (count - 1);
      continue;
    }
    if (step(i) <= reach) return {longest};  // runs that overlap
    starts.terms.emplace_back(int(outer.box.size()), c);
    outer.box.push_back(own.box[i]);
    runs *= double(count);
    if (runs > max_runs) return {longest};
  }
  if (!gap || reach == 0) return {longest};
  std::vector<Range> list;
  for_each_point(outer, [&](const std::vector<int64_t>& at) {
    int64_t start = starts.constant;
    for (size_t i = 0; i < at.size(); ++i) start += starts.terms[i].second * at[i];
    if (const Range run = within({start, start + reach, 1}, extent); run.hi >= run.lo) list.push_back(run);
  });
  return list.empty() ? std::vector{longest} : list;
}

}  // namespace lightline::demand
