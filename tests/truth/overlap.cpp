#include "truth/overlap.h"

#include <algorithm>
#include <set>

namespace lightline::truth {
namespace {

// Extra values that a result takes beyond another: those it lacks must be subtracted.
double step_from(const ReducedSet& from, const ReducedSet& to, bool invertible) {
  ReducedSet missing, extra;
  std::set_difference(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(missing));
  std::set_difference(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(extra));
  if (!extra.empty() && !invertible) return double(to.size());
  return double(missing.size() + extra.size());
}

// A full rectangle of places of one array, with any strides.
bool is_box(const ScalarGraph& graph, const ReducedSet& set) {
  std::vector<int64_t> places;
  for (const auto& [id, coefficient] : set) {
    if (coefficient != set[0].coefficient) return false;
    if (graph[id].array != graph[set[0].node].array || graph[id].array == loops::none) return false;
    places.push_back(graph[id].place);
  }
  std::sort(places.begin(), places.end());
  std::set<int64_t> offsets;
  for (const int64_t place : places) offsets.insert(place - places[0]);
  // Peel one arithmetic progression after the other: {0, d, 2d, ...} + the rest.
  std::vector<int64_t> rest(offsets.begin(), offsets.end());
  while (rest.size() > 1) {
    const int64_t step = rest[1];
    const std::set<int64_t> all(rest.begin(), rest.end());
    int64_t length = 0;
    while (all.contains(length * step)) ++length;
    std::vector<int64_t> starts;
    for (const int64_t place : rest)
      if (!all.contains(place - step)) starts.push_back(place);
    if (int64_t(starts.size()) * length != int64_t(rest.size())) return false;
    for (const int64_t start : starts)
      for (int64_t i = 0; i < length; ++i)
        if (!all.contains(start + i * step)) return false;
    rest = starts;
  }
  return true;
}

}  // namespace

std::vector<double> chained_steps(const std::vector<ReducedSet>& sets, bool invertible) {
  std::vector<double> steps;
  for (size_t i = 0; i < sets.size(); ++i) {
    double best = double(sets[i].size());
    const size_t first = i > 64 ? i - 64 : 0;
    for (size_t j = first; j < i && best > 1; ++j) best = std::min(best, step_from(sets[j], sets[i], invertible));
    steps.push_back(best);
  }
  return steps;
}

double overlapping_operations(const ScalarGraph& graph, std::vector<ReducedSet> sets, bool invertible) {
  double separate = 0;
  std::set<ReducedValue> values;
  for (const ReducedSet& set : sets) {
    separate += double(set.size()) - 1;
    values.insert(set.begin(), set.end());
  }
  if (separate + double(sets.size()) <= double(values.size())) return separate;  // no value is used twice
  const double least = double(std::max(values.size(), sets.size()));
  if (least >= separate) return separate;
  std::sort(sets.begin(), sets.end(), [](const ReducedSet& a, const ReducedSet& b) { return a.size() < b.size(); });
  const std::vector<double> steps = chained_steps(sets, invertible);
  double chain = 0;
  for (size_t i = 0; i < sets.size(); ++i) chain += std::min(steps[i], double(sets[i].size()) - 1);
  if (chain <= 3 * least || std::all_of(sets.begin(), sets.end(), [&](const auto& set) { return is_box(graph, set); }))
    return std::min(least, chain);
  return std::min(separate, chain);
}

}  // namespace lightline::truth
