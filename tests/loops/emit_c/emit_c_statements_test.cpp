#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using namespace emit_testing;

TEST(EmitC, Scatters) {
  std::vector<Case> cases;
  for (const std::string reducer : {"set", "sum", "prod", "max", "min"})
    for (const std::string type : {"f32", "bf16", "i32", "i64"})
      cases.push_back(
          {reducer + " of " + type,
           program(fmt::format("x: {0}[10, 6], g: {0}[40, 6], n: i64[40]", type), "a, b, c",
                   fmt::format("a: {0}[10, 6] = scatter {1} i in 40, j in 6 into x: [n[i], j] <- g[i, j]\nb: {0}[10, "
                               "6] = scatter {1} i in 40, j in 6 into 1: [n[i] - 3, 5 - j | drop] <- g[i, j]\nc: "
                               "{0}[12] = scatter {1} i in 40 into 2: [n[i] + 1] <- g[i, 0]",
                               type, reducer)),
           10,
           {},
           {1e-3, 1e-3}});
  for (const std::string reducer : {"set", "and", "or"})
    cases.push_back(
        {reducer + " of bool", program("x: bool[10], g: bool[40], n: i64[40]", "a, b",
                                       fmt::format("a: bool[10] = scatter {0} i in 40 into x: [n[i]] <- g[i]\nb: "
                                                   "bool[10] = scatter {0} i in 40 into false: [n[i]] <- not g[i]",
                                                   reducer))});
  cases.push_back({"large",
                   program("g: f32[4000, 64], n: i64[4000]", "a, b",
                           "a: f32[100, 64] = scatter sum i in 4000, j in 64 into 0: [n[i], j] <- g[i, j]\nb: "
                           "f32[4000, 10] = scatter max i in 4000, j in 64 into -inf: [i, n[i]] <- g[i, j]"),
                   10,
                   {},
                   {1e-3, 1e-3}});
  cases.push_back({"single", program("x: f32[3], n: i64[]", "a", "a: f32[3] = scatter set into x: [n[]] <- 5.0"), 3});
  check(std::move(cases));
}

