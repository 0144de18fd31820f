// Structure in values that are known before the program runs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "demand/algebra.h"
#include "demand/terms.h"

namespace lightline::demand {

inline constexpr int64_t most_known_elements = int64_t(1) << 26;  // of an array, that are looked at

// A dense array of numbers as cases of few different ones: boxes, triangles, bands, and other parts between two lines.
// None if it has no such shape.
Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms);

// What a number does to others: a zero to what it is multiplied by, one as good as minus infinity to what it is added
// to under an exponential.
enum class Kind : uint8_t { zero, hidden, plain };
Kind kind_of(double number);
// The same for the kinds of the numbers.
Cases kinds_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms);

// Of numbers without a shape: in blocks without a hidden one what is said there, elsewhere minus infinity.
Cases hidden_in_blocks(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at,
                       const Value& plain);

struct Zeros {
  int64_t count = 0;
  bool lines = false;  // all numbers along some index are
};
Zeros zeros_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at);

// Whole numbers that are a formula of their indices: sums of multiples of digits, each of one index. Nothing if they
// are not.
std::optional<Form> formula_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at,
                               Atoms& atoms);

// A line of few different numbers, each of them at equal distances; none if it is not.
Cases distances_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at);

// Whole numbers in runs of equal steps along the last index, as few cases; none if there are too many.
Cases runs_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at);

}  // namespace lightline::demand
