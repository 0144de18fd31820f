// Products of sums that share those of their parts, and arrays of several parts that data read.
#include <gtest/gtest.h>

#include <algorithm>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;
using testing_support::elements;
using testing_support::floor_elements;
using testing_support::floor_macs;
using testing_support::macs;
using testing_support::random_rows;
using testing_support::vector_ops;

// ---- parts of sums ----

// A path of four steps between a and b, times w, takes a w and b w.
TEST(SharedParts, SumsOfTheSameTwo) {
  std::string text = "program p(a: f32[8, 5], b: f32[8, 5], w: f32[5, 6]) -> (y1, y2, y3, y4) {\n";
  for (int i = 1; i <= 4; ++i)
    text += "  s" + std::to_string(i) + ": f32[8, 5] = for i, k: a[i, k] + 0." + std::to_string(i) +
            " * (b[i, k] - a[i, k])\n  y" + std::to_string(i) + ": f32[8, 6] = for i, j: exp(h" + std::to_string(i) +
            "[i, j])\n";
  for (int i = 1; i <= 4; ++i) {
    const std::string n = std::to_string(i);
    const size_t at = text.find("  y" + n + ":");
    text.insert(at, "  h" + n + ": f32[8, 6] = for i, j: sum k in 5: s" + n + "[i, k] * w[k, j]\n");
  }
  EXPECT_EQ(macs(text + "}"), 2 * 8 * 5 * 6);
  EXPECT_EQ(floor_macs(text + "}"), 2 * 8 * 5 * 6);
}

// Two sums of three are no more than they are.
TEST(SharedParts, FewerSumsThanParts) {
  const std::string text = R"(program p(a: f32[8, 5], b: f32[8, 5], c: f32[8, 5], w: f32[5, 6]) -> (y, z) {
    s: f32[8, 5] = for i, k: a[i, k] + 2 * b[i, k] + 3 * c[i, k]
    t: f32[8, 5] = for i, k: a[i, k] - b[i, k] + 5 * c[i, k]
    y: f32[8, 6] = for i, j: sum k in 5: s[i, k] * w[k, j]
    z: f32[8, 6] = for i, j: sum k in 5: t[i, k] * w[k, j]
  })";
  EXPECT_EQ(macs(text), 2 * 8 * 5 * 6);
}

// x (w + a b) beside x w: the chain x a b, and a b itself, which w + a b is made of.
TEST(SharedParts, AChainBesideWhatIsMade) {
  const std::string text = R"(program p(x: f32[64, 32], w: f32[32, 48], a: f32[32, 2], b: f32[2, 48]) -> (y, z) {
    d: f32[32, 48] = for k, j: sum r in 2: a[k, r] * b[r, j]
    s: f32[32, 48] = for k, j: w[k, j] + d[k, j]
    h: f32[64, 48] = for i, j: sum k in 32: x[i, k] * s[k, j]
    g: f32[64, 48] = for i, j: sum k in 32: x[i, k] * w[k, j]
    y: f32[64, 48] = for i, j: exp(h[i, j])
    z: f32[64, 48] = for i, j: exp(g[i, j])
  })";
  EXPECT_EQ(macs(text), 64 * 32 * 48 + 64 * 32 * 2 + 64 * 2 * 48 + 32 * 2 * 48);
}

// Between neighbours, then a product: as many products as there were elements before.
TEST(SharedParts, ProductsAfterAnInterpolation) {
  const std::string text = R"(program p(x: f32[4, 17, 8], w: f32[8, 6]) -> (y) {
    u: f32[4, 32, 8] = for n, p, c: if(p mod 2 == 0, x[n, p div 2, c], 0.5 * x[n, p div 2, c] + 0.5 * x[n, p div 2 + 1, c])
    y: f32[4, 32, 6] = for n, p, j: sum c in 8: u[n, p, c] * w[c, j]
  })";
  EXPECT_EQ(macs(text), 4 * 17 * 8 * 6);
}

