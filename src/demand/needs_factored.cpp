// Sums of chains with a factor in common: b A X + c A (A X) may be (b A + c A^2) X.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Reducer;

// One part of a sum: a product of factors under a sum, written out as far as its factors are other parts.
struct Needs::Chain {
  TermId made = no_term;
  Network network;
  Network whole;  // with sums in place of their main parts
  bool scaled = false;
};

// A part of a sum: a sum of products, perhaps scaled.
struct Needs::ScaledSum {
  Value value;
  std::vector<Value> scales;
};

std::optional<Needs::ScaledSum> Needs::scaled_sum(const Value& part, const Region& region) {
  const auto is_sum_of_products = [&](const Value& value) {
    if (!value.is_element()) return false;
    const Term& made = term(value.term);
    if (made.kind != TermKind::reduce || made.reducer != Reducer::sum || made.body.size() != 1) return false;
    const Value& body = made.body[0].value;
    return body.is_element() && term(body.term).kind == TermKind::product && !stood_for_.contains(value.term);
  };
  if (is_sum_of_products(part)) return ScaledSum{part, {}};
  if (!part.is_element() || term(part.term).kind != TermKind::product || uses_[part.term] > 1) return std::nullopt;
  std::optional<ScaledSum> result(std::in_place);
  algebra_.box = region.box;
  for (const Argument& arg : term(part.term).args) {
    Value value = algebra_.moved(arg.value, part.at);
    if (!is_sum_of_products(value)) {
      result->scales.push_back(std::move(value));
      continue;
    }
    if (result->value.is_element()) return std::nullopt;
    result->value = std::move(value);
  }
  return result->value.is_element() ? result : std::nullopt;
}

// The factors of a sum of products, with other parts of the same sum in place of the elements that they are.
std::optional<Needs::Chain> Needs::chain_of(const ScaledSum& part, const Region& region,
                                            const std::set<TermId>& parts) {
  Chain chain{part.value.term, {}, {}, !part.scales.empty()};
  chain.network.region = region;
  chain.network.apart = true;
  const Term& sum = term(part.value.term);
  if (!join(chain.network, sum, sum.body[0], part.value.at)) return std::nullopt;
  if (chain.network.factors.size() + part.scales.size() > most_factors) return std::nullopt;
  for (const Value& scale : part.scales) add_factor(chain.network, scale);
  for (size_t i = 0; i < chain.network.factors.size();) {
    const Factor factor = chain.network.factors[i];
    if (factor.exponential || !factor.value.is_element() || !parts.contains(factor.value.term)) {
      ++i;
      continue;
    }
    chain.network.factors.erase(chain.network.factors.begin() + int64_t(i));
    const Term& inner = term(factor.value.term);
    if (!join(chain.network, inner, inner.body[0], factor.value.at)) return std::nullopt;
  }
  if (chain.network.region.empty) return std::nullopt;
  chain.whole = chain.network;
  for (Factor& factor : chain.network.factors)
    if (!factor.exponential) factor.value = main_part(factor.value, chain.network.region);
  return chain;
}

// What two chains may have in common: a factor of one term, with the same coordinates of the result, that no other
// factor has, and else plainly what is summed.
bool Needs::is_common_factor(const Chain& a, size_t i, const Chain& b, size_t j) const {
  const Factor &one = a.network.factors[i], &other = b.network.factors[j];
  if (one.exponential || other.exponential || !one.value.is_element() || !other.value.is_element()) return false;
  if (one.value.term != other.value.term || !is_plain(one.value.at) || !is_plain(other.value.at)) return false;
  for (const auto& [chain, own] : {std::pair(&a, i), std::pair(&b, j)}) {
    const uint64_t free = chain->network.factors[own].variables & ~chain->network.summed;
    if (free == 0 || (chain->network.factors[own].variables & chain->network.summed) == 0) return false;
    for (size_t k = 0; k < chain->network.factors.size(); ++k)
      if (k != own && (chain->network.factors[k].variables & free) != 0) return false;
  }
  for (size_t d = 0; d < one.value.at.size(); ++d) {
    const bool summed = (a.network.summed & variables_of(Value::position(one.value.at[d]))) != 0;
    const bool also = (b.network.summed & variables_of(Value::position(other.value.at[d]))) != 0;
    if (summed != also || (!summed && !(one.value.at[d] == other.value.at[d]))) return false;
  }
  return true;
}

