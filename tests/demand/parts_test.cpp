// Elements and results that fall into parts: nothing counts twice because it is spelled in two ways.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::elements;
using testing_support::floor_macs;
using testing_support::macs;
using testing_support::vector_ops;

// ---- elements of one term that are elements of another ----

TEST(Parts, ARowByItsNumberIsOneOfTheRows) {
  EXPECT_EQ(vector_ops("program p(x: f32[64, 8]) -> (y) {\n"
                       "  r: f32[100, 8] = view i, j: x[i div 2, j]\n"
                       "  c: f32[200, 8] = view i, j: r[min(i, 99), j]\n"
                       "  y: f32[120, 8] = for i, j: c[i, j] * 2 + 1\n}"),
            50 * 8);
}

TEST(Parts, ADiagonalIsAPartOfTheMatrix) {
  EXPECT_EQ(vector_ops("program p(x: f32[8, 8], w: f32[8]) -> (y, z) {\n"
                       "  y: f32[8, 8] = for i, j: x[i, j] + w[j]\n"
                       "  z: f32[8] = for i: max(x[i, i] + w[i], 0)\n}"),
            64);
}

// ---- known numbers ----

TEST(Parts, ATableOfANumberForEachPlaceIsAFactor) {
  const std::string inside =
      "program p(x: f32[64, 5]) -> (y) {\n"
      "  y: f32[64, 7] = for i, j: sum k in 5: x[i, k] * (sin(f32(k * 3 + j)) + 0.25)\n}";
  const std::string table =
      "program p(x: f32[64, 5]) -> (y) {\n"
      "  t: f32[5, 7] = for i, j: sin(f32(i * 3 + j)) + 0.25\n"
      "  y: f32[64, 7] = for i, j: sum k in 5: x[i, k] * t[k, j]\n}";
  for (const std::string& text : {inside, table}) {
    EXPECT_EQ(macs(text), 64 * 5 * 7);
    EXPECT_EQ(vector_ops(text), 0);
  }
}

TEST(Parts, OneProductWithANumberIsAScaling) {
  const std::string text =
      "program p(x: f32[64, 9]) -> (y) {\n"
      "  t: f32[9, 7] = for i, j: sin(f32(i * 3 + j)) + 0.25\n"
      "  y: f32[64, 7] = for i, j: sum k in 9: if(k == j, x[i, k], 0) * t[k, j]\n}";
  EXPECT_EQ(macs(text), 0);
  EXPECT_EQ(floor_macs(text), 0);
}

// ---- additions ----

TEST(Parts, ResultsOfOneValueTakeNoAddition) {
  // x[., 0] + x[., 1], each other value by itself, and the same once more: one addition a row.
  EXPECT_LE(vector_ops("program p(x: f32[6, 4]) -> (y) {\n"
                       "  at: i64[8] = const [0, 0, 1, 2, 3, 3, 4, 5]\n"
                       "  y: f32[6, 6] = for i, j: sum k in 8: if(at[k] == j, x[i, k mod 4], 0)\n}"),
            12);
}

TEST(Parts, RunningSumsTakeHalfOfTheirResults) {
  EXPECT_GE(vector_ops("program p(x: f32[64, 4]) -> (y) {\n"
                       "  y: f32[64, 4] = for i, j: sum k in 64: if(k <= i, x[k, j], 0)\n}"),
            64 * 4 / 2);
}

// ---- outputs ----

TEST(Parts, ElementsOfInputsInTwoOutputsAreWrittenOnce) {
  EXPECT_EQ(elements("program p(x: f32[3, 2], b: f32[2]) -> (y, z) {\n"
                     "  y: f32[3, 2] = for i, j: if(i == 1, b[j], x[i, j] + b[j])\n"
                     "  v: f32[1, 6] = view i, j: y[(6 * i + j) div 2, (6 * i + j) mod 2]\n"
                     "  z: f32[1, 6] = for i, j: v[i, j]\n}"),
            4 + 2 + 6);
}

}  // namespace
}  // namespace lightline::demand
