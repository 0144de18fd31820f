#include "index/compact.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lightline::index {

namespace {

// Also where a quotient or a remainder may have it.
bool has_variable(const Form& form, AtomId variable) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return term.first == variable || !is_variable(term.first); });
}

// Two ranges as one, the first of which begins before the other.
std::optional<Range> joined(const Range& own, const Range& other) {
  if (own.step == 1 && other.step == 1 && other.lo <= own.hi + 1) return Range{own.lo, std::max(own.hi, other.hi), 1};
  // Every second one of each: all of them
  if (own.step == other.step && own.step % 2 == 0 && other.lo - own.lo == own.step / 2 &&
      (own.count() == other.count() || own.count() == other.count() + 1))
    return Range{own.lo, std::max(own.hi, other.hi), own.step / 2};
  // The next one of as many, or the first two
  const int64_t gap = other.lo - own.hi;
  if (gap > 1 && (own.count() == 1 || own.step == gap) && (other.count() == 1 || other.step == gap))
    return Range{own.lo, other.hi, gap};
  return std::nullopt;
}

// Numbers that many ranges have between them: as those that follow each other, and as what is left.
std::vector<Range> by_runs(const std::vector<Range>& ranges) {
  constexpr int64_t most_numbers = 1 << 16, least_in_a_row = 3;
  int64_t lo = INT64_MAX, hi = INT64_MIN, gap = 0;
  for (const Range& range : ranges) {
    lo = std::min(lo, range.lo);
    hi = std::max(hi, range.hi);
    gap = std::gcd(gap, std::gcd(range.step, range.lo - ranges[0].lo));
  }
  gap = std::max<int64_t>(gap, 1);
  const int64_t size = (hi - lo) / gap + 1;
  if (size > most_numbers) return ranges;
  std::vector<bool> has(size_t(size), false), in_a_row(size_t(size), false);
  for (const Range& range : ranges)
    for (int64_t number = range.lo; number <= range.hi; number += range.step) has[size_t((number - lo) / gap)] = true;
  std::vector<Range> runs;
  for (int64_t i = 0; i < size; ++i) {
    int64_t end = i;
    while (end < size && has[size_t(end)]) ++end;
    if (end - i < least_in_a_row) continue;
    runs.push_back({lo + i * gap, lo + (end - 1) * gap, gap});
    std::fill(in_a_row.begin() + i, in_a_row.begin() + end, true);
    i = end;
  }
  for (const Range& range : ranges) {
    bool inside = true;
    for (int64_t number = range.lo; inside && number <= range.hi; number += range.step)
      inside = in_a_row[size_t((number - lo) / gap)];
    if (!inside) runs.push_back(range);
    if (runs.size() >= ranges.size()) return ranges;
  }
  return runs;
}

std::vector<Range> united(std::vector<Range> ranges) {
  size_t kept = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (const auto both = joined(ranges[kept], ranges[i]))
      ranges[kept] = *both;
    else
      ranges[++kept] = ranges[i];
  }
  ranges.resize(kept + 1);
  return ranges.size() > 2 ? by_runs(ranges) : ranges;
}

}  // namespace

void compact(std::vector<Region>& list) {
  if (list.size() < 2) return;
  const size_t rank = list[0].box.size();
  for (size_t d = 0; d < rank && list.size() > 1; ++d) {
    std::stable_sort(list.begin(), list.end(), [&](const Region& a, const Region& b) {
      for (size_t i = 0; i < rank; ++i)
        if (i != d && a.box[i] != b.box[i]) return a.box[i] < b.box[i];
      if (a.cuts != b.cuts) return a.cuts < b.cuts;
      if (a.samples != b.samples) return a.samples < b.samples;
      return a.box[d] < b.box[d];
    });
    list.erase(std::unique(list.begin(), list.end()), list.end());
    const auto differ_along_only = [&](const Region& a, const Region& b) {
      for (size_t i = 0; i < rank; ++i)
        if (i != d && a.box[i] != b.box[i]) return false;
      return a.cuts == b.cuts && a.samples == b.samples &&
             std::none_of(a.cuts.begin(), a.cuts.end(),
                          [&](const Form& cut) { return cut.terms.empty() || has_variable(cut, AtomId(d)); });
    };
    std::vector<Region> kept;
    for (size_t first = 0, last = 0; first < list.size(); first = last) {
      std::vector<Range> ranges;
      for (last = first; last < list.size() && (last == first || differ_along_only(list[first], list[last])); ++last)
        ranges.push_back(list[last].box[d]);
      if (last - first == 1) {
        kept.push_back(std::move(list[first]));
        continue;
      }
      for (const Range& range : united(std::move(ranges))) {
        kept.push_back(list[first]);
        kept.back().box[d] = range;
        kept.back().points = -1;
      }
    }
    list = std::move(kept);
  }
}

}  // namespace lightline::index
