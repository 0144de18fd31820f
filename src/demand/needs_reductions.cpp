// Reductions: what is combined, each value once where sets overlap, and definitions that spell a slow algorithm.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

// To combine `values` different values, each once or more, into results of `points` values in all, at most `each` of
// them in one. Overlapping sets share what they have in common. A graph of additions of two that joins v values to one
// or more results has v - 1 at least, as many as half of those that are no bare result, and half as many as results
// that are no bare values.
AtLeast additions(AtLeast points, AtLeast values, AtLeast results, AtMost most_results, double each) {
  const double apart = std::max<double>(0, points - most_results);
  if (points <= values) return AtLeast(apart);
  const double joined = each > 1 ? apart / (each - 1) : 0;  // results of several values
  const double bare = std::max(0.0, most_results.number() - joined);
  return AtLeast(
      std::min(apart, std::max<double>({values - most_results, (values - bare) / 2, std::min(results / 2, joined)})));
}

// All cuts together leave no point; what is not sure is taken to have some.
bool is_nowhere(Region region, Atoms& atoms) {
  region.samples.clear();
  const index::Losses before = atoms.losses();
  const bool none = index::count(region, atoms) == 0;
  const bool sure = atoms.losses() == before;
  atoms.forget_losses_since(before);
  return none && sure;
}

// What data tell is the same in both: they differ in other coordinates alone.
bool has_same_numbers(const Region& a, const Region& b, const Atoms& atoms) {
  return a.samples == b.samples && std::all_of(a.samples.begin(), a.samples.end(), [&](const index::Sample& sample) {
           bool cut = false;
           for (const Region* region : {&a, &b})
             for (const Form& form : region->cuts)
               atoms.for_each_variable(form, [&](index::AtomId v) { cut |= v == sample.coordinate; });
           return !cut && a.box[sample.coordinate] == b.box[sample.coordinate];
         });
}

}  // namespace

void Needs::visit_reduction(TermId id) {
  if (const auto beside = stood_for_at_.extract(id)) return visit_beside(id, beside.mapped());
  const std::vector<Region>& regions = needed_[id];
  const Term& made = term(id);
  const uint32_t reduced = uint32_t(made.reduced.size());
  const bool sums = made.reducer == Reducer::sum;
  const bool logic = made.reducer == Reducer::any || made.reducer == Reducer::all;
  Results results{regions};
  const std::vector<Region> parts = disjoint(regions);
  const bool was = counting_;
  const Cases body = joined_by_formulas(made);
  const bool exact = std::all_of(parts.begin(), parts.end(), [](const Region& part) { return part.samples.empty(); });
  if (sums && exact && !parts.empty() && need_one_hot(id, body, parts[0])) {
    for (size_t i = 1; i < parts.size(); ++i) need_one_hot(id, body, parts[i]);
    return;
  }
  counting_ = was && !stood_for_.contains(id);
  const bool priced = sums && price_regrouped(body, parts, id, results);
  const std::optional<Value> unmasked = sums && !priced ? price_unmasked(body, parts, id) : std::nullopt;
  counting_ = was;
  if (priced) return;
  const std::vector<bool> stood_for = sums && tier_ == Tier::floor ? shared_cases(body, reduced) : std::vector<bool>();
  for (size_t i = 0; i < body.size(); ++i) {
    const Case& one = body[i];
    if (unmasked && one.value == *unmasked) continue;
    counting_ = was && !stood_for_.contains(id) && (stood_for.empty() || !stood_for[i]);
    for (const Region& region : parts) {
      const std::optional<Region> met = body_at(one.where, region, reduced);
      if (!met) {
        drop("a mask at places that only data tell");
        continue;
      }
      const Region& where = *met;
      if (where.empty || is_decided_by_one(one.value, made.reducer)) continue;
      if (sums || (one.value.is_element() && is_count_of_truths(made.reducer, term(one.value.term)))) {
        uint64_t summed = 0;
        for (uint32_t r = 0; r < reduced; ++r) summed |= bit(r);
        expand(one.value, where, summed, narrower(made.width, wanted_width_[id]), id, results);
        continue;
      }
      if (tier_ == Tier::floor && logic) continue;
      if (logic && need_search(one.value, where, id)) continue;
      if (tier_ == Tier::floor && need_greatest(one.value, where, made)) continue;
      need(one.value, where);
      if (made.reads_data) add_total(one.value, where, bit(reduced) - 1, id, results);
    }
  }
  counting_ = was;
}

