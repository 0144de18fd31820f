// What is the same is computed once: contractions in all spellings, repeated operands, mirrors.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::floor_macs;
using testing_support::macs;
using testing_support::transcendentals;
using testing_support::vector_ops;

// ---- one contraction ----

// Of numbers that add up to 0 one follows from the others.
TEST(Contractions, OfNumbersLessTheirMeanOneFollows) {
  for (const auto& [before, after] : {std::pair("x[i, k]", "s[i] / 5"), std::pair("x[i, k] / 5", "s[i]")}) {
    const std::string centred = "s: f32[8] = for i: sum k in 5: " + std::string(before) +
                                "\n  c: f32[8, 5] = for i, k: x[i, k] - " + after + "\n  ";
    const std::string start = "program p(x: f32[8, 5], w: f32[6, 5]) -> (y) {\n  " + centred;
    EXPECT_EQ(macs(start + "y: f32[8] = for i: sum k in 5: c[i, k] * c[i, k]\n}"), 8 * 4);
    EXPECT_EQ(macs(start + "y: f32[8, 6] = for i, j: sum k in 5: c[i, k] * w[j, k]\n}"), 8 * 6 * 4);
    EXPECT_EQ(macs(start + "y: f32[8, 6] = for i, j: sum k in 4: c[i, k] * w[j, k]\n}"), 8 * 6 * 4);
    EXPECT_EQ(floor_macs(start + "y: f32[8] = for i: sum k in 5: exp(c[i, k]) * exp(c[i, k] * x[i, k])\n}"), 8 * 5);
  }
}

TEST(Contractions, EverySpellingCountsTheSame) {
  const char* spellings[] = {
      "y: f32[8, 6] = for i, j: sum k in 5: a[i, k] * b[j, k]",
      "m: f32[8, 6, 5] = for i, j, k: a[i, k] * b[j, k]\n  y: f32[8, 6] = for i, j: sum k in 5: m[i, j, k]",
      "m: f32[8, 6, 5] = for i, j, k: a[i, k] * b[j, k] / 5\n  y: f32[8, 6] = for i, j: sum k in 5: m[i, j, k]",
      "t: f32[5, 8] = view k, i: a[i, k]\n  y: f32[8, 6] = for i, j: sum k in 5: t[k, i] * b[j, k]",
      "m: f32[6, 8] = for j, i: sum k in 5: b[j, k] * a[i, k]\n  y: f32[8, 6] = for i, j: m[j, i]",
      "m: f32[8, 6] = for i, j: sum k in 3: a[i, k] * b[j, k]\n"
      "  n: f32[8, 6] = for i, j: sum k in 2: a[i, k + 3] * b[j, k + 3]\n  y: f32[8, 6] = for i, j: m[i, j] + n[i, j]",
      "f: f32[40] = view i: a[i div 5, i mod 5]\n  y: f32[8, 6] = for i, j: sum k in 5: f[5 * i + k] * b[j, k]",
      "m: f32[8, 6] = for i, j: sum k in 5: a[7 - i, 4 - k] * b[j, 4 - k]\n  y: f32[8, 6] = for i, j: m[7 - i, j]",
      "c: f64[8, 5] = for i, k: f64(a[i, k])\n  m: f64[8, 6] = for i, j: sum k in 5: c[i, k] * f64(b[j, k])\n"
      "  y: f32[8, 6] = for i, j: f32(m[i, j])",
  };
  for (const char* spelling : spellings) {
    const std::string text = "program p(a: f32[8, 5], b: f32[6, 5]) -> (y) {\n  " + std::string(spelling) + "\n}";
    const Analysis a = analysis_of(text);
    EXPECT_EQ(a.fused.work.macs, (std::map<demand::Operands, double>{{DType::f32, 8 * 6 * 5}})) << spelling;
    EXPECT_EQ(a.floor.work.macs, (std::map<demand::Operands, double>{{DType::f32, 8 * 6 * 5}})) << spelling;
    EXPECT_EQ(a.fused.bytes(), 4 * (40 + 30 + 48)) << spelling;
  }
}

