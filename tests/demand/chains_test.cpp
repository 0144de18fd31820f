// Chains of products whose parts repeat, mirror each other or are added: the least products, worked out by hand.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::floor_macs;
using testing_support::macs;
using testing_support::random_rows;

// ---- sums of rows that repeat ----

TEST(Chains, DifferencesOfGatheredRowsAreTakenApart) {
  const std::string text =
      "program p(x: f32[8, 16], s: i64[100], t: i64[100], w: f32[16, 4]) -> (y) {\n"
      "  y: f32[100, 4] = for e, j: sum k in 16: (x[s[e], k] - x[t[e], k]) * w[k, j]\n}";
  EXPECT_NEAR(macs(text), random_rows(8, 200) * 16 * 4, 1e-6);
  EXPECT_EQ(floor_macs(text), 16 * 4);
}

TEST(Chains, FewerSumsThanRowsAreTakenAsTheyAre) {
  EXPECT_EQ(macs("program p(x: f32[1000, 16], s: i64[10], t: i64[10], w: f32[16, 4]) -> (y) {\n"
                 "  y: f32[10, 4] = for e, j: sum k in 16: (x[s[e], k] + x[t[e], k]) * w[k, j]\n}"),
            10 * 16 * 4);
}

TEST(Chains, EmbeddingsAndPositionsAreProjectedApart) {
  EXPECT_NEAR(macs("program p(tab: f32[8, 16], pos: f32[4, 16], a: i64[64, 4], w: f32[16, 32]) -> (y) {\n"
                   "  e: f32[64, 4, 16] = for b, t, k: tab[a[b, t], k] + pos[t, k]\n"
                   "  y: f32[64, 4, 32] = for b, t, j: sum k in 16: e[b, t, k] * w[k, j]\n}"),
              (random_rows(8, 256) + 4) * 16 * 32, 1e-6);
}

TEST(Chains, SumsThatOthersUseAreTakenApartToo) {
  EXPECT_NEAR(
      macs("program p(tab: f32[8, 16], pos: f32[4, 16], a: i64[64, 4], w: f32[16, 32], v: f32[16, 32]) -> (y, z) {\n"
           "  e: f32[64, 4, 16] = for b, t, k: tab[a[b, t], k] + pos[t, k]\n"
           "  y: f32[64, 4, 32] = for b, t, j: sum k in 16: e[b, t, k] * w[k, j]\n"
           "  z: f32[64, 4, 32] = for b, t, j: sum k in 16: e[b, t, k] * v[k, j]\n}"),
      2 * (random_rows(8, 256) + 4) * 16 * 32, 1e-6);
}

TEST(Chains, WhatMeetsOneRowIsAddedBefore) {
  EXPECT_NEAR(macs("program p(tab: f32[8, 16], a: i64[1000], g: f32[1000, 4]) -> (y) {\n"
                   "  y: f32[16, 4] = for k, j: sum t in 1000: tab[a[t], k] * g[t, j]\n}"),
              8 * 16 * 4, 1e-6);
}

TEST(Chains, SumsOfIndicesAreTakenApart) {
  const std::string text =
      "program p(x: f32[32, 4]) -> (y) {\n"
      "  y: f32[32, 4] = for i, k: sum j in 32: if(j <= i, f32(i - j + 1), 0) * x[j, k]\n}";
  EXPECT_EQ(macs(text), 32 * 4);
  EXPECT_EQ(floor_macs(text), 32 * 4);
}

// ---- sums of products that one sum alone reads ----

TEST(Chains, SquaresOfAGramMatrixAreThoseOfTheOther) {
  // Half of 64 * 4 * 4, then those of 4 x 4 on one side of the diagonal
  const std::string text =
      "program p(X: f32[64, 4]) -> (s) {\n"
      "  S: f32[64, 64] = for i, j: sum k in 4: X[i, k] * X[j, k]\n"
      "  s: f32[] = sum i in 64, j in 64: S[i, j] * S[i, j]\n}";
  EXPECT_EQ(macs(text), 64 * 4 * 4 / 2 + 4 * 5 / 2);
  EXPECT_EQ(floor_macs(text), 64 * 4 * 4 / 2 + 4 * 5 / 2);
}

