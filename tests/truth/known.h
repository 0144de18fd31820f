// Random programs that are known to be priced wrongly: known.txt names each with its direction and the reason.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "truth/compare.h"

namespace lightline::truth {

struct Known {
  std::string sequence;   // "fuzz", or the rule that respelled the program
  uint64_t seed = 0;      // of the program
  std::string direction;  // "high", "low" or "both"
  std::string what;       // the violations, where it was found
  bool same_as(const Known& other) const {
    return sequence == other.sequence && seed == other.seed && direction == other.direction;
  }
};

std::vector<Known> as_found(const std::string& sequence, const std::map<uint64_t, std::vector<Violation>>& violations);

// Fails for what was found and is not listed, and for what is listed of these sequences and was not found; true if
// there was nothing of either. The list speaks of the fixed seed and of `make test`; other runs may find nothing.
bool expect_known(const std::vector<Known>& found, const std::set<std::string>& sequences);

}  // namespace lightline::truth