TEST(Contractions, AnOperandMayBeAFormula) {
  EXPECT_EQ(macs("program p(x: f32[5, 6]) -> (y) {\n"
                 "  y: f32[8, 6] = for i, j: sum k in 5: cos(f32(i) * f32(k)) * x[k, j]\n}"),
            8 * 6 * 5);
}

TEST(Contractions, AgainstOnesTheyAreSums) {
  const std::string text =
      "program p(x: f32[5, 6]) -> (y) {\n"
      "  one: f32[8, 5] = for i, k: 1\n"
      "  y: f32[8, 6] = for i, j: sum k in 5: one[i, k] * x[k, j]\n}";
  EXPECT_EQ(macs(text), 0);
  EXPECT_EQ(vector_ops(text), 6 * 4);
}

TEST(Contractions, TwoSumsOfProductsUnderOneSum) {
  EXPECT_EQ(macs("program p(a: f32[40], b: f32[40], c: f32[40], d: f32[40]) -> (y) {\n"
                 "  y: f32[] = sum k in 40: a[k] * b[k] + c[k] * d[k]\n}"),
            2 * 40);
}

TEST(Contractions, TruthsThatMeetAreAProductOfBits) {
  const Analysis a = analysis_of(
      "program p(a: bool[8, 5], b: bool[6, 5]) -> (y) { y: bool[8, 6] = for i, j: or k in 5: a[i, k] and b[j, k] }");
  EXPECT_EQ(a.fused.work.macs, (std::map<demand::Operands, double>{{DType::boolean, 8 * 6 * 5}}));
}

// What meets a shared factor is added up before, in one sum or two, wherever its elements come from.
TEST(Contractions, ASharedFactorMeetsWhatIsAddedUp) {
  for (const char* body : {"  y: f32[8, 6] = for i, j: sum k in 5: x[i, k] * a[k, j] + x[i, k] * b[k, j]\n",
                           "  c: f32[10, 6] = for k, j: if(k < 5, a[k, j | 0], b[k - 5, j | 0])\n"
                           "  z: f32[8, 10] = for i, k: if(k < 5, x[i, k | 0], -x[i, k - 5 | 0])\n"
                           "  y: f32[8, 6] = for i, j: sum k in 10: z[i, k] * c[k, j]\n",
                           "  u: f32[8, 6] = for i, j: sum k in 5: x[i, k] * a[k, j]\n"
                           "  v: f32[8, 6] = for i, j: sum k in 5: x[i, k] * b[k, j]\n"
                           "  y: f32[8, 6] = for i, j: u[i, j] + v[i, j]\n"}) {
    const std::string text = std::string("program p(x: f32[8, 5], a: f32[5, 6], b: f32[5, 6]) -> (y) {\n") + body + "}";
    EXPECT_EQ(macs(text), 8 * 6 * 5) << text;
    EXPECT_EQ(floor_macs(text), 8 * 6 * 5) << text;
  }
  // Mirrored weights
  EXPECT_EQ(macs("program p(x: f32[8, 10], w: f32[5, 6]) -> (y) {\n"
                 "  y: f32[8, 6] = for i, j: sum k in 10: x[i, k] * w[min(k, 9 - k), j | 0]\n}"),
            8 * 6 * 5);
  // A window meets different results by its elements: nothing is added up before.
  EXPECT_EQ(macs("program p(x: f32[9, 5], a: f32[5, 6], b: f32[5, 6]) -> (y) {\n"
                 "  y: f32[8, 6] = for i, j: sum k in 5: x[i, k] * a[k, j] + x[i + 1, k] * b[k, j]\n}"),
            2 * 8 * 6 * 5);
}

