// Numbers that data tell at places that a cut ties to other variables, as in a causal mask over gathered rows.
#pragma once

#include <span>

#include "index/region.h"

namespace lightline::index {

// A region inside in which no cut ties the places where the forms read data to anything else; the region itself where
// none does.
Region without_ties(const Region& region, std::span<const Form> forms, Atoms& atoms);

}  // namespace lightline::index
