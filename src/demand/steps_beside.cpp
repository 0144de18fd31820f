#include "demand/steps_beside.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lightline::demand {

SidePoints::SidePoints(const std::vector<Range>& box) : tables_((box.size() + 7) / 8) {
  for (size_t t = 0; t < tables_.size(); ++t) {
    tables_[t][0] = 1;
    for (size_t set = 1; set < 256; ++set) {
      const size_t variable = 8 * t + size_t(std::countr_zero(set));
      const double side = variable < box.size() ? double(box[variable].count()) : 1;
      tables_[t][set] = tables_[t][set & (set - 1)] * side;
    }
  }
}

double StepsBeside::operator()(size_t a, size_t b) const {
  constexpr size_t most_parts = 10;
  const std::vector<Factor>& factors = network_.factors;
  std::vector<uint64_t> parts{factors[a].variables | factors[b].variables};
  for (size_t i = 0; i < factors.size(); ++i)
    if (i != a && i != b && !factors[i].formula) parts.push_back(factors[i].variables);
  if (parts.size() > most_parts) return 0;
  uint64_t all = 0;
  for (const uint64_t part : parts) all |= part;
  const size_t sets = size_t(1) << parts.size();
  std::vector<uint64_t> open(sets, 0);  // variables of what is made of a set of parts
  for (size_t set = 1; set < sets; ++set) {
    uint64_t inside = 0, outside = all & ~network_.summed;
    for (size_t i = 0; i < parts.size(); ++i) ((set >> i & 1) != 0 ? inside : outside) |= parts[i];
    open[set] = inside & outside;
  }
  std::vector<double> fewest(sets, INFINITY);
  for (size_t set = 1; set < sets; ++set) {
    if ((set & (set - 1)) == 0) fewest[set] = 0;
    for (size_t one = (set - 1) & set; one > (set ^ one); one = (one - 1) & set) {
      const size_t other = set ^ one;
      fewest[set] = std::min(fewest[set], fewest[one] + fewest[other] + points_along_(open[one] | open[other]));
    }
  }
  const double box = points_along_(all);
  return fewest[sets - 1] * (box > 0 ? std::min(1.0, points_ / box) : 0);
}

}  // namespace lightline::demand
