// Issue slots of elementwise work, by hand: of sums and products what is surely left to do, whoever shares what.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::macs;
using testing_support::transcendentals;
using testing_support::vector_ops;

// Operations of a maximum over rows of so many: two share a slot.
double of_maxima(double rows, double length) { return rows * (length - 1) / 2; }

TEST(Slots, AResidualStreamIsAddedToOnceALayer) {
  const std::string layers =
      "program p(x: f32[8, 4], u: f32[4, 4], v: f32[4, 4], w: f32[4, 4]) -> (c) {\n"
      "  r: f32[8, 4] = for i, j: sum k in 4: x[i, k] * u[k, j]\n"
      "  a: f32[8, 4] = for i, j: x[i, j] + max(r[i, j], 0)\n"
      "  s: f32[8, 4] = for i, j: sum k in 4: a[i, k] * v[k, j]\n"
      "  b: f32[8, 4] = for i, j: a[i, j] + max(s[i, j], 0)\n"
      "  t: f32[8, 4] = for i, j: sum k in 4: b[i, k] * w[k, j]\n"
      "  c: f32[8, 4] = for i, j: b[i, j] + max(t[i, j], 0)\n}";
  EXPECT_EQ(vector_ops(layers), 3 * 32);
}

TEST(Slots, AStepOfAnIntegratorIsAddedToTheStepBefore) {
  const std::string verlet =
      "program p(x: f32[64], u: f32[64]) -> (y) {\n"
      "  (y: f32[64], m: f32[64]) = repeat t in 6 carry (a = x, v = u) {\n"
      "    w: f32[64] = for i: v[i] - 0.1 * sin(a[i])\n"
      "    c: f32[64] = for i: a[i] + 0.1 * w[i]\n"
      "    yield (c, w)\n  }\n}";
  EXPECT_EQ(vector_ops(verlet), 6 * 2 * 64);
}

TEST(Slots, WhatSumsHaveInCommonIsAddedOnce) {
  const auto two = [](const std::string& first, const std::string& second) {
    return vector_ops(
        "program p(a: f32[16], b: f32[16], c: f32[16], d: f32[16]) -> (y, z) {\n"
        "  y: f32[16] = for i: " +
        first + "\n  z: f32[16] = for i: " + second + "\n}");
  };
  EXPECT_EQ(two("(a[i] + b[i]) + c[i]", "(a[i] + b[i]) + d[i]"), 3 * 16);
  EXPECT_EQ(two("(a[i] + c[i]) + b[i]", "(d[i] + b[i]) + a[i]"), 3 * 16);
  EXPECT_EQ(two("(a[i] * c[i]) * b[i]", "(d[i] * b[i]) * a[i]"), 3 * 16);
  EXPECT_EQ(two("a[i] + b[i]", "2 * b[i] + 2 * a[i]"), 16);
  EXPECT_EQ(two("a[i] + b[i]", "c[i] + d[i]"), 2 * 16);
  EXPECT_EQ(two("max(a[i], 0) + a[i]", "max(a[i], 0) + a[i] + b[i]"), 2 * 16);
  EXPECT_LE(two("a[i] * a[i] * b[i]", "a[i] * a[i] * c[i]"), 3 * 16);
  EXPECT_LE(two("a[i] * a[i]", "a[i] * a[i] * c[i]"), 2 * 16);
}

// Two neighbours of three share the sum of two: three additions for both.
TEST(Slots, NeighboursShareParts) {
  const double three =
      vector_ops("program p(x: f32[16]) -> (y) {\n  y: f32[14] = for i: x[i] + x[i + 1] + x[i + 2]\n}");
  EXPECT_LE(three, 14 * 1.5);
  EXPECT_GE(three, 14);
  EXPECT_EQ(vector_ops("program p(x: f32[16]) -> (y) {\n  y: f32[14] = for i: x[i] + 2 * x[i + 1] - x[i + 2]\n}"),
            2 * 14);
}

