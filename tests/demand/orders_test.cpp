// In which order sums and products are taken: the least work, worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::elements;
using testing_support::floor_macs;
using testing_support::macs;
using testing_support::transcendentals;
using testing_support::vector_ops;

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// ---- sums before products ----

TEST(Orders, PoolsAreSummedBeforeTheyAreMultiplied) {
  EXPECT_EQ(macs("program p(x: f32[64, 32], w: f32[32, 48]) -> (y) {\n"
                 "  h: f32[64, 48] = for t, o: sum k in 32: x[t, k] * w[k, o]\n"
                 "  y: f32[16, 48] = for p, o: sum r in 4: h[4 * p + r, o] / 4\n}"),
            16 * 32 * 48);
}

TEST(Orders, WhatOthersNeedAnywayIsSummedAsItIs) {
  EXPECT_EQ(macs("program p(x: f32[64, 32], w: f32[32, 48]) -> (h, y) {\n"
                 "  h: f32[64, 48] = for t, o: sum k in 32: x[t, k] * w[k, o]\n"
                 "  y: f32[16, 48] = for p, o: sum r in 4: h[4 * p + r, o] / 4\n}"),
            64 * 32 * 48);
}

TEST(Orders, WhatIsScatteredIsAddedBeforeItIsMultiplied) {
  EXPECT_EQ(macs("program p(x: f32[1000, 32], w: f32[32, 48], to: i64[1000]) -> (y) {\n"
                 "  h: f32[1000, 48] = for e, o: sum k in 32: x[e, k] * w[k, o]\n"
                 "  y: f32[10, 48] = scatter sum e in 1000, o in 48 into 0: [to[e], o] <- h[e, o]\n}"),
            10 * 32 * 48);
}

TEST(Orders, MaskedChainsAreTakenFromTheCheapSide) {
  EXPECT_EQ(macs("program p(x: f32[400, 20], a: f32[20, 300], b: f32[300, 400]) -> (y) {\n"
                 "  m: f32[400, 20] = for i, j: if(j < 10 or i < 200, x[i, j], 0)\n"
                 "  h: f32[400, 300] = for i, j: sum k in 20: m[i, k] * a[k, j]\n"
                 "  y: f32[400, 400] = for i, j: sum k in 300: h[i, k] * b[k, j]\n}"),
            20 * 300 * 400 + (200 * 20 + 200 * 10) * 400);
}

TEST(Orders, PowersAreMadeBySquaring) {
  EXPECT_EQ(macs("program p(x: f32[64, 64], v: f32[64, 64]) -> (y) {\n"
                 "  a: f32[64, 64] = for i, j: sum k in 64: x[i, k] * v[k, j]\n"
                 "  b: f32[64, 64] = for i, j: sum k in 64: a[i, k] * x[k, j]\n"
                 "  y: f32[64, 64] = for i, j: sum k in 64: b[i, k] * v[k, j]\n}"),
            2 * 64 * 64 * 64);
}

// ---- exponents ----

TEST(Orders, ExponentialsOfSumsAreProducts) {
  const char* text =
      "program p(a: f32[20, 30], b: f32[30, 40]) -> (y) {\n"
      "  y: f32[20, 40] = for i, j: sum k in 30: exp(a[i, k] + b[k, j])\n}";
  EXPECT_EQ(macs(text), 20 * 30 * 40);
  EXPECT_EQ(transcendentals(text), 20 * 30 + 30 * 40);
}

TEST(Orders, DecayingWeightsAreRunningSums) {
  for (const char* weight : {"exp(-0.1 * f32(i - k))", "pow(0.9, f32(i - k))", "exp2(f32(k - i) / 8)"})
    EXPECT_LE(macs(replace_all("program p(x: f32[64, 16]) -> (y) {\n"
                               "  y: f32[64, 16] = for i, j: sum k in 64: if(k <= i, WEIGHT * x[k, j], 0)\n}",
                               "WEIGHT", weight)),
              64 * 16)
        << weight;
}

