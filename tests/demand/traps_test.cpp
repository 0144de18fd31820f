// Programs that a counter of work and bytes easily gets wrong, each with the true number worked out by hand.
#include <gtest/gtest.h>

#include <limits>

#include "demand/analysis.h"
#include "demand/pricing.h"
#include "loops/interpret/interpret.h"
#include "support/seed.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::floor_elements;
using testing_support::macs;
using testing_support::program_of;
using testing_support::random_rows;
using testing_support::transcendentals;
using testing_support::vector_ops;

// ---- products of many factors ----

TEST(Traps, ThreeOperandsTakeTheCheapestOrder) {
  // (q, k) over a sum of 16 and then v: 2 * 4 * 32 * 32 * 16 twice; or k and v first: 16 * 16 * 32 * 2 * 4 twice
  EXPECT_EQ(macs("program p(q: f32[2, 4, 32, 16], k: f32[2, 4, 32, 16], v: f32[2, 4, 32, 16]) -> (o) {\n"
                 "  o: f32[2, 4, 32, 16] = for b, h, i, e: sum d in 16, j in 32: q[b, h, i, d] * k[b, h, j, d] * v[b, "
                 "h, j, e]\n}"),
            2.0 * 2 * 4 * 32 * 16 * 16);
}

TEST(Traps, AFactorWithoutTheSummedIndexIsMultipliedAfterwards) {
  EXPECT_EQ(macs("program p(a: f32[64, 128], b: f32[128, 64], s: f32[64]) -> (c) {\n"
                 "  c: f32[64, 64] = for i, j: sum k in 128: a[i, k] * b[k, j] * s[i]\n}"),
            64.0 * 64 * 128);
}

TEST(Traps, AnIndexOfOneFactorAloneIsSummedBeforehand) {
  EXPECT_EQ(macs("program p(a: f32[8, 16, 32], b: f32[16, 4]) -> (c) {\n"
                 "  c: f32[8, 4] = for i, j: sum k in 16, l in 32: a[i, k, l] * b[k, j]\n}"),
            8.0 * 16 * 4);
}

// ---- masks ----

constexpr const char* attention_with_mask =
    "program p(q: f32[128, 16], k: f32[128, 16], v: f32[128, 16]) -> (o) {\n"
    "  s: f32[128, 128] = for i, j: sum d in 16: q[i, d] * k[j, d]\n"
    "MASK"
    "  t: f32[128] = for i: max j in 128: m[i, j]\n"
    "  e: f32[128, 128] = for i, j: exp(m[i, j] - t[i])\n"
    "  z: f32[128] = for i: sum j in 128: e[i, j]\n"
    "  o: f32[128, 16] = for i, d: sum j in 128: e[i, j] / z[i] * v[j, d]\n}";

double masked_products(const std::string& mask) {
  std::string text = attention_with_mask;
  text.replace(text.find("MASK"), 4, mask);
  return macs(text);
}
constexpr double causal = 2.0 * 16 * 128 * 129 / 2;