// All that uses them are each other and this sum.
bool Needs::are_made_for(const std::set<TermId>& parts, const std::vector<ScaledSum>& sums) const {
  std::map<TermId, uint32_t> uses;
  const auto use = [&](const Value& value) {
    if (value.is_element() && parts.contains(value.term)) ++uses[value.term];
  };
  for (const ScaledSum& sum : sums) use(sum.value);
  for (const TermId part : parts) {
    const Value& body = term(part).body[0].value;
    if (!body.is_element() || uses_[body.term] > 1) return false;
    for (const Argument& arg : term(body.term).args) use(arg.value);
  }
  return std::all_of(parts.begin(), parts.end(), [&](TermId part) { return uses_[part] == uses[part]; });
}

// The sums of products in a sum, and in sums inside that nobody else reads, if those are looked at.
void Needs::collect_sums(const Value& sum, const Region& region, bool inside, std::vector<ScaledSum>& sums) {
  for (const Argument& arg : term(sum.term).args) {
    algebra_.box = region.box;
    const Value value = algebra_.moved(arg.value, sum.at);
    if (auto found = scaled_sum(value, region))
      sums.push_back(std::move(*found));
    else if (inside && value.is_element() && term(value.term).kind == TermKind::sum && uses_[value.term] <= 1)
      collect_sums(value, region, inside, sums);
  }
}

void Needs::factor_out(TermId id) {
  if (!counting_ || tier_ == Tier::unfused || !term(id).reads_data) return;
  if (needed_[id].size() != 1 || !needed_[id][0].is_box()) return;
  const Value sum = Value::element(id, own_variables(term(id).rank), term(id).width);
  std::vector<ScaledSum> direct, all;
  collect_sums(sum, needed_[id][0], false, direct);
  collect_sums(sum, needed_[id][0], true, all);
  if (all.size() > direct.size() && factor_out(id, all)) return;
  factor_out(id, direct);
}

// Takes the factor that all chains have in common out of them, if that takes fewer products.
bool Needs::factor_out(TermId id, const std::vector<ScaledSum>& values) {
  constexpr size_t most_chains = 32;
  const Region region = needed_[id][0];
  std::set<TermId> parts;
  for (const ScaledSum& one : values) parts.insert(one.value.term);
  if (values.size() < 2 || values.size() > most_chains || !are_made_for(parts, values)) return false;
  std::vector<Chain> chains;
  for (const ScaledSum& value : values) {
    auto chain = chain_of(value, region, parts);
    if (!chain) return false;
    chains.push_back(std::move(*chain));
  }
  std::optional<double> apart;
  const bool boxes =
      std::all_of(chains.begin(), chains.end(), [](const Chain& chain) { return chain.network.region.is_box(); });
  for (size_t i = 0; boxes && i < chains[0].network.factors.size(); ++i) {
    std::vector<size_t> common{i};
    for (size_t c = 1; c < chains.size() && common.size() == c; ++c)
      for (size_t j = 0; j < chains[c].network.factors.size() && common.size() == c; ++j)
        if (is_common_factor(chains[0], i, chains[c], j)) common.push_back(j);
    if (common.size() != chains.size()) continue;
    if (!apart) apart = products_apart(values, region);
    if (price_factored(id, chains, common, *apart)) return true;
  }
  return tier_ == Tier::floor && price_met_together(id, chains, values);
}

