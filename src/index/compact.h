// Lists of regions of one space, with fewer regions.
#pragma once

#include <vector>

#include "index/region.h"

namespace lightline::index {

// Boxes that differ in one dimension only, and touch there, become one.
void compact(std::vector<Region>& list);

}  // namespace lightline::index
