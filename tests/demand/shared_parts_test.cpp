// Products of sums that share those of their parts, and arrays of several parts that data read.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::floor_elements;
using testing_support::floor_macs;
using testing_support::macs;
using testing_support::random_rows;
using testing_support::vector_ops;

// ---- parts of sums ----

// A path of four steps between a and b, times w, takes a w and b w.
TEST(SharedParts, SumsOfTheSameTwo) {
  std::string text = "program p(a: f32[8, 5], b: f32[8, 5], w: f32[5, 6]) -> (y1, y2, y3, y4) {\n";
  for (int i = 1; i <= 4; ++i)
    text += "  s" + std::to_string(i) + ": f32[8, 5] = for i, k: a[i, k] + 0." + std::to_string(i) +
            " * (b[i, k] - a[i, k])\n  y" + std::to_string(i) + ": f32[8, 6] = for i, j: exp(h" + std::to_string(i) +
            "[i, j])\n";
  for (int i = 1; i <= 4; ++i) {
    const std::string n = std::to_string(i);
    const size_t at = text.find("  y" + n + ":");
    text.insert(at, "  h" + n + ": f32[8, 6] = for i, j: sum k in 5: s" + n + "[i, k] * w[k, j]\n");
  }
  EXPECT_EQ(macs(text + "}"), 2 * 8 * 5 * 6);
  EXPECT_EQ(floor_macs(text + "}"), 2 * 8 * 5 * 6);
}

// Two sums of three are no more than they are.
TEST(SharedParts, FewerSumsThanParts) {
  const std::string text = R"(program p(a: f32[8, 5], b: f32[8, 5], c: f32[8, 5], w: f32[5, 6]) -> (y, z) {
    s: f32[8, 5] = for i, k: a[i, k] + 2 * b[i, k] + 3 * c[i, k]
    t: f32[8, 5] = for i, k: a[i, k] - b[i, k] + 5 * c[i, k]
    y: f32[8, 6] = for i, j: sum k in 5: s[i, k] * w[k, j]
    z: f32[8, 6] = for i, j: sum k in 5: t[i, k] * w[k, j]
  })";
  EXPECT_EQ(macs(text), 2 * 8 * 5 * 6);
}

// x (w + a b) beside x w: the chain x a b, and a b itself, which w + a b is made of.
TEST(SharedParts, AChainBesideWhatIsMade) {
  const std::string text = R"(program p(x: f32[64, 32], w: f32[32, 48], a: f32[32, 2], b: f32[2, 48]) -> (y, z) {
    d: f32[32, 48] = for k, j: sum r in 2: a[k, r] * b[r, j]
    s: f32[32, 48] = for k, j: w[k, j] + d[k, j]
    h: f32[64, 48] = for i, j: sum k in 32: x[i, k] * s[k, j]
    g: f32[64, 48] = for i, j: sum k in 32: x[i, k] * w[k, j]
    y: f32[64, 48] = for i, j: exp(h[i, j])
    z: f32[64, 48] = for i, j: exp(g[i, j])
  })";
  EXPECT_EQ(macs(text), 64 * 32 * 48 + 64 * 32 * 2 + 64 * 2 * 48 + 32 * 2 * 48);
}

// Between neighbours, then a product: as many products as there were elements before.
TEST(SharedParts, ProductsAfterAnInterpolation) {
  const std::string text = R"(program p(x: f32[4, 17, 8], w: f32[8, 6]) -> (y) {
    u: f32[4, 32, 8] = for n, p, c: if(p mod 2 == 0, x[n, p div 2, c], 0.5 * x[n, p div 2, c] + 0.5 * x[n, p div 2 + 1, c])
    y: f32[4, 32, 6] = for n, p, j: sum c in 8: u[n, p, c] * w[c, j]
  })";
  EXPECT_EQ(macs(text), 4 * 17 * 8 * 6);
}

// ---- arrays of several parts, read by data ----

