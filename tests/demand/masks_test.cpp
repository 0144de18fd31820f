// Masks that are formulas of indices, however they are spelled: products and reads count where they let through.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::macs;

struct Mask {
  const char* name;
  const char* statements;  // they define see, of 64 x 64
  double pairs;            // where it is true
};

constexpr double triangle = 64 * 65 / 2.0;

const Mask masks[] = {
    {"all", "see: bool[64, 64] = for i, j: i >= 0", 64 * 64},
    {"none", "see: bool[64, 64] = for i, j: i > 70", 0},
    {"a triangle", "see: bool[64, 64] = for i, j: j <= i", triangle},
    {"the other triangle, without the diagonal", "see: bool[64, 64] = for i, j: j > i", 64 * 64 - triangle},
    {"not", "see: bool[64, 64] = for i, j: not (j > i)", triangle},
    {"a band by two comparisons", "see: bool[64, 64] = for i, j: j <= i and i - j < 8", 64 * 8 - 28},
    {"a band by distance", "see: bool[64, 64] = for i, j: abs(i - j) < 8", 64 * 15 - 2 * 28},
    {"a prefix and a triangle", "see: bool[64, 64] = for i, j: j < 4 or j <= i", triangle + 3 + 2 + 1},
    {"corners", "see: bool[64, 64] = for i, j: (i < 8 and j < 8) or (i >= 56 and j >= 56)", 2 * 8 * 8},
    {"blocks", "see: bool[64, 64] = for i, j: i div 16 == j div 16", 4 * 16 * 16},
    {"triangles in blocks", "see: bool[64, 64] = for i, j: i div 16 == j div 16 and j <= i", 4 * 16 * 17 / 2.0},
    {"every fourth block", "see: bool[64, 64] = for i, j: (i div 4 + j div 4) mod 4 == 0", 64 * 16},
    {"every third block and a triangle",
     "see: bool[64, 64] = for i, j: (i div 4 + 2 * (j div 4)) mod 3 == 0 and i >= 0", 16 * (5 * 5 + 5 * 5 + 6 * 6)},
    {"kinds that are given",
     "kind: i64[64] = const [0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, "
     "0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4, 1]\n"
     "  see: bool[64, 64] = for i, j: kind[i] == kind[j]",
     4 * 13 * 13 + 12 * 12},
    {"a permutation", "see: bool[64, 64] = for i, j: j == (5 * i + 3) mod 64", 64},
    {"a diagonal", "see: bool[64, 64] = for i, j: i == j", 64},
    {"all but a diagonal", "see: bool[64, 64] = for i, j: i != j", 64 * 63},
    {"positions as numbers", "see: bool[64, 64] = for i, j: f32(j) <= f32(i)", triangle},
    {"halves of positions", "see: bool[64, 64] = for i, j: f32(j) / 2 < f32(i) / 2 + 0.25", triangle},
    {"positions in arrays",
     "p: i64[64] = for i: i\n  r: i64[64, 1] = view i, o: p[i]\n  see: bool[64, 64] = for i, j: p[j] <= r[i, 0]",
     triangle},
    {"ones that were cut",
     "one: f32[64, 64] = for i, j: 1\n  low: f32[64, 64] = for i, j: if(j <= i, one[i, j], 0)\n"
     "  see: bool[64, 64] = for i, j: low[i, j] != 0",
     triangle},
    {"a running sum of ones",
     "one: i64[64] = for i: 1\n  at: i64[64] = for scan i: at[i - 1 | 0] + one[i]\n"
     "  see: bool[64, 64] = for i, j: at[j] <= at[i]",
     triangle},
    {"a rolled triangle", "see: bool[64, 64] = for i, j: (j + 3) mod 64 <= i", triangle},
    {"a choice", "see: bool[64, 64] = for i, j: if(i < 32, j < 32, j <= i)", 32 * 32 + triangle - 32 * 33 / 2.0},
    {"two masks side by side",
     "l: bool[64, 32] = for i, j: j <= i\n  r: bool[64, 32] = for i, j: j < 4\n"
     "  see: bool[64, 64] = for i, j: if(j < 32, l[i, j | false], r[i, j - 32 | false])",
     32 * 33 / 2.0 + 32 * 32 + 64 * 4},
};

