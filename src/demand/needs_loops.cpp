// What loops need of what they carry.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

std::vector<std::vector<Region>> Needs::trial(const Loop& loop, std::vector<std::vector<Region>> seeds) {
  std::swap(needed_, seeds);
  const bool was = std::exchange(counting_, false);
  const TermId from = *std::min_element(loop.carried.begin(), loop.carried.end());
  for (TermId id = loop.last; id-- > from;) {
    if (loop_at_[id + 1] != SIZE_MAX && &form_.loops[loop_at_[id + 1]] != &loop) visit_loop(loop_at_[id + 1]);
    if (!needed_[id].empty()) visit(id);
  }
  counting_ = was;
  std::swap(needed_, seeds);
  std::vector<std::vector<Region>> carried;
  for (const TermId id : loop.carried) carried.push_back(seeds[id]);
  return carried;
}

std::vector<std::vector<Region>> Needs::seeds_of(const Loop& loop, const std::vector<std::vector<Region>>& carried) {
  std::vector<std::vector<Region>> seeds(needed_.size());
  std::swap(needed_, seeds);
  const bool was = std::exchange(linear_, true);
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const Term& made = term(loop.carried[i]);
    for (const Case& one : made.body)
      for (const Region& region : carried[i]) {
        if (!region.samples.empty()) {
          drop("places of carried arrays that only data tell");
          continue;
        }
        Region where = meet(region, one.where, 0, atoms_);
        for (const Form& cut : region.cuts) where.cut(cut, atoms_);
        need(one.value, where);
      }
  }
  linear_ = was;
  std::swap(needed_, seeds);
  return seeds;
}

// Every step needs what the step after it reads of the carried arrays. If a step reads of them at least what is needed
// of it, all steps before do.
void Needs::visit_loop(size_t number) {
  const Loop& loop = form_.loops[number];
  if (loop.carried.empty()) return;
  std::vector<std::vector<Region>> own(needed_.size());
  const TermId from = *std::min_element(loop.carried.begin(), loop.carried.end());
  bool any = false;
  for (TermId id = from; id < loop.last; ++id) {
    own[id] = needed_[id];
    any |= !own[id].empty();
  }
  if (!any) return;
  const auto covers = [&](const std::vector<std::vector<Region>>& large, const std::vector<std::vector<Region>>& small,
                          bool any_step) {
    for (size_t i = 0; i < small.size(); ++i)
      for (Region region : small[i]) {
        const bool found = std::any_of(large[i].begin(), large[i].end(), [&](const Region& known) {
          Region moved = known;
          if (any_step) moved.box[loop.coordinate] = region.box[loop.coordinate];
          return contains(moved, region);
        });
        if (!found) return false;
      }
    return true;
  };
  std::vector<std::vector<Region>> all(loop.carried.size());
  std::vector<std::vector<Region>> last = trial(loop, own);
  for (size_t i = 0; i < loop.carried.size(); ++i)
    for (const Region& region : own[loop.carried[i]]) keep(last[i], region);
  for (int round = 0; round < 8 && !covers(all, last, false); ++round) {
    std::vector<std::vector<Region>> before = trial(loop, seeds_of(loop, last));
    if (covers(before, last, true))
      for (auto& list : last)
        for (Region& region : list) region.box[loop.coordinate].lo = 0;
    for (size_t i = 0; i < last.size(); ++i)
      for (const Region& region : last[i]) keep(all[i], region);
    last = trial(loop, seeds_of(loop, last));
  }
  if (!covers(all, last, false)) drop("steps of a loop that need ever other parts of what it carries");
  std::vector<std::vector<Region>> seeds = seeds_of(loop, all);
  for (TermId id = 0; id < seeds.size(); ++id)
    for (Region& region : seeds[id]) {
      if (counting_) insert(strict_[id], region);
      keep(needed_[id], std::move(region));
    }
}

}  // namespace lightline::demand
