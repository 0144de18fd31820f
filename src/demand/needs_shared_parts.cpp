// Products of sums with one factor may be made of the products of their parts: a + t (b - a) for many t, times w, takes
// a w and b w, and x (w + a b) takes what x w has made and the chain x a b.
#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

constexpr size_t most_parts = 8, most_cases = 16, most_regions = 16;

}  // namespace

// Of the coordinates of one side of a pair from `first` on, those that the other side does not depend on.
uint64_t Needs::coordinates_beside(const Pair& pair, uint32_t first, uint32_t rank) {
  uint64_t beside = 0;
  for (uint32_t c = 0; c < rank; ++c) beside |= bit(c);
  for (const Region& region : pair.regions) {
    if (!region.samples.empty()) return 0;
    for (const Form& cut : region.cuts)
      atoms_.for_each_variable(cut, [&](index::AtomId v) {
        if (v >= first && v < first + rank) beside &= ~bit(v - first);
      });
  }
  return beside;
}

// What is multiplied by something that only has these variables, without it: sums over others leave that out.
Value Needs::without_scale(const Value& value, uint64_t beside) {
  if (!value.is_element() || term(value.term).kind != TermKind::product) return value;
  std::optional<Value> scaled;
  for (const Argument& arg : term(value.term).args) {
    const Value factor = algebra_.moved(arg.value, value.at);
    if ((variables_of(factor) & ~beside) == 0) continue;
    if (scaled || !factor.is_element()) return value;
    scaled = factor;
  }
  return scaled ? without_scale(*scaled, beside) : value;
}

// The parts of the sum on one side of a pair; nothing if they can not all be told.
std::optional<std::map<PairKey, PartOfSum>> Needs::parts_of_pair(const PairKey& key, const Pair& pair, size_t side) {
  const Term& sum = term(TermId(key[side]));
  const uint64_t other = key[1 - side];
  if (sum.kind == TermKind::reduce || sum.kind == TermKind::array || sum.kind == TermKind::carried)
    return parts_of_interpolation(key, pair, side);
  if (sum.kind != TermKind::sum || sum.args.size() > most_parts) return std::nullopt;
  const uint32_t first = side == 0 ? 0 : pair.split, first_of_other = side == 0 ? pair.split : 0;
  std::vector<Form> at, at_other;
  for (uint32_t c = 0; c < sum.rank; ++c) at.push_back(Form::variable(first + c));
  for (size_t c = 0; c < pair.regions[0].box.size() - sum.rank; ++c)
    at_other.push_back(Form::variable(index::AtomId(first_of_other + c)));
  const uint64_t beside = coordinates_beside(pair, first, sum.rank);
  algebra_.box.clear();
  std::map<PairKey, PartOfSum> parts;
  for (const Argument& arg : sum.args) {
    if (!algebra_.reads_data(arg.value)) continue;
    const Value value = without_scale(arg.value, beside);
    if (!value.is_element() || value.term == other) return std::nullopt;
    std::vector<Form> forms;
    for (const Form& form : value.at) forms.push_back(atoms_.compose(form, at, {}));
    PartOfSum* part = nullptr;
    for (const Region& region : pair.regions)
      if (part = add_part(parts, key, side, value, region, forms, at_other); part == nullptr) return std::nullopt;
    if (part != nullptr) part->chain = products_by_way_of(key, TermId(key[side]), value);
  }
  return parts;
}

// Coordinates of one side of a pair, from `first` on, that are the same as some of the other side: sums run over them.
uint64_t Needs::tied_coordinates(const Region& region, uint32_t first, uint32_t rank) const {
  uint64_t own = 0, tied = 0;
  for (uint32_t c = 0; c < rank; ++c) own |= bit(first + c);
  for (const uint64_t equation : equations_of(region))
    if ((equation & ~own) != 0) tied |= equation & own;
  return tied >> first;
}

// What a case of an interpolation takes, times what sums over these coordinates leave out.
std::optional<Value> Needs::interpolated(const Term& sum, const Value& value, uint64_t tied) {
  if (!value.is_element() || term(value.term).kind != TermKind::product) return value;
  std::vector<Value> inside, data;
  for (const Argument& arg : term(value.term).args) {
    const Value factor = algebra_.moved(arg.value, value.at);
    if ((variables_of(factor) >> sum.reduced.size() & tied) != 0) inside.push_back(factor);
    if (algebra_.reads_data(factor)) data.push_back(factor);
  }
  if (sum.kind == TermKind::reduce && data.size() > 1) return std::nullopt;  // a contraction: it takes products, too
  if (inside.empty()) inside = data;
  return inside.size() == 1 ? std::optional(inside[0]) : std::nullopt;
}

