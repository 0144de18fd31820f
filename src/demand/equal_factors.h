// Factors of one term under a sum, and the orders that they can be taken in.
#pragma once

#include <cstdint>
#include <vector>

namespace lightline::demand {

struct EqualFactors {
  double orders = 1;                        // of factors of one term
  std::vector<std::vector<uint64_t>> same;  // those in which all stays the same: of each factor, which it becomes
  // In how many orders the two sides that are multiplied last can be had.
  double orders_of(uint64_t side) const;
};

}  // namespace lightline::demand