TEST(Chains, AMatrixThatIsReturnedNeedNotBeMultiplied) {
  EXPECT_EQ(macs("program p(u: f32[64, 2], v: f32[64, 2], x: f32[64, 16]) -> (W, y) {\n"
                 "  W: f32[64, 64] = for i, j: sum r in 2: u[i, r] * v[j, r]\n"
                 "  y: f32[64, 16] = for i, b: sum j in 64: W[i, j] * x[j, b]\n}"),
            64 * 64 * 2 + 2 * 64 * 2 * 16);
}

// Few queries over projected keys and values: the weights meet the query and the result, wherever they are packed.
std::string few_queries(int heads, const std::string& query, const std::string& key, const std::string& value) {
  const std::string h = std::to_string(heads), all = std::to_string(8 * heads), both = std::to_string(16 * heads);
  return "program p(x: f32[2, 8], c: f32[2, 64, 4], wq: f32[" + all + ", 8], w: f32[" + both +
         ", 4]) -> (o) {\n"
         "  q: f32[2, " +
         all +
         "] = for b, j: sum d in 8: x[b, d] * wq[j, d]\n"
         "  kv: f32[2, 64, " +
         both +
         "] = for b, l, j: sum d in 4: c[b, l, d] * w[j, d]\n"
         "  s: f32[2, " +
         h + ", 64] = for b, h, l: sum r in 8: q[b, " + query + "] * kv[b, l, " + key +
         "]\n"
         "  e: f32[2, " +
         h +
         ", 64] = for b, h, l: exp(s[b, h, l])\n"
         "  o: f32[2, " +
         h + ", 8] = for b, h, r: sum l in 64: e[b, h, l] * kv[b, l, " + value + "]\n}";
}

TEST(Chains, FewQueriesMeetTheWeightsOfKeysAndValues) {
  const auto least = [](double heads) { return 2 * heads * (8 * 8 + 2 * 8 * 4 + 2 * 64 * 4); };
  EXPECT_EQ(macs(few_queries(4, "8 * h + r", "16 * h + r", "16 * h + 8 + r")), least(4));
  EXPECT_EQ(macs(few_queries(4, "8 * h + r", "8 * h + r", "32 + 8 * h + r")), least(4));
  EXPECT_EQ(macs(few_queries(4, "8 * h + r", "16 * h + 2 * r", "16 * h + 2 * r + 1")), least(4));
  EXPECT_EQ(macs(few_queries(4, "4 * r + h", "16 * h + r", "16 * h + 8 + r")), least(4));
  EXPECT_EQ(macs(few_queries(100, "8 * h + r", "16 * h + r", "16 * h + 8 + r")), least(100));
}

// ---- masks with parts in common ----

std::string masked_low_rank(const std::string& inputs, const std::string& z) {
  return "program p(" + inputs +
         "U: f32[64, 2], V: f32[64, 2], x: f32[64, 4]) -> (y) {\n"
         "  W: f32[64, 64] = for i, j: sum r in 2: U[i, r] * V[j, r]\n"
         "  Z: f32[64, 64] = for i, j: " +
         z +
         " + W[i, j]\n"
         "  y: f32[64, 4] = for r, b: sum c in 64: Z[r, c] * x[c, b]\n}";
}

constexpr double low_rank = 2 * 64 * 2 * 4;

TEST(Chains, ADiagonalAndLowRankAreApart) {
  EXPECT_EQ(macs(masked_low_rank("D: f32[64], ", "if(i == j, D[i], 0)")), low_rank);
  EXPECT_EQ(macs(masked_low_rank("", "if(i == j, 1, 0)")), low_rank);
}

TEST(Chains, ABandAndLowRankAreApart) {
  EXPECT_EQ(macs(masked_low_rank("D: f32[64, 64], ", "if(abs(i - j) <= 2, D[i, j], 0)")), (5 * 64 - 6) * 4 + low_rank);
}

TEST(Chains, ATriangleAndLowRankAreApart) {
  // The last row has no end of the triangle: it is taken as it is, at 64 * 2 products of W in place of 2 * 4.
  const double products = macs(masked_low_rank("D: f32[64, 64], ", "if(j <= i, D[i, j], 0)"));
  EXPECT_GE(products, 64 * 65 / 2 * 4 + low_rank);
  EXPECT_LE(products, 64 * 65 / 2 * 4 + low_rank + 64 * 2 - 2 * 4);
}