// Any function of two truths is a sum of them, of their product and of a number.
TEST(Contractions, CountingByTruthsTakesTheirProducts) {
  for (const char* body :
       {"i32(a[i, k] or b[j, k])", "i32(a[i, k] != b[j, k])", "max(i32(a[i, k]), i32(b[j, k]))",
        "abs(i32(a[i, k]) - i32(b[j, k]))", "min(i32(a[i, k]) + i32(b[j, k]), 1)", "if(a[i, k], 1, i32(b[j, k]))"}) {
    const Analysis a = analysis_of(fmt::format(
        "program p(a: bool[8, 5], b: bool[6, 5]) -> (y) {{ y: i32[8, 6] = for i, j: sum k in 5: {} }}", body));
    EXPECT_EQ(a.fused.work.macs, (std::map<demand::Operands, double>{{DType::boolean, 8 * 6 * 5}})) << body;
  }
}

// (x + b) @ w is x @ w and a row: what else takes x @ w has it already.
TEST(Contractions, ASumCountsAsItsMainPart) {
  EXPECT_EQ(macs("program p(x: f32[8, 5], b: f32[5], w: f32[5, 6]) -> (y, z) {\n"
                 "  y: f32[8, 6] = for i, j: sum k in 5: x[i, k] * w[k, j]\n"
                 "  z: f32[8, 6] = for i, j: sum k in 5: (x[i, k] - b[k]) * (1 - w[k, j])\n}"),
            8 * 6 * 5);
  // One row is no less than the sum.
  EXPECT_EQ(macs("program p(x: f32[1, 5], b: f32[5], w: f32[5, 6]) -> (y, z) {\n"
                 "  y: f32[1, 6] = for i, j: sum k in 5: x[i, k] * w[k, j]\n"
                 "  z: f32[1, 6] = for i, j: sum k in 5: (x[i, k] - b[k]) * w[k, j]\n}"),
            2 * 6 * 5);
  // Both sides of a cross entropy: a @ t + b @ (1 - t) is (a - b) @ t and a row.
  const std::string loss =
      "program p(a: f32[8, 5], b: f32[8, 5], t: f32[6, 5]) -> (y) {\n"
      "  u: f32[8, 6] = for i, j: sum k in 5: a[i, k] * t[j, k]\n"
      "  v: f32[8, 6] = for i, j: sum k in 5: b[i, k] * (1 - t[j, k])\n"
      "  y: f32[8, 6] = for i, j: u[i, j] + v[i, j]\n}";
  EXPECT_EQ(macs(loss), 8 * 6 * 5);
  EXPECT_EQ(floor_macs(loss), 8 * 6 * 5);
  EXPECT_EQ(analysis_of(loss).fused.input_bytes, 4 * (8 * 5 + 8 * 5 + 6 * 5));
}

// Steps between two points, weighted by formulas: both ends are multiplied once.
TEST(Contractions, WeightsByFormulasAreTakenApart) {
  const std::string path =
      "program p(x: f32[8, 5], b: f32[8, 5], w: f32[5, 6]) -> (y) {\n"
      "  y: f32[64, 8, 6] = for a, i, j: sum k in 5: (b[i, k] + (x[i, k] - b[i, k]) * f32(a) / 63.0) * w[k, j]\n}";
  EXPECT_EQ(macs(path), 2 * 8 * 6 * 5);
}

// All pairs less the diagonal: a cheap sum beside an expensive one does not pay for it.
TEST(Contractions, WhatMayBeMadeBeforeIsPaidFor) {
  const std::string all =
      "program p(x: f32[4, 64]) -> (a) {\n"
      "  c: f32[64, 64] = for i, j: sum n in 4: x[n, i] * x[n, j]\n"
      "  a: f32[] = sum i in 64, j in 64: c[i, j] * c[i, j]\n}";
  const std::string less =
      "program p(x: f32[4, 64]) -> (l) {\n"
      "  c: f32[64, 64] = for i, j: sum n in 4: x[n, i] * x[n, j]\n"
      "  a: f32[] = sum i in 64, j in 64: c[i, j] * c[i, j]\n"
      "  b: f32[] = sum i in 64: c[i, i] * c[i, i]\n"
      "  l: f32[] = a[] - b[]\n}";
  EXPECT_GE(macs(less), macs(all));
}

