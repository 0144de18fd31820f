// The one seed of all random tests. What they draw is the same in every run, but fresh in the long ones.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace lightline::testing_support {

// LIGHTLINE_SEED if it is set; else 0, or with LIGHTLINE_LONG a fresh one. lightline_under_test.py does the same.
inline uint64_t seed() {
  static const uint64_t chosen = [] {
    if (const char* given = std::getenv("LIGHTLINE_SEED"); given != nullptr && *given != '\0')
      return uint64_t(std::strtoull(given, nullptr, 10));
    return std::getenv("LIGHTLINE_LONG") != nullptr ? uint64_t(std::random_device()() & 0x7FFFFFFF) : uint64_t(0);
  }();
  return chosen;
}

// For SCOPED_TRACE.
inline std::string seed_text() { return "LIGHTLINE_SEED=" + std::to_string(seed()) + " repeats this"; }

// The seed of one sequence among several: `own` tells them apart, and stays as it is while the seed is 0.
inline uint64_t seed_of(uint64_t own) { return own + 1'000'003 * seed(); }

}  // namespace lightline::testing_support
