// Regions of which data tell some coordinates, by whose numbers they are.
#pragma once

#include <vector>

#include "index/region.h"

namespace lightline::index {

// Regions with the same data at the same coordinates.
struct Kind {
  std::vector<const Region*> regions;
  double points = 0;
};

// What is drawn by itself, again and again, is that of as many draws.
std::vector<Kind> drawn_together(std::vector<Kind> kinds, const Atoms& atoms);

}  // namespace lightline::index
