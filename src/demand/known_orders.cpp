#include "demand/known_orders.h"

#include <algorithm>

#include "base/maths.h"

namespace lightline::demand {
namespace {

// Before all terms: what is no element has none.
int64_t term_of(const Factor& factor) { return factor.value.is_element() ? int64_t(factor.value.term) : -1; }

uint64_t hash_of(const Factor& factor) {
  uint64_t hash = mixed(mixed(uint64_t(factor.value.kind), uint64_t(factor.formula)), factor.variables);
  if (factor.value.is_position()) hash = mixed(hash, index::hash_of(factor.value.form));
  for (const Form& form : factor.value.at) hash = mixed(hash, index::hash_of(form));
  return hash;
}

bool is_alike(const Factor& a, const Factor& b) {
  return a.value.kind == b.value.kind && a.formula == b.formula && a.variables == b.variables &&
         a.value.at == b.value.at && a.value.form == b.value.form;
}

}  // namespace

KnownOrders::Question::Question(const Network& asked, const std::vector<size_t>& factors, bool by_transforms)
    : network(asked),
      inner(factors),
      transformed(by_transforms),
      hash(mixed(mixed(index::hash_of(asked.region), asked.summed), uint64_t(by_transforms))) {
  places.reserve(inner.size());
  for (const size_t i : inner) {
    const int64_t own = term_of(network.factors[i]);
    places.push_back(uint32_t(
        std::count_if(inner.begin(), inner.end(), [&](size_t k) { return term_of(network.factors[k]) < own; })));
    hash = mixed(mixed(hash, hash_of(network.factors[i])), places.back());
  }
}

bool KnownOrders::Entry::is_of(const Question& question) const {
  const Network& network = question.network;
  if (summed != network.summed || transformed != question.transformed || places != question.places) return false;
  for (size_t i = 0; i < factors.size(); ++i)
    if (!is_alike(factors[i], network.factors[question.inner[i]])) return false;
  return region.points == network.region.points && region == network.region;
}

const KnownOrders::Answer* KnownOrders::find(const Question& question) const {
  const auto [first, last] = entries_.equal_range(question.hash);
  for (auto it = first; it != last; ++it)
    if (it->second.is_of(question)) return &it->second.answer;
  return nullptr;
}

void KnownOrders::remember(const Question& question, Answer answer) {
  if (answer.losses[size_t(index::Loss::numbers)] > 0) return;
  if (entries_.size() >= most_kept) entries_.clear();
  Entry entry{question.network.region, question.network.summed, question.transformed, {}, question.places, answer};
  for (const size_t i : question.inner) entry.factors.push_back(question.network.factors[i]);
  entries_.emplace(question.hash, std::move(entry));
}

}  // namespace lightline::demand