// An image of twice the size, then windows: the products of the small one, and coefficients after them.
TEST(SharedParts, WindowsOfAnEnlargedImage) {
  const std::pair<std::string, std::string> ways[] = {
      {"max((2 * P + 3) div 4 - 1, 0)", "max((f32(P) + 0.5) * 0.5 - 0.5, 0) - f32(max((2 * P + 3) div 4 - 1, 0))"},
      {"31 * P div 63", "f32(P) * 0.4920634925365448 - f32(31 * P div 63)"}};
  for (const auto& [first, share] : ways) {
    const auto of = [](std::string text, char place) {
      std::replace(text.begin(), text.end(), 'P', place);
      return text;
    };
    const std::string part = "min(max(" + of(share, 'i') + ", 0), 1)";
    const Analysis analysis = analysis_of(
        "program p(x: f32[8, 32, 32], w: f32[16, 8, 3, 3]) -> (y) {\n"
        "  t: f32[64, 2] = for i, j: if(j == 0, 1 - " +
        part + ", " + part +
        ")\n"
        "  u: f32[8, 64, 64] = for c, k, l: sum r in 2, s in 2: x[c, min(r + " +
        of(first, 'k') + ", 31), min(s + " + of(first, 'l') +
        ", 31)] * t[k, r] * t[l, s]\n"
        "  y: f32[16, 64, 64] = for o, k, l: sum c in 8, a in 3, b in 3: u[c, k + a - 1, l + b - 1 | 0] * w[o, c, a, "
        "b]\n}");
    const double small = 8 * 16 * 9 * 32.0 * 32, coefficients = 16 * 64.0 * 64 * 4 * 9;
    EXPECT_LE(analysis.fused.work.total_macs(), small + coefficients) << first;
    EXPECT_GE(analysis.fused.work.total_macs(), 0.75 * small) << first;
    EXPECT_LE(analysis.floor.work.total_macs(), analysis.fused.work.total_macs()) << first;
  }
}

// x + c[s] (z - x) for many steps, times w: x w and z w, wherever the numbers of the steps come from.
TEST(SharedParts, SchedulesThatDataTell) {
  for (const char* schedule : {"if(s < 16, l[s | 0], m[s - 16 | 0])", "l[s div 2]"}) {
    const std::string text =
        R"(program p(x: f32[8, 5], z: f32[8, 5], w: f32[5, 6], l: f32[16], m: f32[16], h0: f32[8, 6]) -> (h) {
      c: f32[32] = for s: )" +
        std::string(schedule) + R"(
      (h: f32[8, 6]) = repeat s in 32 carry (a = h0) {
        e: f32[8, 5] = for i, k: x[i, k] + c[s] * (z[i, k] - x[i, k])
        q: f32[8, 6] = for i, j: sum k in 5: e[i, k] * w[k, j]
        b: f32[8, 6] = for i, j: tanh(a[i, j] + q[i, j])
        yield (b)
      }
    })";
    EXPECT_EQ(macs(text), 2 * 8 * 5 * 6);
    EXPECT_EQ(floor_macs(text), 2 * 8 * 5 * 6);
  }
}

// Running sums and states that decay, of rows that meet the same factor by themselves.
TEST(SharedParts, StatesBesideTheirValues) {
  for (const char* decay : {"1", "0.9", "d[]"}) {
    const std::string state =
        "program p(x: f32[32, 5], w: f32[5, 6], d: f32[]) -> (y, z) {\n"
        "  m: f32[32, 5] = for scan t, k: " +
        std::string(decay) +
        " * m[t - 1, k | 0] + x[t, k]\n"
        "  h: f32[32, 6] = for t, j: sum k in 5: m[t, k] * w[k, j]\n"
        "  y: f32[32, 6] = for t, j: tanh(h[t, j])\n";
    const std::string values =
        "  g: f32[32, 6] = for t, j: sum k in 5: x[t, k] * w[k, j]\n"
        "  z: f32[32, 6] = for t, j: tanh(g[t, j])\n}";
    EXPECT_EQ(macs(state + values), 32 * 5 * 6) << decay;
    EXPECT_EQ(macs(state + "  z: f32[32, 5] = for t, k: tanh(x[t, k])\n}"), 32 * 5 * 6) << decay;
  }
}

// What is scaled along the sum is another operand.
TEST(SharedParts, ScalesAlongTheSumStay) {
  const std::string text = R"(program p(x: f32[8, 5], z: f32[8, 5], w: f32[5, 6], c: f32[9, 5]) -> (y) {
    e: f32[9, 8, 5] = for s, i, k: x[i, k] + c[s, k] * z[i, k]
    q: f32[9, 8, 6] = for s, i, j: sum k in 5: e[s, i, k] * w[k, j]
    y: f32[9, 8, 6] = for s, i, j: tanh(q[s, i, j])
  })";
  EXPECT_EQ(macs(text), 9 * 8 * 5 * 6 + 9 * 8 * 5);
}