// All pairs but the diagonal are all pairs less the diagonal.
TEST(Contractions, AFewPointsLeftOutAreTakenOffTheWhole) {
  const auto of = [](const std::string& value) {
    return "program p(x: f32[16, 64]) -> (l) {\n"
           "  c: f32[64, 64] = for i, j: sum n in 16: x[n, i] * x[n, j]\n"
           "  l: f32[] = sum i in 64, j in 64: " +
           value + "\n}";
  };
  const std::string all = of("c[i, j] * c[i, j]"), pairs = of("if(i != j, c[i, j] * c[i, j], 0.0)"),
                    identity = of("(c[i, j] - f32(i == j)) * (c[i, j] - f32(i == j))");
  for (const std::string& text : {pairs, identity}) {
    EXPECT_GE(macs(text), macs(all));
    EXPECT_LE(macs(text), 1.3 * macs(all)) << text;
    EXPECT_LE(floor_macs(text), macs(text));
  }
  // A triangle leaves out too many: c, and half of its elements squared.
  EXPECT_GT(macs(of("if(i < j, c[i, j] * c[i, j], 0.0)")), macs(all));
}

// ---- the same again ----

TEST(Sharing, APartThatIsComputedAgainCostsNothing) {
  const std::string text =
      "program p(a: f32[8, 5], b: f32[6, 5]) -> (y, z) {\n"
      "  y: f32[8, 6] = for i, j: sum k in 5: a[i, k] * b[j, k]\n"
      "  s: f32[2, 6] = for i, j: sum k in 5: b[j, k] * a[i + 3, k]\n"
      "  z: f32[2, 6] = for i, j: exp(s[i, j])\n}";
  EXPECT_EQ(macs(text), 8 * 6 * 5);
  EXPECT_EQ(transcendentals(text), 2 * 6);
}

// Rows that are read as 4 j + r in one place and as they lie in another, as groups of channels are
TEST(Sharing, AFunctionIsOneWhicheverWayItsRowsAreRead) {
  for (const char* first : {"g[i, 4 * j + r, s]", "sigmoid(h[i, 4 * j + r, s])"})
    for (const char* second : {"g[i, 4 * j + r, s]", "sigmoid(h[i, 4 * j + r, s])"}) {
      const auto work = testing_support::analysis_of(std::string(R"(program p(w: f32[32], x: f32[4, 32, 16]) -> (y) {
        h: f32[4, 32, 16] = for i, j, k: x[i, j, k] * w[j]
        g: f32[4, 32, 16] = for i, j, k: sigmoid(h[i, j, k])
        t: f32[4, 8] = for i, j: sum r in 4, s in 16: )") +
                                                     first + R"(
        v: f32[4, 8] = for i, j: sum r in 4, s in 16: ()" +
                                                     second + " - t[i, j]) * (" + second + R"( - t[i, j])
        y: f32[4, 32, 16] = for i, j, k: g[i, j, k] * v[i, j div 4]
      })")
                            .fused.work;
      EXPECT_EQ(work.transcendental_ops, 4 * 32 * 16) << first << second;
    }
}

TEST(Sharing, AProductAndItsTransposeAreOne) {
  const std::string text =
      "program p(a: f32[8, 5], b: f32[6, 5]) -> (y, z) {\n"
      "  y: f32[8, 6] = for i, j: sum k in 5: a[i, k] * b[j, k]\n"
      "  z: f32[6, 8] = for i, j: sum k in 5: b[i, k] * a[j, k]\n}";
  EXPECT_EQ(macs(text), 8 * 6 * 5);
  EXPECT_EQ(elements(text), 40 + 30 + 48) << "outputs equal up to a view are one";
}