TEST(EmitC, RepeatsAndOthers) {
  std::vector<Case> cases;
  cases.push_back({"recurrent",
                   program("pre: f32[20, 4, 32], h0: f32[4, 32], w: f32[32, 32]", "h, hs",
                           R"((h: f32[4, 32], hs: f32[20, 4, 32]) = repeat t in 20 carry (prev = h0) {
      rec: f32[4, 32] = for b, i: sum k in 32: prev[b, k] * w[k, i]
      next: f32[4, 32] = for b, i: tanh(pre[t, b, i] + rec[b, i] / 8)
      yield (next, stack next)
    })"),
                   10,
                   {},
                   {1e-4, 1e-4}});
  cases.push_back(
      {"exchange", program("a: f32[5], b: f32[5]", "c, d, s, t",
                           R"((c: f32[5], d: f32[5], s: f32[7, 5], t: f32[7, 5]) = repeat t in 7 carry (x = a, y = b) {
      z: f32[5] = for i: x[i] + f32(t)
      yield (y, x, stack z, stack y)
    })")});
  cases.push_back({"twice the same", program("a: f32[5]", "c, d",
                                             "(c: f32[5], d: f32[5]) = repeat t in 3 carry (x = a, y = a) {\nz: f32[5] "
                                             "= for i: x[i] + y[i]\nyield (z, z)\n}")});
  cases.push_back({"never", program("a: f32[5]", "c, s",
                                    "(c: f32[5], s: f32[0, 5]) = repeat t in 0 carry (x = a) {\nz: f32[5] = for i: "
                                    "x[i] + 1\nyield (z, stack z)\n}")});
  cases.push_back(
      {"nested", program("a: f32[5], k: f32[3]", "c, e", R"((c: f32[5], e: f32[3, 4, 5]) = repeat t in 3 carry (x = a) {
      u: f32[5] = for i: x[i] * k[t]
      (v: f32[5], w: f32[4, 5]) = repeat r in 4 carry (y = u) {
        z: f32[5] = for i: y[i] + f32(r) + u[i]
        yield (z, stack z)
      }
      m: f32[] = sum i in 5: v[i]
      o: f32[5] = for i: v[i] / (m[] * m[] + 1)
      yield (o, stack w)
    })")});
  cases.push_back({"constants",
                   program("x: f32[4]", "p, y, h, o",
                           "p: i64[4] = const [0, 2, 1, 3]\ny: f32[4] = for i: x[p[i]]\nh: bf16[3] = const [0.1, -inf, "
                           "300]\none: f32[4, 3] = const [1]\no: f32[4, 3] = for i, j: one[i, j] + x[i]"),
                   10,
                   {},
                   {0, 0}});
  cases.push_back({"opaque", program("x: f32[6, 20], s: f32[5, 5], r: f32[5, 2]", "v, n, u, a",
                                     "y: f32[6, 20] = for i, j: x[i, j] * 2\n(v: f32[6, 3], n: i64[6, 3]) = opaque "
                                     "topk(y, k = 3)\nm: f32[5, 5] = for i, j: s[i, j] + if(i == j, 9.0, 0.0)\nu: "
                                     "f32[5, 2] = opaque solve(m, r)\na: f32[6] = for i: sum k in 3: v[i, k]")});
  cases.push_back(
      {"outputs that are inputs", program("x: f32[4], y: i8[2, 3]", "x, z, y, z", "z: f32[4] = for i: x[i] + 1")});
  cases.push_back({"no elements", program("x: f32[0, 5], y: f32[3]", "a, b, c, d, e",
                                          "a: f32[0, 5] = for i, j: x[i, j] + 1\nb: f32[5] = for j: sum i in 0: x[i, "
                                          "j]\nc: f32[3] = for i: x[i, 0 | 2] + y[i]\nd: f32[0] = scatter sum i in 3 "
                                          "into 0: [i | drop] <- y[i]\ne: f32[5] = for j: max i in 0: x[i, j]")});
  cases.push_back({"unused",
                   program("x: f32[4], n: i64[2]", "y",
                           "z: f32[4] = for i: exp(x[i])\ny: f32[4] = for i: x[i] + 1\nw: f32[2] = for i: x[n[i]]"),
                   4});
  cases.push_back({"complex", program("x: c64[20, 30], y: c64[30, 10]", "z, m",
                                      "z: c64[20, 10] = for i, j: sum k in 30: x[i, k] * conj(y[k, j])\nm: f32[20, 10] "
                                      "= for i, j: abs(z[i, j]) + real(z[i, j]) * imag(z[i, j])")});
  check(std::move(cases));
}

TEST(EmitC, OutOfRange) {
  struct Body {
    const char* name;
    const char* output;
    const char* text;
    bool fails = true;
  };
  const Body bodies[] = {
      {"gather", "y", "y: f32[30, 4] = for i, j: x[n[i], j]"},
      {"inlined", "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[30] = for i: y[i] + 1"},
      {"sliced away", "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[5] = for i: y[i] + 1"},
      {"unused", "z", "y: f32[30] = for i: x[n[i], 2]\nz: f32[10] = for i: x[i, 0]"},
      {"not chosen", "z", "z: f32[30] = for i: if(n[i] < 10 and n[i] >= 0, x[n[i], 2], 0)"},
      {"filled", "z", "z: f32[30] = for i: x[n[i], 2 | 0]", false},
      {"product", "z", "z: f32[30, 9] = for i, j: sum k in 4: x[n[i], k] * w[k, j]"},
      {"scatter", "z", "z: f32[10, 4] = scatter sum i in 30, j in 4 into x: [n[i], j] <- 1"},
      {"scatter set", "z", "z: f32[10] = scatter set i in 30 into 0: [n[i]] <- f32(i)"},
      {"dropped", "z", "z: f32[10, 4] = scatter sum i in 30, j in 4 into x: [n[i], j | drop] <- 1", false},
      {"summed", "z", "z: f32[] = sum i in 30, j in 4: x[n[i], j]"},
  };
  std::vector<Case> cases;
  for (const int64_t value : {int64_t(10), int64_t(-1), INT64_MAX, INT64_MIN}) {
    for (const Body& body : bodies) {
      Case each{body.name, program("x: f32[10, 4], n: i64[30], w: f32[4, 9]", body.output, body.text)};
      each.inputs.push_back(random_tensor(DType::f32, {10, 4}, testing_support::seed_of(1)));
      each.inputs.push_back(random_tensor(DType::i64, {30}, testing_support::seed_of(2), 10));
      each.inputs[1].set_i64(17, value);
      each.inputs.push_back(random_tensor(DType::f32, {4, 9}, testing_support::seed_of(3)));
      each.fails = body.fails;
      cases.push_back(std::move(each));
    }
  }
  check(std::move(cases));
}

}  // namespace
}  // namespace lightline::loops
