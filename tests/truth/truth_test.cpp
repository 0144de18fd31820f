// The referee itself: programs whose least work is worked out by hand.
#include "truth/truth.h"

#include <gtest/gtest.h>

#include "support/programs.h"
#include "truth/compare.h"

namespace lightline::truth {
namespace {

Subject subject(const std::string& text) {
  Subject result{.program = testing_support::program_of(text)};
  result.inputs = random_inputs(result.program, 7, 2);
  return result;
}

Truth truth(const std::string& text) {
  const Subject given = subject(text);
  const auto difference = difference_of_meaning(given);
  EXPECT_TRUE(difference.ok() && !difference->has_value()) << text;
  auto result = truth_of(given);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? std::move(*result) : Truth{};
}

TEST(Truth, DenseProduct) {
  const Truth t = truth(R"(program p(a: f32[4, 6], b: f32[6, 5]) -> (c) {
    c: f32[4, 5] = for i, j: sum k in 6: a[i, k] * b[k, j] })");
  EXPECT_EQ(t.least(false).products, 4 * 6 * 5);
  EXPECT_EQ(t.least(false).slots, 4 * 6 * 5);
  EXPECT_EQ(t.input_bytes, (24 + 30) * 4);
  EXPECT_EQ(t.output_bytes, 20 * 4);
}

TEST(Truth, MaskedScoresVanish) {
  for (const char* masked : {"if(j <= i + 1, s[i, j], -inf)", "s[i, j] + if(j <= i + 1, 0, -1e9)",
                             "s[i, j] * f32(j <= i + 1) - 1e9 * (1 - f32(j <= i + 1))"}) {
    const Truth t = truth(R"(program p(q: f32[4, 2], k: f32[4, 2]) -> (y) {
      s: f32[4, 4] = for i, j: sum d in 2: q[i, d] * k[j, d]
      m: f32[4, 4] = for i, j: )" +
                          std::string(masked) + R"(
      top: f32[4] = for i: max j in 4: m[i, j]
      e: f32[4, 4] = for i, j: exp(m[i, j] - top[i])
      y: f32[4] = for i: sum j in 4: e[i, j] })");
    EXPECT_EQ(t.least(false).products, 2 * (2 + 3 + 4 + 4)) << masked;
    EXPECT_EQ(t.least(false).transcendentals, 2 + 3 + 4 + 4) << masked;
  }
}

TEST(Truth, ScoresMaskedByDataStay) {
  const Truth t = truth(R"(program p(s: f32[3], m: f32[3], top: f32[]) -> (e) {
    e: f32[3] = for j: exp(s[j] * m[j] - 1e9 * (1 - m[j]) - top[]) })");
  EXPECT_EQ(t.least(false).transcendentals, 3);
  EXPECT_EQ(t.input_bytes, 28);
}

TEST(Truth, ChainsInTheCheapestOrder) {
  const Truth t = truth(R"(program p(a: f32[8, 2], b: f32[2, 8], c: f32[8, 3]) -> (y) {
    t: f32[8, 8] = for i, j: sum k in 2: a[i, k] * b[k, j]
    y: f32[8, 3] = for i, j: sum k in 8: t[i, k] * c[k, j] })");
  EXPECT_EQ(t.least(false).products, 2 * 8 * 3 + 8 * 2 * 3);
}

TEST(Truth, OnlyTheFloorDistributes) {
  const Truth t = truth(R"(program p(x: f32[4, 5], a: f32[5, 3], b: f32[5, 3]) -> (y) {
    s: f32[4, 3] = for i, j: sum k in 5: x[i, k] * a[k, j]
    t: f32[4, 3] = for i, j: sum k in 5: x[i, k] * b[k, j]
    y: f32[4, 3] = for i, j: s[i, j] + t[i, j] })");
  EXPECT_EQ(t.least(false).products, 120);
  EXPECT_EQ(t.least(true).products, 60);
}

TEST(Truth, SymmetricHalves) {
  const Truth t = truth(R"(program p(a: f32[4, 6]) -> (c) {
    c: f32[4, 4] = for i, j: sum k in 6: (a[i, k] - a[j, k]) * (a[i, k] - a[j, k]) })");
  EXPECT_EQ(t.least(false).products, 6 * 6);
}

TEST(Truth, RunningAndSlidingSums) {
  const Truth running = truth(R"(program p(x: f32[8, 3]) -> (y) {
    t: f32[8, 8] = for i, j: f32(j <= i)
    y: f32[8, 3] = for i, j: sum k in 8: t[i, k] * x[k, j] })");
  EXPECT_EQ(running.least(false).slots, 7 * 3);
  const Truth sliding = truth(R"(program p(x: f32[8, 9]) -> (y) {
    y: f32[6, 7] = for i, j: sum r in 3, s in 3: x[i + r, j + s] })");
  EXPECT_EQ(sliding.least(false).slots, 72);
}

TEST(Truth, RepeatedAndGatheredRowsOnce) {
  const Truth t = truth(R"(program p(x: f32[3, 2], id: i64[7], w: f32[2, 4]) -> (y) {
    g: f32[7, 2] = for i, j: x[id[i], j]
    y: f32[7, 4] = for i, j: sum k in 2: g[i, k] * w[k, j] })");
  EXPECT_EQ(t.least(false).products, 3 * 2 * 4);
  EXPECT_EQ(t.input_bytes, (6 + 8) * 4 + 7 * 8);
}

TEST(Truth, WhatIsWritten) {
  const Truth place = truth(R"(program p(x: f32[3, 4]) -> (y as x) {
    y: f32[3, 4] = for i, j: if(i == j, 0, x[i, j]) })");
  EXPECT_EQ(place.input_bytes, 0);
  EXPECT_EQ(place.output_bytes, 12);
  const Truth views = truth(R"(program p(x: f32[3, 4]) -> (y, z, w) {
    y: f32[4, 3] = view i, j: x[j, i]
    z: f32[3, 4] = for i, j: x[i, j] + 1
    w: f32[4, 3] = for i, j: z[j, i] })");
  EXPECT_EQ(views.output_bytes, 48);
}

TEST(Truth, OneVariableOneTranscendental) {
  const Truth t = truth(R"(program p(x: f32[5]) -> (y) { y: f32[5] = for i: log(1 + exp(x[i])) * 2 })");
  EXPECT_EQ(t.least(false).transcendentals, 5);
  const Truth separable = truth(R"(program p(x: f32[5], y: f32[4]) -> (z) {
    z: f32[5, 4] = for i, j: exp(x[i] + y[j]) })");
  EXPECT_EQ(separable.least(false).transcendentals, 9);
}

TEST(Truth, TooLargeIsAnError) {
  const Subject large = subject(R"(program p(x: f32[200, 200]) -> (y) { y: f32[200, 200] = for i, j: exp(x[i, j]) })");
  EXPECT_FALSE(truth_of(large).ok());
}

}  // namespace
}  // namespace lightline::truth
