// Operator by operator: what every group takes from memory and leaves there. And operators that are no loop nests.
#include <gtest/gtest.h>

#include <algorithm>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::macs;
using testing_support::random_rows;

// The named group; an empty one if there is none.
GroupDemand group_of(const Analysis& analysis, const std::string& name) {
  const auto found = std::find_if(analysis.groups.begin(), analysis.groups.end(),
                                  [&](const GroupDemand& group) { return group.name == name; });
  return found == analysis.groups.end() ? GroupDemand{} : *found;
}

TEST(Groups, KeepTheirOrderOfProducts) {
  const auto chain = [](const std::string& border) {
    return analysis_of(
        "program p(a: f32[8, 8], b: f32[8, 8], v: f32[8]) -> (y) {\n"
        "  @ \"first\"\n  c: f32[8, 8] = for i, j: sum k in 8: a[i, k] * b[k, j]\n" +
        border + "  y: f32[8] = for i: sum j in 8: c[i, j] * v[j]\n}");
  };
  const Analysis two = chain("  @ \"second\"\n");
  EXPECT_EQ(two.fused.work.total_macs(), 2 * 8 * 8);
  EXPECT_EQ(group_of(two, "first").work.total_macs(), 8 * 8 * 8);
  EXPECT_EQ(group_of(two, "first").bytes(), 4 * 3 * 64);
  EXPECT_EQ(group_of(two, "second").work.total_macs(), 8 * 8);
  EXPECT_EQ(group_of(two, "second").bytes(), 4 * (64 + 8 + 8));
  const Analysis one = chain("");
  ASSERT_EQ(one.groups.size(), 1u);
  EXPECT_EQ(one.groups[0].work.total_macs(), 2 * 8 * 8);
  EXPECT_EQ(one.groups[0].bytes(), one.fused.bytes());
}

// Both read one table by numbers that tell nothing of each other, whether these are inputs or lie in memory.
TEST(Groups, ReadRowsOfAllDraws) {
  const Analysis a = analysis_of(
      "program p(t: f32[100, 4], c: i64[8], n: i64[8, 3]) -> (z) {\n"
      "  z: f32[8, 3] = for b, k: sum d in 4: t[c[b], d] * t[n[b, k], d]\n}");
  EXPECT_NEAR(a.fused.input_bytes, 16 * random_rows(100, 32) + 8 * 32, 1e-6);
  ASSERT_EQ(a.groups.size(), 1u);
  EXPECT_NEAR(a.groups[0].bytes(), a.fused.bytes(), 1e-6);
}

// Row i of U takes the pivots of the columns up to i, and L(i, j) those up to j; rows that were picked are not counted.
TEST(Groups, FactorsNeedTheColumnsOfTheirPivots) {
  const auto bytes = [](const std::string& wanted) {
    return analysis_of(
               "program p(a: f32[2, 8, 8]) -> (y) {\n"
               "  (f: f32[2, 8, 8], p: i32[2, 8]) = opaque lu(a)\n  " +
               wanted + "\n}")
        .fused.input_bytes;
  };
  EXPECT_EQ(bytes("y: f32[2, 8, 8] = for b, i, j: f[b, i, j]"), 4 * 128);
  EXPECT_EQ(bytes("y: f32[2, 8] = for b, i: f[b, i, i]"), 4 * 128);
  EXPECT_EQ(bytes("y: f32[8] = for i: f[1, i, 2]"), 4 * 8 * 3);
  EXPECT_EQ(bytes("y: f32[2, 8] = for b, j: f[b, 2, j]"), 4 * 2 * 8 * 3);
  EXPECT_EQ(bytes("y: f32[2] = for b: f[b, 3, 5] + f[b, 5, 1]"), 4 * 2 * 8 * 4);
  EXPECT_EQ(bytes("y: i32[2, 3] = for b, k: p[b, k]"), 4 * 2 * 8 * 3);
}

