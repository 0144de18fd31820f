#include "demand/needs_orders.h"

#include <bit>

namespace lightline::demand {

uint64_t Needs::Orders::variables_of(const Form& form) const {
  uint64_t set = 0;
  needs.atoms_.for_each_variable(form, [&](index::AtomId v) { set |= bit(v); });
  return set;
}

void Needs::Orders::find_variables() {
  for (size_t s = 1; s < subsets; ++s)
    for (size_t i = 0; i < n; ++i)
      if ((s >> i & 1) != 0) all[s] |= factor(i).variables;
  // What is summed away may be tied by cuts to other variables: the sum then depends on those.
  std::vector<uint64_t> tied(network.region.box.size(), 0);
  for (const Form& cut : network.region.cuts) {
    const uint64_t set = variables_of(cut);
    for (size_t v = 0; v < tied.size(); ++v)
      if ((set & bit(v)) != 0) tied[v] |= set;
  }
  for (size_t s = 1; s < subsets; ++s) {
    const uint64_t own = all[s] & network.summed & ~all[subsets - 1 - s];
    uint64_t others = 0;
    for (size_t v = 0; v < tied.size(); ++v)
      if ((own & bit(v)) != 0) others |= tied[v];
    left[s] = (all[s] & ~own) | (others & ~own);
    whole[s] = std::popcount(s) == 1 ? all[s] : left[s];
  }
  for (size_t i = 0; i < n; ++i)
    if (factor(i).formula) known |= size_t(1) << i;
}

double Needs::Orders::points(uint64_t variables) {
  variables = told_by(variables, equations);
  if (network.region.is_box()) return box_points(network.region, variables);
  const auto [at, added] = counted.try_emplace(variables, 0);
  if (!added) return at->second;
  std::vector<Form> forms;
  for (size_t v = 0; v < network.region.box.size(); ++v)
    if ((variables & bit(v)) != 0) forms.push_back(Form::variable(index::AtomId(v)));
  const auto mapped = index::image(network.region, forms, needs.atoms_);
  return at->second = mapped.empty() ? 0.0 : needs.count(mapped);
}

// What a side is read by, as it was there from the start
std::vector<Form> Needs::Orders::forms_of(size_t side) const {
  std::vector<Form> forms;
  for (const size_t i : by_rows) {
    if ((side >> i & 1) == 0) continue;
    const Value& value = factor(i).value;
    if (value.is_position()) forms.push_back(value.form);
    forms.insert(forms.end(), value.at.begin(), value.at.end());
  }
  return forms;
}

// Or is made of such by products alone, nothing being summed: its elements are told by those of its factors.
bool Needs::Orders::is_from_start(size_t side) const {
  const bool unsummed = (all[side] & network.summed & ~all[subsets - 1 - side]) == 0;
  return std::popcount(side) == 1 || (side & ~known) == 0 ||
         (n <= few_told_apart && unsummed && network.region.samples.empty());
}

// Scaling one by the other is no contraction: vector units do it on the way.
bool Needs::Orders::is_scaling(size_t a, size_t b) const {
  const size_t s = a | b;
  return left[s] == (left[a] | left[b]) && (left[s] == left[a] || left[s] == left[b]);
}

Needs::Orders::Step Needs::Orders::join(size_t a, size_t b) {
  if (is_scaling(a, b)) return {};
  Step step{INFINITY};
  for (const uint64_t x : {left[a], whole[a]})
    for (const uint64_t y : {left[b], whole[b]})
      if (const double products = points(x | y); products < step.products) step = {products, x | y};
  // What was there from the start, and products of it, may repeat their products.
  if (is_from_start(a) && is_from_start(b)) {
    std::vector<Form> forms = forms_of(a);
    const std::vector<Form> others = forms_of(b);
    forms.insert(forms.end(), others.begin(), others.end());
    double products = INFINITY;
    if (const auto plain = plain_variables(forms); plain && network.region.is_box()) {
      products = box_points(network.region, *plain);
    } else if (const auto mapped = index::image(network.region, forms, needs.atoms_); !mapped.empty()) {
      products = needs.count(mapped);
    }
    if (products < step.products) step = {products, 0, false, a | b};
  }
  step = rows_before(a, b, step);
  const double half = std::ceil(step.products / 2);
  step = without_repetition(a, b, step);
  // Elements of one term against each other: half of the products are the other half.
  if (std::popcount(a | b) == 2) {
    const Value &x = factor(size_t(std::countr_zero(a))).value, &y = factor(size_t(std::countr_zero(b))).value;
    if (x.is_element() && y.is_element() && x.term == y.term && x.at != y.at)
      step = {std::min(half, step.products), 0, false};
  }
  if (transformed) {
    const uint64_t both = (whole[a] | left[a]) & (whole[b] | left[b]);
    step.products *= needs.transform_share(network, inner, both);
  }
  return step;
}

// What meets one row of a gather is added up before.
Needs::Orders::Step Needs::Orders::rows_before(size_t a, size_t b, Step step) const {
  for (const auto& [gathered, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (std::popcount(gathered) != 1) continue;
    const Factor& rows = factor(size_t(std::countr_zero(gathered)));
    const uint64_t added = needs.summed_by_data(network, rows);
    if (added == 0 || (added & left[a | b]) != 0) continue;
    std::vector<Form> forms = rows.value.at;
    for (size_t v = 0; v < network.region.box.size(); ++v)
      if ((left[other] & ~added & bit(v)) != 0) forms.push_back(Form::variable(index::AtomId(v)));
    const auto mapped = index::image(network.region, forms, needs.atoms_);
    if (mapped.empty()) continue;
    if (const double products = needs.count(mapped); products < step.products) step = {products, 0, false};
  }
  return step;
}

// ---- products that are others with variables exchanged ----
bool Needs::Orders::has_equal_factors(size_t s) const {
  for (size_t i = 0; i < n; ++i) {
    if ((s >> i & 1) == 0 || !factor(i).value.is_element()) continue;
    for (size_t j = 0; j < i; ++j)
      if ((s >> j & 1) != 0 && factor(j).value.is_element() && factor(j).value.term == factor(i).value.term)
        return true;
  }
  return false;
}

const Needs::Orders::Symmetric& Needs::Orders::symmetries_of(size_t s) {
  Symmetric& own = symmetric[s];
  if (std::exchange(own.looked, true) || !has_equal_factors(s)) return own;
  std::vector<size_t> members;
  for (size_t i = 0; i < n; ++i)
    if ((s >> i & 1) != 0) members.push_back(inner[i]);
  const auto found = needs.symmetries(network, members, 0);
  if (!found)
    own.repeated = std::tgamma(double(members.size()) + 1);
  else
    own.exchanges = *found;
  // What is summed away stays so.
  std::erase_if(own.exchanges, [&](const Exchanges& images) {
    for (uint32_t v = 0; v < images.size(); ++v)
      if ((left[s] & bit(v)) != 0 && (left[s] & bit(images[v])) == 0) return true;
    return false;
  });
  own.of_results = own.exchanges;
  for (Exchanges& images : own.of_results)
    for (uint32_t v = 0; v < images.size(); ++v)
      if ((left[s] & bit(v)) == 0) images[v] = v;
  std::sort(own.of_results.begin(), own.of_results.end());
  own.of_results.erase(std::unique(own.of_results.begin(), own.of_results.end()), own.of_results.end());
  return own;
}

uint64_t Needs::Orders::moved(uint64_t variables, const Exchanges& images) const {
  uint64_t to = 0;
  for (uint32_t v = 0; v < images.size(); ++v)
    if ((variables & bit(v)) != 0) to |= bit(images[v]);
  return to;
}

// Results that are others with variables exchanged are made once, and so are products whose two sides are.
Needs::Orders::Step Needs::Orders::without_repetition(size_t a, size_t b, Step step) {
  const Symmetric& own = symmetries_of(a | b);
  if (own.repeated > 1) return {step.products / own.repeated, 0, false};
  if (own.exchanges.size() < 2) return step;
  if (n > Needs::few_factors) needs.order_steps_ -= double(own.exchanges.size()) / 4;
  const uint64_t points = step.told ? step.variables : left[a] | left[b];
  std::vector<Exchanges> of_sides;
  for (const Exchanges& images : own.exchanges) {
    const uint64_t x = moved(left[a], images), y = moved(left[b], images);
    if ((x == left[a] && y == left[b]) || (x == left[b] && y == left[a])) of_sides.push_back(images);
  }
  const double fewest = std::min(distinct_points(network.region, points, step.products, own.of_results),
                                 distinct_points(network.region, points, step.products, of_sides));
  return fewest < step.products ? Step{std::ceil(fewest), 0, false} : step;
}

void Needs::Orders::prepare() {
  equations = needs.equations_of(network.region);
  find_variables();
  sort_by_rows();
}

double Needs::Orders::cheapest() {
  prepare();
  for (size_t i = 0; i < n; ++i) cost[size_t(1) << i] = 0;
  for (size_t s = 1; s < subsets; ++s) {
    if (std::popcount(s) < 2) continue;
    if ((s & ~known) == 0) {
      cost[s] = 0;
      continue;
    }
    if (needs.is_over_budget(n)) return 0;
    for (size_t a = (s - 1) & s; a > 0; a = (a - 1) & s) {
      const size_t b = s ^ a;
      if (a < b) continue;
      // Equal sides are made once: powers by squaring.
      const double sides = is_made_twice(a, b) ? cost[a] : cost[a] + cost[b];
      const double orders = s + 1 == subsets ? equal.orders_of(a) : 1;
      if (sides / orders >= cost[s]) continue;
      const double together = sides + join(a, b).products;
      if (together / orders >= cost[s]) continue;
      cost[s] = together / orders;
      orders_taken = orders;
      split[s] = a;
    }
    if (s + 1 < subsets) cost[s] = std::max(0.0, cost[s] - spent_before(s));
  }
  cost[subsets - 1] *= orders_taken;
  const double saved = n <= 4 ? saved_by_mixing() : 0;
  if (keep && n > 2) keep_what_is_made();
  return std::max(0.0, cost[subsets - 1] - saved) / orders_taken;
}

// ---- what several sums make on the way ----
void Needs::Orders::sort_by_rows() {
  row_keys.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const Value& value = factor(i).value;
    row_keys[i] = {value.is_element() ? int64_t(value.term) : -1};
    for (const Form& form : value.at) row_keys[i].push_back(form.is_constant() ? form.constant : -1);
    by_rows.push_back(i);
  }
  std::stable_sort(by_rows.begin(), by_rows.end(), [&](size_t a, size_t b) { return row_keys[a] < row_keys[b]; });
}

std::vector<int64_t> Needs::Orders::terms(size_t s) const {
  std::vector<int64_t> ids;
  for (const size_t i : by_rows)
    if ((s >> i & 1) != 0) ids.push_back(row_keys[i][0]);
  return ids;
}

std::vector<int64_t> Needs::Orders::all_rows(size_t s) const {
  std::vector<int64_t> list;
  for (const size_t i : by_rows)
    if ((s >> i & 1) != 0) list.insert(list.end(), row_keys[i].begin(), row_keys[i].end());
  return list;
}

// Two sides that may have elements in common: the same terms, unless the places tell them apart.
bool Needs::Orders::is_made_twice(size_t a, size_t b) const {
  if (std::popcount(a) < 2 || std::popcount(a) != std::popcount(b) || all_rows(a) != all_rows(b)) return false;
  if (has_equal_factors(a)) return true;
  return needs.have_elements_in_common(elements(a), elements(b));
}

// A part of it may be there from other sums: whoever makes it there spends as much as it costs, and what they are
// counted with pays for that.
double Needs::Orders::spent_before(size_t s) const {
  if (needs.made_before_.empty()) return 0;
  const auto made = needs.made_before_.find(terms(s));
  if (made == needs.made_before_.end()) return 0;
  if (made->second.rows.contains(all_rows(s))) return made->second.spent;
  const std::vector<Region>& others = made->second.regions;
  const std::vector<Region> own = elements(s);
  const bool common = std::any_of(own.begin(), own.end(), [&](const Region& one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Region& other) { return index::has_common_points(one, other, needs.atoms_); });
  });
  return common ? made->second.spent : 0;
}

