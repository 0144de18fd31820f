// Rows that only data tell: orders, rows of several tables, pairs of numbers, and shifts of one set of rows.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::floor_elements;
using testing_support::macs;
using testing_support::random_rows;

// ---- orders: every row once ----

TEST(Gathers, AnOrderReadsEveryRowOnce) {
  const Analysis a = analysis_of(
      "program p(x: f32[1024, 64], w: f32[64, 32], s: f32[1024]) -> (y) {\n"
      "  (v: f32[1024], p: i64[1024]) = opaque sort(s)\n"
      "  h: f32[1024, 32] = for i, j: sum k in 64: x[p[i], k] * w[k, j]\n"
      "  y: f32[1024, 32] = for i, j: tanh(h[i, j])\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 1024 * 64 * 32);
  EXPECT_EQ(a.floor.work.total_macs(), 1024 * 64 * 32);
  EXPECT_EQ(a.fused.input_bytes, 4 * (1024 * 64 + 64 * 32 + 1024));
  EXPECT_EQ(a.floor.input_bytes, 4 * (1024 * 64 + 64 * 32 + 1024));
}

TEST(Gathers, AnOrderIsOneForOtherOperators) {
  const Analysis a = analysis_of(
      "program p(x: f32[1024, 64], s: f32[1024]) -> (y) {\n"
      "  @ \"sort\"\n"
      "  (v: f32[1024], p: i64[1024]) = opaque sort(s)\n"
      "  @ \"gather\"\n"
      "  y: f32[1024, 64] = for i, j: x[p[i], j]\n}");
  ASSERT_EQ(a.groups.size(), 2);
  EXPECT_EQ(a.groups[1].operand_bytes, 4 * 1024 * 64 + 8 * 1024);
}

// A causal mask over gathered rows: at least the products of the late rows with the early ones.
TEST(Gathers, ATriangleOfGatheredRows) {
  const std::string text =
      "program p(x: f32[100000, 16], at: i64[512], q: f32[512, 16]) -> (y) {\n"
      "  s: f32[512, 512] = for i, j: sum d in 16: q[i, d] * x[at[j], d]\n"
      "  y: f32[512, 512] = for i, j: if(j <= i, s[i, j], 0)\n}";
  EXPECT_GE(macs(text), 256 * random_rows(100000, 256) * 16);
  EXPECT_LE(macs(text), 512 * 513 / 2.0 * 16);
}

TEST(Gathers, RowsOfSeveralAreReadByTheirOrder) {  // two experts for each of 512 tokens, in the order of experts
  EXPECT_EQ(macs("program p(x: f32[512, 64], w: f32[64, 32], s: f32[1024]) -> (y) {\n"
                 "  (v: f32[1024], p: i64[1024]) = opaque sort(s)\n"
                 "  q: i64[1024] = for i: p[i] div 2\n"
                 "  h: f32[1024, 32] = for i, j: sum k in 64: x[q[i], k] * w[k, j]\n"
                 "  y: f32[1024, 32] = for i, j: tanh(h[i, j])\n}"),
            512 * 64 * 32);
}

TEST(Gathers, AnOrderOfAnOrderTurnsItBack) {
  EXPECT_EQ(macs("program p(x: f32[1024, 64], w: f32[64, 32], s: f32[1024]) -> (y) {\n"
                 "  (v: f32[1024], p: i64[1024]) = opaque sort(s)\n"
                 "  (u: i64[1024], back: i64[1024]) = opaque sort(p)\n"
                 "  h: f32[1024, 32] = for i, j: sum k in 64: x[p[i], k] * w[k, j]\n"
                 "  a: f32[1024, 32] = for i, j: tanh(h[i, j])\n"
                 "  y: f32[512, 32] = for i, j: sum r in 2: a[back[2 * i + r], j]\n}"),
            1024 * 64 * 32);
}

TEST(Gathers, OrdersOfRowsAreOrdersInEachRow) {
  EXPECT_EQ(macs("program p(x: f32[8, 128, 64], w: f32[64, 32], s: f32[8, 128]) -> (y) {\n"
                 "  (v: f32[8, 128], p: i64[8, 128]) = opaque sort(s, dim = 1)\n"
                 "  h: f32[8, 128, 32] = for b, i, j: sum k in 64: x[b, p[b, i], k] * w[k, j]\n"
                 "  y: f32[8, 128, 32] = for b, i, j: tanh(h[b, i, j])\n}"),
            8 * 128 * 64 * 32);
}

TEST(Gathers, TheFirstOfAnOrderAreDifferent) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 64], s: f32[1000]) -> (y) {\n"
      "  (v: f32[100], p: i64[100]) = opaque topk(s, k = 100)\n"
      "  y: f32[100, 64] = for i, j: x[p[i], j]\n}");
  EXPECT_EQ(a.fused.input_bytes, 4 * (100 * 64 + 1000));
  EXPECT_EQ(a.floor.input_bytes, 4 * (100 * 64 + 1000));
}