TEST(Traps, AMaskMadeByStatementsIsSeen) {
  EXPECT_EQ(masked_products("  ones: f32[128, 128] = for i, j: 1\n"
                            "  low: f32[128, 128] = for i, j: if(j <= i, ones[i, j], 0)\n"
                            "  hide: bool[128, 128] = for i, j: low[i, j] == 0\n"
                            "  m: f32[128, 128] = for i, j: if(hide[i, j], -inf, s[i, j])\n"),
            causal);
}
TEST(Traps, AMaskOfPositionsIsSeen) {
  EXPECT_EQ(masked_products("  row: i64[128] = for i: i\n"
                            "  see: bool[128, 128] = for i, j: row[j] <= row[i]\n"
                            "  m: f32[128, 128] = for i, j: if(see[i, j], s[i, j], -inf)\n"),
            causal);
}
TEST(Traps, AMaskThatIsAddedIsSeen) {
  EXPECT_EQ(masked_products("  low: f32[128, 128] = for i, j: if(j <= i, 0, -3.0e38)\n"
                            "  m: f32[128, 128] = for i, j: s[i, j] + low[i, j]\n"),
            causal);
  EXPECT_EQ(masked_products("  see: f32[128, 128] = for i, j: f32(j <= i)\n"
                            "  low: f32[128, 128] = for i, j: (1 - see[i, j]) * -1.0e9\n"
                            "  m: f32[128, 128] = for i, j: s[i, j] + low[i, j]\n"),
            causal);
}
TEST(Traps, ACausalMaskJoinedWithOneByDataStillCounts) {
  std::string text = attention_with_mask;
  text.replace(text.find("MASK"), 4, "  m: f32[128, 128] = for i, j: if(j <= i and pad[j], s[i, j], -inf)\n");
  text.replace(text.find("v: f32[128, 16])"), 16, "v: f32[128, 16], pad: bool[128])");
  EXPECT_EQ(macs(text), causal);
}
TEST(Traps, ASlidingWindowCountsItsBand) {
  // 16 keys each, less the start: 128 * 16 - 15 * 16 / 2 pairs
  const double pairs = 128 * 16 - 120;
  EXPECT_EQ(masked_products("  m: f32[128, 128] = for i, j: if(j <= i and i - j < 16, s[i, j], -inf)\n"),
            2 * 16 * pairs);
}
TEST(Traps, AMaskByDataHidesNothing) {
  std::string text = attention_with_mask;
  text.replace(text.find("MASK"), 4, "  m: f32[128, 128] = for i, j: if(see[i, j], s[i, j], -inf)\n");
  text.replace(text.find("v: f32[128, 16])"), 16, "v: f32[128, 16], see: bool[128, 128])");
  EXPECT_EQ(macs(text), 2.0 * 16 * 128 * 128);
}

TEST(Traps, AOneHotProductIsAGather) {
  const std::string text =
      "program p(id: i64[32], w: f32[1000, 64]) -> (y) {\n"
      "  hot: f32[32, 1000] = for i, j: if(id[i] == j, 1, 0)\n"
      "  y: f32[32, 64] = for i, d: sum j in 1000: hot[i, j] * w[j, d]\n}";
  const Analysis a = analysis_of(text);
  EXPECT_EQ(a.fused.work.total_macs(), 0);
  EXPECT_NEAR(a.fused.input_bytes, 8 * 32 + 4 * 64 * random_rows(1000, 32), 1e-6);
  EXPECT_LE(a.floor.input_bytes, 8 * 32 + 4 * 64);
}

TEST(Traps, ADiagonalMatrixScalesRows) {
  const std::string text =
      "program p(d: f32[64], b: f32[64, 32]) -> (y) {\n"
      "  a: f32[64, 64] = for i, j: if(i == j, d[i], 0)\n"
      "  y: f32[64, 32] = for i, j: sum k in 64: a[i, k] * b[k, j]\n}";
  EXPECT_EQ(macs(text), 0);
  EXPECT_LE(vector_ops(text), 64 * 32);
  EXPECT_EQ(elements(text), 64 + 2 * 64 * 32);
}

// ---- precision ----

TEST(Traps, ProductsOfWidenedValuesRunInTheNarrowType) {
  const Analysis a = analysis_of(
      "program p(x: bf16[64, 64], w: bf16[64, 64]) -> (y) {\n"
      "  a: f32[64, 64] = for i, j: f32(x[i, j])\n"
      "  b: f32[64, 64] = for i, j: f32(w[i, j])\n"
      "  y: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j]\n}");
  EXPECT_EQ(a.fused.work.macs.count(DType::f32), 0u);
  EXPECT_EQ(a.fused.work.macs.at(DType::bf16), 64 * 64 * 64);
}
TEST(Traps, ScaledIntegersRunAsIntegers) {
  const Analysis a = analysis_of(
      "program p(q: i8[64, 64], s: f32[64], r: i8[64, 64], t: f32[64]) -> (y) {\n"
      "  a: f32[64, 64] = for i, j: f32(q[i, j]) * s[i]\n"
      "  b: f32[64, 64] = for i, j: f32(r[i, j]) * t[j]\n"
      "  y: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j]\n}");
  EXPECT_EQ(a.fused.work.macs.at(DType::i8), 64 * 64 * 64);
}
TEST(Traps, AQuantisedWeightMeetsItsWideActivation) {
  const Analysis a = analysis_of(
      "program p(x: bf16[64, 64], q: i8[64, 64], s: bf16[64]) -> (y) {\n"
      "  b: bf16[64, 64] = for i, j: f32(q[i, j]) * s[j]\n"
      "  y: bf16[64, 64] = for i, j: sum k in 64: x[i, k] * b[k, j]\n}");
  EXPECT_EQ(a.fused.work.macs.at(demand::Operands(DType::i8, DType::bf16)), 64 * 64 * 64);
}