// ---- mirrors ----

TEST(Chains, ThirdMomentsAreSymmetricInThree) {
  // Half of the pairs; then every set of three once
  EXPECT_EQ(macs("program p(X: f32[32, 6]) -> (Y) {\n"
                 "  Y: f32[6, 6, 6] = for i, j, l: sum k in 32: X[k, i] * X[k, j] * X[k, l]\n}"),
            32 * 6 * 6 / 2 + 32 * (6 * 7 * 8 / 6));
}

TEST(Chains, PowersOfASymmetricMatrixAreSymmetric) {
  EXPECT_EQ(macs("program p(Z: f32[16, 16]) -> (Y) {\n"
                 "  A: f32[16, 16] = for i, j: Z[i, j] + Z[j, i]\n"
                 "  B: f32[16, 16] = for i, j: sum k in 16: A[i, k] * A[k, j]\n"
                 "  Y: f32[16, 16] = for i, j: sum k in 16: B[i, k] * A[k, j]\n}"),
            16 * 16 * 16 / 2 + 16 * (16 * 17 / 2));
}

TEST(Chains, PowersOfOtherMatricesAreNot) {
  EXPECT_EQ(macs("program p(A: f32[16, 16], C: f32[16, 16]) -> (Y) {\n"
                 "  B: f32[16, 16] = for i, j: sum k in 16: A[i, k] * C[k, j]\n"
                 "  Y: f32[16, 16] = for i, j: sum k in 16: B[i, k] * A[k, j]\n}"),
            2 * 16 * 16 * 16);
}

TEST(Chains, ASymmetricMatrixBetweenTwoStaysSymmetric) {
  EXPECT_EQ(macs("program p(X: f32[16, 8], C: f32[16, 16]) -> (H) {\n"
                 "  A: f32[16, 16] = for i, j: C[i, j] + C[j, i]\n"
                 "  Y: f32[16, 8] = for k, i: sum l in 16: A[k, l] * X[l, i]\n"
                 "  H: f32[8, 8] = for i, j: sum k in 16: X[k, i] * Y[k, j]\n}"),
            16 * 16 * 8 + 16 * (8 * 9 / 2));
}

TEST(Chains, QuadraticFormsTakeATriangle) {
  const std::string text =
      "program p(X: f32[64, 16], A: f32[16, 16]) -> (Y) {\n"
      "  Y: f32[64] = for b: sum i in 16, j in 16: X[b, i] * A[i, j] * X[b, j]\n}";
  EXPECT_EQ(macs(text), (64 * 16 * 16 + 64 * 16) / 2);
  EXPECT_EQ(floor_macs(text), (64 * 16 * 16 + 64 * 16) / 2);
}

TEST(Chains, PairsOfRowsOfOneTableMirrorEachOther) {
  EXPECT_NEAR(macs("program p(tab: f32[8, 4], a: i64[1000], b: i64[1000]) -> (y) {\n"
                   "  y: f32[1000] = for t: sum k in 4: tab[a[t], k] * tab[b[t], k]\n}"),
              8 * 8 * 4 / 2, 1e-6);
}

// ---- sums of chains ----

TEST(Chains, SumsOfChainsShareTheirLastFactor) {
  // b A X + c A (A X) as (b A + c A A) X; A = X X^T is symmetric, and half of A A are products of the same two elements
  EXPECT_EQ(macs("program p(X: f32[16, 16]) -> (Y) {\n"
                 "  A: f32[16, 16] = for i, j: sum k in 16: X[i, k] * X[j, k]\n"
                 "  AX: f32[16, 16] = for i, j: sum k in 16: A[i, k] * X[k, j]\n"
                 "  AAX: f32[16, 16] = for i, j: sum k in 16: A[i, k] * AX[k, j]\n"
                 "  Y: f32[16, 16] = for i, j: 3.0 * X[i, j] - 4.0 * AX[i, j] + 2.0 * AAX[i, j]\n}"),
            16 * (16 * 17 / 2) + (16 * 16 * 16 + 16) / 2 + 16 * 16 * 16);
}

// ---- the floor: windows, and what is none ----

