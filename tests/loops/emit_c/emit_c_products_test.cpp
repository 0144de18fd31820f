#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using namespace emit_testing;

std::string matmul(int64_t m, int64_t n, int64_t k, const std::string& type, bool transpose_a, bool transpose_b) {
  const std::string a = transpose_a ? fmt::format("{}, {}", k, m) : fmt::format("{}, {}", m, k),
                    b = transpose_b ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n);
  return program(fmt::format("a: {0}[{1}], b: {0}[{2}]", type, a, b), "c",
                 fmt::format("c: {}[{}, {}] = for i, j: sum k in {}: a[{}] * b[{}]", type, m, n, k,
                             transpose_a ? "k, i" : "i, k", transpose_b ? "j, k" : "k, j"));
}

TEST(EmitC, MatrixProducts) {
  std::vector<Case> cases;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {1, 65, 300},
                                                                   {65, 1, 300},
                                                                   {7, 7, 7},
                                                                   {17, 17, 65},
                                                                   {65, 100, 17},
                                                                   {100, 65, 400},
                                                                   {4, 300, 33},
                                                                   {300, 9, 40},
                                                                   {33, 31, 1000},
                                                                   {350, 130, 50},
                                                                   {64, 640, 8}})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        cases.push_back(
            {fmt::format("{} {} {} {} {}", m, n, k, a, b), matmul(m, n, k, "f32", a, b), 10, {}, {1e-4, 1e-4}});
  for (const std::string type : {"f64", "bf16", "f16", "f8e4m3", "i32", "i8", "c64"})
    cases.push_back({type, matmul(40, 50, 60, type, false, type == "f64"), 5});
  const std::string x = "x: f32[3, 40, 50]";
  cases.push_back({"batch", program(x + ", y: f32[3, 50, 20]", "z",
                                    "z: f32[3, 40, 20] = for b, i, j: sum k in 50: x[b, i, k] * y[b, k, j]")});
  cases.push_back({"batch inside", program(x + ", y: f32[3, 50, 20]", "z",
                                           "z: f32[40, 20, 3] = for i, j, b: sum k in 50: x[b, i, k] * y[b, k, j]")});
  cases.push_back({"rows of two loops", program(x + ", y: f32[50, 24]", "z",
                                                "z: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, j]")});
  cases.push_back(
      {"three factors", program(x + ", y: f32[50, 24], s: f32[50]", "z",
                                "z: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * s[k] * y[k, j]")});
  cases.push_back({"bias and activation",
                   program(x + ", y: f32[50, 24], b: f32[24]", "z, w",
                           "h: f32[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, j]\ng: f32[3, 40, 24] = "
                           "for b, i, j: h[b, i, j] + b[j]\nz: f32[3, 40, 24] = for b, i, j: gelu(g[b, i, j])\nw: "
                           "bf16[3, 40, 24] = for b, i, j: tanh(g[b, i, j]) * h[b, i, j]")});
  cases.push_back({"stored and followed", program(x + ", y: f32[50, 24]", "h, z",
                                                  "h: bf16[3, 40, 24] = for b, i, j: sum k in 50: x[b, i, k] * y[k, "
                                                  "j]\nz: f32[3, 40, 24] = for b, i, j: h[b, i, j] * 2")});
  cases.push_back(
      {"cheap factors", program("x: bf16[60, 50], q: i8[50, 70], s: f32[70]", "z",
                                "w: f32[50, 70] = for k, j: f32(q[k, j]) * s[j]\nr: f32[60, 50] = for i, k: max(x[i, "
                                "k], 0)\nz: f32[60, 70] = for i, j: sum k in 50: r[i, k] * w[k, j]")});
  cases.push_back(
      {"through views", program("x: f32[60, 100], y: f32[25, 4, 30]", "z",
                                "t: f32[100, 60] = view k, i: x[i, k]\nu: f32[100, 30] = view k, j: y[k div 4, k mod "
                                "4, j]\nz: f32[60, 30] = for i, j: sum k in 100: t[k, i] * u[k, j]")});
  cases.push_back({"gathered rows", program("x: f32[60, 50], y: f32[50, 30], n: i64[40]", "z",
                                            "z: f32[40, 30] = for i, j: sum k in 50: x[n[i] * 3 + 2, k] * y[k, j]")});
  cases.push_back({"f64 accumulator", program("x: f32[40, 50], y: f32[50, 30]", "z",
                                              "z: f64[40, 30] = for i, j: sum k in 50: f64(x[i, k]) * f64(y[k, j])")});
  cases.push_back({"sliced and masked",
                   program("x: f32[80, 90], y: f32[90, 70]", "z",
                           "z: f32[40, 70] = for i, j: sum k in 45: if(k <= i, x[2*i + 1, 2*k], 0) * y[89 - k, j]")});
  check(std::move(cases));
}

