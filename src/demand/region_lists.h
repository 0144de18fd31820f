// Lists of regions of one space: what is needed of a term.
#pragma once

#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

// Every point of the second is seen at once to be in the first.
bool contains(const Region& a, const Region& b);
// The first in the second, as far as bounds of the same forms tell.
bool lies_inside(const Region& one, const Region& all);

// Adds a region, unless it is there already or there are too many.
enum class Inserted : uint8_t { added, known, too_many };
Inserted insert(std::vector<Region>& list, Region region);

// What both regions say of the same variables, from `first` on in the second, where some of the first are numbers by
// data: a region that tells them apart says nothing sure.
Region meet(const Region& needed, const Region& where, uint32_t first, const Atoms& atoms);

}  // namespace lightline::demand