void Needs::Orders::keep_what_is_made() const {
  constexpr size_t most_kept = 256, most_told_apart = 5;
  std::set<std::vector<int64_t>> paid;
  for (size_t s = 1; s + 1 < subsets; ++s) {
    if (std::popcount(s) < 2) continue;
    const std::vector<int64_t> key = terms(s);
    MadeBefore& made = needs.made_before(key);
    if (paid.insert(key).second) made.spent += cost[subsets - 1];
    const bool told_apart = (n <= most_told_apart || std::popcount(s) == 2) && made.regions.size() < most_kept;
    const std::vector<Region> own = told_apart ? elements(s) : std::vector<Region>();
    if (own.empty()) made.rows.insert(all_rows(s));
    for (const Region& one : own)
      if (std::find(made.regions.begin(), made.regions.end(), one) == made.regions.end()) made.regions.push_back(one);
  }
}

double Needs::found_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed) {
  // A quadratic form takes half of its matrix, added to the other half.
  const bool mirrored = tier_ == Tier::floor ? inner.size() > 2 : tier_ == Tier::fused && inner.size() == 3;
  const EqualFactors equal = mirrored ? equal_factors(network, inner) : EqualFactors{};
  return Orders{*this, network, inner, keep, transformed, equal}.cheapest();
}

}  // namespace lightline::demand