// ---- arrays of several parts, read by data ----

TEST(ReadByData, RowsOfAConcatenation) {
  const std::string joined = R"(program p(u: f32[1000, 8], v: f32[500, 8], s: i64[300], t: i64[300]) -> (y) {
    x: f32[1500, 8] = for i, d: if(i < 1000, u[i, d | 0], v[i - 1000, d | 0])
    y: f32[300] = for e: sum d in 8: x[s[e], d] * x[t[e], d]
  })";
  const Analysis a = analysis_of(joined);
  EXPECT_NEAR(a.fused.work.total_macs(), random_rows(1500 * 1500, 300) * 8, 1e-6);  // pairs of rows
  // Both index arrays are of 8 bytes; each draws rows by itself.
  EXPECT_NEAR(a.fused.bytes(), 300 * 16 + 300 * 4 + random_rows(1500, 600) * 8 * 4, 1);
  EXPECT_LE(a.floor.bytes(), 300 * 16 + 300 * 4 + 4 * 8 * 4);
  EXPECT_GE(a.floor.bytes(), 300 * 16 + 300 * 4);
}

// Rows that are equal to others may be picked: what is made of them is not counted, and that is said.
TEST(ReadByData, RowsOfARepetition) {
  const std::string text = R"(program p(u: f32[1000, 8], s: i64[300]) -> (y) {
    x: f32[2000, 8] = for i, d: if(i < 1000, u[i, d | 0], u[i - 1000, d | 0])
    y: f32[300, 8] = for e, d: exp(x[s[e], d])
  })";
  const Analysis a = analysis_of(text);
  EXPECT_EQ(a.fused.work.transcendental_ops, 0);
  EXPECT_GE(a.fused.bytes(), 300 * 8 + 300 * 8 * 4);
  EXPECT_FALSE(a.given_up.empty());
}

// ---- what changes in place ----

TEST(ReadByData, ATableLessSomeOfItsRows) {
  const std::string text = R"(program p(t: f32[10000, 8], i: i64[100], g: f32[100, 8]) -> (n as t) {
    z: f32[10000, 8] = scatter sum b in 100, d in 8 into 0: [i[b], d] <- g[b, d]
    n: f32[10000, 8] = for r, d: t[r, d] - 0.1 * z[r, d]
  })";
  EXPECT_LE(elements(text), 2 * 100 + 3 * 100 * 8);
  EXPECT_GE(elements(text), 2 * 100 + 100 * 8);
}

TEST(ReadByData, OneRowIsAddedOrTakesAPlace) {
  const char* bodies[] = {"c[b, t, d] + k[b, d] * f32(t == at[b])",
                          "c[b, t, d] * (1 - f32(t == at[b])) + k[b, d] * f32(t == at[b])",
                          "c[b, t, d] * f32(t != at[b]) + k[b, d] * f32(at[b] == t)"};
  for (const char* body : bodies) {
    const std::string text =
        "program p(c: f32[4, 1000, 8], k: f32[4, 8], at: i64[4]) -> (n as c) {\n"
        "  n: f32[4, 1000, 8] = for b, t, d: " +
        std::string(body) + "\n}";
    EXPECT_LE(elements(text), 2 * 4 + 3 * 4 * 8) << body;
    EXPECT_GE(elements(text), 2 * 4 + 4 * 8) << body;
  }
}

TEST(ReadByData, WhatATruthHidesNeedNotChange) {
  const std::string text = R"(program p(c: f32[64, 1000], u: f32[64, 1000], m: bool[64]) -> (n as c) {
    n: f32[64, 1000] = for b, d: c[b, d] + f32(m[b]) * (u[b, d] - c[b, d])
  })";
  EXPECT_EQ(floor_elements(text), 64 / 4.0);
  EXPECT_GE(elements(text), 3 * 64 * 1000);
}

// ---- time, order ----

TEST(SharedParts, ManyStepsOfAStencilWithBorders) {
  std::string text = "program p(a0: f32[4, 64, 64]) -> (a20) {\n";
  for (int i = 1; i <= 20; ++i) {
    const std::string b = "a" + std::to_string(i - 1);
    text += "  a" + std::to_string(i) + ": f32[4, 64, 64] = for b, i, j: if(i == 0 or i == 63 or j == 0 or j == 63, " +
            b + "[b, i, j], 0.25 * " + b + "[b, i + 1, j | 0] + 0.25 * " + b + "[b, i - 1, j | 0] + 0.25 * " + b +
            "[b, i, j + 1 | 0] + 0.25 * " + b + "[b, i, j - 1 | 0])\n";
  }
  EXPECT_GT(vector_ops(text + "}"), 0);  // and soon
}

