// The floor counts only what every factoring of a linear region has to make.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::floor_macs;
using testing_support::macs;

constexpr double n = 64, f = 4;

// (a + a^2 / 2 + a^3 / 4) x: three times a matrix times a thin one.
TEST(Forced, PolynomialsOfMatrices) {
  EXPECT_LE(floor_macs(R"(program p(a: f32[64, 64], x: f32[64, 4]) -> (y) {
  b: f32[64, 64] = for i, j: sum k in 64: a[i, k] * a[k, j]
  c: f32[64, 64] = for i, j: sum k in 64: b[i, k] * a[k, j]
  s: f32[64, 64] = for i, j: a[i, j] + b[i, j] / 2 + c[i, j] / 4
  y: f32[64, 4] = for i, o: sum k in 64: s[i, k] * x[k, o]
})"),
            3 * n * n * f);
}

// Powers of a matrix, each times the same thin one, are all returned.
TEST(Forced, PowersThatAreAllReturned) {
  const double products = floor_macs(R"(program p(a: f32[64, 64], x: f32[64, 4]) -> (y, z) {
  b: f32[64, 64] = for i, j: sum k in 64: a[i, k] * a[k, j]
  y: f32[64, 4] = for i, o: sum k in 64: a[i, k] * x[k, o]
  z: f32[64, 4] = for i, o: sum k in 64: b[i, k] * x[k, o]
})");
  EXPECT_LE(products, 2 * n * n * f);
  EXPECT_GE(products, n * n * f);
}

// x.T (x w - y) in steps: x.T x and x.T y once, then small products.
TEST(Forced, GradientsOfManySteps) {
  const double rows = 4096, columns = 16, outputs = 8, steps = 32;
  EXPECT_LE(floor_macs(R"(program p(x: f32[4096, 16], y: f32[4096, 8], w0: f32[16, 8]) -> (w) {
  (w: f32[16, 8]) = repeat s in 32 carry (a = w0) {
    r: f32[4096, 8] = for i, o: sum d in 16: x[i, d] * a[d, o]
    q: f32[4096, 8] = for i, o: r[i, o] - y[i, o]
    g: f32[16, 8] = for d, o: sum i in 4096: x[i, d] * q[i, o]
    b: f32[16, 8] = for d, o: a[d, o] - tanh(g[d, o])
    yield (b)
  }
})"),
            rows * columns * (columns + outputs) + steps * columns * columns * outputs);
}

// (1 + s)^2 of s = x y: features of x and of y.
TEST(Forced, PolynomialsOfContractions) {
  EXPECT_LE(floor_macs(R"(program p(x: f32[512, 2], z: f32[512, 2], v: f32[512, 4]) -> (y) {
  s: f32[512, 512] = for i, j: sum d in 2: x[i, d] * z[j, d]
  y: f32[512, 4] = for i, o: sum j in 512: (s[i, j] + 1) * (s[i, j] + 1) * v[j, o]
})"),
            512.0 * 6 * (2 + 4 + 4) + 512 * 6);
}

// A matrix of outer products that only meets vectors.
TEST(Forced, OuterProductsThatMeetVectors) {
  EXPECT_LE(floor_macs(R"(program p(u: f32[256], v: f32[256], a: f32[256], b: f32[256], q: f32[256]) -> (y) {
  m: f32[256, 256] = for i, j: u[i] * v[j] + a[i] * b[j]
  w: f32[256, 256] = for i, j: 2 * m[i, j] + u[i] * b[j]
  y: f32[256] = for i: sum j in 256: w[i, j] * q[j]
  z: f32[256] = for j: sum i in 256: w[i, j] * q[i]
})"),
            12 * 256.0);
}

// s + s.T of s = x w x.T is x (w + w.T) x.T: half of it.
TEST(Forced, SumsWithTheirTranspose) {
  EXPECT_LE(floor_macs(R"(program p(x: f32[256, 16], w: f32[16, 16]) -> (t) {
  h: f32[256, 16] = for i, e: sum d in 16: x[i, d] * w[d, e]
  s: f32[256, 256] = for i, j: sum e in 16: h[i, e] * x[j, e]
  t: f32[256, 256] = for i, j: tanh(s[i, j] + s[j, i])
})"),
            256.0 * 16 * 16 + 16 * 256 * 257 / 2);
}