TEST(Sharing, RepeatedRowsAreOneRow) {
  for (const char* rows : {"x[i mod 8, k]", "x[i div 4, k]", "x[7 - i div 4, k]", "x[min(i, 7), k]"}) {
    const std::string text =
        "program p(x: f32[8, 5], w: f32[5, 6]) -> (y) {\n  r: f32[32, 5] = for i, k: " + std::string(rows) +
        "\n  y: f32[32, 6] = for i, j: sum k in 5: r[i, k] * w[k, j]\n}";
    EXPECT_EQ(macs(text), 8 * 6 * 5) << rows;
    EXPECT_EQ(elements(text), 8 * 5 + 5 * 6 + 32 * 6) << rows;
  }
}

TEST(Sharing, OverlappingPartsOfASumAreMultipliedOnce) {
  EXPECT_EQ(macs("program p(x: f32[8, 12], w: f32[12, 6]) -> (y, z) {\n"
                 "  y: f32[8, 6] = for i, j: sum k in 8: x[i, k] * w[k, j]\n"
                 "  z: f32[8, 6] = for i, j: sum k in 8: x[i, k + 4] * w[k + 4, j]\n}"),
            8 * 6 * 12);
}

TEST(Sharing, EveryStepOfManyIsCounted) {
  EXPECT_EQ(macs("program p(x: f32[100, 4, 8], w: f32[8, 8]) -> (o) {\n"
                 "  z: f32[4, 8] = const [0]\n"
                 "  (a: f32[4, 8], o: f32[100, 4, 8]) = repeat t in 100 carry (p = z) {\n"
                 "    m: f32[4, 8] = for i, j: sum k in 8: x[t, i, k] * w[k, j]\n"
                 "    c: f32[4, 8] = for i, j: if(t mod 2 == 0, m[i, j], 0)\n"
                 "    yield (c, stack c) }\n}"),
            50 * 4 * 8 * 8);
}

TEST(Sharing, EqualOutputsAreWrittenOnce) {
  EXPECT_EQ(elements("program p(x: f32[8, 8]) -> (y, z) {\n"
                     "  y: f32[8, 8] = for i, j: if(j <= i, x[i, j], 0)\n"
                     "  z: f32[8, 8] = for i, j: if(j > i, 0, x[i, j])\n}"),
            8 * 9 / 2 + 64);
}

TEST(Sharing, OverlappingWindowsAreComputedOnce) {
  const std::string text =
      "program p(x: f32[20]) -> (y) {\n"
      "  w: f32[18, 3] = for i, r: x[i + r]\n"
      "  y: f32[18, 3] = for i, r: exp(w[i, r])\n}";
  EXPECT_EQ(transcendentals(text), 20);
  EXPECT_EQ(elements(text), 20 + 18 * 3);
}

TEST(Sharing, ReshapesOfUnlikeRadicesAreOneToOne) {
  const std::string text =
      "program p(a: f32[4, 6]) -> (y, z) {\n"
      "  r: f32[3, 8] = view i, j: a[(8 * i + j) div 6, (8 * i + j) mod 6]\n"
      "  e: f32[3, 8] = for i, j: exp(r[i, j])\n"
      "  y: f32[4, 6] = for i, j: exp(a[i, j])\n"
      "  z: f32[4, 6] = for i, j: e[(6 * i + j) div 8, (6 * i + j) mod 8]\n}";
  EXPECT_EQ(transcendentals(text), 24);
  EXPECT_EQ(elements(text), 2 * 24);
}

TEST(Sharing, ExponentialsOfSeparateSumsAreProducts) {
  EXPECT_EQ(transcendentals("program p(a: f32[8], b: f32[6]) -> (y) { y: f32[8, 6] = for i, j: exp(a[i] + b[j]) }"),
            8 + 6);
}

TEST(Sharing, AFunctionOfANarrowValueHasAsManyResultsAsThereAreValues) {
  EXPECT_EQ(transcendentals("program p(x: i8[100000]) -> (y) { y: f32[100000] = for i: exp(f32(x[i])) }"), 256);
  EXPECT_EQ(transcendentals("program p(x: i8[100]) -> (y) { y: f32[100] = for i: exp(f32(x[i])) }"), 100);
}