TEST(EmitC, Convolutions) {
  std::vector<Case> cases;
  struct Shape2d {
    int64_t n, c, k, h, w, r, stride, pad, dilation, groups;
  };
  for (const auto& [n, c, k, h, w, r, stride, pad, dilation, groups] :
       std::vector<Shape2d>{{2, 8, 16, 20, 23, 3, 1, 1, 1, 1},
                            {2, 8, 16, 20, 23, 3, 2, 1, 1, 1},
                            {1, 8, 12, 20, 40, 3, 1, 2, 2, 1},
                            {2, 8, 16, 14, 14, 1, 1, 0, 1, 1},
                            {2, 8, 16, 15, 15, 5, 3, 2, 1, 1},
                            {2, 8, 8, 12, 36, 3, 1, 1, 1, 8},
                            {2, 32, 64, 9, 9, 3, 1, 1, 1, 2},
                            {1, 3, 32, 33, 33, 7, 2, 3, 1, 1},
                            {3, 16, 40, 7, 7, 3, 1, 1, 1, 1}}) {
    const int64_t p = (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1,
                  q = (w + 2 * pad - dilation * (r - 1) - 1) / stride + 1;
    const std::string at = fmt::format("{0}*p + {1}*r - {2}, {0}*q + {1}*s - {2} | 0", stride, dilation, pad);
    const std::string name =
        fmt::format("{} {} {} {} {} {} {} {} {} {}", n, c, k, h, w, r, stride, pad, dilation, groups);
    const std::string own = groups == 1 ? "c" : fmt::format("(k div {}) * {} + c", k / groups, c / groups);
    cases.push_back(
        {name,
         program(fmt::format("x: f32[{}, {}, {}, {}], w: f32[{}, {}, {}, {}], b: f32[{}]", n, c, h, w, k, c / groups, r,
                             r, k),
                 "y",
                 fmt::format(
                     "a: f32[{0}, {1}, {2}, {3}] = for n, k, p, q: sum c in {4}, r in {5}, s in {5}: x[n, {6}, {7}] * "
                     "w[k, c, r, s]\ny: f32[{0}, {1}, {2}, {3}] = for n, k, p, q: max(a[n, k, p, q] + b[k], 0)",
                     n, k, p, q, c / groups, r, own, at)),
         10,
         {},
         {1e-4, 1e-4}});
    if (groups == 1)
      cases.push_back(
          {name + " channels last",
           program(fmt::format("x: f32[{}, {}, {}, {}], w: f32[{}, {}, {}, {}]", n, h, w, c, r, r, c, k), "y",
                   fmt::format("y: f32[{0}, {2}, {3}, {1}] = for n, p, q, k: sum r in {5}, s in {5}, c in {4}: x[n, "
                               "{7}, {8} | 0] * w[r, s, c, k]",
                               n, k, p, q, c, r, "", fmt::format("{0}*p + {1}*r - {2}", stride, dilation, pad),
                               fmt::format("{0}*q + {1}*s - {2}, c", stride, dilation, pad))),
           10,
           {},
           {1e-4, 1e-4}});
  }
  // Groups as a loop of their own.
  cases.push_back({"groups", program("x: f32[2, 4, 8, 12, 12], w: f32[4, 16, 8, 3, 3]", "y",
                                     "y: f32[2, 4, 16, 12, 12] = for n, g, k, p, q: sum c in 8, r in 3, s in 3: x[n, "
                                     "g, c, p + r - 1, q + s - 1 | 0] * w[g, k, c, r, s]")});
  cases.push_back(
      {"pooling",
       program("x: f32[2, 6, 40, 41]", "y, z",
               "y: f32[2, 6, 20, 21] = for n, c, p, q: max r in 3, s in 3: x[n, c, 2*p + r - 1, 2*q + s - 1 | "
               "-inf]\nz: f32[2, 6, 13, 13] = for n, c, p, q: sum r in 3, s in 3: x[n, c, 3*p + r, 3*q + s] / 9")});
  cases.push_back(
      {"transposed",
       program("x: f32[2, 6, 10, 11], w: f32[6, 9, 3, 3]", "y",
               "y: f32[2, 9, 21, 23] = for n, k, p, q: sum c in 6, r in 3, s in 3: if((p + r) mod 2 == 0 and (q + s) "
               "mod 2 == 0, x[n, c, (p + r - 2) div 2, (q + s - 2) div 2 | 0], 0) * w[c, k, r, s]"),
       10,
       {},
       {1e-4, 1e-4}});
  check(std::move(cases));
}

}  // namespace
}  // namespace lightline::loops
