#include "truth/known.h"

#include <algorithm>

namespace lightline::truth {

std::vector<Known> as_found(const std::string& sequence, const std::map<uint64_t, std::vector<Violation>>& violations) {
  std::vector<Known> result;
  for (const auto& [seed, found] : violations) {
    std::string what;
    for (const Violation& one : found) what += (what.empty() ? "" : "; ") + to_string(one);
    const auto low =
        size_t(std::count_if(found.begin(), found.end(), [](const Violation& one) { return one.too_low; }));
    result.push_back({sequence, seed, low == 0 ? "high" : low == found.size() ? "low" : "both", what});
  }
  return result;
}

}  // namespace lightline::truth