// ---- mirrors ----

// Half, or half and the diagonal.
void expect_half(double count, double all, double diagonal) {
  EXPECT_GE(count, (all - diagonal) / 2);
  EXPECT_LE(count, (all + diagonal) / 2);
}

TEST(Mirrors, HalfOfAProductWithItsOwnTransposeIsTheOther) {
  const std::string text = "program p(x: f32[8, 5]) -> (y) { y: f32[8, 8] = for i, j: sum k in 5: x[i, k] * x[j, k] }";
  expect_half(macs(text), 8 * 8 * 5, 8 * 5);
  EXPECT_EQ(elements(text), 8 * 5 + 8 * 8) << "all of it is written";
}

TEST(Mirrors, FunctionsOfOneAreMirrored) {
  expect_half(transcendentals("program p(x: f32[8, 5]) -> (y) {\n"
                              "  s: f32[8, 8] = for i, j: sum k in 5: x[i, k] * x[j, k]\n"
                              "  y: f32[8, 8] = for i, j: exp(s[i, j])\n}"),
              64, 8);
}

TEST(Mirrors, DistancesCountHalf) {
  expect_half(vector_ops("program p(a: f32[8]) -> (y) { y: f32[8, 8] = for i, j: abs(a[i] - a[j]) }"), 64, 8);
  expect_half(macs("program p(x: f32[8, 5]) -> (y) {\n"
                   "  y: f32[8, 8] = for i, j: sum k in 5: (x[i, k] - x[j, k]) * (x[i, k] - x[j, k])\n}"),
              8 * 8 * 5, 8 * 5);
}

TEST(Mirrors, FunctionsOfAPairInAnyOrderAreMirrored) {
  const auto exponentials = [](const std::string& of) {
    return transcendentals("program p(a: f32[8], b: f32[8]) -> (y) { y: f32[8, 8] = for i, j: exp(" + of + ") }");
  };
  for (const std::string pair :
       {"max(a[i], a[j])", "min(a[i], a[j])", "max(a[i], b[i]) * max(a[j], b[j]) + min(a[i], a[j])",
        "max(max(a[i], b[j]), max(b[i], a[j]))", "max(max(max(a[i], a[j]), b[i]), b[j])",
        "if(max(a[i], a[j]) > 0.5, min(b[i], b[j]), 0)", "max(a[i] - b[j], a[j] - b[i])"})
    EXPECT_EQ(exponentials(pair), 8 * 9 / 2) << pair;
  for (const std::string pair : {"max(a[i], b[j])", "max(max(a[i], a[j]), b[i])", "max(a[i], a[j]) + b[j] * a[j]",
                                 "if(a[i] > 0.5, a[j], 0)", "max(max(a[i], b[i]), a[j])"})
    EXPECT_EQ(exponentials(pair), 64) << pair;
}

// The largest of a number and itself takes nothing.
TEST(Mirrors, HalfOfOverlapsOfIntervalsWithEachOther) {
  const auto operations = [](const std::string& other) {
    return vector_ops(
        "program p(a: f32[8], b: f32[8], c: f32[8], d: f32[8]) -> (y) {\n  y: f32[8, 8] = for i, j: max(0, "
        "min(b[i], " +
        other + "[j]) - max(a[i], " + (other == "b" ? "a" : "c") + "[j]))\n}");
  };
  EXPECT_EQ(operations("d"), 2 * 64);
  expect_half(operations("b"), 2 * 64, 2 * 8);
}

TEST(Mirrors, ABlockBesideTheDiagonalHasNone) {
  EXPECT_EQ(macs("program p(x: f32[8, 5]) -> (y) { y: f32[4, 4] = for i, j: sum k in 5: x[i, k] * x[j + 4, k] }"),
            4 * 4 * 5);
}

