// Loops: what every step needs, whether they are short and written out or long and followed step by step.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::macs;
using testing_support::transcendentals;
using testing_support::vector_ops;

// On both sides of the length up to which loops are written out.
constexpr int lengths[] = {2, 10, 64, 65, 100};

std::string with_steps(std::string text, int steps) {
  for (size_t at; (at = text.find("STEPS")) != std::string::npos;) text.replace(at, 5, std::to_string(steps));
  return text;
}

const std::string network =
    "    s: f32[8] = for i: sum k in 8: q[k] * w[i, k]\n"
    "    n: f32[8] = for i: tanh(s[i] + x[t, i])\n"
    "    yield (n, stack n)\n  }\n";

TEST(Loops, EveryStepOfANetworkCounts) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(h0: f32[8], x: f32[STEPS, 8], w: f32[8, 8]) -> (h) {\n"
        "  (h: f32[8], hs: f32[STEPS, 8]) = repeat t in STEPS carry (q = h0) {\n" +
            network + "}",
        steps);
    EXPECT_EQ(macs(text), steps * 64) << steps;
    EXPECT_EQ(transcendentals(text), steps * 8) << steps;
    EXPECT_EQ(elements(text), 8 + steps * 8 + 64 + 8) << steps;
  }
}

TEST(Loops, AStateOfZerosMultipliesNothing) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(x: f32[STEPS, 8], w: f32[8, 8]) -> (h) {\n"
        "  z: f32[8] = for i: 0\n"
        "  (h: f32[8], hs: f32[STEPS, 8]) = repeat t in STEPS carry (q = z) {\n" +
            network + "}",
        steps);
    EXPECT_EQ(macs(text), (steps - 1) * 64) << steps;
    EXPECT_EQ(transcendentals(text), steps * 8) << steps;
  }
}

TEST(Loops, TheLastStepGivesWhatIsWanted) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(h0: f32[8], x: f32[STEPS, 8], w: f32[8, 8]) -> (y) {\n"
        "  (h: f32[8], hs: f32[STEPS, 8]) = repeat t in STEPS carry (q = h0) {\n" +
            network + "  y: f32[1] = for i: h[3]\n}",
        steps);
    EXPECT_EQ(macs(text), (steps - 1) * 64 + 8) << steps;
    EXPECT_EQ(transcendentals(text), (steps - 1) * 8 + 1) << steps;
    EXPECT_EQ(elements(text), 8 + (steps - 1) * 8 + 1 + 64 + 1) << steps;
  }
}

TEST(Loops, TheFirstStepsNeedNoLaterOnes) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(h0: f32[8], x: f32[STEPS, 8], w: f32[8, 8]) -> (y) {\n"
        "  (h: f32[8], hs: f32[STEPS, 8]) = repeat t in STEPS carry (q = h0) {\n" +
            network + "  y: f32[2, 8] = for t, i: hs[t, i]\n}",
        steps);
    EXPECT_EQ(macs(text), 2 * 64) << steps;
    EXPECT_EQ(elements(text), 8 + 2 * 8 + 64 + 2 * 8) << steps;
  }
}

TEST(Loops, AnElementThatFeedsOnItselfAloneNeedsNoOther) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(h0: f32[8], x: f32[STEPS, 8], u: f32[8]) -> (y) {\n"
        "  h: f32[8] = repeat t in STEPS carry (q = h0) {\n"
        "    n: f32[8] = for i: tanh(u[i] * q[i] + x[t, i])\n"
        "    yield (n)\n  }\n"
        "  y: f32[1] = for i: h[3]\n}",
        steps);
    EXPECT_EQ(transcendentals(text), steps) << steps;
    EXPECT_EQ(elements(text), 1 + steps + 1 + 1) << steps;
  }
}