// Where a case of a reduction holds for the results of a region; nothing if only data tell.
std::optional<Region> Needs::body_at(const Region& body, const Region& region, uint32_t reduced) {
  Region where = body;
  where.samples = region.samples;
  bool sure = true;
  for (index::Sample& sample : where.samples) {
    for (const Form& cut : body.cuts)
      atoms_.for_each_variable(cut, [&](index::AtomId v) { sure &= v != reduced + sample.coordinate; });
    sample.coordinate += reduced;
    for (uint32_t& other : sample.varies) other += reduced;
  }
  if (!sure) return std::nullopt;
  for (size_t c = 0; c < region.box.size(); ++c) where.box[reduced + c] = region.box[c];
  std::vector<Form> shift(region.box.size());
  for (size_t c = 0; c < shift.size(); ++c) shift[c] = Form::variable(index::AtomId(reduced + c));
  where.points = -1;
  std::vector<Form> cuts = std::exchange(where.cuts, {});
  for (const Form& cut : cuts) where.cut(cut, atoms_);
  for (const Form& cut : region.cuts) where.cut(atoms_.compose(cut, shift, where.box), atoms_);
  return where;
}

// Whether any pair of truths is true, or differs, or all are the same: as much as counting them.
bool Needs::is_count_of_truths(Reducer reducer, const Term& value) {
  const bool both = value.kind == TermKind::call && value.function == loops::Function::logical_and;
  if (reducer == Reducer::any && both) return true;
  const bool compares =
      value.kind == TermKind::call && (value.function == loops::Function::eq || value.function == loops::Function::ne);
  return tier_ != Tier::floor && (reducer == Reducer::any || reducer == Reducer::all) && compares &&
         truths_of(value).size() > 1;
}

// The same points, none of them twice; fewer where that can not be said.
std::vector<Region> Needs::disjoint(const std::vector<Region>& regions) {
  constexpr size_t most_pieces = 256;
  if (regions.size() < 2) return regions;
  std::vector<std::pair<double, const Region*>> order;
  for (const Region& region : regions) order.emplace_back(-index::count(region, atoms_, data_), &region);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Region> result;
  for (const auto& [size, region] : order) {
    std::vector<Region> left{*region};
    const size_t known_before = result.size();
    for (size_t k = 0; k < known_before && !left.empty(); ++k) {
      take_off(left, result[k]);
      if (left.size() <= most_pieces) continue;
      drop("more parts of what is needed than are told apart");
      left.clear();
    }
    const bool whole = left.size() == 1 && left[0] == *region;
    for (Region& part : left)
      if (!part.empty && (whole || !is_nowhere(part, atoms_))) result.push_back(std::move(part));
  }
  return result;
}

// What is left of a list of regions outside of another.
void Needs::take_off(std::vector<Region>& list, const Region& known) {
  std::vector<Region> next;
  bool same = true;  // as far as was looked
  for (size_t i = 0; i < list.size(); ++i) {
    if (!index::has_common_points(list[i], known, atoms_)) {
      if (!same) next.push_back(std::move(list[i]));
      continue;
    }
    if (std::exchange(same, false))
      next.assign(std::make_move_iterator(list.begin()), std::make_move_iterator(list.begin() + int64_t(i)));
    if (has_same_numbers(list[i], known, atoms_)) {
      std::vector<index::Sample> samples = std::exchange(list[i].samples, {});
      Region other = known;
      other.samples.clear();
      for (Region& rest : index::difference(list[i], other, atoms_)) {
        rest.samples = samples;
        next.push_back(std::move(rest));
      }
    } else {
      drop("sets that overlap at places that only data tell");
    }
  }
  if (!same) list = std::move(next);
}

