// Orders: numbers by data of which each is there once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "index/region.h"

namespace lightline::index {

// The forms with a number of an order that runs through all of its places replaced by the place: over the region both
// take the same values, though one after the other in another way. Nothing if there is none.
std::optional<std::vector<Form>> with_an_order_left_out(const Region& region, std::span<const Form> forms,
                                                        Atoms& atoms);

}  // namespace lightline::index