TEST(Slots, PartsOfFewerVariablesAreAddedFirst) {
  const auto largest = [](const std::string& made) {
    return vector_ops(
        "program p(a: f32[16], b: f32[16], c: f32[16], d: f32[16], e: f32[16, 16]) -> (y) {\n"
        "  t: f32[16, 16] = for i, j: abs(" +
        made + ")\n  y: f32[16] = for i: max j in 16: t[i, j]\n}");
  };
  const double maxima = of_maxima(16, 16);
  EXPECT_EQ(largest("a[i] + c[j] + b[i] + d[j]"), 256 + maxima);
  EXPECT_EQ(largest("a[i] + e[i, j] + b[i]"), 256 + maxima);
  EXPECT_EQ(largest("a[i] + c[j] + b[i] + d[j] + e[i, j]"), 2 * 256 + maxima);
  EXPECT_EQ(largest("a[i] * c[j] * b[i] * d[j] * e[i, j]"), 2 * 256 + maxima);
  EXPECT_EQ(largest("a[i] * e[i, j] * b[i]"), 256 + maxima);
}

// |x|^2 + |y|^2 - 2 x y: one addition for each pair, or none.
TEST(Slots, ASumThatIsOnlyAFactorIsTakenApart) {
  const std::string inputs = "program p(x: f32[8, 4], y: f32[8, 4], w: f32[4]) -> (";
  EXPECT_LE(vector_ops(inputs + "d) {\n  d: f32[8, 8] = for i, j: sum k in 4: "
                                "(x[i, k] - y[j, k]) * (x[i, k] - y[j, k])\n}"),
            64);
  EXPECT_LE(vector_ops(inputs + "d) {\n  d: f32[8, 8] = for i, j: sum k in 4: w[k] * (x[i, k] + y[j, k])\n}"), 64);
  // What others need of it is computed.
  const std::string both =
      "d) {\n  t: f32[8, 4] = for i, k: x[i, k] - y[i, k]\n  d: f32[8] = for i: sum k in 4: t[i, k] * w[k]\n";
  EXPECT_EQ(vector_ops(inputs + "t, " + both + "}"), 32);
  EXPECT_EQ(vector_ops(inputs + "z, " + both + "  z: f32[4] = for k: t[0, k]\n}"), 4);
}

TEST(Slots, AProductOfDifferentIndicesThatIsAddedIsForMatrixUnits) {
  const std::string state =
      "program p(x: f32[3, 4], y: f32[3, 4]) -> (z) {\n"
      "  a: f32[4, 4, 3] = for i, j, scan t: 0.5 * a[i, j, t - 1 | 0] + x[t, i] * y[t, j]\n"
      "  z: f32[4, 4] = for i, j: a[i, j, 2]\n}";
  EXPECT_EQ(vector_ops(state), 0);
  EXPECT_EQ(macs(state), 3 * 16);
}

TEST(Slots, AScaleGoesIntoAnOperand) {
  const auto scaled = [](const std::string& made) {
    return vector_ops(
        "program p(x: f32[8, 4], w: f32[4, 16], s: f32[16], b: f32[16]) -> (y) {\n"
        "  h: f32[8, 16] = for i, j: sum k in 4: x[i, k] * w[k, j]\n  y: f32[8] = for i: max j in 16: " +
        made + "\n}");
  };
  EXPECT_EQ(scaled("h[i, j] * s[j]"), of_maxima(8, 16));
  EXPECT_EQ(scaled("(h[i, j] + b[j]) * s[j]"), of_maxima(8, 16));
  EXPECT_EQ(scaled("h[i, j] * x[i, 0] * s[j]"), of_maxima(8, 16));
  EXPECT_EQ(scaled("h[i, j] * abs(x[i, 0] + s[j])"), 2 * 8 * 16 + of_maxima(8, 16));
}

TEST(Slots, AQuotientByAProductIsTwo) {
  const std::string cosines =
      "program p(x: f32[8, 4]) -> (y) {\n  n: f32[8] = for i: sum k in 4: x[i, k] * x[i, k]\n"
      "  s: f32[8, 8] = for i, j: sum k in 4: x[i, k] * x[j, k]\n"
      "  y: f32[8] = for i: max j in 8: s[i, j] / (sqrt(n[i]) * sqrt(n[j]))\n}";
  EXPECT_LE(vector_ops(cosines), of_maxima(8, 8) + 8);
  EXPECT_EQ(transcendentals(cosines), 8);
}

