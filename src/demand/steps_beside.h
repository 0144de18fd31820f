// What a network takes at least, where two of its factors are one that is there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "demand/network.h"

namespace lightline::demand {

// The points of a box as far as sets of its variables go, from one table per eight variables.
class SidePoints {
 public:
  explicit SidePoints(const std::vector<Range>& box);
  double operator()(uint64_t variables) const {
    double total = 1;
    for (const auto& table : tables_) {
      total *= table[variables & 255];
      variables >>= 8;
    }
    return total;
  }

 private:
  std::vector<std::array<double, 256>> tables_;
};

class StepsBeside {
 public:
  // `points`: of the region of the network
  StepsBeside(const Network& network, double points)
      : network_(network), points_along_(network.region.box), points_(points) {}
  // Products in the cheapest order, with these two factors as one.
  double operator()(size_t a, size_t b) const;

 private:
  const Network& network_;
  SidePoints points_along_;
  double points_;
};

}  // namespace lightline::demand
