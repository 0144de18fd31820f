// Sums of products that take less than their parts do. The floor allows most: x @ a + x @ b is x @ (a + b), and shifts
// of one array are one convolution. Whoever sets the other operands to zero sees that the most expensive of the
// products is needed, and no more is sure.
#include <algorithm>
#include <bit>

#include "demand/needs.h"
#include "demand/steps_beside.h"

namespace lightline::demand {

// The terms that are multiplied in a product, or in a sum of products.
std::set<TermId> Needs::factors_of(const Value& value) const {
  if (!value.is_element()) return {};
  const Term& made = term(value.term);
  if (made.kind == TermKind::reduce && made.reducer == loops::Reducer::sum && made.body.size() == 1)
    return factors_of(made.body[0].value);
  if (made.kind != TermKind::product) return {value.term};
  std::set<TermId> factors;
  for (const Argument& arg : made.args)
    if (arg.value.is_element() && algebra_.reads_data(arg.value)) factors.insert(arg.value.term);
  return factors;
}

struct Needs::SharedPart {
  TermId term;
  double products = 0;
  std::set<TermId> factors;
  Value value;
  Region region;
};

// Sums of products among the parts of a sum, of which nobody else takes the elements that it takes: as far as is known,
// others take other elements, as the sums inside of an image and along its border do.
std::vector<Needs::SharedPart> Needs::parts_to_share(TermId id) {
  std::vector<SharedPart> parts;
  for (const Region& region : needed_[id]) {
    std::vector<Value> values;
    parts_of(Value::element(id, own_variables(term(id).rank), term(id).width), region, values);
    for (const Value& value : values) {
      if (!value.is_element()) continue;
      const Term& made = term(value.term);
      if (made.kind != TermKind::reduce || made.reducer != loops::Reducer::sum || made.body.size() != 1) continue;
      const bool taken =
          uses_[value.term] > 1 && have_elements_in_common(index::image(region, value.at, atoms_), needed_[value.term]);
      if (!taken) parts.push_back({value.term, 0, {}, value, region});
    }
  }
  return parts;
}

// The most stand for all that share a factor with them; of equal ones those that most sums use. Of what several sums
// use the elements that this one takes are stood for.
void Needs::share_products(TermId id) {
  std::vector<SharedPart> parts = parts_to_share(id);
  if (parts.size() < 2) return;
  for (SharedPart& part : parts) {
    part.products = products_inside(part.value, part.region);
    part.factors = factors_of(part.value);
  }
  std::stable_sort(parts.begin(), parts.end(), [&](const SharedPart& a, const SharedPart& b) {
    return std::pair(-a.products, -int64_t(uses_[a.term])) < std::pair(-b.products, -int64_t(uses_[b.term]));
  });
  std::vector<const SharedPart*> standing;
  std::set<TermId> shared, stand;
  for (const SharedPart& part : parts) {
    const bool is_shared = std::any_of(standing.begin(), standing.end(), [&](const SharedPart* other) {
      return other->term != part.term && std::any_of(part.factors.begin(), part.factors.end(), [&](TermId factor) {
               return other->factors.contains(factor) &&
                      have_elements_in_common(reads_of(other->value, other->region, factor),
                                              reads_of(part.value, part.region, factor));
             });
    });
    (is_shared ? shared : stand).insert(part.term);
    if (!is_shared) standing.push_back(&part);
  }
  for (const SharedPart& part : parts) {
    if (!shared.contains(part.term)) continue;
    if (uses_[part.term] <= 1)
      stood_for_.insert(part.term);
    else if (!stand.contains(part.term))
      for (Region& region : index::image(part.region, part.value.at, atoms_))
        stood_for_at_[part.term].push_back(std::move(region));
  }
}

// Needs what all elements of a sum do, and counts those that no other products stand for.
void Needs::visit_beside(TermId id, const std::vector<Region>& stood_for) {
  const std::vector<Region> all = needed_[id];
  std::vector<Region> rest = disjoint(all);
  for (const Region& region : stood_for) take_off(rest, region);
  const bool was = std::exchange(counting_, false);
  visit_reduction(id);
  counting_ = was;
  if (rest.empty()) return;
  needed_[id] = std::move(rest);
  visit_reduction(id);
  needed_[id] = all;
}

std::vector<bool> Needs::shared_cases(const Cases& body, size_t reduced) {
  std::vector<bool> stood_for(body.size(), false);
  const auto points = [&](const Case& one) {
    double total = 1;
    for (size_t r = 0; r < reduced; ++r) total *= double(one.where.box[r].count());
    return total;
  };
  // Of more than these, the elements are not looked at: they may have some in common.
  constexpr size_t most_cases = 16, most_compared = 1 << 14;
  size_t compared = 0;
  std::vector<std::set<TermId>> factors;
  for (const Case& one : body) factors.push_back(factors_of(one.value));
  std::map<std::pair<size_t, TermId>, std::vector<Region>> known;
  const auto reads_in = [&](size_t i, TermId id) -> const std::vector<Region>& {
    const auto [at, added] = known.try_emplace({i, id});
    if (added) read_elements(body[i].value, body[i].where, id, at->second);
    return at->second;
  };
  for (size_t i = 0; i < body.size(); ++i)
    for (size_t j = 0; j < body.size() && !stood_for[i]; ++j) {
      if (body[i].value == body[j].value || stood_for[j]) continue;
      const double own = points(body[i]), other = points(body[j]);
      const bool smaller = own < other || (own == other && j < i);
      if (!smaller) continue;
      stood_for[i] = std::any_of(factors[i].begin(), factors[i].end(), [&](TermId id) {
        if (!factors[j].contains(id)) return false;
        if (body.size() > most_cases) return true;
        const std::vector<Region>&a = reads_in(i, id), &b = reads_in(j, id);
        compared += a.size() * b.size();
        if (compared > most_compared) drop("cases that read in more places than are compared");
        return compared > most_compared || have_elements_in_common(a, b);
      });
    }
  return stood_for;
}

// Formulas are known before, whatever they are: neighbours in a sum that differ by them alone are one, with those
// formulas that have the fewest variables at a time.
Cases Needs::joined_by_formulas(const Term& reduction) {
  Cases body = reduction.body;
  if (reduction.reducer != loops::Reducer::sum || body.size() < 2 || tier_ == Tier::unfused) return body;
  struct Parts {
    std::vector<Value> data;
    int widest = 0;
    size_t formulas = 0;
  };
  std::vector<Parts> parts(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    const Value& value = body[i].value;
    Network network;
    network.region = body[i].where;
    if (value.is_element() && term(value.term).kind == TermKind::product) {
      algebra_.box = network.region.box;
      for (const Argument& arg : term(value.term).args) add_factor(network, algebra_.moved(arg.value, value.at));
    } else {
      add_factor(network, value);
    }
    for (const Factor& factor : network.factors) {
      if (!factor.formula) {
        parts[i].data.push_back(factor.value);
        continue;
      }
      parts[i].widest = std::max(parts[i].widest, std::popcount(factor.variables));
      ++parts[i].formulas;
    }
  }
  for (size_t i = 0; i < body.size(); ++i) {
    if (parts[i].data.empty()) continue;
    size_t best = SIZE_MAX;
    for (size_t j = 0; j < body.size(); ++j) {
      if (parts[j].data != parts[i].data) continue;
      if (best == SIZE_MAX) best = j;
      const bool finer = parts[j].widest < parts[best].widest ||
                         (parts[j].widest == parts[best].widest && parts[j].formulas > parts[best].formulas);
      if (parts[j].formulas > 0 && (finer || parts[best].formulas == 0)) best = j;
    }
    body[i].value = reduction.body[best].value;
  }
  algebra_.merge(body);
  return body;
}

// Chains that make on the way what another sum is: a (a x) beside a x.
void Needs::take_pairs_from_chains() {
  std::map<std::pair<uint64_t, uint64_t>, std::vector<const Pair*>> pairs;
  for (const auto& [key, pair] : pairs_) pairs[{key[0], key[1]}].push_back(&pair);
  const auto stands = [](const Factor& factor) {
    return !factor.formula && !factor.exponential && factor.value.is_element();
  };
  for (PricedChain& chain : chains_) {
    const std::vector<Factor>& factors = chain.network.factors;
    double saved = 0;
    std::optional<StepsBeside> steps_beside;
    for (size_t a = 0; a < factors.size(); ++a)
      for (size_t b = 0; b < factors.size(); ++b) {
        const Factor &first = factors[a], &second = factors[b];
        if (a == b || !stands(first) || !stands(second) || first.value.term > second.value.term) continue;
        const auto known = pairs.find({first.value.term, second.value.term});
        if (known == pairs.end()) continue;
        std::vector<Form> forms = first.value.at;
        forms.insert(forms.end(), second.value.at.begin(), second.value.at.end());
        const std::vector<Region> own = index::image(chain.network.region, forms, atoms_);
        for (const Pair* pair : known->second) {
          if (!have_elements_in_common(own, pair->regions)) continue;
          if (!steps_beside) steps_beside.emplace(chain.network, index::count(chain.network.region, atoms_, data_));
          saved = std::max(saved, std::min(chain.products - chain.real_products * (*steps_beside)(a, b),
                                           pair->products * pair->real_products));
        }
      }
    take_off(chain, saved);
  }
}

void Needs::take_off(PricedChain& chain, double products) {
  if (products <= 0) return;
  chain.products -= products;
  Work& less = work_of(chain.owner);
  for (auto* list : {&less.macs, &less.transformed_macs})
    if (const auto found = list->find(chain.type); found != list->end())
      found->second = std::max(0.0, found->second - products);
}

}  // namespace lightline::demand
