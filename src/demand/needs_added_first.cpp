// Sums of products that data scatter and add up: what is added may be added before it is multiplied.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"
#include "index/draws.h"

namespace lightline::demand {
namespace {

// Pairs of random rows of two sets, of which no two have a row in common: Karp and Sipser's limit. As few rows, of
// either set, have a part in every pair.
double expected_matching(double ours, double theirs, double pairs) {
  constexpr int most_steps = 1000;
  double least = std::min(ours, theirs);
  for (double left : {0.0, 1.0}) {
    double other = 1;
    for (int step = 0; step < most_steps; ++step) {
      other = std::exp(-pairs / ours * left);
      const double next = std::exp(-pairs / theirs * other);
      if (std::abs(next - left) < 1e-12) break;
      left = next;
    }
    least = std::min(least, ours * (1 - other) + theirs * (1 - left) - pairs * other * left);
  }
  return std::max(1.0, least);
}

// Random draws that touch so many of `extent` rows.
double draws_for(double rows, double extent) { return std::log1p(-rows / extent) / std::log1p(-1 / extent); }

}  // namespace

// A sum of products of which data tell where it is added: y[p[u]] += sum_i a[q[u], i] b[r[u], i] w[i].
struct Needs::AddedSum {
  Network network;             // of all updates
  uint32_t update = 0;         // its variable that tells them apart
  std::vector<Form> places;    // where they are added
  std::vector<Form> told;      // numbers that tell which rows they read
  std::vector<size_t> own;     // factors that updates have, and that are summed over,
  size_t plain = 0;            // so many of which each update has one of its own;
  std::vector<size_t> common;  // and those that all updates share
  bool several = false;        // updates are products of several rows, which can be said apart
  Value sum;

  bool sort_factors(const Needs& needs);
};

// False if it can not be said which rows a factor reads.
bool Needs::AddedSum::sort_factors(const Needs& needs) {
  bool known = true;
  const auto has_update = [&](uint64_t variables) { return (variables & bit(update)) != 0; };
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Factor& factor = network.factors[i];
    if ((factor.variables & network.summed) == 0) continue;
    (has_update(factor.variables) ? own : common).push_back(i);
    bool has_own = false;
    for (const Form& form : factor.value.at) {
      if (!has_update(needs.variables_of(Value::position(form)))) continue;
      has_own = has_own || !needs.atoms_.has_data(form);
      if (!needs.atoms_.has_data(form)) continue;
      known = known && index::number_by_data(form, needs.atoms_) != nullptr;
      if (std::find(told.begin(), told.end(), form) == told.end()) told.push_back(form);
    }
    plain += has_own;
  }
  return known;
}

std::optional<Needs::AddedSum> Needs::added_sum(size_t body, const Term& scatter, const Region& where) {
  const ScatterParts& parts = form_.scatters[scatter.array];
  const Value value = scatter.body[body].value;
  if (tier_ == Tier::unfused || !value.is_element() || uses_[value.term] > 1) return std::nullopt;
  const Term& sum = term(value.term);
  if (sum.kind != TermKind::reduce || sum.reducer != loops::Reducer::sum || sum.body.size() != 1) return std::nullopt;
  AddedSum added;
  added.sum = value;
  uint64_t own = 0;
  for (size_t d = 0, i = 0; d < parts.by_data.size(); ++d) {
    if (!parts.by_data[d]) continue;
    const Value& index = parts.indices[body][i++];
    if (!index.is_element()) return std::nullopt;
    own |= variables_of(index);
    added.places.push_back(atoms_.data(index.term, index.at, parts.extents[d]));
  }
  if (std::popcount(own) != 1) return std::nullopt;
  added.update = uint32_t(std::countr_zero(own));
  if (added.update >= scatter.reduced.size()) return std::nullopt;
  Network& network = added.network;
  network.region = where;
  network.width = narrower(sum.width, wanted_width_[value.term]);
  if (!join(network, sum, sum.body[0], value.at)) return std::nullopt;
  absorb_own(network);
  const bool known = added.sort_factors(*this);
  added.several = known && added.own.size() > 1 && are_told_apart(added);
  return added;
}

// No cut has to do with what updates have and with something else, but where one tells the other.
bool Needs::are_told_apart(const AddedSum& added) {
  const std::vector<Form>& cuts = added.network.region.cuts;
  uint64_t own = 0;
  for (const size_t i : added.own) own |= added.network.factors[i].variables;
  return std::all_of(cuts.begin(), cuts.end(), [&](const Form& cut) {
    const uint64_t variables = variables_of(Value::position(cut));
    if ((variables & own) == 0 || (variables & ~own) == 0) return true;
    return std::find(cuts.begin(), cuts.end(), atoms_.scaled(cut, -1)) != cuts.end();
  });
}

