// Loops of the normal form: which terms are made step by step, and which coordinate of each is the step.
#include <algorithm>

#include "demand/normal_layout.h"

namespace lightline::demand {

void NormalLayout::find_loops() {
  for (const Loop& loop : form_.loops) {
    Stepped found;
    found.loop = &loop;
    found.scans = !loop.carried.empty() && loop.first > loop.carried[0];
    for (const TermId id : loop.carried)
      if (!terms_[id].body.empty()) found.carried.push_back(id);
    if (!found.carried.empty()) find_steps(found, uint32_t(stepped_.size()));
  }
}

// Members: what the carried arrays are made of that is itself made of them.
void NormalLayout::find_steps(Stepped& loop, uint32_t number) {
  const TermId first = *std::min_element(loop.carried.begin(), loop.carried.end());
  const auto is_carried = [&](TermId id) {
    return std::find(loop.carried.begin(), loop.carried.end(), id) != loop.carried.end();
  };
  std::vector<TermId> reached = loop.carried;
  std::vector<bool> seen(terms_.size(), false);
  for (const TermId id : reached) seen[id] = true;
  std::unordered_map<TermId, std::vector<TermId>> made_of;
  for (size_t i = 0; i < reached.size(); ++i) {
    neighbours(reached[i], made_of[reached[i]]);
    for (const TermId id : made_of[reached[i]])
      if (id >= first && !seen[id]) {
        seen[id] = true;
        reached.push_back(id);
      }
  }
  std::sort(reached.begin(), reached.end());
  std::vector<bool> depends(terms_.size(), false);
  for (const TermId id : loop.carried) depends[id] = true;
  for (const TermId id : reached) {
    if (is_carried(id)) continue;
    const auto& below = made_of[id];
    depends[id] = std::any_of(below.begin(), below.end(), [&](TermId t) { return depends[t]; });
    if (depends[id]) loop.members.push_back(id);
  }
  if (!assign_steps(loop)) return;
  for (const TermId id : loop.carried) stepped_of_[id] = number;
  for (const TermId id : loop.members) stepped_of_[id] = number;
  stepped_.push_back(std::move(loop));
}

bool NormalLayout::assign_steps(const Stepped& loop) {
  const auto is_map = [&](TermId id) {
    const TermKind kind = terms_[id].kind;
    return kind == TermKind::call || kind == TermKind::sum || kind == TermKind::product;
  };
  if (loop.scans) return std::all_of(loop.members.begin(), loop.members.end(), is_map);
  if (loop.loop->coordinate != 0) return false;  // inside of another loop
  std::unordered_map<TermId, Step> steps;
  for (const TermId id : loop.carried) steps[id] = {0, 0};
  bool plain = true;
  const auto visit_of = [&](index::AtomId variable, int64_t offset) {
    return [&, variable, offset](const Use& use, const std::vector<Range>&) {
      if (!std::binary_search(loop.members.begin(), loop.members.end(), use.term) && !steps.contains(use.term)) return;
      const auto shift = [&](const Form& form) -> std::optional<int64_t> {
        if (form.terms.size() != 1 || form.terms[0] != std::pair<index::AtomId, int64_t>(variable, 1))
          return std::nullopt;
        return form.constant + offset;
      };
      if (const auto known = steps.find(use.term); known != steps.end()) {
        plain = plain && shift(use.at[known->second.coordinate]) == known->second.offset;
        return;
      }
      for (uint32_t c = 0; c < use.at.size(); ++c)
        if (const auto found = shift(use.at[c])) {
          steps[use.term] = {c, *found};
          return;
        }
      plain = false;
    };
  };
  const auto box_of = [&](TermId id) {
    return std::vector<Range>(terms_[id].rank + terms_[id].reduced.size(), index::anything);
  };
  // What is carried into step t + 1 is what step t makes.
  for (const TermId id : loop.carried) uses_of(id, box_of(id), visit_of(0, 1));
  for (size_t i = loop.members.size(); i-- > 0 && plain;) {
    const TermId id = loop.members[i];
    const TermKind kind = terms_[id].kind;
    if ((!is_map(id) && kind != TermKind::reduce) || !steps.contains(id)) return false;
    const Step step = steps[id];
    uses_of(id, box_of(id), visit_of(index::AtomId(terms_[id].reduced.size() + step.coordinate), step.offset));
  }
  if (plain) steps_.insert(steps.begin(), steps.end());
  return plain;
}

}  // namespace lightline::demand