TEST(Traps, WhatIsKeptWithinIsAsNarrowAsItsOperands) {
  const std::string text =
      "program p(q: bf16[64, 16], v: bf16[64, 16]) -> (o) {\n"
      "  @ \"attention\"\n"
      "  e: f32[64, 64] = for i, j: exp(f32(q[i, 0]) * f32(q[j, 0]))\n"
      "  o: bf16[64, 16] = for i, d: sum j in 64: e[i, j] * v[j, d]\n}";
  std::string two = text;
  two.replace(two.find("  o: bf16"), 0, "  @ \"product\"\n");
  for (const std::string& spelling : {text, two}) {
    const Analysis a = analysis_of(spelling);
    EXPECT_EQ(a.fused.work.macs.count(DType::f32), 0u);
    EXPECT_EQ(a.fused.work.macs.at(DType::bf16), 64 * 64 * 16);
  }
}

// ---- repeated work ----

TEST(Traps, EqualStatementsAreComputedOnce) {
  const std::string text =
      "program p(x: f32[64, 64], w: f32[64, 64]) -> (y) {\n"
      "  a: f32[64, 64] = for i, j: sum k in 64: x[i, k] * w[k, j]\n"
      "  b: f32[64, 64] = for r, c: sum t in 64: x[r, t] * w[t, c]\n"
      "  y: f32[64, 64] = for i, j: exp(a[i, j]) + exp(b[i, j])\n}";
  EXPECT_EQ(macs(text), 64 * 64 * 64);
  EXPECT_EQ(transcendentals(text), 64 * 64);
}
TEST(Traps, TwoReturnedEqualsAreOneWrite) {
  EXPECT_EQ(
      elements("program p(x: f32[64]) -> (a, b) { a: f32[64] = for i: exp(x[i])\n b: f32[64] = for i: exp(x[i]) }"),
      2 * 64);
}
TEST(Traps, NumbersJoin) {
  std::string text = "program p(x: f32[64]) -> (y100) {\n  y0: f32[64] = for i: x[i] + 1\n";
  for (int n = 1; n <= 100; ++n)
    text += "  y" + std::to_string(n) + ": f32[64] = for i: y" + std::to_string(n - 1) + "[i] + 1\n";
  EXPECT_EQ(vector_ops(text + "}"), 64);
}
TEST(Traps, OverlappingWindowsShareTheirSums) {
  const double windows =
      vector_ops("program p(x: f32[1, 1063]) -> (y) { y: f32[1, 1000] = for n, i: sum r in 64: x[n, i + r] }");
  EXPECT_EQ(windows, 1063 / 2.0);
  const double totals =
      vector_ops("program p(x: f32[1000]) -> (y) { y: f32[1000] = for i: sum j in 1000: if(j <= i, x[j], 0) }");
  EXPECT_EQ(totals, 1000 / 2.0);
}
TEST(Traps, APowerByANumberIsAProduct) {
  const Analysis a = analysis_of("program p(x: f32[64]) -> (y) { y: f32[64] = for i: pow(x[i], 2) }");
  EXPECT_EQ(a.fused.work.transcendental_ops, 0);
  EXPECT_EQ(a.fused.work.total_vector_ops(), 64);
}

// ---- repeats ----