TEST(Groups, ShareNothingWithOthers) {
  const Analysis a = analysis_of(
      "program p(a: f32[8], b: f32[8]) -> (y, z) {\n"
      "  @ \"one\"\n  e: f32[8] = for i: exp(a[i])\n  f: f32[8] = for i: exp(a[i])\n"
      "  y: f32[8] = for i: e[i] + f[i] * b[i]\n"
      "  @ \"two\"\n  g: f32[8] = for i: exp(a[i])\n  z: f32[8] = for i: g[i] - b[i]\n}");
  EXPECT_EQ(a.fused.work.transcendental_ops, 8);
  EXPECT_EQ(group_of(a, "one").work.transcendental_ops, 8);
  EXPECT_EQ(group_of(a, "two").work.transcendental_ops, 8);
}

TEST(Groups, ReadAnOperandOnce) {
  const Analysis a = analysis_of(
      "program p(a: f32[8]) -> (h, y, z) {\n"
      "  @ \"h\"\n  h: f32[8] = for i: exp(a[i])\n"
      "  @ \"y\"\n  y: f32[8] = for i: h[i] + h[7 - i]\n"
      "  @ \"z\"\n  z: f32[4] = for i: sin(h[2 * i])\n}");
  EXPECT_EQ(group_of(a, "h").operand_bytes, 32);
  EXPECT_EQ(group_of(a, "h").result_bytes, 32);
  EXPECT_EQ(group_of(a, "y").operand_bytes, 32);
  EXPECT_EQ(group_of(a, "z").operand_bytes, 16);
  EXPECT_EQ(group_of(a, "z").result_bytes, 16);
}

TEST(Groups, MakeNoMoreThanIsWanted) {
  const Analysis a = analysis_of(
      "program p(a: f32[8, 8]) -> (y) {\n"
      "  @ \"h\"\n  h: f32[8, 8] = for i, j: exp(a[i, j])\n"
      "  @ \"y\"\n  y: f32[8] = for i: h[3, i] + 1\n"
      "  @ \"dead\"\n  d: f32[8] = for i: exp(a[i, 0])\n}");
  ASSERT_EQ(a.groups.size(), 2u);
  EXPECT_EQ(group_of(a, "h").bytes(), 32 + 32);
  EXPECT_EQ(group_of(a, "h").work.transcendental_ops, 8);
  EXPECT_EQ(group_of(a, "y").bytes(), 32 + 32);
}

TEST(Groups, SeeMasksOfOthers) {
  const Analysis a = analysis_of(
      "program p(a: f32[8, 4], b: f32[8, 4]) -> (y) {\n"
      "  @ \"mask\"\n  m: bool[8, 8] = for i, j: j <= i\n"
      "  @ \"scores\"\n  s: f32[8, 8] = for i, j: sum k in 4: a[i, k] * b[j, k]\n"
      "  @ \"masked\"\n  y: f32[8, 8] = for i, j: if(m[i, j], s[i, j], 0)\n}");
  EXPECT_EQ(group_of(a, "scores").work.total_macs(), 4 * 36);
  EXPECT_EQ(group_of(a, "scores").result_bytes, 4 * 36);
  EXPECT_EQ(group_of(a, "masked").operand_bytes, 4 * 36);
}

TEST(Groups, ReadWhatIsExpandedOnce) {
  const Analysis a = analysis_of(
      "program p(a: f32[8], b: f32[4, 8]) -> (y) {\n"
      "  @ \"e\"\n  e: f32[4, 8] = for i, j: exp(a[j])\n"
      "  @ \"y\"\n  y: f32[4, 8] = for i, j: e[i, j] * b[i, j]\n}");
  EXPECT_EQ(group_of(a, "e").bytes(), 32 + 32);
  EXPECT_EQ(group_of(a, "y").operand_bytes, 32 + 128);
}

TEST(Groups, GatherFromOthersInGeneralPosition) {
  const Analysis a = analysis_of(
      "program p(x: f32[100, 16], i: i64[8]) -> (y) {\n"
      "  @ \"h\"\n  h: f32[100, 16] = for r, k: exp(x[r, k])\n"
      "  @ \"y\"\n  y: f32[8, 16] = for b, k: h[i[b], k]\n}");
  EXPECT_NEAR(group_of(a, "h").result_bytes, 64 * random_rows(100, 8), 1e-6);
  EXPECT_NEAR(group_of(a, "y").operand_bytes, 64 + 64 * random_rows(100, 8), 1e-6);
}