TEST(Gathers, TheFirstOfEachOfSeveralOrdersMayBeTheSame) {  // 8 rows choose 10 of 100 each
  const Analysis a = analysis_of(
      "program p(x: f32[100, 64], s: f32[8, 100]) -> (y) {\n"
      "  (v: f32[8, 10], p: i64[8, 10]) = opaque topk(s, k = 10)\n"
      "  y: f32[8, 10, 64] = for b, i, j: x[p[b, i], j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 4 * (100 * (1 - std::pow(0.9, 8)) * 64 + 800), 1e-6);
  EXPECT_EQ(a.floor.input_bytes, 4 * (10 * 64 + 800));
}

TEST(Gathers, WhatIsSetInAnOrderStays) {
  EXPECT_EQ(macs("program p(x: f32[1024, 64], w: f32[64, 32], s: f32[1024]) -> (y) {\n"
                 "  (v: f32[1024], p: i64[1024]) = opaque sort(s)\n"
                 "  h: f32[1024, 32] = for i, j: sum k in 64: x[i, k] * w[k, j]\n"
                 "  a: f32[1024, 32] = for i, j: tanh(h[i, j])\n"
                 "  y: f32[1024, 32] = scatter set i in 1024, j in 32 into 0: [p[i], j] <- a[i, j]\n}"),
            1024 * 64 * 32);
}

// ---- sums of products that are scattered and added ----

// y[to[e]] += sum_i x[from[e], i] (sum_a z[e, a] w[a, i, o]): a matrix for each edge, of few
TEST(Gathers, MatricesOfEdgesNeedNotBeMade) {
  const auto messages = [](const std::string& nodes) {
    return "program p(x: f32[50, 16], z: f32[600, 4], w: f32[4, 256], from: i64[600], to: i64[600]) -> (y) {\n"
           "  m: f32[600, 256] = for e, c: sum a in 4: z[e, a] * w[a, c]\n"
           "  h: f32[600, 16] = for e, o: sum i in 16: x[from[e], i] * m[e, 16 * i + o]\n"
           "  y: f32[" +
           nodes + ", 16] = scatter sum e in 600, o in 16 into 0: [to[e], o] <- h[e, o]\n}";
  };
  // x w for each node, then a product for each edge; those between the same two are added up before
  const double nodes_first = random_rows(50, 600) * 4 * 256 + random_rows(50 * 50, 600) * 4 * 16;
  EXPECT_LE(macs(messages("50")), nodes_first + 1e-6);
  EXPECT_GE(macs(messages("50")), 0.99 * nodes_first);
  // Two places: the edges of each are added up before.
  EXPECT_LE(macs(messages("2")), 600 * 4 * 16 + 2 * 4 * 256);
  EXPECT_GE(macs(messages("2")), 600 * 4 * 16);
}

// y[to[e]] += x[from[e]] w[kind[e]]: a product for each kind and row that is read, or place that is hit
TEST(Gathers, MatricesThatDataPickMeetTheirOwnRows) {
  const double products = macs(
      "program p(x: f32[50, 16], w: f32[4, 16, 16], from: i64[100], to: i64[100], kind: i64[100]) -> (y) {\n"
      "  h: f32[100, 16] = for e, o: sum i in 16: x[from[e], i] * w[kind[e], i, o]\n"
      "  y: f32[50, 16] = scatter sum e in 100, o in 16 into 0: [to[e], o] <- h[e, o]\n}");
  EXPECT_LE(products, random_rows(200, 100) * 256);
  EXPECT_GE(products, 0.8 * random_rows(200, 100) * 256) << "four kinds, 25 edges of each between 50 and 50";
}

// ---- different numbers by data ----

TEST(Gathers, PairsOfNumbersAreNoMoreThanThereAre) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 1000], a: i64[100], b: i64[100]) -> (y) {\n"
      "  y: f32[100] = for i: x[a[i], b[i]]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 2 * 800 + 4 * random_rows(1e6, 100), 1e-6);
  EXPECT_LE(a.floor.input_bytes, 2 * 800 + 4);
}

