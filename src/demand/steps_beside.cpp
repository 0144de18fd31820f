#include "demand/steps_beside.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/short_vector.h"

namespace lightline::demand {

SidePoints::SidePoints(const std::vector<Range>& box) : tables_((box.size() + 7) / 8) {
  for (size_t t = 0; t < tables_.size(); ++t) {
    const size_t variables = std::min<size_t>(8, box.size() - 8 * t);
    double sides[8];
    for (size_t v = 0; v < variables; ++v) sides[v] = double(box[8 * t + v].count());
    tables_[t][0] = 1;
    for (size_t set = 1; set < size_t(1) << variables; ++set)
      tables_[t][set] = tables_[t][set & (set - 1)] * sides[std::countr_zero(set)];
  }
}

double StepsBeside::operator()(size_t a, size_t b) const {
  constexpr size_t most_parts = 10;
  const std::vector<Factor>& factors = network_.factors;
  ShortVector<uint64_t, most_parts> parts{factors[a].variables | factors[b].variables};
  for (size_t i = 0; i < factors.size(); ++i)
    if (i != a && i != b && !factors[i].formula) parts.push_back(factors[i].variables);
  if (parts.size() > most_parts) return 0;
  uint64_t all = 0;
  for (const uint64_t part : parts) all |= part;
  const size_t sets = size_t(1) << parts.size();
  std::array<uint64_t, size_t(1) << most_parts> open;  // variables of what is made of a set of parts
  open[0] = 0;
  for (size_t set = 1; set < sets; ++set) {
    uint64_t inside = 0, outside = all & ~network_.summed;
    for (size_t i = 0; i < parts.size(); ++i) ((set >> i & 1) != 0 ? inside : outside) |= parts[i];
    open[set] = inside & outside;
  }
  std::array<double, size_t(1) << most_parts> fewest;
  for (size_t set = 1; set < sets; ++set) {
    fewest[set] = (set & (set - 1)) == 0 ? 0 : INFINITY;
    for (size_t one = (set - 1) & set; one > (set ^ one); one = (one - 1) & set) {
      const size_t other = set ^ one;
      fewest[set] = std::min(fewest[set], fewest[one] + fewest[other] + points_along_(open[one] | open[other]));
    }
  }
  const double box = points_along_(all);
  return fewest[sets - 1] * (box > 0 ? std::min(1.0, points_ / box) : 0);
}

}  // namespace lightline::demand