TEST(Orders, SeparableFiltersAreTwoPasses) {
  EXPECT_EQ(macs("program p(x: f32[4, 72, 72]) -> (y) {\n"
                 "  y: f32[4, 64, 64] = for n, p, q: sum r in 9, s in 9:\n"
                 "    x[n, p + r, q + s] * exp(-0.1 * f32(abs(r - 4) + abs(s - 4)))\n}"),
            4 * (64 * 72 * 9 + 64 * 64 * 9));
}

// ---- what does not vary leaves ----

TEST(Orders, WhatDoesNotVaryLeavesAMaximum) {
  EXPECT_LE(vector_ops("program p(x: f32[64, 64], w: f32[64]) -> (y) {\n"
                       "  y: f32[64, 64] = for i, j: max k in 64: x[i, k] + w[j]\n}"),
            64 * 64 / 2 + 64 * 64);
  EXPECT_LE(vector_ops("program p(a: bool[64, 64], m: bool[64]) -> (y) {\n"
                       "  y: bool[64, 64] = for i, j: or k in 64: a[i, k] and m[j]\n}"),
            64 * 64 + 64 * 64);
}

// ---- states ----

std::string state(int64_t steps, const std::string& decay) {
  return replace_all(replace_all("program p(q: f32[T, 64], k: f32[T, 64], v: f32[T, 64], g: f32[T]) -> (o) {\n"
                                 "  zero: f32[64, 64] = const [0]\n"
                                 "  (last: f32[64, 64], o: f32[T, 64]) = repeat t in T carry (s = zero) {\n"
                                 "    n: f32[64, 64] = for i, j: DECAY * s[i, j] + k[t, i] * v[t, j]\n"
                                 "    r: f32[64] = for j: sum i in 64: q[t, i] * n[i, j]\n"
                                 "    yield (n, stack r)\n"
                                 "  }\n}",
                                 "DECAY", decay),
                     "T", std::to_string(steps));
}

TEST(Orders, StatesOfFewStepsAreScores) {
  for (const char* decay : {"1.0", "0.5", "g[t]", "g[3]"})
    EXPECT_NEAR(macs(state(32, decay)), 2 * 64 * (32 * 33 / 2), 1) << decay;
}

TEST(Orders, StatesOfManyStepsAreCarried) {
  for (const char* decay : {"1.0", "0.5", "g[t]", "g[3]"}) {
    const double carried = 2.0 * 1024 * 64 * 64;
    EXPECT_LE(macs(state(1024, decay)), carried) << decay;
    EXPECT_GE(macs(state(1024, decay)), 0.98 * carried) << decay;
  }
}

// Heads read biased projections by digits: what is taken apart still takes the projections.
TEST(Orders, ProjectionsOfScoresCountWithTheirBiases) {
  const std::string projections =
      "program p(x: f32[32, 48], wq: f32[48, 48], wk: f32[48, 48], bq: f32[48], bk: f32[48]) -> (y) {\n"
      "  q0: f32[32, 48] = for i, c: sum r in 48: x[i, r] * wq[c, r]\n  q: f32[32, 48] = for i, c: q0[i, c] + bq[c]\n"
      "  k0: f32[32, 48] = for i, c: sum r in 48: x[i, r] * wk[c, r]\n  k: f32[32, 48] = for i, c: k0[i, c] + bk[c]\n"
      "  s: f32[4, 32, 32] = for h, a, b: sum r in 12: q[a, 12 * h + r] * k[b, 12 * h + r]\n";
  EXPECT_EQ(macs(projections + "  y: f32[4, 32, 32] = for h, a, b: exp(s[h, a, b])\n}"),
            2 * 32 * 48 * 48 + 32 * 32 * 48);
  EXPECT_EQ(macs(projections + "  y: f32[4, 32, 32] = for h, a, b: if(b <= a, exp(s[h, a, b]), 0)\n}"),
            2 * 32 * 48 * 48 + 32 * 33 / 2 * 48);
}