std::string with_mask(const Mask& mask, const std::string& inputs, const std::string& rest) {
  return "program p(" + inputs + ") -> (y) {\n  " + mask.statements + "\n" + rest + "}";
}

TEST(Masks, AProductIsNeededWhereItIsSeen) {
  for (const Mask& mask : masks) {
    const Analysis a = analysis_of(with_mask(mask, "a: f32[64, 8], b: f32[64, 8]",
                                             "  s: f32[64, 64] = for i, j: sum k in 8: a[i, k] * b[j, k]\n"
                                             "  y: f32[64, 64] = for i, j: if(see[i, j], s[i, j], 0)\n"));
    EXPECT_EQ(a.fused.work.total_macs(), 8 * mask.pairs) << mask.name;
    EXPECT_EQ(a.floor.work.total_macs(), 8 * mask.pairs) << mask.name;
    EXPECT_TRUE(a.given_up.empty()) << mask.name;
    EXPECT_LE(a.fused.input_bytes, 4 * 2 * 64 * 8) << mask.name;
  }
}

TEST(Masks, AnOperandIsReadWhereItIsSeen) {
  for (const Mask& mask : masks) {
    const Analysis a = analysis_of(with_mask(mask, "a: f32[64, 64]",
                                             "  m: f32[64, 64] = for i, j: if(see[i, j], a[i, j], 0)\n"
                                             "  y: f32[] = sum i in 64, j in 64: m[i, j]\n"));
    EXPECT_EQ(a.fused.input_bytes, 4 * mask.pairs) << mask.name;
    // A sum over several regions may miss the additions that join them.
    EXPECT_LE(a.fused.work.total_vector_ops(), std::max(0.0, mask.pairs - 1)) << mask.name;
    EXPECT_GE(a.fused.work.total_vector_ops(), mask.pairs - 4) << mask.name;
  }
}

TEST(Masks, AttentionCountsWhatItSees) {
  for (const Mask& mask : masks) {
    if (mask.pairs == 0) continue;
    const std::string text = with_mask(mask, "q: f32[64, 8], k: f32[64, 8], v: f32[64, 16]",
                                       "  s: f32[64, 64] = for i, j: sum d in 8: q[i, d] * k[j, d]\n"
                                       "  m: f32[64, 64] = for i, j: if(see[i, j], s[i, j], -inf)\n"
                                       "  t: f32[64] = for i: max j in 64: m[i, j]\n"
                                       "  e: f32[64, 64] = for i, j: exp(m[i, j] - t[i])\n"
                                       "  z: f32[64] = for i: sum j in 64: e[i, j]\n"
                                       "  y: f32[64, 16] = for i, d: sum j in 64: e[i, j] / z[i] * v[j, d]\n");
    const Analysis a = analysis_of(text);
    // A row that sees one value only is that value: products need not count there.
    EXPECT_LE(a.fused.work.total_macs(), (8 + 16) * mask.pairs) << mask.name;
    if (mask.pairs > 64) {
      EXPECT_EQ(a.fused.work.total_macs(), (8 + 16) * mask.pairs) << mask.name;
    }
    EXPECT_LE(a.fused.work.transcendental_ops, mask.pairs) << mask.name;
  }
}

TEST(Masks, AMaskThatIsAddedHidesAsMuch) {
  const auto attention = [](const std::string& mask) {
    return "program p(q: f32[64, 8], k: f32[64, 8], v: f32[64, 16]) -> (y) {\n"
           "  s: f32[64, 64] = for i, j: sum d in 8: q[i, d] * k[j, d]\n"
           "  see: f32[64, 64] = for i, j: f32(j <= i)\n"
           "  m: f32[64, 64] = for i, j: " +
           mask +
           "\n"
           "  t: f32[64] = for i: max j in 64: m[i, j]\n"
           "  e: f32[64, 64] = for i, j: exp(m[i, j] - t[i])\n"
           "  z: f32[64] = for i: sum j in 64: e[i, j]\n"
           "  y: f32[64, 16] = for i, d: sum j in 64: e[i, j] / z[i] * v[j, d]\n}";
  };
  for (const char* mask : {"s[i, j] + (1 - see[i, j]) * -1e9", "s[i, j] * see[i, j] - 1e9 * (1 - see[i, j])",
                           "s[i, j] + if(j <= i, 0, -inf)", "s[i, j] / 8 + (see[i, j] - 1) * 10000"})
    EXPECT_EQ(macs(attention(mask)), (8 + 16) * triangle) << mask;
}

