// Arithmetic modulo the prime 2^61 - 1: two expressions that are equal as polynomials have equal values at a random
// point, and different ones almost never do.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/tensor.h"

namespace lightline::truth {

struct Field {
  static constexpr uint64_t prime = (uint64_t(1) << 61) - 1;
  uint64_t number = 0;

  static Field of(int64_t value) {
    const Field magnitude{(value < 0 ? 0 - uint64_t(value) : uint64_t(value)) % prime};
    return value < 0 ? -magnitude : magnitude;
  }
  // Every finite double is a whole number times a power of two.
  static Field of(double value) {
    if (!std::isfinite(value)) return hashed(std::bit_cast<uint64_t>(value), 77);
    int exponent = 0;
    const auto whole = int64_t(std::ldexp(std::frexp(value, &exponent), 53));
    return of(whole) * power_of_two(exponent - 53);
  }
  static Field hashed(uint64_t a, uint64_t b) {
    return {splitmix64(splitmix64(a) ^ (b * 0x9E3779B97F4A7C15u)) % prime};
  }

  Field operator+(Field other) const { return {(number + other.number) % prime}; }
  Field operator-() const { return {number == 0 ? 0 : prime - number}; }
  Field operator-(Field other) const { return *this + -other; }
  Field operator*(Field other) const { return {uint64_t((unsigned __int128)(number)*other.number % prime)}; }
  bool operator==(const Field&) const = default;
  auto operator<=>(const Field&) const = default;

  Field power(uint64_t exponent) const {
    Field result{1}, square = *this;
    for (; exponent != 0; exponent >>= 1, square = square * square)
      if (exponent & 1) result = result * square;
    return result;
  }
  Field inverse() const { return power(prime - 2); }
  bool is_one() const { return number == 1; }
  bool is_zero() const { return number == 0; }
  // One of the two of each pair of opposites.
  Field without_sign() const { return number <= (-*this).number ? *this : -*this; }

 private:
  static Field power_of_two(int exponent) { return Field{2}.power(uint64_t((exponent % 61 + 61) % 61)); }
};

}  // namespace lightline::truth