TEST(Mirrors, OnlyPairsThatMeetTheirMirrorsCountHalf) {
  // x[i, k] x[k, j] is x[k, j] x[i, k] again where i = j.
  EXPECT_EQ(macs("program p(x: f32[8, 8]) -> (y) { y: f32[8, 8] = for i, j: sum k in 8: x[i, k] * x[k, j] }"),
            8 * 8 * 8 - 8 * 7 / 2);
  EXPECT_EQ(macs("program p(x: f32[8, 5]) -> (y) {\n"
                 "  s: f32[8, 8] = for i, j: sum k in 5: x[i, k] * x[j, k]\n"
                 "  y: f32[8, 8] = for i, j: if(j <= i, s[i, j], 0)\n}"),
            5 * 8 * 9 / 2);
}

TEST(Mirrors, ASymmetricMatrixTimesItselfIsSymmetric) {
  EXPECT_LE(macs("program p(x: f32[16, 4]) -> (y) {\n"
                 "  h: f32[16, 16] = for i, j: sum k in 4: x[i, k] * x[j, k]\n"
                 "  g: f32[16, 16] = for i, j: tanh(h[i, j])\n"
                 "  y: f32[16, 16] = for i, j: sum k in 16: g[i, k] * g[k, j]\n}"),
            (4 + 16) * 16 * 17 / 2);
}

TEST(Mirrors, TwoArraysHaveNone) {
  EXPECT_EQ(
      macs("program p(x: f32[8, 5], z: f32[8, 5]) -> (y) { y: f32[8, 8] = for i, j: sum k in 5: x[i, k] * z[j, k] }"),
      8 * 8 * 5);
}

// ---- powers of sums ----

TEST(Powers, PartsServeAllSumsThatReadThem) {
  EXPECT_EQ(transcendentals("program p(a: f32[64], b: f32[48], v: f32[48, 16]) -> (y, m) {\n"
                            "  e: f32[64, 48] = for i, j: exp(a[i] + b[j])\n"
                            "  m: f32[64] = for i: sum r in 48: e[i, r]\n"
                            "  y: f32[64, 16] = for i, j: sum r in 48: e[i, r] * v[r, j]\n}"),
            64 + 48);
}

// Rows of 6 seen by windows of 9, and a table read where data tell: one part still tells the other.
TEST(Powers, AreNoMoreThanTheirElements) {
  const std::string text =
      "program p(x: f32[6, 6], z: f32[6, 6], tb: f32[16], id: i64[81]) -> (y) {\n"
      "  e: f32[4, 9, 9] = for i, k, l: exp(x[(9 * i + k) div 6, (9 * i + k) mod 6] *"
      " z[(9 * i + l) div 6, (9 * i + l) mod 6] + tb[id[9 * k + l]])\n"
      "  y: f32[4, 9] = for i, j: sum r in 9: e[i, j, r]\n}";
  EXPECT_LE(transcendentals(text), 324);
  EXPECT_LE(macs(text), 324);
}

TEST(Powers, WindowsWithABiasByDataKeepTheirProducts) {
  const std::string text =
      "program p(x: f32[6, 6, 8], w: f32[12, 8], tb: f32[25, 2], id: i64[81]) -> (y) {\n"
      "  c: f32[2, 2, 3, 3, 8] = for j, k, l, m, n: x[3 * j + l, 3 * k + m, n]\n"
      "  a: f32[36, 12] = for i, j: sum r in 8: c[i div 18, i div 9 mod 2, i mod 9 div 3, i mod 9 mod 3, r] * w[j, r]\n"
      "  s: f32[8, 9, 9] = for i, j, k: sum r in 2: a[9 * (i div 2) + j, 2 * (i mod 2) + r] *"
      " a[9 * (i div 2) + k, 2 * (i mod 2) + r + 4]\n"
      "  e: f32[4, 2, 9, 9] = for i, j, k, l: exp(s[2 * i + j, k, l] + tb[id[9 * k + l], j])\n"
      "  z: f32[4, 2, 9] = for i, j, k: sum r in 9: e[i, j, k, r]\n"
      "  y: f32[4, 2, 9, 2] = for i, j, k, l: sum r in 9: e[i, j, k, r] / z[i, j, k] * a[9 * i + r, 2 * j + l + 8]\n}";
  EXPECT_EQ(macs(text), 36 * 12 * 8 + 2 * (8 * 9 * 9 * 2));
}

