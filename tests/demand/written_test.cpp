// Products as they are written, and why fewer are needed: written less all reasons is needed, exactly.
#include "demand/written.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;

// By reason, after a look at the sum.
std::map<Reason, double> reasons(const std::string& text, double expected_written) {
  const Written written = analysis_of(text).written;
  EXPECT_EQ(written.macs, expected_written);
  EXPECT_EQ(written.needed, analysis_of(text).fused.work.total_macs());
  std::map<Reason, double> found;
  double left = written.macs;
  for (const Difference& one : written.differences) {
    found[one.reason] += one.macs;
    left -= one.macs;
  }
  EXPECT_EQ(left, written.needed);
  return found;
}
using Expected = std::map<Reason, double>;

TEST(Written, AllOfADenseProductIsNeeded) {
  EXPECT_EQ(reasons("program p(a: f32[8, 16], b: f32[16, 32]) -> (c) { c: f32[8, 32] = for i, j: sum k in 16: a[i, k] "
                    "* b[k, j] }",
                    8 * 16 * 32),
            Expected{});
}

TEST(Written, RowsThatNoOutputUses) {
  // 196 of 197 tokens
  EXPECT_EQ(reasons("program p(x: f32[197, 64], w: f32[64, 32]) -> (y) {\n"
                    "  h: f32[197, 32] = for i, j: sum k in 64: x[i, k] * w[k, j]\n"
                    "  y: f32[32] = for j: h[0, j] + 1\n}",
                    197 * 64 * 32),
            (Expected{{Reason::not_used, 196 * 64 * 32}}));
}

TEST(Written, RowsThatNoOutputUsesBehindAReshape) {
  EXPECT_EQ(reasons("program p(x: f32[4, 197, 64], w: f32[64, 32]) -> (y) {\n"
                    "  v: f32[788, 64] = view r, k: x[r div 197, r mod 197, k]\n"
                    "  h: f32[788, 32] = for i, j: sum k in 64: v[i, k] * w[k, j]\n"
                    "  u: f32[4, 197, 32] = view b, t, j: h[197 * b + t, j]\n"
                    "  y: f32[4, 32] = for b, j: u[b, 0, j] + 1\n}",
                    788 * 64 * 32),
            (Expected{{Reason::not_used, 4 * 196 * 64 * 32}}));
}

TEST(Written, DeadCode) {
  EXPECT_EQ(reasons("program p(x: f32[8, 8]) -> (y) {\n"
                    "  h: f32[8, 8] = for i, j: sum k in 8: x[i, k] * x[k, j]\n"
                    "  y: f32[8, 8] = for i, j: x[i, j] + 1\n}",
                    512),
            (Expected{{Reason::not_used, 512}}));
}

TEST(Written, PaddingOfAConvolution) {
  // 8 positions, 3 taps; the outer taps of the first and the last position fall outside
  EXPECT_EQ(reasons("program p(x: f32[4, 8], w: f32[5, 4, 3]) -> (y) { y: f32[5, 8] = for o, p: sum c in 4, r in 3: "
                    "x[c, p + r - 1 | 0] * w[o, c, r] }",
                    5 * 8 * 4 * 3),
            (Expected{{Reason::padding, 5 * 4 * 2}}));
}

TEST(Written, ZerosOfAMask) {
  EXPECT_EQ(reasons("program p(x: f32[16, 16], y: f32[16, 8]) -> (c) {\n"
                    "  t: f32[16, 16] = for i, j: if(j <= i, x[i, j], 0)\n"
                    "  c: f32[16, 8] = for i, j: sum k in 16: t[i, k] * y[k, j]\n}",
                    16 * 16 * 8),
            (Expected{{Reason::zeros, 16 * 15 / 2 * 8}}));
}