// A residual block: every product has to be made.
TEST(Forced, ResidualsAreMade) {
  const std::string block = R"(program p(x: f32[64, 32], u: f32[32, 128], w: f32[128, 32], v: f32[32, 128]) -> (y) {
  c: f32[64, 128] = for i, k: sum d in 32: x[i, d] * u[d, k]
  h: f32[64, 128] = for i, k: max(c[i, k], 0)
  o: f32[64, 32] = for i, e: sum k in 128: h[i, k] * w[k, e]
  r: f32[64, 32] = for i, e: x[i, e] + o[i, e]
  m: f32[64] = for i: sum e in 32: r[i, e] * r[i, e]
  g: f32[64, 32] = for i, e: r[i, e] / sqrt(m[i] + 1)
  z: f32[64, 128] = for i, k: sum e in 32: g[i, e] * v[e, k]
  y: f32[64, 128] = for i, k: max(z[i, k], 0)
})";
  EXPECT_GE(floor_macs(block), 3 * 64.0 * 32 * 128);
  EXPECT_LE(floor_macs(block), 3 * 64.0 * 32 * 128 + 2 * 64 * 32);
}

// A chain that is read by a function has to be made, in the cheapest order.
TEST(Forced, ChainsThatAreReadAreMade) {
  EXPECT_EQ(floor_macs(R"(program p(a: f32[64, 8], b: f32[8, 64], c: f32[64, 64]) -> (y) {
  d: f32[64, 64] = for i, j: sum k in 8: a[i, k] * b[k, j]
  e: f32[64, 64] = for i, j: sum k in 64: d[i, k] * c[k, j]
  y: f32[64, 64] = for i, j: tanh(e[i, j])
})"),
            8 * 64.0 * 64 * 2);
}

// x sigmoid(x) is one function of x: what x is made of is no factor of it.
TEST(Forced, GatesInBothSpellings) {
  for (const char* gate : {"g[i, k] * sigmoid(g[i, k])", "silu(g[i, k])"}) {
    const std::string text = R"(program p(x: f32[64, 32], u: f32[32, 128], v: f32[32, 128], w: f32[128, 32]) -> (y) {
  g: f32[64, 128] = for i, k: sum d in 32: x[i, d] * u[d, k]
  a: f32[64, 128] = for i, k: )" +
                             std::string(gate) +
                             R"(
  h: f32[64, 128] = for i, k: sum d in 32: x[i, d] * v[d, k]
  y: f32[64, 32] = for i, e: sum k in 128: a[i, k] * h[i, k] * w[k, e]
})";
    EXPECT_EQ(floor_macs(text), 3 * 64.0 * 32 * 128) << gate;
  }
}

// p + gate(p v) w: the gate has nothing in common with what is added to it.
TEST(Forced, GatesBesideWhatTheyAreMadeOf) {
  for (const char* gate : {"g[i, k] * sigmoid(g[i, k])", "silu(g[i, k])"}) {
    const std::string text = R"(program p(x: f32[64, 32], u: f32[32, 32], v: f32[32, 16], w: f32[16, 32]) -> (y) {
  a: f32[64, 32] = for i, e: tanh(x[i, e])
  p: f32[64, 32] = for i, e: sum d in 32: a[i, d] * u[d, e]
  g: f32[64, 16] = for i, k: sum e in 32: p[i, e] * v[e, k]
  b: f32[64, 16] = for i, k: )" +
                             std::string(gate) +
                             R"(
  t: f32[64, 32] = for i, e: sum k in 16: b[i, k] * w[k, e]
  y: f32[64, 32] = for i, e: p[i, e] + t[i, e]
})";
    EXPECT_EQ(floor_macs(text), 64.0 * 32 * (32 + 16 + 16)) << gate;
  }
}