// What is added up in a case, over the variables of the case.
std::vector<Value> Needs::added_in(const Case& one) {
  if (!one.value.is_element() || term(one.value.term).kind != TermKind::sum) return {one.value};
  std::vector<Value> added;
  for (const Argument& arg : term(one.value.term).args) added.push_back(algebra_.moved(arg.value, one.value.at));
  return added;
}

// A region of a pair where a case of what is on one side of it holds: variables that are reduced, then those of the
// pair, of which `at` tells those of the case. Nothing if that can not be said.
std::optional<Region> Needs::case_in_pair(const Case& one, uint32_t reduced, const Region& region,
                                          const std::vector<Form>& at, const std::vector<Form>& shift) {
  Region where;
  where.box.assign(one.where.box.begin(), one.where.box.begin() + reduced);
  where.box.insert(where.box.end(), region.box.begin(), region.box.end());
  for (const Form& cut : region.cuts) where.cut(atoms_.compose(cut, shift, where.box), atoms_);
  for (size_t c = reduced; c < at.size(); ++c) {
    Range& own = where.box[plain_variable(at[c])];
    const Range& inside = one.where.box[c];
    if (own.step != 1 || inside.step != 1) return std::nullopt;
    own = {std::max(own.lo, inside.lo), std::min(own.hi, inside.hi), 1};
    where.empty = where.empty || own.lo > own.hi;
  }
  for (const Form& cut : one.where.cuts) where.cut(atoms_.compose(cut, at, where.box), atoms_);
  return where;
}

// The parts of a sum of elements with coefficients, as an image that was enlarged, or of a state that decays: what it
// was before is made of the same, if all of that meets the factor, too.
std::optional<std::map<PairKey, PartOfSum>> Needs::parts_of_interpolation(const PairKey& key, const Pair& pair,
                                                                          size_t side) {
  const Term& sum = term(TermId(key[side]));
  if (sum.kind == TermKind::reduce && sum.reducer != loops::Reducer::sum) return std::nullopt;
  if (sum.body.size() > most_cases) return std::nullopt;
  const uint32_t first = side == 0 ? 0 : pair.split, first_of_other = side == 0 ? pair.split : 0;
  const uint32_t reduced = uint32_t(sum.reduced.size());
  std::map<PairKey, PartOfSum> parts;
  for (const Region& region : pair.regions) {
    if (!region.samples.empty()) return std::nullopt;
    std::vector<Form> at, shift, others;
    for (uint32_t r = 0; r < reduced; ++r) at.push_back(Form::variable(r));
    for (uint32_t c = 0; c < region.box.size(); ++c) shift.push_back(Form::variable(reduced + c));
    at.insert(at.end(), shift.begin() + first, shift.begin() + first + sum.rank);
    for (size_t c = 0; c < region.box.size() - sum.rank; ++c) others.push_back(shift[first_of_other + c]);
    const uint64_t tied = tied_coordinates(region, first, sum.rank);
    for (const Case& one : sum.body) {
      const std::optional<Region> where = case_in_pair(one, reduced, region, at, shift);
      if (!where) return std::nullopt;
      if (where->empty) continue;
      algebra_.box = one.where.box;
      for (const Value& part : added_in(one)) {
        algebra_.box = one.where.box;
        const std::optional<Value> value = interpolated(sum, part, tied);
        if (!value || !value->is_element() || value->term == key[1 - side] || !algebra_.reads_data(*value))
          return std::nullopt;
        std::vector<Form> forms;
        for (const Form& form : value->at) forms.push_back(atoms_.compose(form, at, where->box));
        if (add_part(parts, key, side, *value, *where, forms, others) == nullptr) return std::nullopt;
      }
    }
  }
  if (const auto before = parts.find(key); before != parts.end()) {
    std::vector<Region> all = pair.regions;
    for (const Region& region : before->second.regions) insert(all, region);
    if (count(all) > count(pair.regions)) return std::nullopt;
    parts.erase(before);
  }
  return parts;
}

