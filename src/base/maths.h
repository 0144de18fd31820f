// Integer arithmetic that C++ has no name for. Divisors are never 0, and the least i64 is never divided by -1.
#pragma once

#include <cstdint>

namespace lightline {

constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 && (a % b < 0) == (b < 0)); }
// a - floor_div(a, b) * b: the sign of the divisor.
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Modulo 2^64.
constexpr int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
constexpr int64_t wrapping_sub(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
constexpr int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
constexpr int64_t wrapping_neg(int64_t a) { return int64_t(0 - uint64_t(a)); }

// A hash of what `seed` stands for, followed by `value`.
constexpr uint64_t mixed(uint64_t seed, uint64_t value) {
  seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2);
  seed *= 0xff51afd7ed558ccdu;
  return seed ^ seed >> 32;
}

}  // namespace lightline
