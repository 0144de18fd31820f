// Choices by data: the floor needs only what is needed whichever way they go.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;

struct Choice {
  const char* name;
  const char* text;
  double floor_input_bytes;
  double floor_macs;
};

constexpr double words = 4.0;

// x: 8 x 16, w: 16 x 4, m: 16 truths
const Choice choices[] = {
    {"a factor that a truth makes 0", "h: f32[8, 16] = for i, k: if(m[k], x[i, k], 0)", 16, 0},
    {"an exponential that a truth makes 0", "h: f32[8, 16] = for i, k: exp(if(m[k], x[i, k], -inf))", 16, 0},
    {"a mask that is added", "h: f32[8, 16] = for i, k: exp(x[i, k] + if(m[k], 0, -inf))", 16, 0},
    {"a large number that is added", "h: f32[8, 16] = for i, k: exp(x[i, k] - 1.0e9 * f32(m[k]))", 16, 0},
    {"a large number that is subtracted where a truth is not",
     "b: f32[16] = for k: (1.0 - f32(m[k])) * -3.4e38\n  h: f32[8, 16] = for i, k: exp(x[i, k] + b[k])", 16, 0},
    {"a negative number before a ReLU", "h: f32[8, 16] = for i, k: max(if(m[k], x[i, k], -1.0), 0.0)", 16, 0},
    {"a large negative number before a ReLU", "h: f32[8, 16] = for i, k: max(x[i, k] + if(m[k], 0.0, -1.0e9), 0.0)", 16,
     0},
    {"a sum of what truths make 0",
     "z: f32[8] = for i: sum k in 16: if(m[k], x[i, k], 0)\n  h: f32[8, 16] = for i, k: z[i] * x[i, k]", 16, 0},
    {"a number that is not 0 either way", "h: f32[8, 16] = for i, k: if(m[k], x[i, k], 1.0)", 16 + words * 64,
     8 * 16 * 4},
    {"another side that is not 0", "h: f32[8, 16] = for i, k: if(m[k], x[i, k], 2.0 * x[i, k] + x[0, 0])",
     16 + words * (8 * 16 + 64), 8 * 16 * 4},
    {"no truth that is true", "n: bool[] = or k in 16: m[k]\n  h: f32[8, 16] = for i, k: if(n[], x[i, k], 0)", 0, 0},
};

TEST(Choices, TheFloorNeedsWhatNoChoiceMakesNeedless) {
  for (const Choice& choice : choices) {
    const Analysis a = analysis_of(std::string("program p(x: f32[8, 16], w: f32[16, 4], m: bool[16]) -> (y) {\n  ") +
                                   choice.text + "\n  y: f32[8, 4] = for i, j: sum k in 16: h[i, k] * w[k, j]\n}");
    EXPECT_EQ(a.floor.input_bytes, choice.floor_input_bytes) << choice.name;
    EXPECT_EQ(a.floor.work.total_macs(), choice.floor_macs) << choice.name;
    EXPECT_EQ(a.floor.output_bytes, words * 32) << choice.name;
    EXPECT_EQ(a.fused.input_bytes, 16 + words * (8 * 16 + 16 * 4)) << choice.name;
  }
}

// Scores of 16 x 16, hidden in some way, normalised and against values.
std::string attention(const std::string& inputs, const std::string& hidden, const std::string& weights = "") {
  return "program p(q: f32[16, 4], k: f32[16, 4], v: f32[16, 4]" + inputs +
         ") -> (y) {\n"
         "  s: f32[16, 16] = for i, j: sum e in 4: q[i, e] * k[j, e]\n"
         "  m: f32[16, 16] = for i, j: " +
         hidden +
         "\n  t: f32[16] = for i: max j in 16: m[i, j]\n"
         "  e: f32[16, 16] = for i, j: exp(m[i, j] - t[i])\n"
         "  z: f32[16] = for i: sum j in 16: e[i, j]\n"
         "  a: f32[16, 16] = for i, j: e[i, j] / z[i]\n" +
         (weights.empty() ? "  g: f32[16, 16] = view i, j: a[i, j]\n" : weights) +
         "  y: f32[16, 4] = for i, d: sum j in 16: g[i, j] * v[j, d]\n}";
}

// Columns that no truth hides are seen whatever the rest is; where a row has none of them all may be hidden.
TEST(Choices, AttentionToColumnsThatNothingHidesNeedsThem) {
  const std::string seen = "if(j < 12, s[i, j], s[i, j] + if(see[i, max(j, 12) - 12], 0, -inf))";
  const Analysis a = analysis_of(attention(", see: bool[16, 4]", seen));
  EXPECT_EQ(a.floor.input_bytes, 64 + words * (16 + 12 + 12) * 4);
  const Analysis rows =
      analysis_of(attention(", see: bool[16, 16]", "if(i < 8 and j < 12, s[i, j], if(see[i, j], s[i, j], -inf))"));
  EXPECT_LE(rows.floor.input_bytes, 256 + words * (8 + 12 + 12) * 4);
}