TEST(Masks, AConstantOfTheFileIsAMaskToo) {
  std::string values;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) values += (values.empty() ? "" : ", ") + std::string(j <= i ? "true" : "false");
  const std::string text =
      "program p(a: f32[16, 8], b: f32[16, 8]) -> (y) {\n"
      "  see: bool[16, 16] = const [" +
      values +
      "]\n"
      "  s: f32[16, 16] = for i, j: sum k in 8: a[i, k] * b[j, k]\n"
      "  y: f32[16, 16] = for i, j: if(see[i, j], s[i, j], 0)\n}";
  EXPECT_EQ(macs(text), 8 * 16 * 17 / 2);
  EXPECT_EQ(elements(text), 2 * 16 * 8 + 16 * 16) << "a formula of its indices is not read";
}

TEST(Masks, ZerosOfBothOperandsMeet) {
  // Of rows below 16 and columns from 8 on, what is in both
  EXPECT_EQ(macs("program p(x: f32[32, 32], z: f32[32, 32]) -> (y) {\n"
                 "  a: f32[32, 32] = for i, j: if(j < 16, x[i, j], 0)\n"
                 "  b: f32[32, 32] = for i, j: if(i >= 8, z[i, j], 0)\n"
                 "  y: f32[32, 32] = for i, j: sum k in 32: a[i, k] * b[k, j]\n}"),
            32 * 32 * 8);
}

TEST(Masks, AnIdentityIsNoProduct) {
  const std::string text =
      "program p(x: f32[32, 16]) -> (y) {\n"
      "  one: f32[32, 32] = for i, j: if(i == j, 1, 0)\n"
      "  y: f32[32, 16] = for i, j: sum k in 32: one[i, k] * x[k, j]\n}";
  EXPECT_EQ(macs(text), 0);
  EXPECT_EQ(elements(text), 2 * 32 * 16);
}

TEST(Masks, APermutationIsNoProduct) {
  for (const char* rows : {"2048", "8192"}) {
    const std::string n = rows;
    const std::string text = "program p(x: f32[" + n + ", 4]) -> (y) {\n  one: f32[" + n + ", " + n +
                             "] = for i, k: if(k == (5 * i + 3) mod " + n + ", 1, 0)\n  y: f32[" + n +
                             ", 4] = for i, j: sum k in " + n + ": one[i, k] * x[k, j]\n}";
    EXPECT_EQ(macs(text), 0);
    EXPECT_EQ(elements(text), 2 * 4 * std::stod(n));
  }
}

TEST(Masks, OutputsAreWrittenWhereverTheMaskIsNotKnown) {
  const Analysis a = analysis_of(
      "program p(x: f32[4096, 4096]) -> (y) {\n"
      "  y: f32[4096, 4096] = for i, j: if(f32(j) <= sqrt(f32(i)), x[i, j], 0)\n}");
  EXPECT_EQ(a.floor.output_bytes, 4.0 * 4096 * 4096);
  EXPECT_EQ(a.fused.output_bytes, 4.0 * 4096 * 4096);
}

TEST(Masks, AMaskByDataHidesNothingButForTheFloor) {
  const Analysis a = analysis_of(
      "program p(a: f32[64, 8], b: f32[64, 8], see: bool[64, 64]) -> (y) {\n"
      "  s: f32[64, 64] = for i, j: sum k in 8: a[i, k] * b[j, k]\n"
      "  y: f32[64, 64] = for i, j: if(see[i, j], s[i, j], 0)\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 8 * 64 * 64);
  EXPECT_EQ(a.floor.work.total_macs(), 0);
  EXPECT_EQ(a.floor.input_bytes, 64 * 64);
}

}  // namespace
}  // namespace lightline::demand
