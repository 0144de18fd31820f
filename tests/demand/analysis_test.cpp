// Work and bytes of programs, against numbers worked out by hand. Many rows are traps that tools of this kind fall
// into.
#include "demand/analysis.h"

#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::macs;
using testing_support::random_rows;
using testing_support::transcendentals;
using testing_support::vector_ops;

TEST(Work, AMatrixProduct) {
  const Analysis a = analysis_of(
      "program p(a: f32[8, 16], b: f32[16, 32]) -> (c) { c: f32[8, 32] = for i, j: sum k in 16: a[i, k] * b[k, j] }");
  for (const Demand& demand : {a.fused, a.floor}) {
    EXPECT_EQ(demand.work.macs.at(DType::f32), 8 * 16 * 32);
    EXPECT_EQ(demand.work.total_vector_ops(), 0);
    EXPECT_EQ(demand.input_bytes, 4 * (8 * 16 + 16 * 32));
    EXPECT_EQ(demand.output_bytes, 4 * 8 * 32);
  }
  EXPECT_TRUE(a.assumptions.empty());
  EXPECT_TRUE(a.given_up.empty());
}

TEST(Work, DepthwiseConvolutionIsNotDense) {
  EXPECT_EQ(macs("program p(x: f32[2, 64, 131], w: f32[64, 1, 4]) -> (y) { y: f32[2, 64, 128] = for n, c, p: sum r in "
                 "4: x[n, c, p + r] * w[c, 0, r] }"),
            65536);
}

TEST(Work, GroupedConvolutionIn3D) {
  EXPECT_EQ(
      macs(
          "program p(x: f32[1, 16, 8, 8, 8], w: f32[32, 2, 3, 3, 3]) -> (y) { y: f32[1, 32, 6, 6, 6] = for n, o, p, q, "
          "u: sum c in 2, r in 3, s in 3, t in 3: x[n, 2 * (o div 4) + c, p + r, q + s, u + t] * w[o, c, r, s, t] }"),
      32.0 * 216 * 2 * 27);
}

TEST(Work, PaddedTapsDoNotCount) {
  // 8x8 image, 3x3 kernel, padding 64: only taps inside the image are products
  EXPECT_EQ(macs("program p(x: f32[1, 1, 8, 8], w: f32[32, 1, 3, 3]) -> (y) { y: f32[1, 32, 134, 134] = for n, o, p, "
                 "q: sum c in 1, r in 3, s in 3: x[n, c, p + r - 64, q + s - 64 | 0] * w[o, c, r, s] }"),
            18432);
}

TEST(Work, ThrownAwayHalfOfAProduct) {
  EXPECT_EQ(macs("program p(a: f32[256, 256], b: f32[256, 256]) -> (t) {\n"
                 "  c: f32[256, 256] = for i, j: sum k in 256: a[i, k] * b[k, j]\n"
                 "  t: f32[256, 256] = for i, j: if(j <= i, c[i, j], 0)\n}"),
            256.0 * 256 * 257 / 2);
}

TEST(Work, TriangularOperands) {
  EXPECT_EQ(macs("program p(x: f32[64, 64], y: f32[64, 64]) -> (c) {\n"
                 "  a: f32[64, 64] = for i, j: if(j <= i, x[i, j], 0)\n"
                 "  b: f32[64, 64] = for i, j: if(j <= i, y[i, j], 0)\n"
                 "  c: f32[64, 64] = for i, j: sum k in 64: a[i, k] * b[k, j]\n}"),
            64.0 * 65 * 66 / 6);
}

TEST(Work, CausalAttentionCountsTheVisibleHalf) {
  const std::string text =
      "program p(q: f32[4, 256, 16], k: f32[4, 256, 16], v: f32[4, 256, 16]) -> (o) {\n"
      "  s: f32[4, 256, 256] = for h, i, j: sum d in 16: q[h, i, d] * k[h, j, d]\n"
      "  m: f32[4, 256, 256] = for h, i, j: if(j <= i, s[h, i, j] * 0.25, -inf)\n"
      "  t: f32[4, 256] = for h, i: max j in 256: m[h, i, j]\n"
      "  e: f32[4, 256, 256] = for h, i, j: exp(m[h, i, j] - t[h, i])\n"
      "  z: f32[4, 256] = for h, i: sum j in 256: e[h, i, j]\n"
      "  a: f32[4, 256, 256] = for h, i, j: e[h, i, j] / z[h, i]\n"
      "  o: f32[4, 256, 16] = for h, i, d: sum j in 256: a[h, i, j] * v[h, j, d]\n}";
  EXPECT_EQ(macs(text), 2.0 * 4 * 16 * 256 * 257 / 2);
  EXPECT_EQ(elements(text), 4 * 4 * 256 * 16);
}

