// Orders of factors that were found before, for other terms.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

// Whether it is the same for other terms: nothing is made on the way that is kept or that is there, and no two factors
// are of one term.
bool Needs::is_order_told_by_forms(const Network& network, const std::vector<size_t>& inner, bool keep) const {
  if (inner.size() > few_factors || (keep && inner.size() > 2)) return false;
  std::vector<int64_t> terms;
  terms.reserve(inner.size());
  for (const size_t i : inner) {
    const Value& value = network.factors[i].value;
    terms.push_back(value.is_element() ? int64_t(value.term) : -1);
  }
  std::sort(terms.begin(), terms.end());
  for (size_t i = 1; i < terms.size(); ++i)
    if (terms[i] != -1 && terms[i] == terms[i - 1]) return false;
  if (inner.size() == 2 || made_before_.empty()) return true;
  for (size_t s = 1; s + 1 < size_t(1) << terms.size(); ++s) {
    if (std::popcount(s) < 2) continue;
    std::vector<int64_t> some;
    for (size_t i = 0; i < terms.size(); ++i)
      if ((s >> i & 1) != 0) some.push_back(terms[i]);
    if (made_before_.contains(some)) return false;
  }
  return true;
}

bool Needs::is_over_budget(size_t factors) {
  if (factors <= few_factors || order_steps_ >= 0) return false;
  drop("more orders of many factors than are tried");
  return true;
}

double Needs::cheapest_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed) {
  // Many networks of many factors: what is beyond the budget counts nothing.
  if (inner.size() > few_factors) order_steps_ -= std::pow(3.0, double(inner.size()));
  if (is_over_budget(inner.size())) return 0;
  if (!is_order_told_by_forms(network, inner, keep)) return found_order(network, inner, keep, transformed);
  const KnownOrders::Question question(network, inner, transformed);
  if (const KnownOrders::Answer* known = known_orders_.find(question)) {
    atoms_.lose(known->losses);
    return known->products;
  }
  const index::Losses before = atoms_.losses();
  KnownOrders::Answer answer{found_order(network, inner, keep, transformed), {}};
  for (size_t i = 0; i < index::kinds_of_loss; ++i) answer.losses[i] = atoms_.losses()[i] - before[i];
  known_orders_.remember(question, answer);
  return answer.products;
}

}  // namespace lightline::demand
