// Products of many factors, two at a time.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "demand/work.h"

namespace lightline::demand {

DType product_type(const std::vector<DType>& factors) {
  std::vector<DType> sorted;
  for (const DType dtype : factors)
    if (dtype != DType::boolean) sorted.push_back(dtype);
  if (sorted.empty()) return DType::i8;
  std::stable_sort(sorted.begin(), sorted.end(), [](DType a, DType b) { return bits(a) < bits(b); });
  return sorted[std::min<size_t>(1, sorted.size() - 1)];
}

namespace {

class ContractionOrders {
 public:
  ContractionOrders(const std::vector<Factor>& factors, VariableSet kept, const Piece& points)
      : factors_(factors), kept_(kept), points_(points), best_(size_t(1) << factors.size(), -1) {}

  double run() { return cost(uint32_t(best_.size() - 1)); }

 private:
  // The variables of a subset that matter outside of it; what only it has is summed beforehand.
  VariableSet outer(uint32_t subset) const {
    VariableSet own = 0, elsewhere = kept_;
    for (size_t i = 0; i < factors_.size(); ++i) (subset >> i & 1 ? own : elsewhere) |= factors_[i].variables;
    return own & elsewhere;
  }
  // A variable that all factors of a subset have only inside a window is no dimension of its own: x[p + r] has about as
  // many elements as there are p.
  VariableSet windows(uint32_t subset) const {
    VariableSet only = ~VariableSet(0), any = 0;
    for (size_t i = 0; i < factors_.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      only &= factors_[i].windows | ~factors_[i].variables;
      any |= factors_[i].windows;
    }
    return only & any;
  }
  double cost(uint32_t subset) {
    if (std::has_single_bit(subset)) return 0;
    double& best = best_[subset];
    if (best >= 0) return best;
    double least = -1;
    for (uint32_t part = (subset - 1) & subset; part > (subset ^ part); part = (part - 1) & subset) {
      const uint32_t rest = subset ^ part;
      const double total = cost(part) + cost(rest) + count_over((outer(part) | outer(rest)) & ~windows(subset));
      if (least < 0 || total < least) least = total;
    }
    return best = least;
  }
  double count_over(VariableSet variables) {
    const auto [found, fresh] = counts_.try_emplace(variables, 0);
    if (fresh) {
      std::vector<int> list;
      for (size_t v = 0; v < points_.box.size(); ++v)
        if (variables & bit(v)) list.push_back(int(v));
      found->second = list.size() == points_.box.size() ? count(points_) : count(project(points_, list));
    }
    return found->second;
  }

  const std::vector<Factor>& factors_;
  const VariableSet kept_;
  const Piece& points_;
  std::vector<double> best_;
  std::unordered_map<VariableSet, double> counts_;
};

}  // namespace

double cheapest_order(const std::vector<Factor>& factors, VariableSet kept, const Piece& points) {
  constexpr size_t most = 8;
  if (factors.size() < 2) return 0;
  if (factors.size() <= most) return ContractionOrders(factors, kept, points).run();
  // Too many to try: every element of the result takes at least one step.
  std::vector<int> list;
  for (size_t v = 0; v < points.box.size(); ++v)
    if (kept & bit(v)) list.push_back(int(v));
  return count(project(points, list));
}

}  // namespace lightline::demand