TEST(Gathers, ShiftedRowsOverlap) {
  const Analysis a = analysis_of(
      "program p(x: f32[1001, 8], s: i64[5000]) -> (y) {\n"
      "  h: f32[1000, 8] = for i, j: tanh(x[i, j]) * exp(x[i + 1, j])\n"
      "  y: f32[5000, 8] = for i, j: h[s[i], j]\n}");
  const double rows = random_rows(1000, 5000) / 1000;
  EXPECT_NEAR(a.fused.input_bytes, 8 * 5000 + 4 * 8 * 1000 * (1 - (1 - rows) * (1 - rows)), 1e-3);
  EXPECT_LE(a.floor.input_bytes, 8 * 5000 + 4 * 8 * 2);
}

TEST(Gathers, SlicesOfOneTableAreDifferentRows) {
  const Analysis a = analysis_of(
      "program p(x: f32[3000, 16], a: i64[500], b: i64[500], c: i64[500]) -> (y, z, u) {\n"
      "  x0: f32[1000, 16] = for i, j: x[i, j]\n"
      "  x1: f32[1000, 16] = for i, j: x[i + 1000, j]\n"
      "  x2: f32[1000, 16] = for i, j: x[i + 2000, j]\n"
      "  y: f32[500, 16] = for e, j: x0[a[e], j]\n"
      "  z: f32[500, 16] = for e, j: x1[b[e], j]\n"
      "  u: f32[500, 16] = for e, j: x2[c[e], j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 3 * (8 * 500 + 4 * 16 * random_rows(1000, 500)), 1e-6);
  EXPECT_EQ(a.floor.input_bytes, 3 * (8 * 500 + 4 * 16));
}

TEST(Gathers, PartsOfRowsByDifferentNumbersAreDifferentElements) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 32], a: i64[500], b: i64[400]) -> (y, z) {\n"
      "  y: f32[500, 16] = for e, j: x[a[e], j]\n"
      "  z: f32[400, 16] = for e, j: x[b[e], j + 16]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 900 + 4 * 16 * (random_rows(1000, 500) + random_rows(1000, 400)), 1e-6);
}

TEST(Gathers, NumbersOfDifferentInputsAreDrawnByThemselves) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], a: i64[500], b: i64[400]) -> (y, z) {\n"
      "  y: f32[500, 16] = for e, j: x[a[e], j]\n"
      "  z: f32[400, 16] = for e, j: x[b[e], j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 900 + 4 * 16 * random_rows(1000, 900), 1e-6);
  EXPECT_EQ(a.floor.input_bytes, 8 * 900 + 4 * 16);
}

TEST(Gathers, DrawsFromAConcatenationAreThoseFromItsParts) {
  const Analysis a = analysis_of(
      "program p(u: f32[1000, 8], v: f32[500, 8], s: i64[300], t: i64[300]) -> (y, z) {\n"
      "  x: f32[1500, 8] = for i, d: if(i < 1000, u[i, d | 0], v[i - 1000, d | 0])\n"
      "  y: f32[300, 8] = for e, d: x[s[e], d]\n"
      "  z: f32[300, 8] = for e, d: exp(x[t[e], d])\n}");
  EXPECT_NEAR(a.fused.input_bytes, 300 * 16 + 4 * 8 * random_rows(1500, 600), 1e-3);
}

