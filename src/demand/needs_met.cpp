// What meets one factor in several parts of a sum is added up before it is multiplied: x w + y w is (x + y) w, and so if
// both have an index of w, and two convolutions of one image are one, of the sum of their weights. Each element of the
// common factor then meets each result once.
#include <algorithm>
#include <bit>

#include "demand/needs_met.h"

namespace lightline::demand {

using loops::Reducer;

void Needs::Met::collect_parts() {
  std::map<TermId, std::vector<PricedChain*>> chains_of;
  for (auto* chains : {&needs.chains_, &needs.window_chains_})
    for (PricedChain& chain : *chains) chains_of[chain.owner].push_back(&chain);
  std::map<PairKey, std::vector<TermId>> owners;
  for (const auto& [id, keys] : needs.pairs_of_)
    for (const PairKey& key : keys) owners[key].push_back(id);
  all_parts.reserve(needs.pairs_of_.size() + chains_of.size());
  const auto add = [&](TermId id) {
    if (parts.contains(id)) return;
    Part& part = all_parts.emplace_back();
    std::vector<TermId> pending{id};
    while (!pending.empty()) {
      const TermId made = pending.back();
      pending.pop_back();
      if (!part.made.insert(made).second) continue;
      parts[made] = &part;
      if (const auto keys = needs.pairs_of_.find(made); keys != needs.pairs_of_.end())
        for (const PairKey& key : keys->second)
          if (part.pairs.insert(key).second) pending.insert(pending.end(), owners[key].begin(), owners[key].end());
    }
    for (const TermId made : part.made)
      for (PricedChain* chain : chains_of[made]) {
        part.chains.push_back(chain);
        part.absorbed.insert(part.absorbed.end(), chain->network.absorbed.begin(), chain->network.absorbed.end());
        part.products += chain->products / chain->real_products;
      }
    for (const PairKey& key : part.pairs) {
      const auto pair = needs.pairs_.find(key);
      part.open = part.open && pair != needs.pairs_.end() && !pair->second.alike;
      if (part.open) part.products += pair->second.products;
    }
  };
  for (const auto& [id, keys] : needs.pairs_of_) add(id);
  std::vector<TermId> owning;
  for (const auto& [id, chains] : chains_of) owning.push_back(id);
  for (const TermId id : owning) add(id);
}

void Needs::Met::run() {
  collect_parts();
  if (parts.empty()) return;
  const TermId size = TermId(needs.form_.terms.size());
  for (TermId id = 0; id < size; ++id)
    if (term(id).kind == TermKind::sum && needs.uses_[id] > 0)
      for (const Argument& arg : term(id).args)
        if (arg.value.is_element() && parts.contains(arg.value.term)) read_in[arg.value.term].push_back(id);
  for (TermId id = size; id-- > 0;) {
    if (needs.needed_[id].empty()) continue;
    if (term(id).kind == TermKind::sum) add_sum(id);
    if (term(id).kind == TermKind::reduce) add_own_chains(id);
  }
  std::erase_if(needs.chains_, [](const PricedChain& chain) { return chain.added_up; });
}

// Of the factors of a product the one that the others scale: the one sum with the most variables.
const Argument* Needs::Met::scaled_in(const Term& product) const {
  const Argument* scaled = nullptr;
  int most = -1;
  for (const Argument& arg : product.args) {
    if (!arg.value.is_element()) continue;
    const TermKind kind = term(arg.value.term).kind;
    if (kind != TermKind::sum && kind != TermKind::product && kind != TermKind::reduce) continue;
    const int variables = std::popcount(needs.variables_of(arg.value));
    if (variables >= most) scaled = variables > most ? &arg : nullptr;
    most = std::max(most, variables);
  }
  return scaled;
}

// How often a sum reads others by way of sums and products that nobody else reads, each place in them once.
std::map<TermId, uint32_t> Needs::Met::reads_inside(TermId id) const {
  std::map<TermId, uint32_t> reads;
  std::set<TermId> pending{id};
  while (!pending.empty()) {
    const TermId last = *pending.rbegin();  // whoever else may read it came before
    pending.erase(last);
    const Term& made = term(last);
    if (last != id && needs.uses_[last] > reads[last]) continue;
    const auto read = [&](const Argument& arg) {
      if (!arg.value.is_element()) return;
      ++reads[arg.value.term];
      const TermKind kind = term(arg.value.term).kind;
      if (kind == TermKind::sum || kind == TermKind::product) pending.insert(arg.value.term);
    };
    if (made.kind == TermKind::sum) std::for_each(made.args.begin(), made.args.end(), read);
    if (const Argument* scaled = made.kind == TermKind::product ? scaled_in(made) : nullptr) read(*scaled);
  }
  return reads;
}

// The sums of products in a value, through sums and products that only what they are found in reads.
void Needs::Met::find_added(const Value& value, double factor, const std::vector<Value>& scales, Found& found) {
  if (!value.is_element() || ++found.visited > most_visited || found.added.size() > most_summands) return;
  const Term& made = term(value.term);
  if (made.kind == TermKind::reduce) {
    if (parts.contains(value.term)) found.add({value, factor, scales});
    return;
  }
  if (needs.uses_[value.term] > found.reads[value.term]) return;
  if (made.kind == TermKind::sum)
    for (const Argument& arg : made.args)
      find_added(needs.algebra_.moved(arg.value, value.at), factor * arg.factor, scales, found);
  const Argument* scaled = made.kind == TermKind::product ? scaled_in(made) : nullptr;
  if (scaled == nullptr) return;
  std::vector<Value> all = scales;
  for (const Argument& arg : made.args)
    if (&arg != scaled) all.push_back(needs.algebra_.moved(arg.value, value.at));
  find_added(needs.algebra_.moved(scaled->value, value.at), factor * made.number, all, found);
}

void Needs::Met::Found::add(Added one) {
  const auto same = std::find_if(added.begin(), added.end(), [&](const Added& other) {
    return other.value == one.value && other.scales == one.scales;
  });
  if (same == added.end())
    added.push_back(std::move(one));
  else
    same->factor += one.factor;
}

void Needs::Met::add_sum(TermId id) {
  const Term& sum = term(id);
  needs.algebra_.box.clear();
  Found found{reads_inside(id)};
  const std::vector<Form> at = own_variables(sum.rank);
  for (const Argument& arg : sum.args) find_added(needs.algebra_.moved(arg.value, at), arg.factor, {}, found);
  std::vector<Added>& added = found.added;
  if (found.visited > most_visited) return;
  std::erase_if(added, [&](const Added& one) { return !parts.at(one.value.term)->open; });
  if (added.size() < 2 || added.size() > most_summands) return;
  std::vector<const Added*> alone;
  std::map<std::vector<TermId>, std::vector<const Added*>> shared;  // by the sums that they are in
  for (const Added& one : added) {
    const auto in = read_in.find(one.value.term);
    if (needs.uses_[one.value.term] == found.reads[one.value.term])
      alone.push_back(&one);
    else if (one.scales.empty() && in != read_in.end() && in->second.size() == needs.uses_[one.value.term] &&
             in->second.back() == id)
      shared[in->second].push_back(&one);
  }
  if (are_several(alone)) add_up(id, alone, needs.needed_[id]);
  for (auto& [sums, group] : shared)
    if (are_several(group))
      if (const auto regions = regions_of(id, group)) add_up(id, group, *regions);
}

// Leaves out what has products in common with others.
bool Needs::Met::are_several(std::vector<const Added*>& added) const {
  std::set<TermId> here;
  for (const Added* one : added) here.insert(one->value.term);
  std::erase_if(added, [&](const Added* one) {
    const std::set<TermId>& together = parts.at(one->value.term)->made;
    return !std::includes(here.begin(), here.end(), together.begin(), together.end());
  });
  return added.size() > 1;
}

// Where all sums that several parts are in need them, in coordinates of one of those; nothing if they do not add up the
// same elements with the same factors.
std::optional<std::vector<Region>> Needs::Met::regions_of(TermId id, const std::vector<const Added*>& added) {
  uint64_t all = 0;
  for (const Added* one : added) all |= needs.variables_of(one->value);
  const auto first = std::find_if(added.begin(), added.end(), [&](const Added* one) {
    return is_plain(one->value.at) && needs.variables_of(one->value) == all;
  });
  if (first == added.end()) return std::nullopt;
  std::vector<Region> regions = needs.needed_[id];
  for (const TermId other : read_in.at((*first)->value.term)) {
    if (other == id) continue;
    const auto in_other = [&](TermId made) -> const Argument* {
      const Argument* found = nullptr;
      for (const Argument& arg : term(other).args)
        if (arg.value.is_element() && arg.value.term == made) found = found == nullptr ? &arg : found;
      return found;
    };
    const Argument* like = in_other((*first)->value.term);
    std::vector<Form> images(term(id).rank);
    for (size_t c = 0; c < like->value.at.size(); ++c) {
      const Form& place = (*first)->value.at[c];
      if (const uint32_t v = plain_variable(place); v != no_variable) {
        images[v] = like->value.at[c];
        images[v].constant -= place.constant;
      } else if (!(place == like->value.at[c])) {
        return std::nullopt;
      }
    }
    for (const Added* one : added) {
      const Argument* arg = in_other(one->value.term);
      if (arg == nullptr || arg->factor * (*first)->factor != one->factor * like->factor) return std::nullopt;
      for (size_t c = 0; c < one->value.at.size(); ++c)
        if (!(atoms.compose(one->value.at[c], images, {}) == arg->value.at[c])) return std::nullopt;
    }
    for (const Region& region : needs.needed_[other])
      for (Region& mapped : index::image(region, images, atoms)) insert(regions, std::move(mapped));
  }
  return regions;
}

// Its factors are those of the products that were priced.
bool Needs::Met::is_as_priced(const Part& part, const Network& network) const {
  std::set<uint64_t> terms;
  for (const Factor& factor : network.factors) {
    if (!factor.value.is_element()) continue;
    terms.insert(factor.value.term);
    terms.insert(needs.main_part(needs.without_conjugate(factor.value), network.region).term);
  }
  return std::all_of(part.pairs.begin(), part.pairs.end(), [&](const PairKey& key) {
    return (key[0] == UINT64_MAX || terms.contains(key[0])) && (key[1] == UINT64_MAX || terms.contains(key[1]));
  });
}

// The sums of products that its chains took in, as they were priced. False if they can not be told.
bool Needs::Met::take_in(const Part& part, Network& network) {
  for (const TermId id : part.absorbed) {
    if (times_read(network, id) == 0) return false;
    if (!needs.join_all(network, id)) return network.region.empty;
  }
  return true;
}

void Needs::Met::add_up(TermId id, const std::vector<const Added*>& added, const std::vector<Region>& regions) {
  uint64_t variables = 0;
  for (const Added* one : added) {
    variables |= needs.variables_of(one->value);
    for (const Value& scale : one->scales) variables |= needs.variables_of(scale);
  }
  std::vector<Form> results;
  for (uint32_t v = 0; v < term(id).rank; ++v)
    if ((variables & bit(v)) != 0) results.push_back(Form::variable(v));
  std::vector<Summand> summands;
  std::set<const Part*> unknown;
  for (const Added* one : added) {
    Part& part = *parts.at(one->value.term);
    const Term& made = term(one->value.term);
    for (const Region& region : regions)
      for (const Case& each : made.body) {
        Summand summand{&part, {}, results};
        Network& network = summand.network;
        network.region = region;
        network.apart = true;
        bool known =
            region.samples.empty() && summands.size() < most_summands && needs.join(network, made, each, one->value.at);
        for (size_t c = 0; known && c < made.rank; ++c) {
          const Range& range = each.where.box[made.reduced.size() + c];
          known = range.step == 1;
          Form above = one->value.at[c], below = Form::of(0);
          above.constant -= range.lo;
          for (const auto& [atom, coefficient] : one->value.at[c].terms) below.terms.emplace_back(atom, -coefficient);
          below.constant = range.hi - one->value.at[c].constant;
          network.region.cut(std::move(above), atoms);
          network.region.cut(std::move(below), atoms);
        }
        if (known && network.region.empty) continue;
        known = known && take_in(part, network) && is_as_priced(part, network);
        if (known && network.region.empty) continue;
        summand.own = network.factors.size();
        for (const Value& scale : one->scales) needs.add_factor(network, scale);
        if (known && network.factors.size() <= most_factors)
          summands.push_back(std::move(summand));
        else
          unknown.insert(&part);
      }
  }
  std::erase_if(summands, [&](const Summand& one) { return unknown.contains(one.part); });
  add_up(id, summands);
}

// Chains that one sum adds up by itself.
void Needs::Met::add_own_chains(TermId id) {
  const auto found = parts.find(id);
  if (found == parts.end() || term(id).reducer != Reducer::sum) return;
  const Part& own = *found->second;
  if (own.chains.size() < 2 || own.chains.size() > most_summands || own.made.size() > 1 || !own.pairs.empty()) return;
  std::vector<Part> each;
  each.reserve(own.chains.size());
  std::vector<Summand> summands;
  for (PricedChain* chain : own.chains) {
    if (chain->added_up || chain->network.one_hot || !chain->network.region.samples.empty()) return;
    each.push_back({{id}, {}, {chain}, {}, chain->products / chain->real_products});
    summands.push_back({&each.back(), chain->network, needs.results_of(chain->network)});
  }
  add_up(id, summands);
}

void Needs::add_up_parts() {
  if (tier_ != Tier::unfused) Met(*this).run();
}

}  // namespace lightline::demand
