// Products of sums with one factor may be made of the products of their parts: a + t (b - a) for many t, times w, takes
// a w and b w, and x (w + a b) takes what x w has made and the chain x a b.
#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

constexpr size_t most_parts = 8, most_regions = 16;

}  // namespace

// The parts of the sum on one side of a pair; nothing if they can not all be told.
std::optional<std::map<PairKey, PartOfSum>> Needs::parts_of_pair(const PairKey& key, const Pair& pair, size_t side) {
  const Term& sum = term(TermId(key[side]));
  const uint64_t other = key[1 - side];
  if (sum.kind != TermKind::sum || sum.args.size() > most_parts) return std::nullopt;
  const uint32_t first = side == 0 ? 0 : pair.split, first_of_other = side == 0 ? pair.split : 0;
  std::vector<Form> at, at_other;
  for (uint32_t c = 0; c < sum.rank; ++c) at.push_back(Form::variable(first + c));
  for (size_t c = 0; c < pair.regions[0].box.size() - sum.rank; ++c)
    at_other.push_back(Form::variable(index::AtomId(first_of_other + c)));
  std::map<PairKey, PartOfSum> parts;
  for (const Argument& arg : std::vector<Argument>(sum.args)) {
    if (!algebra_.reads_data(arg.value)) continue;
    if (!arg.value.is_element() || arg.value.term == other) return std::nullopt;
    std::vector<Form> forms;
    for (const Form& form : arg.value.at) forms.push_back(atoms_.compose(form, at, {}));
    const bool is_first = arg.value.term < other;
    const size_t split = is_first ? forms.size() : at_other.size();
    forms.insert(is_first ? forms.end() : forms.begin(), at_other.begin(), at_other.end());
    PairKey own = key;
    own[0] = is_first ? arg.value.term : other;
    own[1] = is_first ? other : arg.value.term;
    PartOfSum& part = parts[own];
    part.split = uint32_t(split);
    for (const Region& region : pair.regions)
      for (Region& mapped : index::image(region, forms, atoms_)) {
        if (!mapped.samples.empty()) return std::nullopt;  // of different draws only the most are counted
        insert(part.regions, std::move(mapped));
      }
    if (part.regions.empty()) return std::nullopt;
    part.chain = products_by_way_of(key, TermId(key[side]), arg.value);
  }
  return parts;
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