// So many updates take products: as many as there are different rows of what they read, of what is added up at one
// place before, or of either, whichever comes first for an update. Where updates are products of several rows, only
// those that have all others in common can be added up.
double Needs::rows_added_first(const AddedSum& added, const Region& where, double updates, double wanted) {
  const std::vector<Region> read = index::image(where, added.several ? added.told : added.sum.at, atoms_);
  const std::vector<Region> places = index::image(where, added.places, atoms_);
  const bool known = read.size() == 1 && places.size() == 1;
  const double rows = std::min({updates, index::expected_values(updates, wanted), double(count(places))});
  if (added.several && added.plain > 1) return updates;
  double extent = 1;  // of different rows that there could be
  bool apart = known && places[0].samples.size() == 1;
  for (const index::Sample& sample : known ? read[0].samples : std::vector<index::Sample>{}) {
    extent *= std::max(1.0, sample.extent);
    apart = apart && sample.extent > 1 && index::are_independent(places[0].samples[0], sample, atoms_);
  }
  if (added.several && known && added.plain > 0)
    return std::min(updates, index::expected_values(updates, wanted * extent));
  if (!apart || read[0].samples.empty() || (!added.several && read[0].samples.size() > 1)) return rows;
  double met = added.several ? updates : rows;
  for (const index::Sample& sample : read[0].samples) {
    const double others = extent / sample.extent;
    met = std::min(met, others * expected_matching(wanted, sample.extent, updates / others));
  }
  return met >= extent ? updates : std::min(updates, draws_for(met, extent));
}

// What updates are made of, multiplied and added up at each place before it meets what all updates share, if that takes
// fewer products than `fewer` updates.
bool Needs::need_places_first(const AddedSum& added, const Region& fewer, double places) {
  if (tier_ != Tier::fused || !added.several || added.common.empty()) return false;
  const Network& network = added.network;
  Network own = network, rest = network;
  own.factors.clear();
  uint64_t variables = 0, shared = 0;
  for (const size_t i : added.own) {
    own.factors.push_back(network.factors[i]);
    variables |= network.factors[i].variables;
  }
  double each = INFINITY;
  for (const size_t i : added.common) {
    shared |= network.factors[i].variables;
    each = std::min(each, box_points(network.region, network.factors[i].variables));
  }
  own.summed &= ~shared;
  for (size_t v = 0; v < own.region.box.size(); ++v)
    if ((variables & bit(v)) == 0) own.region.box[v].hi = own.region.box[v].lo;
  own.region.points = -1;
  std::erase_if(own.region.cuts,
                [&](const Form& cut) { return (variables_of(Value::position(cut)) & ~variables) != 0; });
  const double products = products_of(std::move(own)) + places * each;
  for (size_t v = 0; v < fewer.box.size(); ++v) rest.region.box[v] = fewer.box[v];
  rest.region.samples = fewer.samples;
  rest.region.points = -1;
  if (products >= products_of(std::move(rest))) return false;
  const TermId sum = added.sum.term;
  need_factors(network, sum);
  if (!counting_) return true;
  uint64_t data_variables = 0;
  Operands type = product_type(network, factors_inside(network, data_variables));
  const double macs = real_products(type, sum) * products;
  work_of(sum).macs[type] += macs;
  work_of(sum).transformed_macs[type] += macs;
  link(sum, sum, Link::Kind::chain);
  return true;
}

// Of sums of products that are scattered and added only some updates take products, though what all of them are made of
// is needed.
bool Needs::need_added_first(size_t body, const Term& scatter, const Region& where, double wanted) {
  const std::optional<AddedSum> added = added_sum(body, scatter, where);
  if (!added) return false;
  Region fewer = where;
  fewer.points = -1;
  const auto share = std::find_if(fewer.samples.begin(), fewer.samples.end(),
                                  [&](const index::Sample& sample) { return sample.coordinate == added->update; });
  const bool drawn = share != fewer.samples.end();
  if (!drawn && !is_free(where, added->update)) return false;
  const double updates = drawn ? share->expected : double(where.box[added->update].count());
  double places = std::min(updates, double(count(index::image(where, added->places, atoms_)))), rows = places;
  if (tier_ != Tier::floor && wanted > 0) {
    places = std::min(places, index::expected_values(updates, wanted));
    rows = rows_added_first(*added, where, updates, wanted);
  }
  if (drawn) {
    share->expected = rows;
    share->least = std::min(share->least, rows);
  } else if (rows < updates) {
    Range& range = fewer.box[added->update];
    range.hi = range.lo + (std::max<int64_t>(1, int64_t(rows)) - 1) * range.step;
  }
  if (need_places_first(*added, fewer, places)) return true;
  if (rows >= updates) return false;
  for (const size_t i : added->own) need(added->network.factors[i].value, added->network.region);
  need(added->sum, fewer);
  return true;
}

}  // namespace lightline::demand