// Two halves of one product that are added up: what is added meets the weights once.
TEST(SharedParts, HalvesOfAProductThatAreAddedUp) {
  const auto of = [](const std::string& value, const std::string& rows = "64") {
    return "program p(x: f32[128, 32], w: f32[32, 48]) -> (y) {\n"
           "  p: f32[128, 48] = for i, j: sum k in 32: x[i, k] * w[k, j]\n"
           "  y: f32[" +
           rows + "] = for i, j: " + value + "\n}";
  };
  for (const char* value : {"p[i + 64, j] + 3 * (p[i, j] - p[i + 64, j])", "exp(3 * p[i, j] - 2 * p[i + 64, j])",
                            "max(p[2 * i, j] + p[2 * i + 1, j], 0)"})
    for (const double counted : {macs(of(value, "64, 48")), floor_macs(of(value, "64, 48"))})
      EXPECT_EQ(counted, 64 * 32 * 48) << value;
  EXPECT_EQ(macs(of("exp(p[i, j] - p[i, j + 24])", "128, 24")), 128 * 32 * 24);
  // Neighbours share more.
  EXPECT_EQ(macs(of("exp(p[i + 1, j] - p[i, j])", "127, 48")), 127 * 32 * 48);
  EXPECT_EQ(macs(of("exp(p[i, j]) - p[i + 64, j]", "64, 48")), 128 * 32 * 48);
}

// Keys and values of one packed product, with biases: for few queries neither has to be made.
TEST(SharedParts, PackedKeysAndValues) {
  for (const char* packed : {"kv[t, e]", "kv[t, e] + b[e]"}) {
    const std::string second = packed == std::string("kv[t, e]") ? "kv[t, e + 64]" : "kv[t, e + 64] + b[e + 64]";
    const std::string text =
        "program p(x: f32[256, 64], w: f32[64, 128], b: f32[128], q: f32[2, 64]) -> (y) {\n"
        "  kv: f32[256, 128] = for t, j: sum c in 64: x[t, c] * w[c, j]\n"
        "  s: f32[2, 256] = for a, t: sum e in 64: q[a, e] * (" +
        std::string(packed) +
        ")\n"
        "  p: f32[2, 256] = for a, t: exp(s[a, t])\n"
        "  y: f32[2, 64] = for a, e: sum t in 256: p[a, t] * (" +
        second + ")\n}";
    const double queries = 2 * 64 * 64 + 2 * 256 * 64;  // times the weights, then times x; and back
    EXPECT_LE(macs(text), 2 * queries + 2 * 64) << packed;
    EXPECT_GE(macs(text), 2 * queries) << packed;
  }
}

// x @ a g + x @ b is x @ (a g + b).
TEST(SharedParts, ScaledProductsOfOneFactor) {
  const auto of = [](const std::string& scale) {
    return "program p(x: f32[128, 64], a: f32[64, 48], b: f32[64, 48], g: f32[48], h: f32[128]) -> (y) {\n"
           "  u: f32[128, 48] = for i, j: sum k in 64: x[i, k] * a[k, j]\n"
           "  v: f32[128, 48] = for i, j: sum k in 64: x[i, k] * b[k, j]\n"
           "  y: f32[128, 48] = for i, j: exp(u[i, j] * " +
           scale + " + v[i, j])\n}";
  };
  EXPECT_EQ(macs(of("g[j]")), 128 * 64 * 48);
  EXPECT_EQ(macs(of("h[i]")), 2 * 128 * 64 * 48);  // a weight for each row would be as much work
}

