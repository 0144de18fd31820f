// Which sums of products become a part of the sums that read them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

constexpr Range anywhere{-(int64_t(1) << 40), int64_t(1) << 40, 1};

}  // namespace

// What takes a term, looking through sums and products: terms that are neither, or `no_term` for whoever takes it as it
// is: outputs, indices, and more than are kept.
void Needs::find_consumers() {
  constexpr size_t most_kept = 8;
  const size_t size = form_.terms.size();
  consumers_.assign(size, {});
  first_user_.assign(size, no_term);
  const auto add = [&](TermId read, TermId consumer) {
    std::vector<TermId>& list = consumers_[read];
    if (std::find(list.begin(), list.end(), consumer) != list.end()) return;
    list.push_back(list.size() < most_kept ? consumer : no_term);
  };
  const auto passes = [](const Term& made) { return made.kind == TermKind::sum || made.kind == TermKind::product; };
  std::vector<uint32_t> seen(size, 0);
  for (TermId id = 0; id < size; ++id) {
    if (uses_[id] == 0) continue;
    const Term& made = term(id);
    for (const Argument& arg : made.args) {
      if (!arg.value.is_element()) continue;
      ++seen[arg.value.term];
      first_user_[arg.value.term] = std::min(first_user_[arg.value.term], id);
      if (!passes(made)) add(arg.value.term, id);
    }
    for (const Case& one : made.body) {
      if (!one.value.is_element()) continue;
      ++seen[one.value.term];
      first_user_[one.value.term] = std::min(first_user_[one.value.term], id);
      add(one.value.term, id);
    }
  }
  for (TermId id = TermId(size); id-- > 0;) {
    if (uses_[id] > seen[id]) add(id, no_term);  // outputs, indices, opaque operators, memory
    if (!passes(term(id))) continue;
    for (const Argument& arg : term(id).args)
      if (arg.value.is_element())
        for (const TermId consumer : consumers_[id]) add(arg.value.term, consumer);
  }
}

// The elements of a term in a value, through sums and products. False if that takes too long.
bool Needs::read_elements(const Value& value, const Region& where, TermId read, std::vector<Region>& regions) {
  constexpr int most_visits = 512;
  std::set<TermId> without;  // what is known not to read it
  int visits = 0;
  const auto visit = [&](const auto& self, const Value& at) -> bool {  // whether it is read there
    if (!at.is_element() || at.term < read || visits > most_visits || without.contains(at.term)) return false;
    ++visits;
    if (at.term == read)
      for (Region& region : index::image(where, at.at, atoms_)) regions.push_back(std::move(region));
    const Term& made = term(at.term);
    bool found = at.term == read;
    if (made.kind == TermKind::sum || made.kind == TermKind::product)
      for (const Argument& arg : made.args) {
        if (!arg.value.is_element() || arg.value.term < read || without.contains(arg.value.term)) continue;
        algebra_.box = where.box;
        found |= self(self, algebra_.moved(arg.value, at.at));
      }
    if (!found && visits <= most_visits) without.insert(at.term);
    return found;
  };
  visit(visit, value);
  if (visits <= most_visits) return true;
  Region everything;
  everything.box.assign(term(read).rank, anywhere);
  regions.push_back(std::move(everything));
  return false;
}

// All elements of a term that are read for what is needed of a reduction.
std::vector<Region> Needs::reads_by(TermId consumer, TermId read) {
  constexpr size_t most_networks = 64;
  const auto known = reads_by_.find({consumer, read});
  if (known != reads_by_.end() && counting_) return known->second;
  std::vector<Region> regions;
  const uint32_t reduced = uint32_t(term(consumer).reduced.size());
  if (needed_[consumer].size() * term(consumer).body.size() > most_networks) {
    Region everything;
    everything.box.assign(term(read).rank, anywhere);
    regions.push_back(std::move(everything));
  } else {
    for (const Region& needed : needed_[consumer])
      for (const Case& one : term(consumer).body)
        if (const auto where = body_at(one.where, needed, reduced); where && !where->empty)
          read_elements(one.value, *where, read, regions);
  }
  if (counting_) reads_by_[{consumer, read}] = regions;
  return regions;
}

// Those of a term that a sum of products reads to make what is read of it here.
std::vector<Region> Needs::reads_of(const Value& reduction, const Region& region, TermId read) {
  const Term& made = term(reduction.term);
  std::vector<Region> regions;
  for (const Region& needed : index::image(region, reduction.at, atoms_))
    for (const Case& one : made.body)
      if (const auto where = body_at(one.where, needed, uint32_t(made.reduced.size())); where && !where->empty)
        read_elements(one.value, *where, read, regions);
  return regions;
}

