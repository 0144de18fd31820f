// Factors that parts of a sum have in common, and how many products they take with all that they meet.
#include <algorithm>
#include <cmath>

#include "demand/needs_met.h"

namespace lightline::demand {

// Factors that leave the sum.
std::vector<size_t> Needs::Met::outside_of(const Network& network) {
  std::vector<size_t> outside;
  for (size_t i = 0; i < network.factors.size(); ++i)
    if ((network.factors[i].variables & network.summed) == 0) outside.push_back(i);
  return outside;
}

// Windows that leave something out, as dilated ones do, by their taps: else it could not be said what they have in common
// with others.
std::vector<Region> Needs::Met::with_single_taps(const Network& network, const Factor& factor) {
  constexpr double most_taps = 64;
  std::vector<Region> regions{network.region};
  for (size_t v = 0; v < network.region.box.size(); ++v) {
    const Range range = network.region.box[v];
    if ((network.summed & bit(v)) == 0 || double(regions.size()) * double(range.count()) > most_taps) continue;
    const bool leaves_out = std::any_of(factor.value.at.begin(), factor.value.at.end(), [&](const Form& form) {
      return form.terms.size() > 1 && std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& one) {
               return one.first == v && std::abs(one.second) * range.step > 1;
             });
    });
    if (!leaves_out) continue;
    std::vector<Region> single;
    for (const Region& region : regions)
      for (int64_t tap = range.lo; tap <= range.hi; tap += range.step) {
        Region one = region;
        one.box[v] = {tap, tap, 1};
        one.points = -1;
        single.push_back(std::move(one));
      }
    regions = std::move(single);
  }
  return regions;
}