// Two convolutions of one image that are added are one, by the weights' sum; a smaller window lies inside of the larger.
// x w + (x a) b is x (w + a b), however it is scaled and whatever reads it.
TEST(SharedParts, AChainBesideAProductOfItsFirstFactor) {
  const auto adapted = [](const std::string& result) {
    return "program p(x: f32[T, 32], w: f32[32, 24], a: f32[32, 4], b: f32[4, 24]) -> (y) {\n"
           "  h: f32[T, 24] = for t, o: sum k in 32: x[t, k] * w[k, o]\n"
           "  s: f32[T, 4] = for t, r: sum k in 32: x[t, k] * a[k, r]\n"
           "  u: f32[T, 24] = for t, o: sum r in 4: s[t, r] * b[r, o]\n"
           "  y: f32[T, 24] = for t, o: " +
           result + "\n}";
  };
  const auto with_rows = [](std::string text, const std::string& rows) {
    for (size_t at = text.find('T'); at != std::string::npos; at = text.find('T')) text.replace(at, 1, rows);
    return text;
  };
  for (const char* result : {"h[t, o] + u[t, o]", "h[t, o] + 2 * u[t, o]", "max(h[t, o] + u[t, o] * 0.5, 0)"}) {
    EXPECT_EQ(macs(with_rows(adapted(result), "256")), 256 * 32 * 24 + 32 * 4 * 24) << result;
    EXPECT_EQ(macs(with_rows(adapted(result), "4")), 4 * 32 * 24 + 4 * 4 * (32 + 24)) << result;
  }
}

// (x a) b + c b is (x a + c) b.
TEST(SharedParts, AChainBesideAProductOfItsLastFactor) {
  EXPECT_EQ(macs("program p(x: f32[256, 4], a: f32[4, 32], b: f32[32, 48], c: f32[256, 32]) -> (y) {\n"
                 "  s: f32[256, 32] = for t, k: sum r in 4: x[t, r] * a[r, k]\n"
                 "  u: f32[256, 48] = for t, o: sum k in 32: s[t, k] * b[k, o]\n"
                 "  v: f32[256, 48] = for t, o: sum k in 32: c[t, k] * b[k, o]\n"
                 "  y: f32[256, 48] = for t, o: u[t, o] + v[t, o]\n}"),
            256 * 32 * 48 + 256 * 4 * 32);
}

TEST(SharedParts, ConvolutionsOfOneImageThatAreAddedAreOne) {
  const auto text = [](const std::string& second, const std::string& size) {
    return "program p(x: f32[2, 8, 18, 18], w: f32[4, 8, 3, 3], v: f32[4, 8, 3, 3]) -> (y) {\n"
           "  a: f32[2, 4, 16, 16] = for n, o, i, j: sum c in 8, r in 3, s in 3: x[n, c, i + r, j + s] * w[o, c, r, "
           "s]\n"
           "  b: f32[2, 4, 16, 16] = for n, o, i, j: sum c in 8, r in " +
           size + ", s in " + size + ": " + second +
           " * v[o, c, r, s]\n"
           "  y: f32[2, 4, 16, 16] = for n, o, i, j: a[n, o, i, j] + b[n, o, i, j]\n}";
  };
  const double one = 2 * 4 * 16 * 16 * 8 * 9;
  EXPECT_EQ(macs(text("x[n, c, i + r, j + s]", "3")), one);
  EXPECT_EQ(macs(text("x[n, c, i + r + 1, j + s + 1]", "1")), one);
  EXPECT_LE(floor_macs(text("x[n, c, i + r, j + s]", "3")), one);
  // Steps of two: along each side 46 places are in the image, and 16 of them in the other window.
  EXPECT_EQ(macs(text("x[n, c, i + 2 * r - 1, j + 2 * s - 1 | 0]", "3")), one + 2 * 4 * 8 * (46 * 46 - 16 * 16));
  // Rows of which the other window has one
  EXPECT_GE(macs(text("x[n, c, 17 - i - r, j + s]", "1")), one + 2 * 4 * 16 * 8 * 15);
}

// ---- parts of a sum that meet one factor are added up before ----

// Whatever the factors have in common: a batch, padding, a mask.
TEST(SharedParts, ProductsWithOneFactorOfEachBatch) {
  const auto text = [](const std::string& scale, const std::string& second) {
    return "program p(x: f32[4, 32, 64], y: f32[4, 32, 64], w: f32[4, 64, 48], s: f32[4, 32]) -> (z) {\n"
           "  a: f32[4, 32, 48] = for b, i, j: sum k in 64: x[b, i, k] * w[b, k, j]\n"
           "  c: f32[4, 32, 48] = for b, i, j: sum k in 64: y[b, i, k] * w[" +
           second + ", k, j]\n  z: f32[4, 32, 48] = for b, i, j: exp(a[b, i, j] + " + scale + " * c[b, i, j])\n}";
  };
  const double one = 4 * 32 * 64 * 48;
  EXPECT_EQ(macs(text("3", "b")), one);
  EXPECT_EQ(macs(text("s[b, i]", "b")), one);
  EXPECT_EQ(macs(text("3", "3 - b")), 2 * one);  // each element of w meets other results
}