TEST(Groups, ALoopIsOne) {
  const Analysis a = analysis_of(
      "program p(h0: f32[8], x: f32[100, 8]) -> (h) {\n"
      "  @ \"network\"\n  h: f32[8] = repeat t in 100 carry (q = h0) {\n"
      "    n: f32[8] = for i: tanh(q[i] + x[t, i])\n    yield (n)\n  }\n}");
  ASSERT_EQ(a.groups.size(), 1u);
  EXPECT_EQ(a.groups[0].name, "network");
  EXPECT_EQ(a.groups[0].bytes(), 4 * (8 + 800 + 8));
  EXPECT_EQ(a.groups[0].work.transcendental_ops, 800);
  EXPECT_EQ(a.groups[0].statements.size(), 1u);
}

// ---- opaque operators ----

struct Rows {
  const char* name;
  const char* text;
  double elements;  // of four bytes, in and out
};

TEST(Opaque, ReadTheRowsThatAreWanted) {
  const Rows rows[] = {
      {"sort",
       "program p(x: f32[16, 32]) -> (y) {\n"
       "  (v: f32[16, 32], i: i64[16, 32]) = opaque sort(x, dim = 1, descending = false)\n"
       "  y: f32[32] = for j: v[3, j]\n}",
       32 + 32},
      {"sort along the first",
       "program p(x: f32[16, 32]) -> (y) {\n"
       "  (v: f32[16, 32], i: i64[16, 32]) = opaque sort(x, dim = 0, descending = false)\n"
       "  y: f32[32] = for j: v[3, j]\n}",
       16 * 32 + 32},
      {"topk",
       "program p(x: f32[16, 32]) -> (y) {\n"
       "  (v: f32[16, 4], i: i64[16, 4]) = opaque topk(x, k = 4, dim = -1, largest = true)\n"
       "  y: f32[2, 4] = for r, j: v[r + 5, j]\n}",
       2 * 32 + 2 * 4},
      {"cholesky",
       "program p(x: f32[6, 8, 8]) -> (y) {\n"
       "  l: f32[6, 8, 8] = opaque cholesky(x, upper = false)\n"
       "  y: f32[8, 8] = for i, j: l[2, i, j]\n}",
       8 * 9 / 2 + 64},
      {"triangular solve",
       "program p(a: f32[8, 8], b: f32[8, 3]) -> (y) {\n"
       "  y: f32[8, 3] = opaque triangular_solve(a, b, upper = false, unit = false)\n}",
       8 * 9 / 2 + 24 + 24},
      {"an unknown one",
       "program p(x: f32[8, 8], w: f32[4]) -> (y) {\n"
       "  z: f32[8, 8] = opaque mystery(x, w)\n  y: f32[8] = for i: z[i, 0]\n}",
       64 + 4 + 8},
  };
  for (const Rows& row : rows) EXPECT_EQ(elements(row.text), row.elements) << row.name;
}

TEST(Opaque, WhatTheyNeedIsComputed) {
  EXPECT_EQ(macs("program p(x: f32[16, 8], w: f32[8, 32]) -> (y) {\n"
                 "  s: f32[16, 32] = for i, j: sum k in 8: x[i, k] * w[k, j]\n"
                 "  (v: f32[16, 4], q: i64[16, 4]) = opaque topk(s, k = 4, dim = 1, largest = true)\n"
                 "  y: f32[4] = for j: v[3, j]\n}"),
            32 * 8);
}

TEST(Opaque, WhatIsEmptyIsNotRead) {
  const Analysis a = analysis_of(
      "program p(x: f32[8]) -> (y) {\n"
      "  e: f32[8] = opaque empty()\n"
      "  y: f32[8] = scatter set i in 8 into e: [i] <- x[i]\n}");
  EXPECT_EQ(a.fused.bytes(), 4 * 16);
  EXPECT_TRUE(a.opaque.empty()) << "nothing of it is needed";
}

TEST(Opaque, ThoseThatNothingNeedsAreNotNamed) {
  const Analysis a = analysis_of(
      "program p(x: f32[8]) -> (y) {\n"
      "  (v: f32[8], i: i64[8]) = opaque sort(x, dim = 0, descending = false)\n"
      "  y: f32[8] = for j: x[j] + 1\n}");
  EXPECT_TRUE(a.opaque.empty());
  EXPECT_EQ(a.groups.size(), 1u);
}

}  // namespace
}  // namespace lightline::demand
