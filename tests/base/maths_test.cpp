#include "base/maths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lightline {
namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();

TEST(Maths, DivisionRoundsDownOrUp) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      EXPECT_EQ(floor_div(a, b), int64_t(std::floor(double(a) / double(b)))) << a << " / " << b;
      EXPECT_EQ(ceil_div(a, b), int64_t(std::ceil(double(a) / double(b)))) << a << " / " << b;
      EXPECT_EQ(floor_mod(a, b), a - floor_div(a, b) * b) << a << " mod " << b;
    }
}

TEST(Maths, DivisionDoesNotOverflow) {
  EXPECT_EQ(floor_div(least, 3), -3074457345618258603);
  EXPECT_EQ(ceil_div(least, 2), least / 2);
  EXPECT_EQ(ceil_div(greatest, 2), greatest / 2 + 1);
  EXPECT_EQ(ceil_div(greatest, greatest), 1);
  EXPECT_EQ(floor_mod(least, 3), 1);
}

TEST(Maths, Wrapping) {
  EXPECT_EQ(wrapping_add(greatest, 1), least);
  EXPECT_EQ(wrapping_sub(least, 1), greatest);
  EXPECT_EQ(wrapping_mul(greatest, 2), -2);
  EXPECT_EQ(wrapping_neg(least), least);
}

TEST(Maths, MixedTellsOrderAndLengthApart) {
  EXPECT_NE(mixed(mixed(0, 1), 2), mixed(mixed(0, 2), 1));
  EXPECT_NE(mixed(mixed(0, 0), 0), mixed(0, 0));
}

}  // namespace
}  // namespace lightline