TEST(ReadByData, RowsOfAConcatenation) {
  const std::string joined = R"(program p(u: f32[1000, 8], v: f32[500, 8], s: i64[300], t: i64[300]) -> (y) {
    x: f32[1500, 8] = for i, d: if(i < 1000, u[i, d | 0], v[i - 1000, d | 0])
    y: f32[300] = for e: sum d in 8: x[s[e], d] * x[t[e], d]
  })";
  const Analysis a = analysis_of(joined);
  EXPECT_EQ(a.fused.work.total_macs(), 300 * 8);
  // Both index arrays are of 8 bytes; of the rows the larger set is sure.
  EXPECT_NEAR(a.fused.bytes(), 300 * 16 + 300 * 4 + random_rows(1500, 300) * 8 * 4, 1);
  EXPECT_LE(a.floor.bytes(), 300 * 16 + 300 * 4 + 4 * 8 * 4);
  EXPECT_GE(a.floor.bytes(), 300 * 16 + 300 * 4);
}

// Rows that are equal to others may be picked: what is made of them is not counted, and that is said.
TEST(ReadByData, RowsOfARepetition) {
  const std::string text = R"(program p(u: f32[1000, 8], s: i64[300]) -> (y) {
    x: f32[2000, 8] = for i, d: if(i < 1000, u[i, d | 0], u[i - 1000, d | 0])
    y: f32[300, 8] = for e, d: exp(x[s[e], d])
  })";
  const Analysis a = analysis_of(text);
  EXPECT_EQ(a.fused.work.transcendental_ops, 0);
  EXPECT_GE(a.fused.bytes(), 300 * 8 + 300 * 8 * 4);
  EXPECT_FALSE(a.given_up.empty());
}

// ---- what changes in place ----

TEST(ReadByData, ATableLessSomeOfItsRows) {
  const std::string text = R"(program p(t: f32[10000, 8], i: i64[100], g: f32[100, 8]) -> (n as t) {
    z: f32[10000, 8] = scatter sum b in 100, d in 8 into 0: [i[b], d] <- g[b, d]
    n: f32[10000, 8] = for r, d: t[r, d] - 0.1 * z[r, d]
  })";
  EXPECT_LE(elements(text), 2 * 100 + 3 * 100 * 8);
  EXPECT_GE(elements(text), 2 * 100 + 100 * 8);
}

TEST(ReadByData, OneRowIsAddedOrTakesAPlace) {
  const char* bodies[] = {"c[b, t, d] + k[b, d] * f32(t == at[b])",
                          "c[b, t, d] * (1 - f32(t == at[b])) + k[b, d] * f32(t == at[b])",
                          "c[b, t, d] * f32(t != at[b]) + k[b, d] * f32(at[b] == t)"};
  for (const char* body : bodies) {
    const std::string text =
        "program p(c: f32[4, 1000, 8], k: f32[4, 8], at: i64[4]) -> (n as c) {\n"
        "  n: f32[4, 1000, 8] = for b, t, d: " +
        std::string(body) + "\n}";
    EXPECT_LE(elements(text), 2 * 4 + 3 * 4 * 8) << body;
    EXPECT_GE(elements(text), 2 * 4 + 4 * 8) << body;
  }
}

TEST(ReadByData, WhatATruthHidesNeedNotChange) {
  const std::string text = R"(program p(c: f32[64, 1000], u: f32[64, 1000], m: bool[64]) -> (n as c) {
    n: f32[64, 1000] = for b, d: c[b, d] + f32(m[b]) * (u[b, d] - c[b, d])
  })";
  EXPECT_EQ(floor_elements(text), 64 / 4.0);
  EXPECT_GE(elements(text), 3 * 64 * 1000);
}

// ---- time, order ----

TEST(SharedParts, ManyStepsOfAStencilWithBorders) {
  std::string text = "program p(a0: f32[4, 64, 64]) -> (a20) {\n";
  for (int i = 1; i <= 20; ++i) {
    const std::string b = "a" + std::to_string(i - 1);
    text += "  a" + std::to_string(i) + ": f32[4, 64, 64] = for b, i, j: if(i == 0 or i == 63 or j == 0 or j == 63, " +
            b + "[b, i, j], 0.25 * " + b + "[b, i + 1, j | 0] + 0.25 * " + b + "[b, i - 1, j | 0] + 0.25 * " + b +
            "[b, i, j + 1 | 0] + 0.25 * " + b + "[b, i, j - 1 | 0])\n";
  }
  EXPECT_GT(vector_ops(text + "}"), 0);  // and soon
}

}  // namespace
}  // namespace lightline::demand