// Windows of one array with different weights, as two convolutions that are added: each element meets each result once,
// with the sum of what it meets there.
bool Needs::price_met_together(TermId id, const std::vector<Chain>& chains, const std::vector<ScaledSum>& sums) {
  const auto has_two = [](const Chain& chain) { return !chain.scaled && chain.network.factors.size() == 2; };
  if (!std::all_of(chains.begin(), chains.end(), has_two)) return false;
  for (const Factor& first : chains[0].network.factors) {
    if (!first.value.is_element() || first.exponential || is_plain(first.value.at)) continue;
    std::vector<Region> met;
    double share = 1;
    size_t having = 0;
    for (const Chain& chain : chains) {
      const auto& factors = chain.network.factors;
      const auto own = std::find_if(factors.begin(), factors.end(), [&](const Factor& factor) {
        return factor.value.is_element() && !factor.exponential && factor.value.term == first.value.term;
      });
      if (own == factors.end()) break;
      ++having;
      std::vector<Form> forms = own->value.at, results = own_variables(term(id).rank);
      forms.insert(forms.end(), results.begin(), results.end());
      for (Region& region : index::image(chain.network.region, forms, atoms_)) {
        if (std::any_of(met.begin(), met.end(), [&](const Region& known) { return lies_inside(region, known); }))
          continue;
        std::erase_if(met, [&](const Region& known) { return lies_inside(known, region); });
        met.push_back(std::move(region));
      }
      share = std::min(share, transform_share(chain.network, {0, 1}));
    }
    const index::Losses before = atoms_.losses();
    const double products = met.empty() ? 0.0 : double(count(met));
    const bool exact = atoms_.losses() == before;
    atoms_.forget_losses_since(before);
    if (!exact || having < chains.size() || products >= products_apart(sums, needed_[id][0])) continue;
    uint64_t data_variables = 0;
    Operands type = product_type(chains[0].network, factors_inside(chains[0].network, data_variables));
    const double real = real_products(type, id) * products;
    work_of(id).macs[type] += real * (tier_ == Tier::floor ? share : 1);
    work_of(id).transformed_macs[type] += real * share;
    for (const Chain& chain : chains) {
      need_factors(chain.whole, id);
      stood_for_.insert(chain.made);
      link(id, chain.made, Link::Kind::chain);
    }
    return true;
  }
  return false;
}

// The products of some sums of products, each by itself.
double Needs::products_apart(const std::vector<ScaledSum>& sums, const Region& region) {
  std::map<TermId, std::vector<Region>> read;
  for (const auto& [value, scales] : sums)
    for (Region& mapped : index::image(region, value.at, atoms_)) insert(read[value.term], std::move(mapped));
  double products = 0;
  for (const auto& [id, regions] : read) products += products_inside(id, disjoint(regions));
  return products;
}

bool Needs::price_factored(TermId id, const std::vector<Chain>& chains, const std::vector<size_t>& common,
                           double apart) {
  std::vector<Network> rests;
  double last = 0, before = 0;
  const bool scaled = std::any_of(chains.begin(), chains.end(), [](const Chain& chain) { return chain.scaled; });
  for (size_t c = 0; c < chains.size(); ++c) {
    Network rest = chains[c].network;
    rest.apart = false;
    rest.owner = id;
    const uint64_t taken = rest.factors[common[c]].variables;
    rest.factors.erase(rest.factors.begin() + int64_t(common[c]));
    uint64_t own = 0;
    for (const Factor& factor : rest.factors) own |= factor.variables;
    last = std::max(last, box_points(rest.region, (own & ~rest.summed) | taken));
    // What is added up has to be small beside what it meets, or else adding it takes as long.
    constexpr double much = 4;
    const double added = box_points(rest.region, (own & ~rest.summed) | (own & taken));
    if (scaled && much * added > last) return false;
    rest.summed &= ~taken;
    // The variables that the factor has alone are no part of the rest.
    for (size_t v = 0; v < rest.region.box.size(); ++v)
      if ((taken & ~own & bit(v)) != 0) rest.region.box[v].hi = rest.region.box[v].lo;
    rest.region.points = -1;
    before += products_of(rest);
    rests.push_back(std::move(rest));
  }
  if (last + before >= apart) return false;
  const Network& whole = chains[0].network;
  uint64_t data_variables = 0;
  Operands type = product_type(whole, factors_inside(whole, data_variables));
  const double products = last * real_products(type, id);
  work_of(id).macs[type] += products;
  work_of(id).transformed_macs[type] += products;
  Results results{needed_[id]};
  for (Network& rest : rests)
    if (rest.summed != 0) price(rest, id, results);
  for (const Chain& chain : chains) {
    need_factors(chain.whole, id);
    stood_for_.insert(chain.made);
    link(id, chain.made, Link::Kind::chain);
  }
  return true;
}

}  // namespace lightline::demand