TEST(Written, HalvesOfASymmetricProductAndRepeatedRows) {
  EXPECT_EQ(reasons("program p(x: f32[16, 8]) -> (c) { c: f32[16, 16] = for i, j: sum k in 8: x[i, k] * x[j, k] }",
                    16 * 16 * 8),
            (Expected{{Reason::computed_once, 16 * 15 / 2 * 8}}));
  EXPECT_EQ(reasons("program p(x: f32[16, 8], w: f32[8, 4]) -> (c) {\n"
                    "  r: f32[32, 8] = for i, k: x[i mod 16, k]\n"
                    "  c: f32[32, 4] = for i, j: sum k in 8: r[i, k] * w[k, j]\n}",
                    32 * 8 * 4),
            (Expected{{Reason::computed_once, 16 * 8 * 4}}));
}

TEST(Written, TheSameProductTwice) {
  EXPECT_EQ(reasons("program p(x: f32[16, 8], w: f32[8, 4]) -> (c, d) {\n"
                    "  c: f32[16, 4] = for i, j: sum k in 8: x[i, k] * w[k, j]\n"
                    "  d: f32[4, 16] = for j, i: sum k in 8: w[k, j] * x[i, k]\n}",
                    2 * 16 * 8 * 4),
            (Expected{{Reason::computed_once, 16 * 8 * 4}}));
}

TEST(Written, AChainInACheaperOrder) {
  // (a b) c costs 64 * 64 * 64 + 64 * 64; a (b c) 2 * 64 * 64
  EXPECT_EQ(reasons("program p(a: f32[64, 64], b: f32[64, 64], c: f32[64]) -> (y) {\n"
                    "  h: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j]\n"
                    "  y: f32[64] = for i: sum j in 64: h[i, j] * c[j]\n}",
                    64 * 64 * 64 + 64 * 64),
            (Expected{{Reason::cheaper_order, 64 * 64 * 64 - 64 * 64}}));
}

TEST(Written, ProductsThatNoOperatorSpells) {
  EXPECT_EQ(reasons("program p(a: f32[8, 4], b: f32[8, 4]) -> (c) {\n"
                    "  m: f32[8, 8, 4] = for i, j, k: a[i, k] * b[j, k]\n"
                    "  c: f32[8, 8] = for i, j: sum k in 4: m[i, j, k]\n}",
                    0),
            (Expected{{Reason::unwritten, -8 * 8 * 4}}));
}

TEST(Written, StepsOfALoopCountEach) {
  for (const std::string steps : {"3", "2000"})
    EXPECT_EQ(reasons("program p(x: f32[" + steps + ", 8, 8], h: f32[8, 8]) -> (y) {\n" +
                          "  y: f32[8, 8] = repeat t in " + steps +
                          " carry (s = h) {\n"
                          "    m: f32[8, 8] = for i, j: sum k in 8: s[i, k] * x[t, k, j]\n"
                          "    n: f32[8, 8] = for i, j: exp(m[i, j])\n"
                          "    yield (n)\n"
                          "  }\n}",
                      std::stod(steps) * 512),
              Expected{})
        << steps;
}

// Of 64 rows 34 are read, of which 32 are seen to be.
TEST(Written, WhatCanNotBeToldApartHasAReasonOfItsOwn) {
  const auto found = reasons(
      "program p(x: f32[64, 4], w: f32[4], v: f32[8]) -> (y) {\n"
      "  h: f32[64] = for i: sum k in 4: x[i, k] * w[k]\n"
      "  e: f32[64] = for i: exp(h[i])\n"
      "  y: f32[8] = for p: sum r in 8: e[2 * p + 3 * r] * v[r]\n}",
      64 * 4 + 8 * 8);
  EXPECT_GE(found.at(Reason::not_followed), 4 * (64 - 36));
  EXPECT_FALSE(found.contains(Reason::not_used));
}

TEST(Written, EveryReasonHasAName) {
  for (int r = 0; r <= int(Reason::unwritten); ++r) {
    EXPECT_FALSE(name(Reason(r)).empty());
    EXPECT_FALSE(description(Reason(r)).empty());
  }
}

}  // namespace
}  // namespace lightline::demand