// c + 3 is spelled with c: what c is made of is needed for that, and does not join the sum as well.
TEST(Orders, WhatAnotherSumIsSpelledWithIsMadeOnce) {
  EXPECT_EQ(macs("program p(x: f32[4, 3, 16], w: f32[8, 3, 4], b: f32[8]) -> (y) {\n"
                 "  t: f32[4, 8, 13] = for i, j, k: sum r in 3, s in 4: x[i, r, k + s] * w[j, r, s]\n"
                 "  c: f32[4, 8, 13] = for i, j, k: t[i, j, k] + b[j]\n"
                 "  a: f32[4, 8, 13] = for i, j, k: max(c[i, j, k] + 3, 0)\n"
                 "  y: f32[4, 8] = for i, j: sum k in 13: c[i, j, k] * a[i, j, k]\n}"),
            4 * 8 * 13 * 12 + 4 * 8 * 13);
}

// Neither order alone, nor chunks of any size, take less.
TEST(Orders, OrdersMayBeMixed) {
  const double mixed = macs(state(128, "1.0"));
  for (const int64_t chunk : {8, 16, 32, 64}) {
    const double chunks = 128.0 / double(chunk);
    const double inside = 2.0 * 64 * double(chunk * (chunk + 1) / 2) * chunks;
    const double between = (chunks - 1) * 2 * double(chunk) * 64 * 64;
    EXPECT_LE(mixed, inside + between) << chunk;
  }
  EXPECT_GE(mixed, 0.75 * 128 * 129 * 64);
}

TEST(Orders, WhatSettlesAfterAStepIsSeenInTheFirst) {
  EXPECT_EQ(macs("program p(a: f32[32, 32], b: f32[32, 32], w: f32[32, 32], start: f32[32, 32]) -> (total) {\n"
                 "  (total: f32[32, 32], last: f32[32, 32]) = repeat t in 8 carry (acc = start, s = a) {\n"
                 "    p: f32[32, 32] = for i, j: sum k in 32: s[i, k] * w[k, j]\n"
                 "    next: f32[32, 32] = for i, j: acc[i, j] + tanh(p[i, j])\n"
                 "    then: f32[32, 32] = view i, j: b[i, j]\n"
                 "    yield (next, then)\n  }\n}"),
            2 * 32 * 32 * 32);
}

// ---- the floor: products that share a factor and are added are one ----

TEST(Orders, TheFloorAddsBeforeItMultiplies) {
  EXPECT_EQ(floor_macs("program p(x: f32[64, 32], w: f32[64, 16]) -> (y) {\n"
                       "  c: f32[64, 64] = for i, k: if(k < 32, x[i, k | 0], x[i, k - 32 | 0])\n"
                       "  y: f32[64, 16] = for i, j: sum k in 64: c[i, k] * w[k, j]\n}"),
            64 * 32 * 16);
  EXPECT_EQ(floor_macs("program p(x: f32[64, 32], a: f32[32, 16], b: f32[32, 16]) -> (y) {\n"
                       "  u: f32[64, 16] = for i, j: sum k in 32: x[i, k] * a[k, j]\n"
                       "  v: f32[64, 16] = for i, j: sum k in 32: x[i, k] * b[k, j]\n"
                       "  y: f32[64, 16] = for i, j: u[i, j] + v[i, j]\n}"),
            64 * 32 * 16);
}

// ---- points that are the same in another order ----

// x (a + a.T) x: twice the sum over i <= j.
TEST(Orders, QuadraticFormsOfSymmetricMatrices) {
  const std::string text = R"(program p(x: f32[64], a: f32[64, 64]) -> (y) {
    s: f32[64, 64] = for i, j: a[i, j] + a[j, i]
    h: f32[64] = for i: sum j in 64: s[i, j] * x[j]
    y: f32[1] = for o: sum i in 64: x[i] * h[i]
  })";
  EXPECT_LE(macs(text), 64 * 65 / 2 + 64);
  EXPECT_GE(macs(text), 64 * 65 / 2);
  EXPECT_LE(floor_macs(text), macs(text));
}

