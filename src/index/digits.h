// Regions and forms over digits: every variable of which quotients and remainders are taken becomes several, so that
// all is affine.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "index/region.h"

namespace lightline::index {

// Some points of a region, over other variables, and the forms that were asked for over those.
struct AffinePart {
  Piece piece;
  std::vector<Form> forms;  // without quotients and remainders; numbers from data may remain
  std::vector<Sample> samples;
  std::vector<uint32_t> origin;  // by variable: that of the region that it is, or is a digit of
};

// For each region, parts without a point in common. All points where radices refine each other or few values have to be
// tried, else some. Where any point will do, what is found after the first is left out.
std::vector<std::vector<AffinePart>> to_affine(std::span<const Region> regions, std::span<const Form> forms,
                                               Atoms& atoms, bool any_will_do = false);
// The one part that a region is; nothing if it falls into several, or into none.
std::optional<AffinePart> single_affine(const Region& region, std::span<const Form> forms, Atoms& atoms);

}  // namespace lightline::index
