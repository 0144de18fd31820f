// Structure in values that are known before the program runs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

// A dense array of numbers as cases of few different ones: boxes, triangles and bands. None if it has no such shape.
Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms);

// Whole numbers that are a formula of their indices: sums of multiples of digits, each of one index. Nothing if they
// are not.
std::optional<Form> formula_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at,
                               Atoms& atoms);

// A line of few different numbers, each of them at equal distances; none if it is not.
Cases distances_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at);

// Whole numbers in runs of equal steps along the last index, as few cases; none if there are too many.
Cases runs_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at);

}  // namespace lightline::demand