// What joined a sum is made even if that sum is taken apart: values of heads, x v, then b z of each, then the last.
TEST(Forced, SumsThatJoinedAreMade) {
  EXPECT_EQ(floor_macs(R"(program p(a: f32[4, 64, 64], x: f32[64, 32], v: f32[32, 32], w: f32[32, 32]) -> (y) {
  z: f32[64, 32] = for j, c: sum k in 32: x[j, k] * v[k, c]
  b: f32[4, 64, 64] = for h, i, j: tanh(a[h, i, j])
  o: f32[4, 64, 8] = for h, i, d: sum j in 64: b[h, i, j] * z[j, 8 * h + d]
  u: f32[64, 32] = for i, c: o[c div 8, i, c mod 8]
  t: f32[64, 32] = for i, e: sum c in 32: u[i, c] * w[c, e]
  y: f32[64, 32] = for i, e: tanh(t[i, e])
})"),
            2 * 64.0 * 32 * 32 + 4 * 64 * 64 * 8);
}

// ---- decays: exp(g (i - j)) is a product of two, and so is exp of a sum from j to i ----

constexpr double chunked = 256.0 * 8 * 2 * 16;  // states of 8 by 8, or blocks of 16 rows

TEST(Forced, DecaysByDataAreApart) {
  EXPECT_LT(macs(R"(program p(q: f32[256, 8], k: f32[256, 8], v: f32[256, 8], g: f32[]) -> (y) {
  s: f32[256, 256] = for i, j: sum d in 8: q[i, d] * k[j, d]
  l: f32[256, 256] = for i, j: if(j <= i, exp(g[] * f32(i - j)), 0)
  y: f32[256, 8] = for i, e: sum j in 256: s[i, j] * l[i, j] * v[j, e]
})"),
            2 * chunked);
}

TEST(Forced, SegmentSumsAreDifferencesOfRunningSums) {
  EXPECT_LT(macs(R"(program p(q: f32[256, 8], k: f32[256, 8], v: f32[256, 8], g: f32[256]) -> (y) {
  e: f32[256, 256] = for i, j: if(j < i, g[i], 0)
  c: f32[256, 256] = for scan i, j: c[i - 1, j | 0] + e[i, j]
  l: f32[256, 256] = for i, j: exp(if(j <= i, c[i, j], -inf))
  s: f32[256, 256] = for i, j: sum d in 8: q[i, d] * k[j, d]
  y: f32[256, 8] = for i, o: sum j in 256: s[i, j] * l[i, j] * v[j, o]
})"),
            2 * chunked);
}

// Blocks with a residual stream, a norm and gates, one after the other: no product can be had from another block's.
TEST(Forced, ResidualStreamsWithGates) {
  std::string text = "program p(x: f32[64, 32]";
  std::string body;
  std::string from = "x";
  constexpr int blocks = 3;
  for (int b = 0; b < blocks; ++b) {
    const std::string id = std::to_string(b);
    text += ", u" + id + ": f32[32, 80], g" + id + ": f32[32, 80], d" + id + ": f32[80, 32]";
    const auto line = [&](const std::string& declared, const std::string& value) {
      body += "  " + declared + " = for i, j: " + value + "\n";
    };
    body += "  q" + id + ": f32[64] = for i: sum k in 32: " + from + "[i, k] * " + from + "[i, k]\n";
    line("s" + id + ": f32[64, 32]", from + "[i, j] * rsqrt(q" + id + "[i] / 32 + 0.001)");
    line("a" + id + ": f32[64, 80]", "sum k in 32: s" + id + "[i, k] * u" + id + "[k, j]");
    line("b" + id + ": f32[64, 80]", "sum k in 32: s" + id + "[i, k] * g" + id + "[k, j]");
    line("h" + id + ": f32[64, 80]", "silu(b" + id + "[i, j]) * a" + id + "[i, j]");
    line("e" + id + ": f32[64, 32]", "sum k in 80: h" + id + "[i, k] * d" + id + "[k, j]");
    line("y" + id + ": f32[64, 32]", from + "[i, j] + e" + id + "[i, j]");
    from = "y" + id;
  }
  text += ") -> (" + from + ") {\n" + body + "}";
  EXPECT_GE(floor_macs(text), blocks * 3 * 64.0 * 32 * 80);
  EXPECT_LE(floor_macs(text), macs(text));
}

}  // namespace
}  // namespace lightline::demand