TEST(SharedParts, OneProductOfABatchLessAnother) {
  const auto text = [](const std::string& also) {
    return "program p(x: f32[2, 4, 32, 64], w: f32[4, 64, 48]) -> (z" + also +
           ") {\n"
           "  a: f32[2, 4, 32, 48] = for g, b, i, j: sum k in 64: x[g, b, i, k] * w[b, k, j]\n"
           "  z: f32[4, 32, 48] = for b, i, j: a[0, b, i, j] + 3 * (a[1, b, i, j] - a[0, b, i, j])\n}";
  };
  EXPECT_EQ(macs(text("")), 4 * 32 * 64 * 48);
  EXPECT_EQ(macs(text(", a")), 2 * 4 * 32 * 64 * 48);
}

TEST(SharedParts, MaskedProductsWithOneFactor) {
  const auto text = [](const std::string& mask) {
    return "program p(x: f32[64, 64], y: f32[64, 64], w: f32[64, 32]) -> (z) {\n"
           "  a: f32[64, 32] = for i, j: sum k in 64: if(k <= i, x[i, k] * w[k, j], 0.0)\n"
           "  c: f32[64, 32] = for i, j: sum k in 64: if(" +
           mask + ", y[i, k] * w[k, j], 0.0)\n  z: f32[64, 32] = for i, j: exp(a[i, j] + c[i, j])\n}";
  };
  EXPECT_EQ(macs(text("k <= i")), 64 * 65 / 2 * 32);
  EXPECT_EQ(macs(text("k <= i + 1")), (64 * 65 / 2 + 63) * 32);
  EXPECT_EQ(macs(text("k > i")), 64 * 64 * 32);
}

TEST(SharedParts, PaddedWindowsWithOneKernel) {
  const double one = 16 * 16 * (3 * 64 - 2);
  const auto text = [](const std::string& end) {
    return "program p(x: f32[16, 64], y: f32[16, 64], w: f32[16, 16, 3]) -> (z) {\n"
           "  a: f32[16, 64] = for o, t: sum c in 16, r in 3: x[c, t + r - 1 | 0] * w[o, c, r]\n"
           "  b: f32[16, 64] = for o, t: sum c in 16, r in 3: y[c, t + r - 1 | 0] * w[o, c, r]\n" +
           end + "\n}";
  };
  EXPECT_EQ(macs(text("z: f32[16, 64] = for o, t: max(a[o, t] + b[o, t], 0.0)")), one);
  EXPECT_EQ(macs(text("d: f32[16, 64] = for o, t: a[o, t] - b[o, t]\n"
                      "z: f32[] = sum o in 16, t in 64: d[o, t] * d[o, t]")),
            one + 16 * 64);
  // One channel each
  EXPECT_EQ(macs("program p(x: f32[16, 64], y: f32[16, 64], w: f32[16, 3]) -> (z) {\n"
                 "  a: f32[16, 62] = for o, t: sum r in 3: x[o, t + r] * w[o, r]\n"
                 "  b: f32[16, 62] = for o, t: sum r in 3: y[o, t + r] * w[o, r]\n"
                 "  z: f32[16, 62] = for o, t: max(a[o, t] + b[o, t], 0.0)\n}"),
            16 * 62 * 3);
}

// Kernels that numbers weigh, and a sum that two others read beside something else
TEST(SharedParts, WeighedKernelsOnOneImage) {
  EXPECT_EQ(macs("program p(x: f32[8, 64], w: f32[2, 16, 8, 3], g: f32[2], m: f32[16]) -> (z) {\n"
                 "  a: f32[16, 62] = for o, t: sum c in 8, r in 3: x[c, t + r] * w[0, o, c, r]\n"
                 "  b: f32[16, 62] = for o, t: sum c in 8, r in 3: x[c, t + r] * w[1, o, c, r]\n"
                 "  z: f32[16, 62] = for o, t: exp(g[0] * (a[o, t] - m[o]) + g[1] * b[o, t])\n}"),
            16 * 62 * 8 * 3);
  EXPECT_EQ(macs("program p(q: f32[4, 64, 32], k: f32[4, 64, 32], r: f32[64, 32]) -> (z) {\n"
                 "  a: f32[4, 64, 64] = for b, i, j: sum d in 32: q[b, i, d] * k[b, j, d]\n"
                 "  c: f32[4, 64, 64] = for b, i, j: sum d in 32: q[b, i, d] * r[j, d]\n"
                 "  s: f32[4, 64, 64] = for b, i, j: a[b, i, j] + c[b, i, j]\n"
                 "  m: f32[4, 64] = for b, i: max j in 64: s[b, i, j]\n"
                 "  z: f32[4, 64, 64] = for b, i, j: exp(s[b, i, j] - m[b, i])\n}"),
            4 * 64 * 64 * 32);
}