TEST(Traps, AnOverwrittenBufferIsNotRead) {
  const loops::Program program = program_of(
      "program p(buffer: f32[16, 64], x: f32[16, 64]) -> (y) {\n"
      "  y: f32[16, 64] = repeat t in 16 carry (prev = buffer) {\n"
      "    next: f32[16, 64] = scatter set j in 64 into prev: [t, j] <- x[t, j]\n"
      "    yield (next)\n  }\n}");
  const Analysis analysis = analyze(program);
  EXPECT_EQ(analysis.fused.input_bytes, 4 * 16 * 64) << "x alone; with the buffer it would be more";
  EXPECT_EQ(analysis.fused.output_bytes, 4 * 16 * 64);
  // Nor does anything in it reach the result.
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::f32, Shape{16, 64});
  for (int64_t i = 0; i < inputs[0].size(); ++i) inputs[0].set_f64(i, std::numeric_limits<double>::quiet_NaN());
  inputs.push_back(random_tensor(DType::f32, {16, 64}, testing_support::seed_of(1)));
  const auto outputs = loops::interpret(program, inputs);
  ASSERT_TRUE(outputs.ok());
  EXPECT_TRUE(compare((*outputs)[0], inputs[1], {0, 0}).agree);
}
TEST(Traps, ValuesThatALoopDoesNotChangeAreComputedOnce) {
  const std::string text =
      "program p(x: f32[64, 64], w: f32[64, 64]) -> (y) {\n"
      "  y: f32[64, 64] = repeat t in 10 carry (acc = x) {\n"
      "    h: f32[64, 64] = for i, j: sum k in 64: x[i, k] * w[k, j]\n"
      "    next: f32[64, 64] = for i, j: acc[i, j] * h[i, j]\n"
      "    yield (next)\n  }\n}";
  EXPECT_EQ(macs(text), 64 * 64 * 64);
}
TEST(Traps, AnInnerLoopThatTheOuterDoesNotChangeRunsOnce) {
  EXPECT_EQ(transcendentals("program p(x: f32[64]) -> (y) {\n"
                            "  y: f32[64] = repeat t in 100 carry (acc = x) {\n"
                            "    s: f32[64] = repeat u in 5 carry (prev = x) {\n"
                            "      n: f32[64] = for i: sin(prev[i])\n"
                            "      yield (n)\n    }\n"
                            "    next: f32[64] = for i: acc[i] + s[i]\n"
                            "    yield (next)\n  }\n}"),
            64)
      << "all of it is one function of x";
}
TEST(Traps, AViewInsideALoopIsReadByTheLoop) {
  const Analysis a = analysis_of(
      "program p(xs: f32[16, 64], h: f32[64]) -> (y) {\n"
      "  y: f32[64] = repeat t in 16 carry (prev = h) {\n"
      "    x: f32[64] = view i: xs[t, i]\n"
      "    next: f32[64] = for i: prev[i] * x[i]\n"
      "    yield (next)\n  }\n}");
  ASSERT_EQ(a.groups.size(), 1u);
  EXPECT_EQ(a.fused.bytes(), 4 * (16 * 64 + 64 + 64));
  EXPECT_EQ(a.groups[0].bytes(), a.fused.bytes());
}
TEST(Traps, OnlyTheLastStepOfAnUnusedChainIsNeeded) {
  // the state does not feed on itself: only its last value counts
  EXPECT_EQ(transcendentals("program p(x: f32[100, 64], h: f32[64]) -> (y) {\n"
                            "  y: f32[64] = repeat t in 100 carry (prev = h) {\n"
                            "    next: f32[64] = for i: exp(x[t, i])\n"
                            "    yield (next)\n  }\n}"),
            64);
}

// ---- what a scatter needs ----

TEST(Traps, AScatterReadsOnlyTheRowsThatAreWanted) {
  // No update need fall into row 5.
  EXPECT_LE(floor_elements("program p(x: f32[1000, 64], u: f32[8, 64], id: i64[8]) -> (y) {\n"
                           "  z: f32[1000, 64] = scatter sum r in 8, c in 64 into x: [id[r], c] <- u[r, c]\n"
                           "  y: f32[64] = for c: z[5, c]\n}"),
            64 + 64 + 16);
}
TEST(Traps, AGatheredRowMayBeOneThatIsReadAnyway) {
  const std::string text =
      "program p(x: f32[100, 64], id: i64[1]) -> (y) {\n"
      "  a: f32[1, 64] = for r, c: x[id[r], c]\n"
      "  y: f32[64] = for c: x[7, c] + a[0, c]\n}";
  EXPECT_EQ(floor_elements(text), 64 + 2 + 64);
  EXPECT_LE(elements(text), 64 * 1.99 + 2 + 64);
}

// ---- regions ----