// The greatest or least integer that there is proves itself: one element is enough for a result.
bool Needs::need_greatest(const Value& value, const Region& where, const Term& reduction) {
  if (reduction.reducer != Reducer::max && reduction.reducer != Reducer::min) return false;
  if (!is_integer(value.width) || !value.is_element()) return false;
  const uint32_t reduced = uint32_t(reduction.reduced.size());
  const bool shared = std::any_of(value.at.begin(), value.at.end(), [&](const Form& form) {
    bool own = false, other = false;
    atoms_.for_each_variable(form, [&](index::AtomId v) { (v < reduced ? own : other) = true; });
    return own && other;
  });
  if (shared || !where.cuts.empty()) return true;  // one element may prove several results
  Region one = where;
  for (uint32_t r = 0; r < reduced; ++r) one.box[r].hi = one.box[r].lo;
  need(value, one);
  return true;
}

// Reductions of elements of one term may share what they have in common.
void Needs::add_total(const Value& scaled, const Region& region, uint64_t summed, TermId owner, Results& results) {
  if (!counting_ || tier_ == Tier::floor) return;
  const Term& made = term(owner);
  // What a number scales is combined as it is.
  algebra_.box = region.box;
  const bool scale = made.reducer == Reducer::sum && scaled.is_element() && term(scaled.term).args.size() == 1 &&
                     term(scaled.term).kind == TermKind::product && term(scaled.term).args[0].value.is_element();
  const Value value = scale ? algebra_.moved(Value(term(scaled.term).args[0].value), scaled.at) : scaled;
  const uint64_t id = value.is_element() ? value.term : UINT64_MAX;
  Total& total = totals_[{id, uint64_t(made.reducer), uint64_t(made.type), made.salt}];
  if (total.owner == no_term) total.owner = owner;
  total.width = wider(total.width, value.is_element() ? value.width : made.type);
  total.points += index::count(region, atoms_, data_);
  total.each = std::max(total.each, box_points(region, summed) * double(std::max<size_t>(1, made.body.size())));
  if (value.is_element())
    for (Region& mapped : index::image(region, value.at, atoms_)) keep(total.values, std::move(mapped));
  if (!results.counted) {
    total.results += count(results.regions);
    total.most_results += count_at_most(results.regions);
  }
  results.counted = true;
}

void Needs::settle_totals() {
  for (auto& [key, total] : totals_) {
    turn_to(total.owner);
    const Term& made = term(total.owner);
    const AtLeast values = total.values.empty() ? AtLeast(0) : count(total.values);
    const double operations = additions(total.points, values, total.results, total.most_results, total.each);
    Work& added_to = work_of(total.owner);
    if (made.reducer == Reducer::sum) {
      added_to.sums[total.width == DType::boolean || !is_float(total.width) ? made.type : total.width] += operations;
    } else {
      const DType type = is_integer(made.width) ? made.width : made.type;
      added_to.vector_ops[type] += operations * 0.5 * values_of_a_lane(type, true);
    }
  }
}