// Parts of one product, beside something that has none, whatever they are weighed with: one product of their sum, also
// where some of them are in it by way of a sum that is read several times. Unless all of them are wanted.
TEST(SharedParts, GuidanceBehindABias) {
  const auto text = [](const std::string& result, const std::string& also = "") {
    return "program p(x: f32[3, 32, 64], w: f32[64, 48], b: f32[48], r: f32[3, 32, 48], s: f32[]) -> (z" + also +
           ") {\n  a: f32[3, 32, 48] = for g, i, j: sum k in 64: x[g, i, k] * w[k, j]\n"
           "  o: f32[3, 32, 48] = for g, i, j: a[g, i, j] + b[j]\n"
           "  q: f32[3, 32, 48] = for g, i, j: r[g, i, j] + a[g, i, j]\n"
           "  d: f32[2, 32, 48] = for g, i, j: o[g, i, j] - o[g + 1, i, j]\n"
           "  z: f32[32, 48] = for i, j: exp(" +
           result + ")\n}";
  };
  const double one = 32 * 64 * 48;
  for (const std::string result :
       {"o[0, i, j] + 4 * (o[1, i, j] - o[0, i, j])", "0.9 * o[0, i, j] + 0.1 * o[1, i, j]",
        "q[0, i, j] + 4 * (q[1, i, j] - q[0, i, j])", "o[0, i, j] + s[] * (o[1, i, j] - o[0, i, j])",
        "o[2, i, j] + 7.5 * d[0, i, j] + 1.5 * d[1, i, j]"}) {
    EXPECT_EQ(macs(text(result)), one) << result;
    EXPECT_LE(floor_macs(text(result)), one) << result;
  }
  EXPECT_EQ(macs(text("o[0, i, j] + exp(o[1, i, j])")), 2 * one);
  EXPECT_EQ(macs(text("a[2, i, j] + 7.5 * (a[0, i, j] - a[1, i, j])", ", a")), 3 * one);
}

// The mean of heads: one product with the sum of their weights, as arrays of their own or stacked.
TEST(SharedParts, MeanOfHeads) {
  for (const int heads : {2, 5, 8, 12}) {
    std::string inputs, products, added, chosen = "o0[i, j]";
    for (int h = 0; h < heads; ++h) {
      const std::string n = std::to_string(h);
      inputs += ", w" + n + ": f32[64, 48], b" + n + ": f32[48]";
      products += "  a" + n + ": f32[32, 48] = for i, j: sum k in 64: x[i, k] * w" + n + "[k, j]\n  o" + n +
                  ": f32[32, 48] = for i, j: a" + n + "[i, j] + b" + n + "[j]\n";
      added += (h > 0 ? " + o" : "o") + n + "[i, j]";
      if (h > 0) chosen = "if(h == " + n + ", o" + n + "[i, j], " + chosen + ")";
    }
    const std::string before = "program p(x: f32[32, 64]" + inputs + ") -> (z) {\n" + products;
    const std::string n = std::to_string(heads);
    for (const std::string& text :
         {before + "  z: f32[32, 48] = for i, j: exp(" + added + ")\n}",
          before + "  c: f32[" + n + ", 32, 48] = for h, i, j: " + chosen + "\n  s: f32[32, 48] = for i, j: sum h in " +
              n + ": c[h, i, j]\n  z: f32[32, 48] = for i, j: exp(s[i, j])\n}"}) {
      EXPECT_EQ(macs(text), 32 * 64 * 48) << text;
      EXPECT_LE(floor_macs(text), 32 * 64 * 48) << text;
    }
  }
}

}  // namespace
}  // namespace lightline::demand
