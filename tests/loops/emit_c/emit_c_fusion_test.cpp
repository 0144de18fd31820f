#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using namespace emit_testing;

TEST(EmitC, FusedRows) {
  std::vector<Case> cases;
  for (const auto& [rows, width] :
       std::vector<std::pair<int64_t, int64_t>>{{5, 7}, {64, 100}, {300, 1025}, {3, 40000}}) {
    cases.push_back(
        {fmt::format("softmax {} {}", rows, width),
         program(fmt::format("x: f32[{}, {}]", rows, width), "y",
                 fmt::format(
                     "m: f32[{0}] = for i: max k in {1}: x[i, k]\ne: f32[{0}, {1}] = for i, k: exp(x[i, k] - m[i])\ns: "
                     "f32[{0}] = for i: sum k in {1}: e[i, k]\ny: f32[{0}, {1}] = for i, k: e[i, k] / s[i]",
                     rows, width))});
    cases.push_back(
        {fmt::format("layer norm {} {}", rows, width),
         program(fmt::format("x: bf16[{0}, {1}], g: f32[{1}], b: f32[{1}]", rows, width), "y, mean",
                 fmt::format("t: f32[{0}, 1] = for i, j: sum k in {1}: x[i, k]\nmean: f32[{0}, 1] = for i, j: t[i, j] "
                             "/ {1}\nd: f32[{0}, {1}] = for i, k: x[i, k] - mean[i, 0]\nv: f32[{0}, 1] = for i, j: sum "
                             "k in {1}: d[i, k] * d[i, k]\nr: f32[{0}, 1] = for i, j: rsqrt(v[i, j] / {1} + 1e-5)\ny: "
                             "bf16[{0}, {1}] = for i, k: d[i, k] * r[i, 0] * g[k] + b[k]",
                             rows, width))});
  }
  cases.push_back(
      {"attention", program("q: f32[2, 3, 33, 16], k: f32[2, 3, 40, 16], v: f32[2, 3, 40, 16]", "o",
                            R"(s: f32[2, 3, 33, 40] = for b, h, i, j: sum d in 16: q[b, h, i, d] * k[b, h, j, d]
    a: f32[2, 3, 33, 40] = for b, h, i, j: if(j <= i + 7, s[b, h, i, j] * 0.25, -inf)
    m: f32[2, 3, 33] = for b, h, i: max j in 40: a[b, h, i, j]
    e: f32[2, 3, 33, 40] = for b, h, i, j: exp(a[b, h, i, j] - m[b, h, i])
    t: f32[2, 3, 33] = for b, h, i: sum j in 40: e[b, h, i, j]
    p: f32[2, 3, 33, 40] = for b, h, i, j: e[b, h, i, j] / t[b, h, i]
    o: f32[2, 33, 3, 16] = for b, i, h, d: sum j in 40: p[b, h, i, j] * v[b, h, j, d])")});
  cases.push_back(
      {"a chain read twice",
       program("x: f32[100, 90]", "e, f",
               "a: f32[100, 90] = for i, j: x[i, j] + 1\nb: f32[100, 90] = for i, j: a[i, j] * a[i, j]\nc: f16[100, "
               "90] = for i, j: b[i, j] - a[i, j]\nd: f32[100, 90] = for i, j: c[i, j] + b[i, j]\ne: f32[100, 90] = "
               "for i, j: d[i, j] * c[i, j]\nf: f32[100] = for i: sum j in 90: e[i, j] * d[i, j]"),
       10,
       {},
       {1e-3, 1e-3}});
  cases.push_back({"a column beside its fill",
                   program("a: f32[3], c: f32[3]", "p",
                           "m: f32[3, 1, 1] = for i, j, k: a[i] * 2\nn: f32[3, 1, 1] = for i, j, k: c[i] * 2\nb: "
                           "f32[3, 1, 1] = for i, j, k: m[i, 0, 0] + n[i, 0, 0]\np: f32[3, 1, 2] = for i, j, k: b[i, "
                           "0, k - 1 | 0]")});
  cases.push_back(
      {"neighbours", program("x: f32[100, 90]", "b, c",
                             "a: f32[100, 90] = for i, j: exp(x[i, j])\nb: f32[100, 90] = for i, j: a[i, j] + a[i, j - "
                             "1 | 0] + a[i, 89 - j]\nc: f32[100, 90] = for i, j: b[i, j] + b[i + 1, j | 0]")});
  // A row may be kept in the place of its result only where nothing reads it later or elsewhere.
  const std::string rows =
      "a: f32[70, 6, 33] = for i, j, k: exp(x[i, j, k])\ns: f32[70] = for i: sum j in 6, k in 33: a[i, j, k]\n";
  const std::pair<const char*, const char*> readers[] = {
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]"},
      {"y", "y: f32[70, 33, 6] = for i, k, j: a[i, j, k] / s[i]"},
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, 32 - k] / s[i]"},
      {"y", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i] + a[i, 5 - j, k]"},
      {"y", "y: f32[70, 6, 33, 4] = for i, j, k, l: a[i, j, k] / s[i]"},
      {"y", "y: bf16[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]"},
      {"y, z",
       "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]\nz: f32[70] = for i: sum j in 6, k in 33: "
       "a[i, j, k] * y[i, j, k]"},
      {"y, z", "y: f32[70, 6, 33] = for i, j, k: a[i, j, k] / s[i]\nz: f32[70, 6, 33] = for i, j, k: a[i, j, k] * 2"},
      {"y, z",
       "z: f32[70, 6, 33] = for i, j, k: a[i, j, k - 1 | 0] * s[i]\ny: f32[70, 6, 33] = for i, j, k: "
       "a[i, j, k] / s[i]"},
      {"y",
       "b: f32[70, 6, 33] = for i, j, k: a[i, j, k] - s[i]\nt: f32[70] = for i: max j in 6, k in 33: "
       "b[i, j, k]\ny: f32[70, 6, 33] = for i, j, k: a[i, j, k] * t[i] + b[i, j, k]"},
  };
  for (const auto& [outputs, text] : readers)
    cases.push_back({text, program("x: f32[70, 6, 33]", outputs, rows + text)});
  cases.push_back(
      {"batch norm",
       program("x: f32[4, 6, 9, 10]", "y",
               "s: f32[6] = for c: sum n in 4, h in 9, w in 10: x[n, c, h, w]\nm: f32[6] = for c: s[c] / 360\nv: "
               "f32[6] = for c: sum n in 4, h in 9, w in 10: (x[n, c, h, w] - m[c]) * (x[n, c, h, w] - m[c])\ny: "
               "f32[4, 6, 9, 10] = for n, c, h, w: (x[n, c, h, w] - m[c]) * rsqrt(v[c] / 360 + 0.1)")});
  cases.push_back({"softmax over channels",
                   program("x: f32[3, 10, 20, 20]", "y",
                           "m: f32[3, 20, 20] = for n, h, w: max c in 10: x[n, c, h, w]\ne: f32[3, 10, 20, 20] = for "
                           "n, c, h, w: exp(x[n, c, h, w] - m[n, h, w])\ns: f32[3, 20, 20] = for n, h, w: sum c in 10: "
                           "e[n, c, h, w]\ny: f32[3, 10, 20, 20] = for n, c, h, w: e[n, c, h, w] / s[n, h, w]")});
  cases.push_back({"large rows and a transposition",
                   program("x: f32[2100, 1030]", "y, t",
                           "a: f32[2100, 1030] = for i, j: x[i, j] * 3 + 1\ny: f32[2100, 1030] = for i, j: a[i, j] + "
                           "x[i, j - 1 | 0]\nt: f32[1030, 2100] = for j, i: x[i, j]")});
  cases.push_back(
      {"views",
       program("x: f32[6, 8, 10]", "a, b, c, d",
               "v: f32[8, 60] = view j, i: x[i div 10, j, i mod 10]\nw: f32[480] = view i: v[i div 60, i mod 60]\na: "
               "f32[480] = for i: w[i] + 1\nb: f32[8, 60] = view j, i: w[60*j + i]\nc: f32[24, 20] = for i, j: w[20*i "
               "+ j] * 2\nr: f32[20, 24] = view i, j: c[23 - j, 19 - i]\nd: f32[20, 12] = for i, j: r[i, 2*j + 1]")});
  cases.push_back(
      {"gathers",
       program("t: f32[30, 20], n: i64[50], m: i32[50], u: u8[50]", "a, b, c, d",
               "a: f32[50, 20] = for i, j: t[n[i], j]\nb: f32[50] = for i: t[n[i], m[i] + 3]\nc: f32[50, 20] = for i, "
               "j: t[i64(u[i]) * 5 - 3, j | 7] + a[i, j]\nd: f32[50] = for i: t[n[i] - 1, i64(m[i] > 3) | -1]")});
  cases.push_back(
      {"indices as values", program("x: f32[40, 50]", "a, b",
                                    "a: f32[40, 50] = for i, j: if(j <= i, x[i, j], f32(i - j) / 7)\nb: i64[40, 50] = "
                                    "for i, j: (i * 50 + j) mod 7 + (i - 20) div 3 + min(i, j)")});
  check(std::move(cases));
}

