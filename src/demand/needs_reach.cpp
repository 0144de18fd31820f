// How far terms are read at all, by ranges of coordinates alone: too large, never too small. For questions about terms
// whose needs are not known yet.
#include <algorithm>
#include <numeric>

#include "base/maths.h"
#include "demand/needs.h"

namespace lightline::demand {

namespace {

// All values of a form lie in it, with the steps that its variables make.
Range values_of(const Form& form, std::span<const Range> box, const Atoms& atoms) {
  Range values = atoms.range(form, box);
  if (values.lo <= -index::greatest_kept || values.hi >= index::greatest_kept) return values;
  int64_t first = form.constant, step = 0;
  for (const auto& [atom, coefficient] : form.terms) {
    if (!index::is_variable(atom)) {
      step = std::gcd(step, coefficient);
      continue;
    }
    first += coefficient * box[atom].lo;
    if (box[atom].count() > 1) step = std::gcd(step, coefficient * box[atom].step);
  }
  if (step < 2) return values;
  values.lo += floor_mod(first - values.lo, step);
  values.step = step;
  return values;
}

// All values of both.
Range hull(const Range& a, const Range& b) {
  const int64_t apart = std::gcd(a.count() > 1 ? a.step : 0, b.count() > 1 ? b.step : 0);
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), std::max<int64_t>(1, std::gcd(apart, a.lo - b.lo))};
}

}  // namespace

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
      const Range range = values_of(value.at[c], box, atoms_);
      reach[c] = first ? range : hull(reach[c], range);
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
    if (uses_[id] > seen[id] + uses_by_way_[id]) reach_[id].assign(made.rank, anywhere);  // by others, too
    if (reach_[id].size() != made.rank || uses_[id] == 0) continue;
    for (const Argument& arg : made.args)
      if (arg.value.is_element()) widen(arg.value, reach_[id]);
    for (const Case& one : made.body) {
      if (!one.value.is_element()) continue;
      std::vector<Range> box = one.where.box;
      for (size_t c = 0; c < made.rank; ++c) {
        Range& range = box[made.reduced.size() + c];
        range = clipped(reach_[id][c], range.lo, range.hi);
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