TEST(Loops, ProductsThatAreAddedUpAreAContraction) {
  for (const int steps : lengths) {
    const Analysis a =
        analysis_of(with_steps("program p(k: f32[STEPS, 8], v: f32[STEPS, 6]) -> (s) {\n"
                               "  z: f32[8, 6] = for i, j: 0\n"
                               "  s: f32[8, 6] = repeat t in STEPS carry (q = z) {\n"
                               "    n: f32[8, 6] = for i, j: q[i, j] + k[t, i] * v[t, j]\n"
                               "    yield (n)\n  }\n}",
                               steps));
    EXPECT_EQ(a.fused.work.total_macs(), steps * 48) << steps;
    EXPECT_EQ(a.fused.work.total_vector_ops(), 0) << steps;
    EXPECT_EQ(a.fused.bytes(), 4 * (steps * 14 + 48)) << steps;
  }
}

TEST(Loops, WhatDoesNotChangeIsComputedOnce) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(x: f32[8], w: f32[8, 8], a: f32[8]) -> (y) {\n"
        "  y: f32[8] = repeat t in STEPS carry (q = a) {\n"
        "    h: f32[8] = for i: sum k in 8: x[k] * w[i, k]\n"
        "    n: f32[8] = for i: tanh(q[i] + h[i])\n"
        "    yield (n)\n  }\n}",
        steps);
    EXPECT_EQ(macs(text), 64) << steps;
    EXPECT_EQ(transcendentals(text), steps * 8) << steps;
  }
}

TEST(Loops, ACarriedArrayThatStaysIsReadOnce) {
  for (const int steps : lengths) {
    const std::string text = with_steps(
        "program p(w: f32[8], h: f32[8]) -> (y) {\n"
        "  (y: f32[8], u: f32[8]) = repeat t in STEPS carry (q = h, keep = w) {\n"
        "    e: f32[8] = for i: exp(keep[i])\n"
        "    n: f32[8] = for i: tanh(q[i] * e[i])\n"
        "    yield (n, keep)\n  }\n}",
        steps);
    EXPECT_EQ(transcendentals(text), steps * 8 + 8) << steps;
    EXPECT_EQ(elements(text), 3 * 8) << steps;
  }
}

TEST(Loops, AShiftRegisterKeepsWhatComesOut) {
  for (const int steps : {10, 64, 65, 100}) {
    const std::string text = with_steps(
        "program p(a: f32[8], x: f32[STEPS]) -> (y) {\n"
        "  q: f32[8] = repeat t in STEPS carry (p1 = a) {\n"
        "    n: f32[8] = for i: if(i == 7, exp(x[t]), p1[i + 1 | 0])\n"
        "    yield (n)\n  }\n"
        "  y: f32[1] = for i: q[0]\n}",
        steps);
    EXPECT_EQ(transcendentals(text), 1) << steps;
    EXPECT_EQ(elements(text), 2) << steps;
  }
}

// ---- running totals ----

TEST(Totals, TheEndOfOneIsASum) {
  const std::string scan =
      "program p(x: f32[100, 4]) -> (y) {\n"
      "  c: f32[100, 4] = for scan t, j: c[t - 1, j | 0] + x[t, j]\n"
      "  y: f32[4] = for j: c[99, j]\n}";
  const std::string loop =
      "program p(x: f32[100, 4]) -> (y) {\n"
      "  z: f32[4] = for j: 0\n"
      "  y: f32[4] = repeat t in 100 carry (q = z) {\n    n: f32[4] = for j: q[j] + x[t, j]\n    yield (n)\n  }\n}";
  for (const std::string& text : {scan, loop}) {
    EXPECT_EQ(vector_ops(text), 4 * 99);
    EXPECT_EQ(elements(text), 4 * 100 + 4);
    EXPECT_EQ(macs(text), 0);
  }
}

TEST(Totals, AllOfOneShareTheirSums) {
  const char* spellings[] = {
      "  y: f32[100] = for scan t: y[t - 1 | 0] + x[t]\n",
      "  y: f32[100] = for t: sum j in 100: if(j <= t, x[j], 0)\n",
      "  l: f32[100, 100] = for t, j: if(j <= t, 1, 0)\n  y: f32[100] = for t: sum j in 100: l[t, j] * x[j]\n",
  };
  for (const char* spelling : spellings) {
    const std::string text = "program p(x: f32[100]) -> (y) {\n" + std::string(spelling) + "}";
    EXPECT_EQ(macs(text), 0) << spelling;
    EXPECT_LE(vector_ops(text), 99) << spelling;
    EXPECT_GE(vector_ops(text), 50) << spelling;
    EXPECT_EQ(elements(text), 200) << spelling;
  }
}

