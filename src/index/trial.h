// Images under forms whose quotients no digits tell, such as 64 k div 150: the few points there are, one by one.
#pragma once

#include <optional>

#include "index/region.h"

namespace lightline::index {

// The forms of variables that an odd quotient, or a table of numbers, ties together are tried; the others are left.
// Nothing if there are none of those, or too many points.
struct Tried {
  Region rest;                            // of the variables that are left
  std::vector<Form> forms;                // of those, by coordinate; none where it was tried
  std::vector<std::vector<Range>> boxes;  // of the coordinates that were tried, each time all of them
  std::vector<size_t> coordinates;        // that were tried
};
std::optional<Tried> tried(const Region& region, std::span<const Form> forms, Atoms& atoms);

}  // namespace lightline::index
