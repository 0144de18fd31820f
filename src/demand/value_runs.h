// The values that a form takes over a piece, as runs of neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "demand/point_set.h"

namespace lightline::demand {

// The longest run of neighbouring values of constant + terms over a piece, within [0, extent).
Range run_of_values(const HalfSpace& form, const Piece& points, int64_t extent);
// All values within [0, extent) as runs, such as 256 h + d with d < 128; the longest one alone where there are too many.
std::vector<Range> runs_of_values(const HalfSpace& form, const Piece& points, int64_t extent);
// Values outside of bounds are moved to them; those outside of [0, extent) are left out.
Range clamped(const Range& range, int64_t low, int64_t high, int64_t extent);

}  // namespace lightline::demand