TEST(EmitC, Scans) {
  std::vector<Case> cases;
  cases.push_back({"rows",
                   program("x: f32[40, 300]", "c", "c: f32[40, 300] = for b, scan t: c[b, t - 1 | 0] + x[b, t]"),
                   10,
                   {},
                   {1e-4, 1e-4}});
  cases.push_back(
      {"columns", program("x: f32[300, 40]", "c", "c: f32[300, 40] = for scan t, b: c[t - 1, b | 0] * 0.5 + x[t, b]")});
  cases.push_back({"middle", program("x: f64[6, 50, 7]", "c",
                                     "c: f64[6, 50, 7] = for a, scan t, b: max(c[a, t - 1, b | -inf], x[a, t, b])")});
  cases.push_back(
      {"two steps back", program("x: i64[30]", "c", "c: i64[30] = for scan t: c[t - 1 | 1] + c[t - 2 | 0] + x[t]")});
  cases.push_back(
      {"neighbours of the past",
       program("x: f32[30, 20]", "c",
               "c: f32[30, 20] = for scan t, b: (c[t - 1, b - 1 | 0] + c[t - 1, b + 1 | 1]) / 2 + x[t, b]")});
  cases.push_back(
      {"neighbours of the past inside",
       program("x: f32[20, 30]", "c",
               "c: f32[20, 30] = for b, scan t: (c[b - 1, t - 1 | 0] + c[b + 1, t - 1 | 1]) / 2 + x[b, t]")});
  cases.push_back({"with a reduction",
                   program("x: f32[30, 8], w: f32[8, 8]", "c",
                           "c: f32[30, 8] = for scan t, i: sum k in 8: tanh(c[t - 1, k | 0]) * w[k, i] + x[t, i]")});
  cases.push_back(
      {"narrow",
       program("x: bf16[40, 30]", "c, d",
               "c: bf16[40, 30] = for b, scan t: c[b, t - 1 | 0] + x[b, t]\nd: f32[40, 30] = for b, t: c[b, t] * 2")});
  cases.push_back({"followed", program("x: f32[40, 30]", "d",
                                       "a: f32[40, 30] = for b, t: exp(x[b, t])\nc: f32[40, 30] = for b, scan t: c[b, "
                                       "t - 1 | 0] + a[b, t]\nd: f32[40, 30] = for b, t: c[b, t] / c[b, 29]")});
  check(std::move(cases));
}

}  // namespace
}  // namespace lightline::loops
