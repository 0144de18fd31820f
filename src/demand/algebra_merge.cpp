// Cases with one value that are neighbours become one.
#include <algorithm>
#include <numeric>

#include "demand/algebra.h"

namespace lightline::demand {
namespace {

// By everything but one dimension, then by where that starts.
void sort_along(Cases& cases, size_t dimension) {
  const auto in_order = [&](const Case& a, const Case& b) {
    for (size_t i = 0; i < a.where.box.size(); ++i)
      if (i != dimension && a.where.box[i] != b.where.box[i]) return a.where.box[i] < b.where.box[i];
    if (a.where.cuts != b.where.cuts) return a.where.cuts < b.where.cuts;
    return a.where.box[dimension].lo < b.where.box[dimension].lo;
  };
  if (std::is_sorted(cases.begin(), cases.end(), in_order)) return;
  std::vector<size_t> order(cases.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return in_order(cases[a], cases[b]); });
  Cases sorted;
  sorted.reserve(cases.size());
  for (const size_t i : order) sorted.push_back(std::move(cases[i]));
  cases = std::move(sorted);
}

}  // namespace

// Where a cut and its opposite have one value, neither is needed.
void Algebra::merge_opposites(Cases& cases) const {
  constexpr size_t most_compared = 64;
  if (cases.size() < 2 || cases.size() > most_compared) return;
  const auto opposite = [&](const Form& a, const Form& b) {
    if (a.constant + b.constant != -1 || a.terms.size() != b.terms.size()) return false;
    for (size_t t = 0; t < a.terms.size(); ++t)
      if (a.terms[t].first != b.terms[t].first || a.terms[t].second != -b.terms[t].second) return false;
    return true;
  };
  for (size_t i = 0; i < cases.size(); ++i)
    for (size_t j = i + 1; j < cases.size(); ++j) {
      Case &one = cases[i], &other = cases[j];
      if (one.where.cuts.empty() || one.where.cuts.size() != other.where.cuts.size() ||
          one.where.box != other.where.box || !(one.value == other.value) || one.value.width != other.value.width)
        continue;
      std::vector<Form> own, others;
      std::set_difference(one.where.cuts.begin(), one.where.cuts.end(), other.where.cuts.begin(),
                          other.where.cuts.end(), std::back_inserter(own));
      std::set_difference(other.where.cuts.begin(), other.where.cuts.end(), one.where.cuts.begin(),
                          one.where.cuts.end(), std::back_inserter(others));
      if (own.size() != 1 || others.size() != 1 || !opposite(own[0], others[0])) continue;
      std::erase(one.where.cuts, own[0]);
      one.where.points = -1;
      cases.erase(cases.begin() + int64_t(j));
      i = SIZE_MAX;  // from the start
      break;
    }
}

void Algebra::merge(Cases& cases) {
  merge_opposites(cases);
  if (cases.size() < 2) return;
  const size_t rank = cases[0].where.box.size();
  for (size_t d = 0; d < rank; ++d) {
    sort_along(cases, d);
    size_t kept = 0;
    for (size_t i = 1; i < cases.size(); ++i) {
      Case& last = cases[kept];
      Case& next = cases[i];
      Range& own = last.where.box[d];
      const Range& other = next.where.box[d];
      bool same = own.step == 1 && other.step == 1 && own.hi + 1 == other.lo && last.where.cuts == next.where.cuts &&
                  last.value == next.value && last.value.width == next.value.width;
      for (size_t e = 0; same && e < rank; ++e) same = e == d || last.where.box[e] == next.where.box[e];
      if (same)
        own.hi = other.hi;
      else if (++kept != i)
        cases[kept] = std::move(next);
    }
    cases.resize(kept + 1);
    if (cases.size() == 1) return;
  }
}

}  // namespace lightline::demand