bool Needs::have_elements_in_common(const std::vector<Region>& a, const std::vector<Region>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Region& own) {
    return std::any_of(b.begin(), b.end(), [&](const Region& other) {
      if (!index::has_common_points(own, other, atoms_)) return false;
      const Region both = index::intersection(own, other, atoms_);
      return !both.empty && !index::has_no_points(both, atoms_);
    });
  });
}

// No two networks of a reduction, one for each case and region, read the same element.
bool Needs::reads_each_once(TermId consumer, TermId read) {
  constexpr size_t most_networks = 256, most_reading = 16;
  const Term& made = term(consumer);
  if (made.body.size() == 1 && needed_[consumer].size() == 1) return true;
  if (made.body.size() * needed_[consumer].size() > most_networks) return false;
  const auto known = read_once_.find({consumer, read});
  if (known != read_once_.end() && counting_) return known->second;
  bool once = true;
  std::vector<std::vector<Region>> read_by;
  for (const Case& one : made.body)
    for (const Region& needed : needed_[consumer]) {
      const auto where = body_at(one.where, needed, uint32_t(made.reduced.size()));
      if (!where || where->empty) continue;
      std::vector<Region> own;
      read_elements(one.value, *where, read, own);
      if (own.empty() || !once) continue;
      once = read_by.size() < most_reading &&
             std::none_of(read_by.begin(), read_by.end(),
                          [&](const std::vector<Region>& other) { return have_elements_in_common(own, other); });
      read_by.push_back(std::move(own));
    }
  if (counting_) read_once_[{consumer, read}] = once;
  return once;
}

// Others take it than this network, or other cases of the same sum.
bool Needs::is_used_elsewhere(const Value& value, const Network& network) {
  if (uses_[value.term] > 1 || consumers_[value.term].size() > 1) return true;
  return network.owner != no_term && term(network.owner).kind == TermKind::reduce &&
         !reads_each_once(network.owner, value.term);
}

// No other sum takes an element of what is read here, nor another case of this one.
bool Needs::is_read_here_alone(const Value& value, const Network& network) {
  std::vector<Region> here;
  return std::all_of(consumers_[value.term].begin(), consumers_[value.term].end(), [&](TermId consumer) {
    if (consumer == no_term) return false;
    if (std::find(network.absorbed.begin(), network.absorbed.end(), consumer) != network.absorbed.end()) return true;
    if (consumer == network.owner) return reads_each_once(consumer, value.term);
    if (term(consumer).kind != TermKind::reduce || network.owner == no_term) return false;
    if (here.empty()) here = index::image(network.region, value.at, atoms_);
    const bool known =
        consumer > network.owner || first_user_[consumer] > network.owner;  // what is needed of it, by now
    return !have_elements_in_common(here, known ? reads_by(consumer, value.term) : all_reads_by(consumer, value.term));
  });
}

// Its elements that are read here are made for this network.
bool Needs::is_made_here_alone(const Value& value, const Network& network) {
  return uses_[value.term] <= 1 || (times_read(network, value.term) == 1 && is_read_here_alone(value, network));
}

size_t Needs::times_read(const Network& network, TermId id) {
  return size_t(std::count_if(network.factors.begin(), network.factors.end(), [&](const Factor& factor) {
    return factor.value.is_element() && factor.value.term == id && !factor.exponential;
  }));
}

// Every factor that is an element of this sum of products becomes its product.
bool Needs::join_all(Network& network, TermId id) {
  for (size_t i = 0; i < network.factors.size();) {
    const Factor& factor = network.factors[i];
    if (!factor.value.is_element() || factor.value.term != id || factor.exponential) {
      ++i;
      continue;
    }
    const Value value = factor.value;
    network.factors.erase(network.factors.begin() + int64_t(i));
    if (!join(network, term(id), term(id).body[0], value.at)) return false;
  }
  return !network.region.empty;
}

