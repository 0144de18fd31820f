#include "demand/needs_orders.h"

namespace lightline::demand {

double Needs::cheapest_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed) {
  // Many networks of many factors: what is beyond the budget counts nothing.
  if (inner.size() > few_factors) order_steps_ -= std::pow(3.0, double(inner.size()));
  if (inner.size() > few_factors && order_steps_ < 0) {
    drop("more orders of many factors than are tried");
    return 0;
  }
  // A quadratic form takes half of its matrix, added to the other half.
  const bool mirrored = tier_ == Tier::floor ? inner.size() > 2 : tier_ == Tier::fused && inner.size() == 3;
  const EqualFactors equal = mirrored ? equal_factors(network, inner) : EqualFactors{};
  return Orders{*this, network, inner, keep, transformed, equal}.cheapest();
}

}  // namespace lightline::demand