TEST(Choices, AttentionThatDataMayHideNeedsTheMask) {
  const Analysis truths = analysis_of(attention(", see: bool[16, 16]", "if(see[i, j], s[i, j], -inf)"));
  EXPECT_EQ(truths.floor.input_bytes, 256);
  EXPECT_EQ(truths.floor.work.total_macs(), 0);
  const Analysis lengths = analysis_of(attention(", n: i64[16]", "if(j < n[i], s[i, j], -inf)"));
  EXPECT_EQ(lengths.floor.input_bytes, 8 * 16);
  const Analysis numbers = analysis_of(attention(", n: i64[16]", "s[i, j] + (1.0 - f32(n[j])) * -3.4e38"));
  EXPECT_LE(numbers.floor.input_bytes, 8 * 16);
  const Analysis open = analysis_of(attention("", "s[i, j] * 0.5"));
  EXPECT_EQ(open.floor.input_bytes, words * 3 * 64);
  EXPECT_EQ(open.floor.work.total_macs(), 2 * 4 * 256);
}

TEST(Choices, AGuardAgainstRowsWithoutAScoreHidesNothing) {
  const Analysis a = analysis_of(attention("", "s[i, j] * 0.5",
                                           "  n: bool[16] = for i: or j in 16: m[i, j] != -inf\n"
                                           "  g: f32[16, 16] = for i, j: if(n[i], a[i, j], 0)\n"));
  EXPECT_EQ(a.floor.input_bytes, words * 3 * 64) << "arithmetic on data gives finite numbers";
  EXPECT_EQ(a.floor.work.total_macs(), 2 * 4 * 256);
}

// A truth about infinities is none: what a guard chooses is finite, and so are scores that are made of it.
TEST(Choices, AGuardedValueIsFinite) {
  const Analysis a = analysis_of(
      "program p(q: f32[16, 4], k: f32[16, 4], v: f32[16, 4], r: f32[16, 4], see: bool[16, 16]) -> (y) {\n"
      "  s: f32[16, 16] = for i, j: sum e in 4: q[i, e] * k[j, e]\n"
      "  m: f32[16, 16] = for i, j: if(see[i, j], s[i, j], -inf)\n"
      "  n: bool[16] = for i: or j in 16: m[i, j] != -inf\n"
      "  a: f32[16, 16] = for i, j: if(n[i], exp(m[i, j]), 0)\n"
      "  h: f32[16, 4] = for i, d: sum j in 16: a[i, j] * v[j, d]\n"
      "  t: f32[16, 16] = for i, j: sum e in 4: h[i, e] * k[j, e]\n"
      "  o: bool[16] = for i: or j in 16: t[i, j] != -inf\n"
      "  b: f32[16, 16] = for i, j: if(o[i], exp(t[i, j]), 0)\n"
      "  y: f32[16, 4] = for i, d: sum j in 16: b[i, j] * r[j, d]\n}");
  EXPECT_EQ(a.floor.input_bytes, 16 * 16 + words * 16 * 4) << "see and r: v may be hidden";
  EXPECT_EQ(a.floor.work.total_macs(), 16 * 16 * 4);
}

TEST(Choices, WhatBothSidesNeedIsNeeded) {
  const Analysis a = analysis_of(
      "program p(m: bool[8], x: f32[8, 16], a: f32[16, 4], b: f32[16, 4]) -> (y) {\n"
      "  f: f32[8, 4] = for i, j: sum k in 16: x[i, k] * a[k, j]\n"
      "  g: f32[8, 4] = for i, j: sum k in 8: x[i, k] * b[k, j]\n"
      "  y: f32[8, 4] = for i, j: if(m[i], f[i, j], g[i, j])\n}");
  EXPECT_EQ(a.floor.input_bytes, 8 + words * 8 * 8);
}

TEST(Choices, OneOfManyMayProveAResult) {
  EXPECT_EQ(analysis_of("program p(m: bool[64], x: f32[64]) -> (y) {\n"
                        "  y: f32[] = prod i in 64: if(m[i], x[i], 0)\n}")
                .floor.input_bytes,
            0);
  EXPECT_EQ(analysis_of("program p(m: bool[64], x: f32[64]) -> (y) {\n"
                        "  y: f32[] = max i in 64: if(m[i], x[i], inf)\n}")
                .floor.input_bytes,
            0);
  EXPECT_EQ(analysis_of("program p(m: bool[64], x: f32[64]) -> (y) {\n"
                        "  y: f32[] = max i in 64: if(m[i], x[i], -inf)\n}")
                .floor.input_bytes,
            64);
}

}  // namespace
}  // namespace lightline::demand