TEST(Orders, QuadraticFormsOfManyRows) {
  const std::string text = R"(program p(x: f32[32, 64], a: f32[64, 64]) -> (y) {
    s: f32[64, 64] = for i, j: a[i, j] + a[j, i]
    h: f32[32, 64] = for b, j: sum i in 64: x[b, i] * s[i, j]
    y: f32[32] = for b: sum j in 64: h[b, j] * x[b, j]
  })";
  EXPECT_LE(macs(text), 32 * (64 * 65 / 2 + 64));
  EXPECT_GE(macs(text), 32 * 64 * 65 / 2);
}

// The trace of a cube: of i, j and k that change places in a ring one order, i no greater than the others.
TEST(Orders, TracesOfCubes) {
  const std::string text = R"(program p(a: f32[32, 32]) -> (y) {
    b: f32[32, 32] = for i, k: sum j in 32: a[i, j] * a[j, k]
    y: f32[1] = for o: sum i in 32, k in 32: b[i, k] * a[k, i]
  })";
  double ring = 32 * 32;  // b[i, k] with a[k, i]
  for (int i = 0; i < 32; ++i) ring += (32 - i) * (32 - i);
  EXPECT_LE(macs(text), ring);
}

// ---- repetition ----

// Where an array is enlarged before a convolution, products of its elements are made once, and so are those of what is
// made of it by products: 8 channels and 16 places, of which 2 meet each of 3 taps, for 4 results.
TEST(Orders, AGateBeforeAnEnlargementCostsNothing) {
  const auto text = [](const std::string& element) {
    return "program p(x: f32[8, 16], g: f32[8, 16], s: f32[8], w: f32[4, 8, 3]) -> (y) {\n"
           "  z: f32[8, 32] = for c, i: " +
           element +
           "\n"
           "  y: f32[4, 32] = for o, i: sum c in 8, r in 3: z[c, i + r - 1 | 0] * w[o, c, r]\n}";
  };
  const double plain = 4 * 8 * 3 * 16;
  EXPECT_EQ(macs(text("x[c, i div 2]")), plain);
  EXPECT_EQ(macs(text("x[c, i div 2] * g[c, i div 2]")), plain);
  EXPECT_EQ(macs(text("x[c, i div 2] * g[c, i div 2] * s[c]")), plain);
}

// ---- odd sizes ----

TEST(Orders, OddSizesNeedEverythingTheyCover) {
  // 32 to 75 places, each between two neighbours: every one of the 32 is one of them.
  EXPECT_EQ(
      elements("program p(x: f32[32, 8]) -> (y) {\n"
               "  y: f32[75, 8] = for i, j: sum r in 2: x[min(r + max((64 * i + 107) div 150 - 1, 0), 31), j]\n}"),
      32 * 8 + 75 * 8);
  // Places by a formula of floating-point numbers.
  EXPECT_EQ(elements("program p(x: f32[32, 8]) -> (y) {\n"
                     "  y: f32[13, 8] = for i, j: sum r in 7: "
                     "x[max(min(max(i64((f32(i) + 0.5) * 2.461538553237915 - 1.96153855), 0) + r, 31), 0), j]\n}"),
            32 * 8 + 13 * 8);
}

TEST(Orders, TheTopOfATreeNeedsAllLeaves) {
  std::string text =
      "program p(x: f32[64, 8], w: f32[8, 8]) -> (m5) {\n"
      "  d: f32[64, 8] = for i, j: sum r in 8: x[i, r] * w[r, j]\n"
      "  m0: f32[32, 8] = for i, j: max(d[2 * i, j], d[2 * i + 1, j])\n";
  for (int level = 1; level < 6; ++level)
    text += fmt::format("  m{0}: f32[{1}, 8] = for i, j: max(m{2}[2 * i, j], m{2}[2 * i + 1, j])\n", level, 32 >> level,
                        level - 1);
  EXPECT_EQ(macs(text + "}"), 64 * 8 * 8);
}

}  // namespace
}  // namespace lightline::demand