// ---- windows ----

// Rows in windows of 4, shifted by 2, with a bias that keeps the two ends of the last window apart: what the windows
// are made of counts once for every row.
TEST(Windows, ShiftedWindowsCountEveryRowOnce) {
  const std::string text =
      "program p(x: f32[16, 8], w: f32[8, 8], v: f32[8, 8]) -> (y) {\n"
      "  r: f32[16, 8] = view i, j: x[(i + 2) mod 16, j]\n"
      "  q: f32[16, 8] = for i, j: sum k in 8: r[i, k] * w[k, j]\n"
      "  s: f32[4, 4, 4] = for n, i, j: sum k in 8: q[4 * n + i, k] * q[4 * n + j, k]\n"
      "  b: f32[4, 4, 4] = for n, i, j: if((4 * n + i >= 14) != (4 * n + j >= 14), -100, 0)\n"
      "  a: f32[4, 4, 4] = for n, i, j: exp(s[n, i, j] + b[n, i, j])\n"
      "  o: f32[4, 4, 8] = for n, i, c: sum j in 4: a[n, i, j] * q[4 * n + j, c]\n"
      "  z: f32[16, 8] = view i, c: o[i div 4, i mod 4, c]\n"
      "  u: f32[16, 8] = for i, c: x[i, c] + z[(i + 14) mod 16, c]\n"
      "  y: f32[16, 8] = for i, c: sum k in 8: max(u[i, k], 0) * v[k, c]\n}";
  EXPECT_EQ(macs(text), 16 * 8 * 8 + 4 * (4 * 5 / 2) * 8 + 4 * 4 * 4 * 8 + 16 * 8 * 8);
}

// Four taps of a causal convolution, each a product of its own: transforms take one in four, but for the three rows at
// the border, where they have nothing in common.
TEST(Windows, ShiftedProductsAreOneConvolutionForTheFloor) {
  const std::string text =
      "program p(x: f32[2, 32, 8], w: f32[4, 8, 6]) -> (y) {\n"
      "  p: f32[2, 35, 8] = for b, t, k: x[b, t - 3, k | 0]\n"
      "  d: f32[2, 32, 6] = for b, t, n: sum k in 8: p[b, t, k] * w[0, k, n]\n"
      "  e: f32[2, 32, 6] = for b, t, n: sum k in 8: p[b, t + 1, k] * w[1, k, n]\n"
      "  f: f32[2, 32, 6] = for b, t, n: sum k in 8: p[b, t + 2, k] * w[2, k, n]\n"
      "  g: f32[2, 32, 6] = for b, t, n: sum k in 8: p[b, t + 3, k] * w[3, k, n]\n"
      "  y: f32[2, 32, 6] = for b, t, n: d[b, t, n] + e[b, t, n] + f[b, t, n] + g[b, t, n]\n}";
  EXPECT_EQ(macs(text), 2 * (32 + 31 + 30 + 29) * 8 * 6);
  EXPECT_EQ(floor_macs(text), 2 * (32 + 3) * 8 * 6);
}

// Parts that others want by themselves stand for nothing else.
TEST(Windows, ShiftedProductsThatAreWantedApartCount) {
  EXPECT_EQ(floor_macs("program p(x: f32[33, 8], w: f32[2, 8, 6]) -> (y, e) {\n"
                       "  d: f32[32, 6] = for t, n: sum k in 8: x[t, k] * w[0, k, n]\n"
                       "  e: f32[32, 6] = for t, n: sum k in 8: x[t + 1, k] * w[1, k, n]\n"
                       "  y: f32[32, 6] = for t, n: d[t, n] + e[t, n]\n}"),
            2 * 32 * 8 * 6);
}

}  // namespace
}  // namespace lightline::demand