TEST(Totals, AWindowThatSlidesSharesItsMaxima) {
  const std::string text = "program p(x: f32[107]) -> (y) { y: f32[100] = for i: max r in 8: x[i + r] }";
  EXPECT_LE(vector_ops(text), 107 / 2.0) << "two maxima share a slot";
  EXPECT_GT(vector_ops(text), 0);
}

TEST(Totals, OneThatIsDecayedIsNotASum) {
  EXPECT_EQ(transcendentals("program p(x: f32[100]) -> (y) {\n"
                            "  c: f32[100] = for scan t: tanh(c[t - 1 | 0]) + x[t]\n"
                            "  y: f32[] = c[99]\n}"),
            99)
      << "the first has nothing before it";
}

std::string steps(const char* statements, const char* more = "") {
  return "program p(a: f32[16, 16], b: f32[16], s: f32[16], h: f32[16, 512]) -> (y) {\n"
         "  (y: f32[16, 512]" +
         std::string(more) + ") = repeat t in 1024 carry (x = h) {\n" + statements + "  }\n}";
}

// Powers of the matrix do many steps at once.
TEST(Loops, TheSameLinearStepAgainAndAgainIsAPower) {
  const double one = 16 * 16 * 512;
  const std::string product = "    m: f32[16, 512] = for i, c: sum k in 16: a[i, k] * x[k, c]\n";
  EXPECT_EQ(macs(steps((product + "    yield (m)\n").c_str())), one);
  EXPECT_EQ(elements(steps((product + "    yield (m)\n").c_str())), 256 + 2 * 16 * 512);
  EXPECT_EQ(macs(steps((product + "    n: f32[16, 512] = for i, c: m[i, c] + b[i]\n    yield (n)\n").c_str())), one);
  EXPECT_EQ(vector_ops(steps("    n: f32[16, 512] = for i, c: s[i] * x[i, c]\n    yield (n)\n")), 16 * 512);
  EXPECT_EQ(macs(steps((product + "    n: f32[16, 512] = for i, c: tanh(m[i, c])\n    yield (n)\n").c_str())),
            1024 * one)
      << "what is not linear has no powers";
}

TEST(Loops, StepsThatReachFurtherAreTaken) {
  const std::string text =
      "program p(x: f32[64, 64]) -> (y) {\n"
      "  (y: f32[64, 64]) = repeat t in 32 carry (a = x) {\n"
      "    b: f32[64, 64] = for i, j: 0.5 * a[i, j] + 0.125 * (a[i - 1, j | 0] + a[i + 1, j | 0] + a[i, j - 1 | 0]"
      " + a[i, j + 1 | 0])\n    yield (b)\n  }\n}";
  EXPECT_EQ(elements(text), 2 * 64 * 64);
  EXPECT_GE(vector_ops(text), 32 * 62 * 62);
  EXPECT_LE(vector_ops(text), 5 * 32 * 64 * 64);
}

// The first decay meets a state of zeros.
TEST(Loops, ADecayBeforeTheFirstStateIsNotRead) {
  const Analysis a = testing_support::analysis_of(
      "program p(g: f32[32, 16], k: f32[32, 16], v: f32[32, 16]) -> (S) {\n"
      "  z: f32[16, 16] = for i, j: 0\n"
      "  (S: f32[16, 16]) = repeat t in 32 carry (s = z) {\n"
      "    n: f32[16, 16] = for i, j: g[t, i] * s[i, j] + k[t, i] * v[t, j]\n    yield (n)\n  }\n}");
  EXPECT_EQ(a.fused.input_bytes, 4 * (31 + 2 * 32) * 16);
  EXPECT_EQ(a.floor.input_bytes, 4 * (31 + 2 * 32) * 16);
}

}  // namespace
}  // namespace lightline::demand