TEST(Traps, ADiagonalIsItsElements) {
  EXPECT_EQ(elements("program p(x: f32[64, 64]) -> (y) { y: f32[64] = for i: x[i, i] }"), 2 * 64);
}
TEST(Traps, ADiagonalInsideATriangleAddsNothing) {
  EXPECT_EQ(elements("program p(x: f32[64, 64]) -> (s, d) {\n"
                     "  s: f32[] = sum i in 64, j in 64: if(j <= i, x[i, j], 0)\n"
                     "  d: f32[64] = for i: x[i, i]\n}"),
            64 * 65 / 2 + 1 + 64);
}
TEST(Traps, TwoTrianglesMakeASquare) {
  EXPECT_EQ(elements("program p(x: f32[64, 64]) -> (s, t) {\n"
                     "  s: f32[] = sum i in 64, j in 64: if(j <= i, x[i, j], 0)\n"
                     "  t: f32[] = sum i in 64, j in 64: if(j > i, x[i, j], 0)\n}"),
            64 * 64 + 2);
}
TEST(Traps, AFlattenedTensorIsReadInFull) {
  EXPECT_EQ(elements("program p(x: f32[32, 48]) -> (y) { y: f32[16, 96] = for i, j: exp(x[(96 * i + j) div 48, (96 * i "
                     "+ j) mod 48]) }"),
            2 * 32 * 48);
}
TEST(Traps, KeysOfAProductThatMakesValuesTooAreHalfOfIt) {
  const std::string text =
      "program p(x: f32[8, 16], w: f32[512, 16]) -> (k) {\n"
      "  h: f32[8, 512] = for s, n: sum r in 16: x[s, r] * w[n, r]\n"
      "  k: f32[4, 8, 64] = view i, s, d: h[s, 128 * i + d]\n}";
  EXPECT_EQ(macs(text), 8 * 256 * 16);
  EXPECT_EQ(elements(text), 8 * 16 + 256 * 16 + 8 * 256);
}
TEST(Traps, WindowsOfAnImageAreTheImage) {
  const std::string text =
      "program p(x: f32[56, 56, 8], w: f32[16, 8]) -> (y) {\n"
      "  e: f32[56, 56, 8] = for i, j, k: exp(x[i, j, k])\n"
      "  y: f32[64, 49, 16] = for i, j, k: sum r in 8: e[j div 7 + 7 * (i div 8), j mod 7 + 7 * (i mod 8), r] * w[k, "
      "r]\n}";
  EXPECT_EQ(elements(text), 56 * 56 * 8 + 16 * 8 + 64 * 49 * 16);
  EXPECT_EQ(transcendentals(text), 56 * 56 * 8);
}
TEST(Traps, AShiftedFlattenedTensorIsPartlyRead) {
  // elements 10 to 105 of 12 rows of 10
  EXPECT_EQ(elements("program p(x: f32[12, 10]) -> (y) { y: f32[96] = for i: x[(i + 10) div 10, (i + 10) mod 10] }"),
            2 * 96);
}
TEST(Traps, AnImageThatIsEnlargedIsReadInFull) {
  // bilinear: two neighbours, clamped at the edges
  EXPECT_EQ(
      elements("program p(x: f32[16]) -> (y) { y: f32[64] = for k: sum r in 2: x[min(r + max((2 * k - 3) div 8, 0), "
               "15)] }"),
      16 + 64);
  EXPECT_EQ(elements("program p(x: f32[16]) -> (y) { y: f32[32] = for k: x[min(max(k - 8, 0), 15)] }"), 16 + 32);
  EXPECT_EQ(elements("program p(x: f32[16]) -> (y) { y: f32[32] = for k: x[min(max(k - 40, 0), 15)] }"), 1 + 32);
}
TEST(Traps, GroupedHeadsReadTheirGroup) {
  EXPECT_EQ(elements("program p(q: f32[32, 16], k: f32[4, 16]) -> (s) { s: f32[32] = for h: sum d in 16: q[h, d] * k[h "
                     "div 8, d] }"),
            32 * 16 + 4 * 16 + 32);
}
TEST(Traps, SliceBySliceIsTheWhole) {
  std::string text = "program p(x: f32[100, 64]) -> (y) {\n  y: f32[64] = for i: x[0, i]";
  for (int n = 1; n < 100; ++n) text += " + x[" + std::to_string(n) + ", i]";
  EXPECT_EQ(elements(text + "\n}"), 100 * 64 + 64);
}
TEST(Traps, TheEndOfARunningTotalNeedsAllOfIt) {
  EXPECT_EQ(elements("program p(x: f32[100]) -> (y) {\n"
                     "  c: f32[100] = for scan t: c[t - 1 | 0] + x[t]\n"
                     "  y: f32[1] = for i: c[99]\n}"),
            101);
}

