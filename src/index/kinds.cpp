#include "index/kinds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace lightline::index {
namespace {

// The same elements but for the numbers, at one coordinate each.
bool differ_in_numbers_alone(const Kind& a, const Kind& b) {
  const auto &x = a.regions[0]->samples, &y = b.regions[0]->samples;
  if (x.size() != 1 || y.size() != 1 || x[0].coordinate != y[0].coordinate || x[0].extent != y[0].extent) return false;
  if (x[0].extent <= 0 || a.regions.size() != b.regions.size()) return false;
  const auto same = [](const Region* one, const Region* other) {
    return one->box == other->box && one->cuts == other->cuts;
  };
  return std::all_of(a.regions.begin(), a.regions.end(), [&](const Region* one) {
    return std::any_of(b.regions.begin(), b.regions.end(), [&](const Region* other) { return same(one, other); });
  });
}

// Rows that are drawn by themselves, again and again, are those of as many draws.
std::vector<Kind> rows_drawn_together(std::vector<Kind> kinds, const Atoms& atoms) {
  constexpr size_t most_compared = 256;
  if (kinds.size() > most_compared) return kinds;
  std::vector<Kind> result;
  std::vector<bool> taken(kinds.size(), false);
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (taken[i]) continue;
    std::vector<const Sample*> together;
    double left = 1;  // the share of rows that none of them has
    for (size_t j = i; j < kinds.size(); ++j) {
      if (taken[j] || !differ_in_numbers_alone(kinds[i], kinds[j])) continue;
      const Sample& sample = kinds[j].regions[0]->samples[0];
      if (!std::all_of(together.begin(), together.end(),
                       [&](const Sample* s) { return are_independent(*s, sample, atoms); }))
        continue;
      together.push_back(&sample);
      left *= 1 - std::min(1.0, sample.expected / sample.extent);
      taken[j] = true;
    }
    result.push_back(std::move(kinds[i]));
    if (together.size() < 2) continue;
    const Sample& own = *together[0];
    const bool shifted = std::any_of(result.back().regions.begin(), result.back().regions.end(),
                                     [&](const Region* region) { return region->box[own.coordinate].count() > 1; });
    if (!shifted && own.expected > 0) result.back().points *= std::max(1.0, own.extent * (1 - left) / own.expected);
  }
  return result;
}

// Pairs of numbers that are drawn by themselves, where each draw of one of them is in one pair.
struct Pairs {
  double draws = 0;
  double values = 0;  // different ones, in general position
  bool once[2] = {false, false};
};

std::optional<Pairs> pairs_of(const Kind& kind, const Atoms& atoms) {
  const std::vector<Sample>& both = kind.regions[0]->samples;
  if (kind.regions.size() != 1 || both.size() != 2 || !are_independent(both[0], both[1], atoms)) return std::nullopt;
  Pairs pairs{std::max(both[0].draws, both[1].draws), both[0].expected * both[1].expected, {}};
  for (size_t i = 0; i < 2; ++i) {
    const bool varies = std::any_of(both[i].varies.begin(), both[i].varies.end(), [&](uint32_t coordinate) {
      return coordinate != both[0].coordinate && coordinate != both[1].coordinate;
    });
    if (varies || both[i].draws < 1 || both[i].extent < pairs.draws) return std::nullopt;
    if (kind.regions[0]->box[both[i].coordinate].count() != 1) return std::nullopt;
    pairs.once[i] = both[i].draws == pairs.draws;
  }
  return pairs.values > 0 && pairs.values <= pairs.draws * (1 + 1e-9) ? std::optional(pairs) : std::nullopt;
}

// The same elements but for the numbers of both.
bool differ_in_pairs_alone(const Region& a, const Region& b) {
  bool same = a.box == b.box && a.cuts == b.cuts;
  for (size_t i = 0; i < 2; ++i)
    same = same && a.samples[i].coordinate == b.samples[i].coordinate && a.samples[i].extent == b.samples[i].extent;
  return same;
}

// Two kinds have no more pairs in common than these: of draws that share a number, directly or crosswise, those where
// the other numbers are equal, one in `extent`; of all others those where both are. Nothing if that can not be said.
std::optional<double> most_in_common(const Kind& a, const Pairs& of_a, const Kind& b, const Pairs& of_b,
                                     const Atoms& atoms) {
  const std::vector<Sample>&x = a.regions[0]->samples, &y = b.regions[0]->samples;
  for (size_t i = 0; i < 2; ++i)
    if (are_independent(x[i], y[i], atoms) && of_a.once[1 - i] && of_b.once[1 - i])
      return 2 * std::min(of_a.draws, of_b.draws) / std::min(x[0].extent, x[1].extent) +
             of_a.draws / x[0].extent * (of_b.draws / x[1].extent);
  return std::nullopt;
}

// One kind for all that are pairs: each as many as it has more than those before.
std::vector<Kind> pairs_drawn_together(std::vector<Kind> kinds, const Atoms& atoms) {
  constexpr size_t most_compared = 1024;
  std::vector<std::optional<Pairs>> pairs;
  for (const Kind& kind : kinds) pairs.push_back(kinds.size() > most_compared ? std::nullopt : pairs_of(kind, atoms));
  std::vector<size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return kinds[a].points > kinds[b].points; });
  std::vector<Kind> result;
  std::vector<bool> taken(kinds.size(), false);
  for (const size_t first : order) {
    if (taken[first]) continue;
    std::vector<size_t> together{first};
    double values = pairs[first] ? pairs[first]->values : 0;
    for (const size_t next : order) {
      if (!pairs[first] || next == first || taken[next] || !pairs[next]) continue;
      if (!differ_in_pairs_alone(*kinds[first].regions[0], *kinds[next].regions[0])) continue;
      double more = pairs[next]->values;
      for (const size_t before : together) {
        if (more <= 0) break;
        const auto common = most_in_common(kinds[before], *pairs[before], kinds[next], *pairs[next], atoms);
        more = common ? more - *common : 0;
      }
      if (more <= 0) continue;
      values += more;
      together.push_back(next);
      taken[next] = true;
    }
    result.push_back(kinds[first]);
    if (together.size() > 1) result.back().points *= values / pairs[first]->values;
  }
  return result;
}

}  // namespace

std::vector<Kind> drawn_together(std::vector<Kind> kinds, const Atoms& atoms) {
  return pairs_drawn_together(rows_drawn_together(std::move(kinds), atoms), atoms);
}

bool are_independent(const Sample& a, const Sample& b, const Atoms& atoms) {
  if (a.places.empty() || b.places.empty() || !atoms.is_free(a.held_by) || !atoms.is_free(b.held_by)) return false;
  if (a.held_by != b.held_by) return true;
  for (size_t d = 0; d < a.places.size(); ++d)
    if (a.places[d].hi < b.places[d].lo || b.places[d].hi < a.places[d].lo) return true;
  return false;
}

}  // namespace lightline::index
