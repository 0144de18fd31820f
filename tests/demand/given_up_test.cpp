// Where bounds give up they say so, once for each statement and reason, with what it could be worth at most.
#include "demand/given_up.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;

TEST(GivenUp, NothingOfADenseProgram) {
  EXPECT_TRUE(analysis_of("program p(x: f32[16, 8], w: f32[8, 4]) -> (c) {\n"
                          "  r: f32[32, 8] = for i, k: max(x[i div 2, k], 0)\n"
                          "  c: f32[32, 4] = for i, j: sum k in 8: r[i, k] * w[k, j]\n}")
                  .given_up.empty());
}

// Updates by outer products, written out: more orders of many factors than anybody waits for.
TEST(GivenUp, OrdersOfManyFactorsHaveABudget) {
  const Analysis a = analysis_of(
      "program p(v: f32[12, 64], x: f32[64, 4]) -> (y) {\n"
      "  e: f32[64, 64] = for i, j: f32(i == j)\n"
      "  (q: f32[64, 64]) = repeat t in 12 carry (a = e) {\n"
      "    u: f32[64] = for i: sum k in 64: a[i, k] * v[t, k]\n"
      "    b: f32[64, 64] = for i, j: a[i, j] - 2 * u[i] * v[t, j]\n    yield (b)\n  }\n"
      "  y: f32[64, 4] = for i, f: sum k in 64: q[i, k] * x[k, f]\n}");
  EXPECT_TRUE(std::any_of(a.given_up.begin(), a.given_up.end(), [](const GivenUp& one) {
    return one.what.find("orders of many factors") != std::string::npos;
  }));
  EXPECT_EQ(a.fused.input_bytes, 4.0 * (12 * 64 + 64 * 4));  // the budget takes no reads away
}

TEST(GivenUp, AMaskThatIsTooLargeToBeTried) {
  const Analysis a = analysis_of(
      "program p(x: f32[8192, 8192], w: f32[8192, 2]) -> (c) {\n"
      "  t: f32[8192, 8192] = for i, j: if((i * j) mod 7 < 3, x[i, j], 0)\n"
      "  c: f32[8192, 2] = for i, j: sum k in 8192: t[i, k] * w[k, j]\n}");
  ASSERT_EQ(a.given_up.size(), 1u);
  const GivenUp& one = a.given_up[0];
  EXPECT_TRUE(one.unknown);
  EXPECT_EQ(one.group, "t");
  EXPECT_NE(one.what.find("mask"), std::string::npos) << one.what;
  EXPECT_EQ(one.macs.number(), 8192.0 * 8192 * 2);
  // x, w and c
  EXPECT_EQ(one.bytes.number() + a.fused.bytes(), 4.0 * (8192.0 * 8192 + 8192 * 2 + 8192 * 2));
  // What is written is told apart from what is not used
  ASSERT_EQ(a.written.differences.size(), 1u);
  EXPECT_EQ(a.written.differences[0].reason, Reason::given_up);
}

// Steps of 2 and 3 reach all but some numbers at the ends: a row of them is taken.
TEST(GivenUp, ASetThatBecameSmaller) {
  const Analysis a =
      analysis_of("program p(x: f32[64], w: f32[8]) -> (y) { y: f32[8] = for p: sum r in 8: x[2 * p + 3 * r] * w[r] }");
  ASSERT_FALSE(a.given_up.empty());
  for (const GivenUp& one : a.given_up) {
    EXPECT_FALSE(one.unknown);
    EXPECT_EQ(one.group, "y");
    EXPECT_GE(one.times, 1);
    // 34 elements of x are read
    EXPECT_GE(one.bytes.number() + a.fused.input_bytes, 4 * (34 + 8));
  }
}

TEST(GivenUp, OfASetOnlyWhatItDependsOnIsAtStake) {
  const Analysis a = analysis_of(
      "program p(x: f32[64], w: f32[8], u: f32[100, 100]) -> (y, z) {\n"
      "  y: f32[8] = for p: sum r in 8: x[2 * p + 3 * r] * w[r]\n"
      "  z: f32[100] = for i: u[i, 0] + 1\n}");
  ASSERT_FALSE(a.given_up.empty());
  for (const GivenUp& one : a.given_up) EXPECT_LE(one.bytes.number(), 4 * (64 + 8));
}

// Chains of windows over one image: with the cross of a diffusion every ring inside the border is made in its own way.
TEST(GivenUp, ChainsOfWindowsHaveABudget) {
  std::string cross = "program p(x0: f32[256, 256]) -> (x20) {\n";
  std::string line = "program p(x0: f32[4096], w: f32[3]) -> (x40) {\n";
  for (int t = 1; t <= 20; ++t)
    cross += fmt::format(
        "  k{0}: f32[3, 3] = for i, j: if(i == 1 and j == 1, 0.6, if(i == 1 or j == 1, 0.1, 0.0))\n"
        "  x{0}: f32[256, 256] = for i, j: sum r in 3, s in 3: x{1}[i + r - 1, j + s - 1 | 0] * k{0}[r, s]\n",
        t, t - 1);
  for (int t = 1; t <= 40; ++t)
    line += fmt::format("  x{0}: f32[4096] = for i: sum r in 3: x{1}[i + r - 1 | 0] * w[r]\n", t, t - 1);
  const auto start = std::chrono::steady_clock::now();
  const Analysis rings = analysis_of(cross + "}"), windows = analysis_of(line + "}");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(rings.fused.input_bytes, 4.0 * 256 * 256);
  EXPECT_TRUE(std::any_of(rings.given_up.begin(), rings.given_up.end(), [](const GivenUp& one) {
    return one.what.find("more ways than are told apart") != std::string::npos;
  }));
  EXPECT_EQ(windows.fused.input_bytes, 4.0 * (4096 + 3));
}

}  // namespace
}  // namespace lightline::demand
