#include "demand/region_lists.h"

#include <algorithm>

namespace lightline::demand {

constexpr size_t most_regions = 256;

namespace {

// Also where a quotient or a remainder may have it.
bool has_variable(const Form& form, index::AtomId variable) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return term.first == variable || !index::is_variable(term.first); });
}

}  // namespace

bool contains(const Region& a, const Region& b) {
  if (!a.cuts.empty() || a.samples != b.samples) return a == b;
  for (size_t d = 0; d < a.box.size(); ++d) {
    const Range &x = a.box[d], &y = b.box[d];
    if (y.lo < x.lo || y.hi > x.hi) return false;
    if (x.step != 1 && (y.step % x.step != 0 || (y.lo - x.lo) % x.step != 0)) return false;
  }
  return true;
}

void compact(std::vector<Region>& list) {
  if (list.size() < 2) return;
  const size_t rank = list[0].box.size();
  for (size_t d = 0; d < rank && list.size() > 1; ++d) {
    std::stable_sort(list.begin(), list.end(), [&](const Region& a, const Region& b) {
      for (size_t i = 0; i < rank; ++i)
        if (i != d && a.box[i] != b.box[i]) return a.box[i] < b.box[i];
      if (a.cuts != b.cuts) return a.cuts < b.cuts;
      if (a.samples != b.samples) return a.samples < b.samples;
      return a.box[d].lo < b.box[d].lo;
    });
    size_t kept = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      Region& last = list[kept];
      Region& next = list[i];
      bool same = last.box[d].step == 1 && next.box[d].step == 1 && next.box[d].lo <= last.box[d].hi + 1 &&
                  last.cuts == next.cuts && last.samples == next.samples;
      for (const Form& cut : last.cuts) same = same && cut.terms.size() > 0 && !has_variable(cut, index::AtomId(d));
      for (size_t e = 0; same && e < rank; ++e) same = e == d || last.box[e] == next.box[e];
      // Every second one of each: all of them
      const Range own = last.box[d], other = next.box[d];
      bool boxes = !same && last.cuts.empty() && next.cuts.empty() && last.samples == next.samples;
      for (size_t e = 0; boxes && e < rank; ++e) boxes = e == d || last.box[e] == next.box[e];
      const bool woven = boxes && own.step == other.step && own.step % 2 == 0 && other.lo - own.lo == own.step / 2 &&
                         (own.count() == other.count() || own.count() == other.count() + 1);
      // The next one of as many, or the first two
      const int64_t gap = other.lo - own.hi;
      const bool follows = boxes && !woven && gap > 1 && (own.count() == 1 || own.step == gap) &&
                           (other.count() == 1 || other.step == gap);
      if (same)
        last.box[d].hi = std::max(last.box[d].hi, next.box[d].hi);
      else if (woven)
        last.box[d] = {own.lo, std::max(own.hi, other.hi), own.step / 2};
      else if (follows)
        last.box[d] = {own.lo, other.hi, gap};
      else if (++kept != i)
        list[kept] = std::move(next);
    }
    list.resize(kept + 1);
  }
}

Region meet(const Region& needed, const Region& where, uint32_t first, const Atoms& atoms) {
  Region result = where;
  for (size_t c = 0; c < needed.box.size(); ++c) {
    Range& range = result.box[first + c];
    const bool sampled = std::any_of(needed.samples.begin(), needed.samples.end(),
                                     [&](const index::Sample& sample) { return sample.coordinate == c; });
    if (sampled || range == index::anything) {
      range = needed.box[c];
      continue;
    }
    Region own, other;
    own.box = {range};
    other.box = {needed.box[c]};
    const Region both = index::intersection(own, other, atoms);
    result.empty |= both.empty;
    range = both.box[0];
  }
  return result;
}

Inserted insert(std::vector<Region>& list, Region region) {
  for (const Region& known : list)
    if (contains(known, region)) return Inserted::known;
  if (region.cuts.empty() && region.samples.empty())
    std::erase_if(list, [&](const Region& known) { return contains(region, known); });
  if (list.size() >= most_regions) return Inserted::too_many;
  list.push_back(std::move(region));
  if (list.size() % 32 == 0)
    for (size_t before = list.size() + 1; before > list.size();) {
      before = list.size();
      compact(list);
    }
  return Inserted::added;
}

}  // namespace lightline::demand
