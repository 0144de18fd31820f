// How far terms are read at all, by ranges of coordinates alone: too large, never too small. For questions about terms
// whose needs are not known yet.
#include <algorithm>

#include "demand/needs.h"

namespace lightline::demand {

void Needs::find_reach() {
  constexpr Range anywhere{-(int64_t(1) << 40), int64_t(1) << 40, 1};
  const size_t size = form_.terms.size();
  reach_.assign(size, {});
  std::vector<uint32_t> seen(size, 0);
  const auto widen = [&](const Value& value, std::span<const Range> box) {
    std::vector<Range>& reach = reach_[value.term];
    const bool first = reach.empty();
    reach.resize(value.at.size());
    for (size_t c = 0; c < value.at.size(); ++c) {
      const Range range = atoms_.range(value.at[c], box);
      reach[c] = first ? Range{range.lo, range.hi, 1}
                       : Range{std::min(reach[c].lo, range.lo), std::max(reach[c].hi, range.hi), 1};
    }
  };
  const auto read_in_full = [&](const Cases& cases) {
    for (const Case& one : cases) {
      if (!one.value.is_element()) continue;
      seen[one.value.term] += 2;
      widen(one.value, one.where.box);
    }
  };
  for (const loops::Output& output : form_.program->outputs) read_in_full(form_.arrays[output.array]);
  for (TermId id = 0; id < size; ++id) {
    if (uses_[id] == 0) continue;
    if (term(id).kind == TermKind::opaque)
      for (const Cases& operand : form_.opaque[term(id).array].operands) read_in_full(operand);
    for (const Argument& arg : term(id).args)
      if (arg.value.is_element()) ++seen[arg.value.term];
    for (const Case& one : term(id).body)
      if (one.value.is_element()) ++seen[one.value.term];
  }
  for (TermId id = TermId(size); id-- > 0;) {
    const Term& made = term(id);
    if (uses_[id] > seen[id]) reach_[id].assign(made.rank, anywhere);  // by others, too
    if (reach_[id].size() != made.rank || uses_[id] == 0) continue;
    for (const Argument& arg : made.args)
      if (arg.value.is_element()) widen(arg.value, reach_[id]);
    for (const Case& one : made.body) {
      if (!one.value.is_element()) continue;
      std::vector<Range> box = one.where.box;
      for (size_t c = 0; c < made.rank; ++c) {
        Range& range = box[made.reduced.size() + c];
        range = {std::max(range.lo, reach_[id][c].lo), std::min(range.hi, reach_[id][c].hi), 1};
      }
      const bool empty = std::any_of(box.begin(), box.end(), [](const Range& range) { return range.hi < range.lo; });
      if (!empty) widen(one.value, box);
    }
  }
}

// Those of another that are read if all of it is needed that anybody reads.
std::vector<Region> Needs::all_reads_by(TermId consumer, TermId read) {
  if (reach_.empty()) find_reach();
  std::vector<Region> regions;
  const Term& made = term(consumer);
  Region needed;
  needed.box = reach_[consumer];
  if (needed.box.size() != made.rank) return regions;
  for (const Case& one : made.body)
    if (const auto where = body_at(one.where, needed, uint32_t(made.reduced.size())); where && !where->empty)
      read_elements(one.value, *where, read, regions);
  return regions;
}

}  // namespace lightline::demand
