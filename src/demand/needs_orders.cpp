#include "demand/needs_orders.h"

namespace lightline::demand {

double Needs::found_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed) {
  // A quadratic form takes half of its matrix, added to the other half.
  const bool mirrored = tier_ == Tier::floor ? inner.size() > 2 : tier_ == Tier::fused && inner.size() == 3;
  const EqualFactors equal = mirrored ? equal_factors(network, inner) : EqualFactors{};
  return Orders{*this, network, inner, keep, transformed, equal}.cheapest();
}

}  // namespace lightline::demand