TEST(Slots, CountingPairsThatCompareIsSorting) {
  const auto counted = [](const std::string& sum) {
    const std::string text =
        "program p(x: f32[64], z: f32[64], e: f32[9], a: i64[64], w: f32[64]) -> (y) {\n  y: " + sum + "\n}";
    return macs(text) + vector_ops(text);
  };
  EXPECT_LE(counted("f32[8] = for g: sum t in 64: f32(x[t] >= e[g] and x[t] < e[g + 1])"), 64 + 16);
  EXPECT_LE(counted("f32[8] = for g: sum t in 64: f32(x[t] >= f32(g) / 8 and x[t] < f32(g + 1) / 8)"), 64);
  EXPECT_LE(counted("f32[] = sum i in 64, j in 64: f32(x[i] > z[j])"), 128);
  EXPECT_LE(counted("i64[] = sum i in 64, j in 64: i64(a[i] == a[j])"), 128);
  EXPECT_LE(counted("i64[64] = for i: sum j in 64: i64(x[j] < x[i] or (x[j] == x[i] and j < i))"), 128);
  EXPECT_LE(counted("bool[64, 64] = for i, j: x[i] < z[j]"), 128);
  // One by one, where every pair has a sum of its own
  EXPECT_GE(vector_ops("program p(x: f32[8, 4], z: f32[8, 4]) -> (y) {\n"
                       "  y: f32[8, 8] = for i, j: sum k in 4: f32(x[i, k] < z[j, k])\n}"),
            64 * 3);
}

TEST(Slots, ATableOfTwoLabelsIsAScatterInAnySpelling) {
  const auto table = [](const std::string& made) {
    return "program p(a: i64[64], b: i64[64], w: f32[64]) -> (y) {\n  y: f32[8, 8] = for i, j: sum t in 64: " + made +
           "\n}";
  };
  const std::string chosen = table("if(a[t] == i and b[t] == j, w[t], 0)");
  const std::string multiplied = table("f32(a[t] == i) * f32(b[t] == j) * w[t]");
  EXPECT_EQ(macs(chosen), macs(multiplied));
  EXPECT_EQ(vector_ops(chosen), vector_ops(multiplied));
}

TEST(Slots, PowersOfOneValueAreOneFunction) {
  const auto energy = [](const std::string& made) {
    return transcendentals("program p(r: f32[4, 4], s: f32[4, 4]) -> (e) {\n  e: f32[] = sum i in 4, j in 4: " + made +
                           "\n}");
  };
  EXPECT_EQ(energy("pow(r[i, j] + 1, -6) - pow(r[i, j] + 1, -3)"), 16);
  EXPECT_EQ(energy("exp(r[i, j]) * s[i, j] + exp(-r[i, j])"), 16);
  EXPECT_EQ(energy("exp(r[i, j]) * s[i, j] + sin(r[i, j])"), 32);
}

// What no infinity is made of is finite, in both spellings.
TEST(Slots, ALogOfASumOfExponentialsTakesNoChoice) {
  const auto shifted = [](const std::string& shift) {
    return vector_ops(
        "program p(x: f32[8, 16], w: f32[16, 16]) -> (y) {\n"
        "  a: f32[8, 16, 16] = for b, i, j: x[b, i] + w[i, j]\n"
        "  m: f32[8, 16] = for b, j: max i in 16: a[b, i, j]\n  s: f32[8, 16] = for b, j: " +
        shift +
        "\n  z: f32[8, 16] = for b, j: sum i in 16: exp(a[b, i, j] - s[b, j])\n"
        "  y: f32[8, 16] = for b, j: log(z[b, j]) + s[b, j]\n}");
  };
  EXPECT_EQ(shifted("if(isinf(m[b, j]), 0, m[b, j])"), shifted("m[b, j]"));
  EXPECT_GE(shifted("m[b, j]"), 8 * 16 * 16);
}

// Two counts against numbers are a histogram, however many bins it has.
TEST(Slots, CountsAgainstNumbersAreMeaning) {
  const auto counted = [](const std::string& other) {
    return vector_ops(
        "program p(x: f32[1024], e: f32[4]) -> (a, b) {\n"
        "  a: i64[] = sum i in 1024: i64(x[i] >= 0.25 and x[i] < 0.5)\n  b: i64[] = sum i in 1024: " +
        other + "\n}");
  };
  EXPECT_GE(counted("i64(x[i])"), 1024);
  EXPECT_EQ(counted("i64(x[i] >= 0.5 and x[i] < 0.75)"), 0);
  EXPECT_EQ(counted("i64(x[i] >= e[1] and x[i] < e[2])"), 0);
}

}  // namespace
}  // namespace lightline::demand