TEST(Gathers, NumbersFromTheBackAreNumbers) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], a: i64[500], b: i64[400]) -> (y, z, u) {\n"
      "  y: f32[500, 16] = for e, j: x[if(a[e] < 0, a[e] + 1000, a[e]), j]\n"
      "  z: f32[400, 16] = for e, j: x[if(b[e] < 0, b[e] + 1000, b[e]), j]\n"
      "  u: f32[500, 16] = for e, j: exp(x[a[e], j])\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 900 + 4 * 16 * random_rows(1000, 900), 1e-6);
}

TEST(Gathers, NumbersAtOtherPlacesOfOneInputAre) {  // steps that are written out
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], a: i64[4, 100]) -> (y, z) {\n"
      "  y: f32[100, 16] = for e, j: x[a[0, e], j]\n"
      "  z: f32[300, 16] = for e, j: x[a[1 + e div 100, e mod 100], j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 400 + 4 * 16 * random_rows(1000, 400), 1e-6);
}

TEST(Gathers, OfNumbersThatMayDependOnOthersTheMostCount) {
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], a: i64[500], b: i64[400]) -> (y, z) {\n"
      "  c: i64[400] = for e: max(b[e], a[e])\n"
      "  y: f32[500, 16] = for e, j: x[a[e], j]\n"
      "  z: f32[400, 16] = for e, j: x[c[e], j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 900 + 4 * 16 * random_rows(1000, 500), 1e-6);
}

TEST(Gathers, RowsThatTwoCoordinatesTellAreDrawnOnce) {  // of b, which both have, there are only two
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 16], t: i64[2, 50]) -> (y) {\n"
      "  q: f32[2, 50, 16] = for b, i, j: tanh(x[t[b, i], j])\n"
      "  y: f32[2, 50, 50] = for b, i, k: sum j in 16: q[b, i, j] * q[b, k, j]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 100 + 4 * 16 * random_rows(1000, 100), 1e-6);
}

TEST(Gathers, TheSamePlacesAreTheSameNumbers) {  // whatever variables tell them
  const Analysis a = analysis_of(
      "program p(x: f32[1000, 32], a: i64[500]) -> (y, z) {\n"
      "  y: f32[500, 32] = for e, j: x[a[e], j]\n"
      "  z: f32[32, 20, 25] = for j, e, f: exp(x[a[25 * e + f], j])\n}");
  EXPECT_NEAR(a.fused.input_bytes, 8 * 500 + 4 * 32 * random_rows(1000, 500), 1e-6);
}

// ---- heads with parts ----

TEST(Gathers, PartsOfInterleavedHeads) {  // a quarter of each head is turned, the rest is not; keys and queries alike
  EXPECT_EQ(macs("program p(x: f32[16, 512], w: f32[512, 768]) -> (y) {\n"
                 "  h: f32[16, 768] = for i, c: sum k in 512: x[i, k] * w[k, c]\n"
                 "  a: f32[16, 8, 24] = for i, n, d: tanh(h[i, 96 * n + d])\n"
                 "  b: f32[16, 8, 24] = for i, n, d: exp(h[i, 96 * n + d + 24])\n"
                 "  c: f32[16, 8, 48] = for i, n, d: abs(h[i, 96 * n + d + 48])\n"
                 "  y: f32[16, 8] = for i, n: sum d in 24: a[i, n, d] * b[i, n, d] * c[i, n, 2 * d]\n}") -
                16 * 8 * 24,
            16 * 512 * 8 * (24 + 24 + 24));
}

// 15 pairs of rows in each of 64 draws; of the numbers that pairs share only few are followed by equal ones, so that nearly
// all pairs are different. A pair and its mirror are one product, and which of them are both there only data tell: half.
TEST(Gathers, PairsOfRowsAreThoseOfAllKinds) {
  const double products = macs(
      "program p(t: f32[500, 8], i: i64[64, 6]) -> (y) {\n"
      "  a: i64[15] = const [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5]\n"
      "  c: i64[15] = const [0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4]\n"
      "  y: f32[64, 15] = for b, k: sum d in 8: t[i[b, a[k]], d] * t[i[b, c[k]], d]\n}");
  EXPECT_LE(products, 15 * 64 * 8);
  EXPECT_GE(products, 0.95 * 15 * 64 * 8 / 2);
}

}  // namespace
}  // namespace lightline::demand