// Products of a part of a sum with the other side of the pair that the sum is in.
// Nothing if they can not be told.
PartOfSum* Needs::add_part(std::map<PairKey, PartOfSum>& parts, const PairKey& key, size_t side, const Value& value,
                           const Region& where, std::vector<Form> forms, const std::vector<Form>& others) {
  const uint64_t other = key[1 - side];
  const bool is_first = value.term < other;
  PairKey own = key;
  own[0] = is_first ? value.term : other;
  own[1] = is_first ? other : value.term;
  PartOfSum& part = parts[own];
  part.split = uint32_t(is_first ? forms.size() : others.size());
  forms.insert(is_first ? forms.end() : forms.begin(), others.begin(), others.end());
  for (Region& mapped : index::image(where, forms, atoms_)) {
    if (!mapped.samples.empty()) return nullptr;  // of different draws only the most are counted
    insert(part.regions, std::move(mapped));
  }
  return part.regions.empty() ? nullptr : &part;
}

bool Needs::adds_sums_of_products(TermId id) const {
  const Term& made = term(id);
  return made.kind == TermKind::sum && std::any_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
           return arg.value.is_element() && term(arg.value.term).kind == TermKind::reduce;
         });
}

// The products of a part of a sum with what the sum meets, where the part is a sum of products: those of its factors.
double Needs::products_by_way_of(const PairKey& key, TermId sum, const Value& part) {
  const Term& made = term(part.term);
  const auto met = sums_met_.find(key);
  if (met == sums_met_.end() || made.kind != TermKind::reduce || made.reducer != loops::Reducer::sum ||
      made.body.size() != 1)
    return INFINITY;
  double products = 0;
  for (const Network& network : met->second) {
    Network chain = network;
    chain.apart = true;
    const auto own = std::find_if(chain.factors.begin(), chain.factors.end(), [&](const Factor& factor) {
      return factor.value.is_element() && factor.value.term == sum;
    });
    if (own == chain.factors.end()) return INFINITY;
    const Value value = own->value;
    chain.factors.erase(own);
    algebra_.box = chain.region.box;
    if (!join(chain, made, made.body[0], algebra_.moved(part, value.at).at)) return INFINITY;
    products += products_of(std::move(chain));
  }
  return products;
}

void Needs::share_parts_of_sums() {
  std::map<PairKey, SharedParts> groups;  // by all of the key but the sum
  for (const auto& [key, pair] : pairs_) {
    if (pair.alike || pair.regions.empty() || pair.regions.size() > most_regions) continue;
    for (const size_t side : {0, 1}) {
      if (key[side] == UINT64_MAX) continue;
      auto parts = parts_of_pair(key, pair, side);
      if (!parts || parts->empty()) continue;
      PairKey rest = key;
      rest[0] = key[1 - side];
      rest[1] = side;
      SharedParts& group = groups[rest];
      group.sums.push_back(key);
      for (auto& [own, part] : *parts) {
        const auto [at, added] = group.parts.try_emplace(own, part);
        if (added) continue;
        at->second.chain += part.chain;
        for (Region& region : part.regions) insert(at->second.regions, std::move(region));
      }
    }
  }
  for (auto& [rest, group] : groups) take_apart(group);
}

// Makes the products of the parts instead of those of the sums, if they are fewer.
void Needs::take_apart(SharedParts& group) {
  std::erase_if(group.sums, [&](const PairKey& sum) { return !pairs_.contains(sum); });
  if (group.sums.empty()) return;
  double together = 0, apart = 0;
  for (const PairKey& sum : group.sums) together += std::min<double>(count(pairs_[sum].regions), pairs_[sum].points);
  for (auto& [own, part] : group.parts) {
    std::vector<Region> all = part.regions;
    const auto made = pairs_.find(own);
    if (made != pairs_.end())
      for (const Region& region : made->second.regions) insert(all, region);
    const double more = count(all) - (made == pairs_.end() ? 0.0 : double(count(made->second.regions)));
    if (part.chain >= more) part.chain = INFINITY;
    apart += std::min(more, part.chain);
  }
  if (apart >= together) return;
  const Pair like = pairs_[group.sums[0]];
  for (const PairKey& sum : group.sums) {
    link(like.owner, pairs_[sum].owner, Link::Kind::chain);
    pairs_.erase(sum);
  }
  for (auto& [own, part] : group.parts) {
    if (part.chain < INFINITY) {
      Work& added_to = work_of(like.owner);
      for (auto* list : {&added_to.macs, &added_to.transformed_macs})
        (*list)[like.type] += part.chain * like.real_products;
      continue;
    }
    const auto [at, added] = pairs_.try_emplace(own, like);
    if (added) {
      at->second.regions.clear();
      at->second.points = 0;
      at->second.split = part.split;
    }
    at->second.one_owner = false;
    for (Region& region : part.regions) {
      at->second.points += index::count(region, atoms_, data_);
      insert(at->second.regions, std::move(region));
    }
  }
}

}  // namespace lightline::demand
