#include "demand/region_lists.h"

#include <algorithm>

#include "index/compact.h"

namespace lightline::demand {

constexpr size_t most_regions = 1024;

namespace {

// Every value of one is a value of the other.
bool contains(const Range& all, const Range& some) {
  if (some.lo < all.lo || some.hi > all.hi) return false;
  if (all.step == 1) return true;
  return (some.lo - all.lo) % all.step == 0 && (some.count() == 1 || some.step % all.step == 0);
}

}  // namespace

bool contains(const Region& a, const Region& b) {
  if (!a.cuts.empty() || a.samples != b.samples) return a == b;
  for (size_t d = 0; d < a.box.size(); ++d)
    if (!contains(a.box[d], b.box[d])) return false;
  return true;
}

bool lies_inside(const Region& one, const Region& all) {
  if (!one.samples.empty() || !all.samples.empty()) return one == all;
  for (size_t d = 0; d < one.box.size(); ++d)
    if (!contains(all.box[d], one.box[d])) return false;
  return std::all_of(all.cuts.begin(), all.cuts.end(), [&](const Form& cut) {
    return std::any_of(one.cuts.begin(), one.cuts.end(),
                       [&](const Form& own) { return own.terms == cut.terms && own.constant <= cut.constant; });
  });
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
      index::compact(list);
    }
  return Inserted::added;
}

}  // namespace lightline::demand