// A factor that the others may be added up for: they have fewer elements together than there are products.
std::optional<Needs::Met::Meeting> Needs::Met::meeting(const Summand& summand, size_t common,
                                                       const std::vector<size_t>& left_out) {
  constexpr double much = 4;
  const Region& region = summand.network.region;
  const std::vector<Factor>& factors = summand.network.factors;
  const Factor& factor = factors[common];
  if (factor.formula || factor.exponential || !factor.value.is_element() || common >= summand.own) return std::nullopt;
  std::vector<Form> forms = factor.value.at, others;
  uint64_t variables = 0;
  size_t data = 0;
  bool power = false, scaled = false;
  for (size_t i = 0; i < factors.size(); ++i) {
    const Factor& other = factors[i];
    if (i == common || std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    if (other.value.is_element() && other.value.term == factor.value.term) return std::nullopt;
    if (i >= summand.own)
      scaled = scaled || !other.formula;
    else if (other.exponential)
      power = true;
    else if (!other.formula)
      ++data;
    variables |= other.variables;
    if (!other.exponential && other.value.is_element())
      others.insert(others.end(), other.value.at.begin(), other.value.at.end());
    else
      for (size_t v = 0; v < region.box.size(); ++v)
        if ((other.variables & bit(v)) != 0) others.push_back(Form::variable(index::AtomId(v)));
  }
  std::vector<Form> pairs = forms;
  pairs.insert(pairs.end(), others.begin(), others.end());
  const double elements = count(index::image(region, others, atoms));
  const double products = count(index::image(region, pairs, atoms));
  if (elements >= products || (scaled && much * elements > products)) return std::nullopt;
  forms.insert(forms.end(), summand.results.begin(), summand.results.end());
  const bool contracts = (variables & ~factor.variables & summand.network.summed) != 0;
  std::vector<Region> met;
  for (const Region& taps : with_single_taps(summand.network, factor))
    for (Region& one : index::image(taps, forms, atoms)) met.push_back(std::move(one));
  const double own = count(met);
  const double before = data + power > 1 ? std::min(elements, products_before(summand, common, left_out)) : 0;
  return Meeting{std::move(met), own, before, contracts, 1};
}

// The products of what one factor meets, in the cheapest order.
double Needs::Met::products_before(const Summand& summand, size_t common, const std::vector<size_t>& left_out) {
  Network rest = summand.network;
  const uint64_t taken = rest.factors[common].variables;
  uint64_t own = 0;
  std::vector<Factor> factors;
  for (size_t i = 0; i < rest.factors.size(); ++i) {
    if (i == common || std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    own |= rest.factors[i].variables;
    factors.push_back(rest.factors[i]);
  }
  if (!rest.region.is_box()) return INFINITY;
  rest.factors = std::move(factors);
  rest.summed &= ~taken;
  for (size_t v = 0; v < rest.region.box.size(); ++v)
    if ((~own & bit(v)) != 0) rest.region.box[v].hi = rest.region.box[v].lo;
  rest.region.points = -1;
  return needs.products_of(std::move(rest));
}

// The products of a factor with what it meets in several parts; where that can not be said, in the largest.
double Needs::Met::count_together(const std::vector<const Meeting*>& meetings) {
  std::vector<Region> all;
  double most = 0;
  for (const Meeting* meeting : meetings) {
    most = std::max(most, count(meeting->regions));
    for (const Region& region : meeting->regions) {
      if (std::any_of(all.begin(), all.end(), [&](const Region& known) { return lies_inside(region, known); }))
        continue;
      std::erase_if(all, [&](const Region& known) { return lies_inside(known, region); });
      all.push_back(region);
    }
  }
  double apart = 0;
  for (const Region& region : needs.disjoint(all)) apart += count({region});
  return std::max({most, count(all), apart});
}

std::vector<Needs::Met::Common> Needs::Met::common_factors(const std::vector<Summand>& summands) {
  std::vector<Common> all;
  std::map<Part*, size_t> summands_of;
  std::map<TermId, std::set<const Summand*>> having;
  for (const Summand& one : summands) {
    ++summands_of[one.part];
    for (const Factor& factor : one.network.factors)
      if (factor.value.is_element() && !factor.formula) having[factor.value.term].insert(&one);
  }
  for (const Summand& one : summands) {
    const std::vector<size_t> outside = outside_of(one.network);
    std::vector<Value> values;
    for (const size_t i : outside) values.push_back(one.network.factors[i].value);
    for (size_t i = 0; i < one.network.factors.size(); ++i) {
      const Factor& factor = one.network.factors[i];
      if (!factor.value.is_element() || factor.formula || having[factor.value.term].size() < 2) continue;
      for (const bool leave_out : {true, false}) {
        if (!leave_out && outside.empty()) continue;
        const auto met = meeting(one, i, leave_out ? outside : std::vector<size_t>{});
        if (!met) continue;
        const std::vector<Value> left_out = leave_out ? values : std::vector<Value>{};
        auto found = std::find_if(all.begin(), all.end(), [&](const Common& common) {
          return common.factor == factor.value.term && common.outside == left_out;
        });
        if (found == all.end()) found = all.insert(all.end(), Common{factor.value.term, left_out, {}});
        Meeting& own = found->meetings[one.part];
        own.apart += met->apart;
        own.before += met->before;
        own.contracts = own.contracts || met->contracts;
        ++own.summands;
        own.regions.insert(own.regions.end(), met->regions.begin(), met->regions.end());
      }
    }
  }
  for (Common& common : all) {
    std::erase_if(common.meetings, [&](const auto& one) { return one.second.summands < summands_of[one.first]; });
    for (auto& [part, own] : common.meetings)
      if (own.before > 0 && !own.contracts)
        own.before = std::min(own.before, std::max(0.0, part->products - own.apart));
  }
  return all;
}

// Adds up what meets one factor as long as that saves products.
void Needs::Met::add_up(TermId id, const std::vector<Summand>& summands) {
  if (summands.size() < 2) return;
  const index::Losses before = atoms.losses();
  std::vector<Common> all = common_factors(summands);
  // What is dearer before than its own products are stays as it is.
  for (Common& common : all)
    std::erase_if(common.meetings, [](const auto& one) { return one.second.before >= one.first->products; });
  while (true) {
    double most_saved = 0, left = 0, whole = 0;
    const Common* best = nullptr;
    for (Common& common : all) {
      std::erase_if(common.meetings, [](const auto& one) { return !one.first->open; });
      double apart = 0, together = 0;
      size_t networks = 0;
      std::vector<const Meeting*> meetings;
      for (const auto& [part, one] : common.meetings) {
        apart += part->products;
        together += one.before;
        networks += one.summands;
        meetings.push_back(&one);
      }
      if (networks < 2 || together >= apart) continue;
      together += count_together(meetings);
      if (apart - together <= most_saved) continue;
      most_saved = apart - together;
      left = together;
      whole = apart;
      best = &common;
    }
    if (best == nullptr) break;
    std::vector<Part*> met;
    for (const auto& [part, one] : best->meetings) met.push_back(part);
    std::sort(met.begin(), met.end(), [](const Part* a, const Part* b) {
      return std::pair(a->products, *a->made.rbegin()) > std::pair(b->products, *b->made.rbegin());
    });
    for (Part* part : met) {
      // The floor counts one of those that have something in common: that one makes all.
      const bool by_turns = needs.tier_ == Tier::floor && part->products > 0;
      const double own = by_turns ? std::min(left, part->products) : part->products * left / whole;
      keep_share(*part, part->products > 0 ? own / part->products : 0);
      if (by_turns) left -= own;
      for (const TermId made : part->made) needs.link(id, made, Link::Kind::chain);
    }
  }
  atoms.forget_losses_since(before);
}

void Needs::Met::keep_share(Part& part, double share) {
  part.open = false;
  for (const PairKey& key : part.pairs) needs.pairs_[key].products *= share;
  for (PricedChain* chain : part.chains) {
    Work& less = needs.work_of(chain->owner);
    less.macs[chain->type] -= chain->products * (1 - share);
    less.transformed_macs[chain->type] -= chain->transformed * (1 - share);
    chain->added_up = true;
  }
}

}  // namespace lightline::demand
