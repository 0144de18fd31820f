// What loops need of what they carry.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/linear_loops.h"
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

// A loop that does the same linear thing at every step: powers of it need not go through all of them. As many steps
// count as are asked for from outside, as if they were the first.
void Needs::take_first_steps(const Loop& loop) {
  if (tier_ == Tier::unfused || !is_linear(form_, loop)) return;
  // What steps make, the first of them apart: it is made of what the loop starts from.
  struct Made {
    const Case* first = nullptr;
    const Case* later = nullptr;
  };
  std::map<TermId, Made> made;
  for (const TermId id : loop.carried) {
    const Cases& body = term(id).body;
    if (body.empty()) continue;
    if (body.size() != 2) return;
    Made one{&body[0], &body[1]};
    if (one.first->where.box[loop.coordinate].hi > 1) std::swap(one.first, one.later);
    if (one.first->where.box[loop.coordinate].hi > 1 || !one.first->where.is_box() || !one.later->where.is_box())
      return;
    const std::vector<Form>& at = one.later->value.at;
    if (at.size() != one.later->where.box.size()) return;
    for (const Form& form : at)
      if (form.terms.size() != 1 || form.terms[0].second != 1 || form.terms[0].first >= at.size()) return;
    made[one.later->value.term] = one;
  }
  const TermId from = *std::min_element(loop.carried.begin(), loop.carried.end());
  for (TermId id = from; id < loop.last; ++id) {
    const bool first = std::any_of(made.begin(), made.end(), [&](const auto& one) {
      return one.second.first->value.is_element() && one.second.first->value.term == id;
    });
    for (const Region& region : needed_[id])
      if (!first && (!region.is_box() || !made.contains(id))) return;
  }
  for (const auto& [id, one] : made) {
    for (const Region& asked : std::exchange(needed_[id], {})) {
      Region before = asked, after = asked;  // as coordinates of what is carried, and as its own
      Range steps;
      for (size_t c = 0; c < asked.box.size(); ++c) {
        const index::AtomId v = one.later->value.at[c].terms[0].first;
        before.box[v] = asked.box[c];
        if (v != loop.coordinate) continue;
        steps = asked.box[c];
        before.box[v] = {1, 1, 1};
        after.box[c] = {1, steps.count() - 1, 1};
      }
      need(one.first->value, before);
      if (steps.count() > 1) keep(needed_[id], std::move(after));
    }
  }
}

// Every step needs what the step after it reads of the carried arrays. If a step reads of them at least what is needed
// of it, all steps before do.
void Needs::visit_loop(size_t number) {
  const Loop& loop = form_.loops[number];
  if (loop.carried.empty()) return;
  take_first_steps(loop);
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