// ---- rewrites ----

TEST(Rewrites, ASumMovesThroughAProduct) {
  const Analysis a = analysis_of(
      "program p(x: f32[128, 256], w: f32[512, 256]) -> (s) {\n"
      "  h: f32[128, 512] = for i, j: sum k in 256: x[i, k] * w[j, k]\n"
      "  d: f32[128, 512] = for i, j: h[i, j] / 2\n"
      "  s: f32[128, 1] = for i, o: sum j in 512: d[i, j]\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 128 * 256);
  EXPECT_EQ(a.floor.work.total_macs(), 128 * 256);
}
TEST(Rewrites, AChainTakesItsCheapestOrder) {
  const Analysis a = analysis_of(
      "program p(a: f32[256, 256], b: f32[256, 256], v: f32[256, 1]) -> (y) {\n"
      "  c: f32[256, 256] = for i, j: sum k in 256: a[i, k] * b[k, j]\n"
      "  y: f32[256, 1] = for i, o: sum j in 256: c[i, j] * v[j, o]\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 2 * 256 * 256);
  EXPECT_EQ(a.floor.work.total_macs(), 2 * 256 * 256);
}
TEST(Rewrites, NothingMovesThroughAReLU) {
  const Analysis a = analysis_of(
      "program p(a: f32[256, 256], b: f32[256, 256], v: f32[256, 1]) -> (y) {\n"
      "  c: f32[256, 256] = for i, j: sum k in 256: a[i, k] * b[k, j]\n"
      "  r: f32[256, 256] = for i, j: max(c[i, j], 0)\n"
      "  y: f32[256, 1] = for i, o: sum j in 256: r[i, j] * v[j, o]\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 256.0 * 256 * 256 + 256 * 256);
  EXPECT_EQ(a.floor.work.total_macs(), a.fused.work.total_macs());
}
TEST(Rewrites, AnIntermediateThatIsReturnedStays) {
  const Analysis a = analysis_of(
      "program p(a: f32[256, 256], b: f32[256, 256], v: f32[256, 1]) -> (c, y) {\n"
      "  c: f32[256, 256] = for i, j: sum k in 256: a[i, k] * b[k, j]\n"
      "  y: f32[256, 1] = for i, o: sum j in 256: c[i, j] * v[j, o]\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 256.0 * 256 * 256 + 256 * 256);
  EXPECT_EQ(a.floor.work.total_macs(), a.fused.work.total_macs());
}
TEST(Rewrites, TransformsSaveTapsOfAConvolutionOnly) {
  const Analysis a = analysis_of(
      "program p(x: f32[1, 64, 58, 58], w: f32[64, 64, 3, 3]) -> (y) { y: f32[1, 64, 56, 56] = for n, o, p, q: sum c "
      "in "
      "64, r in 3, s in 3: x[n, c, p + r, q + s] * w[o, c, r, s] }");
  EXPECT_EQ(a.fused.work.macs.at(DType::f32), 64.0 * 64 * 56 * 56 * 9);
  EXPECT_EQ(a.fused.work.transformed_macs.at(DType::f32), 64.0 * 64 * 56 * 56);
  EXPECT_EQ(a.floor.work.macs.at(DType::f32), 64.0 * 64 * 56 * 56);
  const Analysis b = analysis_of(
      "program p(a: f32[64, 64], b: f32[64, 64]) -> (c) { c: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j] }");
  EXPECT_EQ(b.fused.work.transformed_macs.at(DType::f32), 64 * 64 * 64);
}

// ---- known values ----

TEST(Values, KnownIndicesCountDistinctRows) {
  const loops::Program program =
      program_of("program p(x: f32[4096, 64], i: i64[8]) -> (y) { y: f32[8, 64] = for r, c: x[i[r], c] }");
  Tensor indices(DType::i64, {8});
  for (int r = 0; r < 8; ++r) indices.set_i64(r, r % 3 * 100);
  const Analysis known = analyze(program, {{program.inputs[1], &indices}});
  for (const Demand& demand : {known.fused, known.floor}) {
    EXPECT_GE(demand.input_bytes, 4 * 3 * 64);
    EXPECT_LE(demand.input_bytes, 4 * 3 * 64 + 8 * 8);
  }
  EXPECT_TRUE(known.assumptions.empty());
}

}  // namespace
}  // namespace lightline::demand