// Whether all sums that read a sum of products take fewer products if it joins every one of them.
bool Needs::is_cheaper_unmade(TermId id) {
  constexpr size_t most_networks = 16;
  if (!counting_) return false;
  const auto [known, added] = unmade_.try_emplace(id, false);
  if (!added) return known->second;
  double kept = 0, without = 0;
  size_t networks = 0;
  std::vector<Region> regions;
  for (const TermId consumer : consumers_[id]) {
    if (consumer == no_term || term(consumer).kind != TermKind::reduce || term(consumer).reducer != Reducer::sum)
      return false;
    // What is needed of it has to be known by now.
    if (consumer < visited_ && first_user_[consumer] <= visited_) return false;
    const uint32_t reduced = uint32_t(term(consumer).reduced.size());
    for (const Region& needed : needed_[consumer])
      for (const Case& one : term(consumer).body) {
        const auto where = body_at(one.where, needed, reduced);
        if (!where || ++networks > most_networks) return false;
        const size_t before = regions.size();
        if (!read_elements(one.value, *where, id, regions)) return false;
        if (where->empty || regions.size() == before) continue;
        Network network = network_of({{one.value}, 1, {}}, *where, bit(reduced) - 1, term(consumer).width, consumer);
        if (term(one.value.term).kind == TermKind::product) {
          network.factors.clear();
          for (const Argument& arg : term(one.value.term).args)
            add_factor(network, algebra_.moved(arg.value, one.value.at));
        }
        network.apart = true;
        if (times_read(network, id) == 0) return false;
        kept += products_of(network);
        if (!join_all(network, id)) return false;
        without += products_of(std::move(network));
      }
  }
  std::vector<Region> different;
  for (Region& region : regions) insert(different, std::move(region));
  return unmade_[id] = without < kept + products_inside(id, disjoint(different));
}

// Sums of products that are read several times, or by others: whether all of this takes fewer products without them.
// What others need of them anyway costs nothing here.
bool Needs::are_cheaper_joined(const std::set<TermId>& sums, const Network& network, std::optional<double>& kept) {
  Network both = network;
  both.apart = true;
  for (const TermId id : sums)
    if (!join_all(both, id)) return false;
  if (!kept) {
    Network apart = network;
    apart.apart = true;
    kept = products_of(std::move(apart));
  }
  const double together = products_of(std::move(both)), alone = *kept;
  if (together < alone) return true;
  if (together == 0) return false;
  double own = 0;
  for (const TermId id : sums) {
    std::vector<Region> regions;
    for (const Factor& factor : network.factors) {
      if (!factor.value.is_element() || factor.value.term != id) continue;
      if (is_needed_anyway(factor.value, network.region)) return false;
      if (!is_read_here_alone(factor.value, network)) return sums.size() == 1 && is_cheaper_unmade(id);
      for (Region& region : index::image(network.region, factor.value.at, atoms_)) insert(regions, std::move(region));
    }
    own += products_inside(id, disjoint(regions));
  }
  return together < alone + own;
}

// A sum of products that could join the network around it.
bool Needs::may_join(const Value& value) const {
  if (!value.is_element()) return false;
  const Term& inner = term(value.term);
  return inner.kind == TermKind::reduce && inner.reducer == Reducer::sum && inner.body.size() == 1;
}

// A factor that is itself a sum of products, made for this alone, joins: the order is then free.
void Needs::absorb(Network& network) {
  absorb_own(network);
  if (tier_ == Tier::unfused || network.apart) return;
  std::set<TermId> shared;
  for (const Factor& factor : network.factors)
    if (may_join(factor.value) && !factor.exponential && !stands_beside_function(network, factor.value))
      shared.insert(factor.value.term);
  std::vector<std::set<TermId>> choices;
  for (const TermId id : shared) choices.push_back({id});
  if (shared.size() > 1) choices.push_back(shared);
  std::optional<double> kept;  // the products of the network as it is
  for (const std::set<TermId>& chosen : choices) {
    if (network.absorbed.size() + chosen.size() > most_absorbed || !are_cheaper_joined(chosen, network, kept)) continue;
    for (const TermId id : chosen) {
      join_all(network, id);
      network.absorbed.push_back(id);
    }
    return absorb(network);
  }
}

void Needs::absorb_own(Network& network) {
  for (size_t i = 0; i < network.factors.size() && network.absorbed.size() < most_absorbed; ++i) {
    if (!may_join(network.factors[i].value)) continue;
    const Value value = network.factors[i].value;
    if (is_needed_anyway(value, network.region) || is_used_elsewhere(value, network)) continue;
    // Where it is read in windows or by digits, or one-hot rows send others to its places, its elements are shared, which
    // an order can not tell.
    const bool shared = !is_plain(value.at) || picks(term(value.term).body[0].value);
    if (shared && !is_cheaper_inside(value, network)) continue;
    Network wider = network;
    wider.factors.erase(wider.factors.begin() + int64_t(i));
    if (!join(wider, term(value.term), term(value.term).body[0], value.at)) continue;
    network = std::move(wider);
    network.absorbed.push_back(value.term);
    i = SIZE_MAX;  // from the start
  }
}

}  // namespace lightline::demand