// Counting how many of x[k] are below, or the same as, q[i] spells one algorithm among better ones: only what they are
// made of is needed, and of what is sorted as much as a search looks at.
bool Needs::need_search(const Value& value, const Region& region, TermId owner) {
  if (!value.is_element()) return false;
  if (need_counted(value, region, owner)) return true;
  const Term& made = term(value.term);
  using F = loops::Function;
  if (made.kind == TermKind::call && made.function == F::logical_not) {
    algebra_.box = region.box;
    return need_search(algebra_.moved(made.args[0].value, value.at), region, owner);
  }
  const bool comparison =
      made.kind == TermKind::call && (made.function == F::lt || made.function == F::le || made.function == F::gt ||
                                      made.function == F::ge || made.function == F::eq || made.function == F::ne);
  if (!comparison || !made.args[0].value.is_element() || !made.args[1].value.is_element())
    return need_comparisons(value, region, owner);
  algebra_.box = region.box;
  Value sides[] = {algebra_.moved(made.args[0].value, value.at), algebra_.moved(made.args[1].value, value.at)};
  uint64_t reduced = 0;
  for (size_t r = 0; r < term(owner).reduced.size(); ++r) reduced |= bit(r);
  uint64_t own[] = {variables_of(sides[0]), variables_of(sides[1])};
  if ((own[0] & reduced) == 0) {
    std::swap(sides[0], sides[1]);
    std::swap(own[0], own[1]);
  }
  // The first runs over what is counted, the second has something of its own and nothing of that.
  if ((own[0] & reduced) == 0 || (own[1] & reduced) != 0 || (own[1] & ~own[0]) == 0)
    return need_comparisons(value, region, owner);
  Region looked = region;
  if (is_sorted_search(owner) && std::popcount(own[0] & reduced) == 1) {
    const uint32_t along = uint32_t(std::countr_zero(own[0] & reduced));
    double queries = 1;
    for (size_t v = 0; v < region.box.size(); ++v)
      if ((own[1] & ~own[0] & bit(v)) != 0) queries *= double(region.box[v].count());
    const double size = double(region.box[along].count());
    const double most = queries * std::ceil(std::log2(size + 1));
    if (most < size && region.cuts.empty()) {
      looked.box[along].hi = looked.box[along].lo;
      looked.samples.push_back({along, index::hash_of(region), 1, most, size, {}, 0, {}, 0});
      std::sort(looked.samples.begin(), looked.samples.end());
    }
  }
  need(sides[0], looked);
  need(sides[1], region);
  return true;
}

// A comparison of what is counted with something that varies by itself.
bool Needs::find_comparisons(const Value& value, uint64_t reduced, Search& search) {
  using F = loops::Function;
  if (!value.is_element() || search.sides.size() + search.others.size() > 16) return false;
  const Term& made = term(value.term);
  if (made.kind != TermKind::call || made.args.empty()) {
    search.others.push_back(value);
    return true;
  }
  std::vector<Value> args;
  for (const Argument& arg : made.args) args.push_back(algebra_.moved(arg.value, value.at));
  const F function = made.function;
  if (function == F::logical_and || function == F::logical_or || function == F::logical_not)
    return std::all_of(args.begin(), args.end(),
                       [&](const Value& arg) { return find_comparisons(arg, reduced, search); });
  const bool order = function == F::lt || function == F::le || function == F::gt || function == F::ge;
  const bool equal = (function == F::eq || function == F::ne) && args[0].is_element() && args[1].is_element();
  if (!order && !equal) {
    search.others.push_back(value);
    return true;
  }
  const uint64_t own[] = {variables_of(args[0]), variables_of(args[1])};
  const uint64_t first = own[0] & ~own[1], second = own[1] & ~own[0];
  if (first == 0 || second == 0) {
    search.others.push_back(value);
    return true;
  }
  if (((first | second) & reduced) == 0) return false;
  search.sides.insert(search.sides.end(), args.begin(), args.end());
  search.variables |= own[0] | own[1];
  return true;
}

// Counting pairs that compare so takes sorting, and no pair has to be looked at.
bool Needs::need_comparisons(const Value& value, const Region& region, TermId owner) {
  if (tier_ == Tier::floor || !value.is_element() || !algebra_.reads_data(value)) return false;
  uint64_t reduced = 0;
  for (size_t r = 0; r < term(owner).reduced.size(); ++r) reduced |= bit(r);
  Search search;
  algebra_.box = region.box;
  if (!find_comparisons(value, reduced, search) || search.sides.empty()) return false;
  uint64_t all = search.variables;
  for (const Value& other : search.others) all |= variables_of(other);
  for (const Value& other : search.others)
    if (variables_of(other) == all) return false;
  for (const auto* list : {&search.sides, &search.others})
    for (const Value& part : *list) need(part, region);
  return true;
}

bool Needs::is_sorted_search(TermId owner) const {
  const uint32_t id = term(owner).statement;
  if (id >= statements_.size() || statements_[id]->group == loops::none) return false;
  const std::string& name = form_.program->groups[statements_[id]->group];
  return name.find("searchsorted") != std::string::npos || name.find("bucketize") != std::string::npos;
}

}  // namespace lightline::demand