TEST(Work, RowsThatAreSlicedAwayAreNotComputed) {
  EXPECT_EQ(macs("program p(x: f32[2, 256, 128], w: f32[128, 128]) -> (y) {\n"
                 "  h: f32[2, 256, 128] = for b, s, n: sum k in 128: x[b, s, k] * w[n, k]\n"
                 "  y: f32[2, 128] = for b, n: h[b, 255, n]\n}"),
            2.0 * 128 * 128);
}

TEST(Work, ExpandedOperandsAreComputedOnce) {
  const std::string text =
      "program p(x: f32[64]) -> (y) {\n"
      "  e: f32[8, 64] = for b, i: exp(x[i])\n"
      "  y: f32[8, 64] = for b, i: e[b, i] + 1\n}";
  EXPECT_EQ(transcendentals(text), 64);
  EXPECT_EQ(vector_ops(text), 0) << "exp(x) + 1 is one function of one variable";
}

TEST(Work, ABranchByDataCountsItsCheaperSideAndForTheFloorWhatBothNeed) {
  const Analysis a = analysis_of(
      "program p(flag: bool[], x: f32[64], w: f32[64, 64]) -> (y) {\n"
      "  h: f32[64] = for i: sum k in 64: x[k] * w[i, k]\n"
      "  y: f32[64] = for i: if(flag[], h[i], x[i])\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 0);
  EXPECT_EQ(a.fused.input_bytes, 1 + 4 * 64);
  EXPECT_EQ(a.assumptions, std::vector<std::string>{"1 branch by data: the cheaper way is counted"});
  EXPECT_EQ(a.floor.work.total_macs(), 0);
  EXPECT_EQ(a.floor.input_bytes, 1 + 4 * 64);
  EXPECT_EQ(a.floor.output_bytes, 4 * 64);
}

TEST(Work, AChoiceElementByElementCountsBothSides) {
  const Analysis a = analysis_of(
      "program p(m: bool[64], x: f32[64], w: f32[64, 64]) -> (y) {\n"
      "  h: f32[64] = for i: sum k in 64: x[k] * w[i, k]\n"
      "  y: f32[64] = for i: if(m[i], h[i], x[i])\n}");
  EXPECT_EQ(a.fused.work.total_macs(), 64 * 64);
  EXPECT_EQ(a.fused.input_bytes, 64 + 4 * (64 + 64 * 64));
  EXPECT_EQ(a.floor.work.total_macs(), 0);
}

TEST(Work, BroadcastBatchDimensionsCountInFull) {
  EXPECT_EQ(macs("program p(a: f32[1, 4, 32, 16], b: f32[8, 4, 16, 32]) -> (c) { c: f32[8, 4, 32, 32] = for n, h, i, "
                 "j: sum k in 16: a[0, h, i, k] * b[n, h, k, j] }"),
            524288);
}

TEST(Bytes, DeadCodeReadsNothing) {
  EXPECT_EQ(elements("program p(a: f32[64, 128], b: f32[64, 128]) -> (y) {\n"
                     "  d: f32[64, 128] = for i, j: a[i, j] * b[i, j]\n"
                     "  y: f32[64, 128] = for i, j: a[i, j] + 1\n}"),
            2 * 64 * 128);
}

TEST(Bytes, AWeightUsedTwiceIsReadOnce) {
  EXPECT_EQ(elements("program p(x: f32[64, 128], w: f32[128, 128]) -> (y) {\n"
                     "  h: f32[64, 128] = for i, j: sum k in 128: x[i, k] * w[j, k]\n"
                     "  y: f32[64, 128] = for i, j: sum k in 128: h[i, k] * w[j, k]\n}"),
            64 * 128 + 128 * 128 + 64 * 128);
}

TEST(Bytes, AWeightInALoopIsReadOnceAndWorksEveryStep) {
  const std::string text =
      "program p(h0: f32[1, 64], w: f32[64, 64]) -> (h) {\n"
      "  h: f32[1, 64] = repeat t in 200 carry (prev = h0) {\n"
      "    s: f32[1, 64] = for b, i: sum k in 64: prev[b, k] * w[i, k]\n"
      "    next: f32[1, 64] = for b, i: tanh(s[b, i])\n"
      "    yield (next)\n  }\n}";
  EXPECT_EQ(elements(text), 64 + 64 * 64 + 64);
  EXPECT_EQ(macs(text), 200.0 * 64 * 64);
  EXPECT_EQ(transcendentals(text), 200 * 64);
}

TEST(Bytes, AScanReadsEachStepOnce) {
  const std::string text =
      "program p(h0: f32[4, 8], xs: f32[512, 4, 8]) -> (hs) {\n"
      "  (h: f32[4, 8], hs: f32[512, 4, 8]) = repeat t in 512 carry (prev = h0) {\n"
      "    next: f32[4, 8] = for b, i: tanh(prev[b, i] + xs[t, b, i])\n"
      "    yield (next, stack next)\n  }\n}";
  EXPECT_EQ(elements(text), 32 + 2 * 512 * 32);
  EXPECT_EQ(transcendentals(text), 512 * 32);
}

TEST(Bytes, TwoViewsOfOneInputAreOneInput) {
  EXPECT_EQ(elements("program p(x: f32[64, 128]) -> (s) {\n"
                     "  t: f32[128, 64] = view i, j: x[j, i]\n"
                     "  s: f32[] = sum i in 64, j in 128: x[i, j] * t[j, i]\n}"),
            64 * 128 + 1);
}

TEST(Bytes, FourSlicesOfAStackedTensorAreFourSlices) {
  EXPECT_EQ(elements("program p(x: f32[8, 4096], w: f32[4096]) -> (y) {\n"
                     "  y: f32[4096] = for i: x[0, i] + x[2, i] + x[4, i] + x[6, i] + w[i]\n}"),
            4 * 4096 + 4096 + 4096);
}

TEST(Bytes, AGatherTouchesRandomRowsAndForTheFloorOne) {
  const Analysis a =
      analysis_of("program p(x: f32[4096, 64], i: i64[8]) -> (y) { y: f32[8, 64] = for r, c: x[i[r], c] }");
  EXPECT_NEAR(a.fused.input_bytes, 4 * 64 * random_rows(4096, 8) + 8 * 8, 1e-6);
  EXPECT_EQ(a.floor.input_bytes, 4 * 64 + 8 * 8);
  EXPECT_EQ(a.fused.output_bytes, 4 * 8 * 64);
  ASSERT_EQ(a.assumptions.size(), 1u);
  EXPECT_EQ(a.assumptions[0], "x is read where data tell: random indices touch 2046.25 bytes of it, the kindest 256");
}

TEST(Bytes, CreationReadsNothing) {
  EXPECT_EQ(elements("program p(x: f32[512, 512], w: f32[512, 512]) -> (y) {\n"
                     "  z: f32[512, 512] = for i, j: 0\n"
                     "  y: f32[512, 512] = for i, j: z[i, j] + x[i, j]\n}"),
            2 * 512 * 512);
}

TEST(Bytes, AReturnedIntermediateIsWritten) {
  EXPECT_EQ(elements("program p(x: f32[64, 128]) -> (h, y) {\n"
                     "  h: f32[64, 128] = for i, j: x[i, j] + 1\n"
                     "  y: f32[64, 128] = for i, j: h[i, j] * 2\n}"),
            3 * 64 * 128);
}

TEST(Bytes, AReturnedViewOfAnInputMovesNothing) {
  EXPECT_EQ(elements("program p(x: f32[64, 128]) -> (t) { t: f32[128, 64] = view i, j: x[j, i] }"), 0);
}

TEST(Bytes, AnUpdateInPlaceWritesOnlyWhatChanges) {
  EXPECT_EQ(elements("program p(cache: f32[1024, 64], k: f32[64]) -> (c as cache) {\n"
                     "  c: f32[1024, 64] = scatter set d in 64 into cache: [7, d] <- k[d]\n}"),
            2 * 64);
}

TEST(Bytes, StridedReadsCountWhatTheyTouch) {
  EXPECT_EQ(elements("program p(x: f32[100]) -> (y) { y: f32[25] = for i: x[4 * i] }"), 50);
}

TEST(Bytes, NarrowTypesCountTheirBits) {
  const Analysis a =
      analysis_of("program p(x: f4e2m1[64], m: bool[64]) -> (y) { y: bf16[64] = for i: if(m[i], x[i], 0) }");
  EXPECT_EQ(a.fused.bytes(), 32 + 64 + 128);
  EXPECT_EQ(a.floor.bytes(), 64 + 128) << "all of m may be false";
}

TEST(Operations, FusedNeverExceedsTheSumOfItsParts) {
  const Analysis a = analysis_of(
      "program p(x: f32[64, 128], w: f32[128, 128], b: f32[128]) -> (y) {\n"
      "  @ \"linear\"\n  h: f32[64, 128] = for i, j: sum k in 128: x[i, k] * w[j, k]\n  l: f32[64, 128] = for i, j: "
      "h[i, j] + b[j]\n"
      "  @ \"relu\"\n  y: f32[64, 128] = for i, j: max(l[i, j], 0)\n}");
  ASSERT_EQ(a.groups.size(), 2u);
  EXPECT_EQ(a.groups[0].name, "linear");
  EXPECT_EQ(a.groups[0].operand_bytes, 4 * (64 * 128 + 128 * 128 + 128));
  EXPECT_EQ(a.groups[0].result_bytes, 4 * 64 * 128);
  double parts = 0;
  for (const GroupDemand& o : a.groups) parts += o.operand_bytes + o.result_bytes;
  EXPECT_LE(a.fused.bytes(), parts);
}

// Heads that queries have at every 192 and keys at every 256: one number tells both, and all of k is read. Its
// second halves meet z before the scores.
TEST(Work, HeadsOfTwoWidths) {
  const Analysis a = analysis_of(
      R"(program p(q: f32[8, 24576], k: f32[8, 32768], e: f32[8, 64], z: f32[16384, 16]) -> (y) {
  n: f32[128, 8, 192] = for h, j, d: if(d < 128, k[j, 256 * h + d | 0], e[j, d - 128 | 0])
  s: f32[128, 8, 8] = for h, i, j: sum d in 192: q[i, 192 * h + d] * n[h, j, d]
  t: f32[128, 8] = for h, i: max j in 8: s[h, i, j]
  g: f32[128, 8, 8] = for h, i, j: exp(s[h, i, j] - t[h, i])
  o: f32[128, 8, 128] = for h, i, d: sum j in 8: g[h, i, j] * k[j, 256 * h + 128 + d]
  r: f32[8, 16384] = for i, c: o[c div 128, i, c mod 128]
  y: f32[8, 16] = for i, f: sum c in 16384: r[i, c] * z[c, f]
})");
  for (const Demand& demand : {a.fused, a.floor})
    EXPECT_EQ(demand.input_bytes, 4 * (8 * (24576 + 32768 + 64) + 16384 * 16));
  EXPECT_EQ(a.fused.work.total_macs(), 128 * 8 * (8 * 192 + 128 * 16 + 8 * 16));
}

TEST(Operations, OpaqueOnesAreNamed) {
  const Analysis a = analysis_of("program p(x: f32[100]) -> (v) { (v: f32[8], i: i64[8]) = opaque topk(x, k = 8) }");
  EXPECT_EQ(a.opaque.at("topk"), 1);
  EXPECT_EQ(a.fused.bytes(), 4 * 100 + 4 * 8);
  ASSERT_EQ(a.groups.size(), 1u);
  EXPECT_TRUE(a.groups[0].opaque);
}

}  // namespace
}  // namespace lightline::demand
