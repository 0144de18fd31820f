// Structure in values that are known before the program runs.
#pragma once

#include <functional>
#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

// A dense array of numbers as cases of few different ones: boxes, triangles and bands. None if it has no such shape.
Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms);

}  // namespace lightline::demand