TEST(Chains, EvenAndOddColumnsAreOneProduct) {
  const std::string text =
      "program p(x: f32[8, 16], w: f32[16, 4]) -> (y) {\n"
      "  a: f32[8, 4] = for i, j: sum k in 8: x[i, 2 * k] * w[2 * k, j]\n"
      "  b: f32[8, 4] = for i, j: sum k in 8: x[i, 2 * k + 1] * w[2 * k + 1, j]\n"
      "  y: f32[8, 4] = for i, j: a[i, j] + b[i, j]\n}";
  EXPECT_EQ(macs(text), 8 * 16 * 4);
  EXPECT_EQ(floor_macs(text), 8 * 16 * 4);
}

TEST(Chains, PatchesThatDoNotOverlapAreNoWindows) {
  EXPECT_EQ(floor_macs("program p(x: f32[8, 8], w: f32[4, 6]) -> (y) {\n"
                       "  u: f32[16, 4] = for t, k: x[(t div 4) * 2 + k div 2, (t mod 4) * 2 + k mod 2]\n"
                       "  y: f32[16, 6] = for t, j: sum k in 4: u[t, k] * w[k, j]\n}"),
            16 * 4 * 6);
}

TEST(Chains, AWindowSavesNothingOfWhatComesAfterIt) {
  EXPECT_EQ(floor_macs("program p(x: f32[8, 10, 10], w: f32[16, 8], k: f32[8, 3, 3]) -> (y) {\n"
                       "  h: f32[8, 8, 8] = for o, p, q: sum r in 3, s in 3: x[o, p + r, q + s] * k[o, r, s]\n"
                       "  y: f32[16, 8, 8] = for o, p, q: sum c in 8: w[o, c] * h[c, p, q]\n}"),
            8 * 8 * 8 + 16 * 8 * 8 * 8);
}

// Rotated as positions are, in two halves, with groups of heads that share their keys.
TEST(Chains, SumsOfOneTermThatGroupsReadAreProducts) {
  const std::string text =
      "program p(q: f32[6, 16], k: f32[6, 8]) -> (y) {\n"
      "  r: f32[4, 6, 4] = for h, i, d: q[i, 4 * h + d] * cos(f32(i * (1 + d mod 2))) + "
      "if(d < 2, -q[i, 4 * h + d + 2 | 0], q[i, 4 * h + d - 2 | 0]) * sin(f32(i * (1 + d mod 2)))\n"
      "  s: f32[2, 6, 4] = for h, i, d: k[i, 4 * h + d] * cos(f32(i * (1 + d mod 2))) + "
      "if(d < 2, -k[i, 4 * h + d + 2 | 0], k[i, 4 * h + d - 2 | 0]) * sin(f32(i * (1 + d mod 2)))\n"
      "  y: f32[4, 6, 6] = for h, i, j: sum d in 4: r[h, i, d] * s[h div 2, j, d]\n}";
  EXPECT_EQ(macs(text), 4 * 6 * 6 * 4);
  const std::string by_number =
      "program p(q: f32[6, 8], k: f32[6, 4]) -> (y) {\n"
      "  r: f32[4, 6, 2] = for h, i, d: if(d < 1, exp(q[i, 2 * h + d]), sin(q[i, 2 * h + d]))\n"
      "  s: f32[2, 6, 2] = for h, i, d: if(d < 1, exp(k[i, 2 * h + d]), sin(k[i, 2 * h + d]))\n"
      "  y: f32[4, 6, 6] = for h, i, j: sum d in 2: r[h, i, d] * s[h div 2, j, d]\n}";
  EXPECT_EQ(macs(by_number), 4 * 6 * 6 * 2);
}

TEST(Chains, QuotientsOfWindowsAreWindows) {
  const double floor = floor_macs(
      "program p(x: f32[4, 8, 8], w: f32[4, 4, 3, 3]) -> (y) {\n"
      "  u: f32[4, 16, 16] = view c, p, q: x[c, p div 2, q div 2]\n"
      "  y: f32[4, 16, 16] = for o, p, q: sum c in 4, r in 3, s in 3: w[o, c, r, s] * u[c, p + r - 1, q + s - 1 | "
      "0]\n}");
  EXPECT_GT(floor, 0);
  EXPECT_LE(floor, 4 * 4 * 16 * 16);
}

}  // namespace
}  // namespace lightline::demand
