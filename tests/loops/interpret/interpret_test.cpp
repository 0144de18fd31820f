#include "loops/interpret/interpret.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "loops/interpret_testing.h"

namespace lightline::loops {
namespace {

using namespace testing;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleEq;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t least = std::numeric_limits<int64_t>::min();

::testing::Matcher<Values> same_as(const Values& values) {
  std::vector<::testing::Matcher<double>> each;
  for (const double value : values) each.push_back(NanSensitiveDoubleEq(value));
  return ElementsAreArray(each);
}

// ---- maps and types ----

TEST(Interpret, MapsAndMatrixProduct) {
  const auto y =
      run("program p(x: f32[2, 3], w: f32[3, 2], b: f32[2]) -> (y, z) {"
          "  y: f32[2, 2] = for i, j: sum k in 3: x[i, k] * w[k, j]"
          "  z: f32[2, 2] = for i, j: max(y[i, j] + b[j], 0) }",
          tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), tensor(DType::f32, {3, 2}, {1, 0, 0, 1, 1, -1}),
          list(DType::f32, {-5, 2}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(4, -1, 10, -1));
  EXPECT_THAT(numbers(y[1]), ElementsAre(0, 1, 5, 1));
}

TEST(Interpret, ScalarsAndEmptyArrays) {
  const auto y =
      run("program p(s: f64[], e: f32[0, 3]) -> (a, b, c) {"
          "  a: f64[] = s[] * 2"
          "  b: f32[0, 3] = for i, j: e[i, j] + 1"
          "  c: f32[2, 0] = for i, j: 1 }",
          tensor(DType::f64, {}, {21}), Tensor(DType::f32, {0, 3}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(42));
  EXPECT_EQ(y[1].shape(), (Shape{0, 3}));
  EXPECT_EQ(y[2].shape(), (Shape{2, 0}));
}

// Values stored from f32 into each narrow type: ties to even, overflow by the type's rule.
TEST(Interpret, StoresRoundToNearestEven) {
  struct Case {
    std::string dtype;
    Values in;
    Values out;
  };
  const std::vector<Case> cases = {
      {"f32", {0.1f, inf, nan}, {0.1f, inf, nan}},
      {"f16", {1 + 0x1p-11, 1 + 3 * 0x1p-11, 65519, 65520, -0x1p-25, nan}, {1, 1 + 0x1p-9, 65504, inf, -0.0, nan}},
      {"bf16", {1 + 0x1p-8, 1 + 3 * 0x1p-8, -257, nan}, {1, 1 + 0x1p-6, -256, nan}},
      {"f8e4m3", {1.0625, 1.1875, 464, 465, -inf, nan}, {1, 1.25, 448, nan, nan, nan}},
      {"f8e5m2", {1.125, 1.375, 61439, 61440, nan}, {1, 1.5, 57344, inf, nan}},
      {"f4e2m1", {0.25, 0.75, 2.5, 3.5, 5, 100, -inf, nan}, {0, 1, 2, 4, 4, 6, -6, 6}},
  };
  for (const auto& [dtype, in, out] : cases) {
    const std::string n = std::to_string(in.size());
    const auto y = run("program p(x: f32[" + n + "]) -> (y, z) { y: " + dtype + "[" + n + "] = for i: x[i]  z: f32[" +
                           n + "] = for i: f32(" + dtype + "(x[i])) }",
                       list(DType::f32, in));
    EXPECT_THAT(numbers(y[0]), same_as(out)) << dtype;
    EXPECT_THAT(numbers(y[1]), same_as(out)) << dtype;
  }
}

TEST(Interpret, CastsFromF64RoundOnce) {
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;  // through f32 it would become the tie, and then 1
  const auto y =
      run("program p(x: f64[1]) -> (a, b, c) {"
          "  a: f16[1] = for i: f16(x[i])"
          "  b: f32[1] = for i: f32(x[i])"
          "  c: f64[1] = for i: f64(f32(x[i])) + 1 }",
          list(DType::f64, {above_tie}));
  EXPECT_EQ(y[0].get_f64(0), 1 + 0x1p-10);
  EXPECT_EQ(y[1].get_f64(0), 1 + 0x1p-11);
  EXPECT_EQ(y[2].get_f64(0), 2 + 0x1p-11);
}

TEST(Interpret, NarrowFloatsComputeInF32AndRoundAtTheStore) {
  const auto y =
      run("program p(x: f16[1]) -> (a, b) {"
          "  a: f16[1] = for i: (x[i] + 2048) - 2048"
          "  b: f16[1] = for i: f16(x[i] + 2048) - 2048 }",
          list(DType::f16, {0.5}));
  EXPECT_EQ(y[0].get_f64(0), 0.5);
  EXPECT_EQ(y[1].get_f64(0), 0);
}

TEST(Interpret, F32ArithmeticIsF32) {
  const auto y =
      run("program p(x: f32[2]) -> (a, b, c) {"
          "  a: f32[2] = for i: (x[i] + 1) - x[i]"
          "  b: f32[2] = for i: (x[i] * 1e20) * 1e20"
          "  c: f32[2] = for i: x[i] / 3 }",
          list(DType::f32, {16777216, 1}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(0, 1));
  EXPECT_THAT(numbers(y[1]), ElementsAre(inf, inf));
  EXPECT_THAT(numbers(y[2]), ElementsAre(double(16777216.0f / 3.0f), double(1.0f / 3.0f)));
}

TEST(Interpret, IntegersWrap) {
  const auto y =
      run("program p(x: i64[4]) -> (a, b, c, d, e, f) {"
          "  a: i8[4] = for i: i8(x[i])  b: u8[4] = for i: u8(x[i])  c: i16[4] = for i: i16(x[i])  d: i32[4] = for i: "
          "i32(x[i])"
          "  e: i8[4] = for i: i8(x[i]) * 2 + 100  f: i64[4] = for i: x[i] * 2 }",
          integers(DType::i64, {4}, {200, -1, 70000, int64_t(1) << 62}));
  EXPECT_THAT(whole(y[0]), ElementsAre(-56, -1, 112, 0));
  EXPECT_THAT(whole(y[1]), ElementsAre(200, 255, 112, 0));
  EXPECT_THAT(whole(y[2]), ElementsAre(200, -1, 4464, 0));
  EXPECT_THAT(whole(y[3]), ElementsAre(200, -1, 70000, 0));
  EXPECT_THAT(whole(y[4]), ElementsAre(-12, 98, 68, 100));
  EXPECT_THAT(whole(y[5]), ElementsAre(400, -2, 140000, least));
}

TEST(Interpret, ConversionsBetweenKinds) {
  const auto y = run(
      "program p(x: f32[5], n: i64[3], z: c64[2], b: bool[2]) -> (a, c, d, e, f, g, h, k, l) {"
      "  a: i64[5] = for i: i64(x[i])  c: i8[5] = for i: i8(x[i])  d: bool[5] = for i: bool(x[i])"
      "  e: f32[3] = for i: f32(n[i])  f: f64[3] = for i: f64(n[i])"
      "  g: f32[2] = for i: f32(z[i])  h: bool[2] = for i: bool(z[i])  k: c64[2] = for i: c64(b[i])  l: bf16[3] = for "
      "i: bf16(n[i]) }",
      list(DType::f32, {-2.9, 300.7, nan, 1e30, 0}),
      integers(DType::i64, {3}, {16777217, -3, (int64_t(1) << 60) + (int64_t(1) << 52) + 1}),
      [] {
        Tensor z(DType::c64, {2});
        z.set_c128(0, {1.5, 2});
        z.set_c128(1, {0, 3});
        return z;
      }(),
      integers(DType::boolean, {2}, {0, 1}));
  EXPECT_THAT(whole(y[0]), ElementsAre(-2, 300, least, least, 0));
  EXPECT_THAT(whole(y[1]), ElementsAre(-2, 44, 0, 0, 0));
  EXPECT_THAT(whole(y[2]), ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(numbers(y[3]), ElementsAre(16777216, -3, 0x1p60 + 0x1p52));
  EXPECT_THAT(numbers(y[4]), ElementsAre(16777217, -3, 0x1p60 + 0x1p52));
  EXPECT_THAT(numbers(y[5]), ElementsAre(1.5, 0));
  EXPECT_THAT(whole(y[6]), ElementsAre(1, 1));
  EXPECT_EQ(y[7].get_c128(1), (std::complex<double>(1, 0)));
  EXPECT_THAT(numbers(y[8]), ElementsAre(16777216, -3, 0x1p60 + 0x1p53));  // just above the tie
}

TEST(Interpret, IndicesAreValues) {
  const auto y =
      run("program p() -> (a, b) { a: i64[2, 3] = for i, j: 10 * i + j - 1  b: f32[200] = for i: f32(i mod 7) }");
  EXPECT_THAT(whole(y[0]), ElementsAre(-1, 0, 1, 9, 10, 11));
  EXPECT_EQ(y[1].get_f64(199), 199 % 7);
}

// ---- reads ----

TEST(Interpret, FillsAndWindows) {
  const auto y =
      run("program p(x: f32[4]) -> (a, b, c, d) {"
          "  a: f32[4] = for i: x[i - 1 | 9] + x[i + 1 | 9]"
          "  b: f32[4] = for i: x[3 - 2*i | -1]"
          "  c: f32[3] = for p: sum r in 3: x[2*p + r - 1 | 0]"
          "  d: f32[4] = for i: x[min(i + 2, 3)] }",
          list(DType::f32, {1, 2, 3, 4}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(11, 4, 6, 12));
  EXPECT_THAT(numbers(y[1]), ElementsAre(4, 2, -1, -1));
  EXPECT_THAT(numbers(y[2]), ElementsAre(3, 9, 4));
  EXPECT_THAT(numbers(y[3]), ElementsAre(3, 4, 4, 4));
}

TEST(Interpret, FillOfAnEmptyArray) {
  const auto y =
      run("program p(x: f32[0], i: i64[2]) -> (a, b) { a: f32[2] = for k: x[k | 7]  b: f32[2] = for k: x[i[k] | 8] }",
          Tensor(DType::f32, {0}), integers(DType::i64, {2}, {0, 1}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(7, 7));
  EXPECT_THAT(numbers(y[1]), ElementsAre(8, 8));
}

TEST(Interpret, IndirectReads) {
  const std::string program = "program p(t: f32[3, 2], i: i32[4]) -> (y) { y: f32[4, 2] = for b, d: t[i[b], d";
  const Tensor table = tensor(DType::f32, {3, 2}, {0, 1, 10, 11, 20, 21});
  const auto copy = [&] { return Tensor::dense_copy(table.view()); };
  EXPECT_THAT(numbers(run(program + "] }", copy(), integers(DType::i32, {4}, {2, 0, 1, 1}))[0]),
              ElementsAre(20, 21, 0, 1, 10, 11, 10, 11));
  EXPECT_THAT(numbers(run(program + " | -1] }", copy(), integers(DType::i32, {4}, {2, 3, -1, 0}))[0]),
              ElementsAre(20, 21, -1, -1, -1, -1, 0, 1));
  EXPECT_EQ(
      error_of(program + "] }", copy(), integers(DType::i32, {4}, {2, 0, -4, 1})),
      "range: in 'y': subscript 0 of 't' is -4, but its extent is 3\nsay what is read outside with a fill: t[... | 0]");
}

TEST(Interpret, BothSidesOfIfAreEvaluated) {
  EXPECT_EQ(
      error_of("program p(t: f32[3], i: i64[2]) -> (y) { y: f32[2] = for b: if(i[b] < 3, t[i[b]], 0) }",
               list(DType::f32, {1, 2, 3}), integers(DType::i64, {2}, {1, 3})),
      "range: in 'y': subscript 0 of 't' is 3, but its extent is 3\nsay what is read outside with a fill: t[... | 0]");
}

TEST(Interpret, ViewsReshapeAndTranspose) {
  const auto y =
      run("program p(x: f32[2, 3]) -> (t, r) { t: f32[3, 2] = view i, j: x[j, i]  r: f32[6] = view k: x[k div 3, k mod "
          "3] }",
          tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(numbers(y[1]), ElementsAre(1, 2, 3, 4, 5, 6));
}

// ---- reductions ----

TEST(Interpret, Reducers) {
  const auto y =
      run("program p(x: f32[2, 3], n: i32[2, 3]) -> (a, b, c, d, e, f, g, h) {"
          "  a: f32[2] = for i: sum k in 3: x[i, k]    b: f32[2] = for i: prod k in 3: x[i, k]"
          "  c: f32[2] = for i: max k in 3: x[i, k]    d: i32[2] = for i: min k in 3: n[i, k]"
          "  e: bool[2] = for i: and k in 3: x[i, k] > 1    f: bool[2] = for i: or k in 3: x[i, k] > 3"
          "  g: i64[] = argmax i in 2, k in 3: x[i, k]    h: i32[2] = for i: argmin k in 3: n[i, k] }",
          tensor(DType::f32, {2, 3}, {1, 3, 2, 2, 5, 5}), integers(DType::i32, {2, 3}, {4, -7, -7, 0, 1, 2}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(6, 12));
  EXPECT_THAT(numbers(y[1]), ElementsAre(6, 50));
  EXPECT_THAT(numbers(y[2]), ElementsAre(3, 5));
  EXPECT_THAT(whole(y[3]), ElementsAre(-7, 0));
  EXPECT_THAT(whole(y[4]), ElementsAre(0, 1));
  EXPECT_THAT(whole(y[5]), ElementsAre(0, 1));
  EXPECT_THAT(whole(y[6]), ElementsAre(4));
  EXPECT_THAT(whole(y[7]), ElementsAre(1, 0));
}

TEST(Interpret, EmptyReductions) {
  const auto y =
      run("program p(x: f32[2, 0], n: i8[2, 0], u: u8[2, 0]) -> (a, b, c, d, e, f, g, h, k, l) {"
          "  a: f32[2] = for i: sum k in 0: x[i, k]   b: f32[2] = for i: prod k in 0: x[i, k]"
          "  c: f32[2] = for i: max k in 0: x[i, k]   d: f32[2] = for i: min k in 0: x[i, k]"
          "  e: i8[2] = for i: max k in 0: n[i, k]    f: i8[2] = for i: min k in 0: n[i, k]"
          "  g: u8[2] = for i: max k in 0: u[i, k]    h: u8[2] = for i: min k in 0: u[i, k]"
          "  k: bool[2] = for i: and q in 0: n[i, q] > 0   l: bool[2] = for i: or q in 0: n[i, q] > 0 }",
          Tensor(DType::f32, {2, 0}), Tensor(DType::i8, {2, 0}), Tensor(DType::u8, {2, 0}));
  const std::vector<double> expected = {0, 1, -inf, inf, -128, 127, 0, 255, 1, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_THAT(numbers(y[i]), ElementsAre(expected[i], expected[i])) << i;
}

TEST(Interpret, NanWinsExtremes) {
  const auto y =
      run("program p(x: f64[4, 3]) -> (a, b, c, d) {"
          "  a: f64[4] = for i: max k in 3: x[i, k]  b: f64[4] = for i: min k in 3: x[i, k]"
          "  c: i64[4] = for i: argmax k in 3: x[i, k]  d: i64[4] = for i: argmin k in 3: x[i, k] }",
          tensor(DType::f64, {4, 3}, {1, nan, 2, nan, 3, nan, -inf, -inf, -inf, 5, 5, 4}));
  EXPECT_THAT(numbers(y[0]), same_as({nan, nan, -inf, 5}));
  EXPECT_THAT(numbers(y[1]), same_as({nan, nan, -inf, 4}));
  EXPECT_THAT(whole(y[2]), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(whole(y[3]), ElementsAre(1, 0, 0, 2));
}

TEST(Interpret, Accumulators) {
  const auto y =
      run("program p(x: f32[4], o: f16[4096], n: i8[4]) -> (a, b, c, d, e, f) {"
          "  a: f32[] = sum[f64] k in 4: x[k]  b: f64[] = sum[f64] k in 4: x[k]"
          "  c: f16[] = sum[f16] k in 4096: o[k]  d: f32[] = sum k in 4096: o[k]"
          "  e: i8[] = sum k in 4: n[k]  f: i64[] = sum k in 4: i64(n[k]) }",
          list(DType::f32, {1e8, 1, -1e8, 0.25}), list(DType::f16, Values(4096, 1)),
          integers(DType::i8, {4}, {100, 100, 100, 1}));
  EXPECT_EQ(y[0].get_f64(0), 1.25);
  EXPECT_EQ(y[1].get_f64(0), 1.25);
  EXPECT_EQ(y[2].get_f64(0), 2048);  // 2048 + 1 is not an f16
  EXPECT_EQ(y[3].get_f64(0), 4096);
  EXPECT_EQ(y[4].get_i64(0), 45);
  EXPECT_EQ(y[5].get_i64(0), 301);
}

TEST(Interpret, LongSumsKeepTheirDigits) {
  const auto y =
      run("program p(x: f32[1]) -> (s, m) { s: f32[] = sum k in 1000000: x[0]  m: f32[3] = for i: sum k in 700, l in "
          "3: x[0] }",
          list(DType::f32, {0.1}));
  EXPECT_NEAR(y[0].get_f64(0), 1e6 * double(0.1f), 0.05);
  EXPECT_NEAR(y[1].get_f64(0), 2100 * double(0.1f), 1e-4);
  EXPECT_EQ(y[1].get_f64(0), y[1].get_f64(2));
}

TEST(Interpret, ReductionsOfEveryLength) {
  for (const int64_t n : {1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000}) {
    const std::string text = std::to_string(n);
    const auto y = run("program p() -> (a, b) { a: i64[3] = for i: sum k in " + text +
                       ": i * k  b: i64[3] = for i: argmax k in " + text + ": (i + 1) * k }");
    EXPECT_THAT(whole(y[0]), ElementsAre(0, n * (n - 1) / 2, n * (n - 1))) << n;
    EXPECT_THAT(whole(y[1]), ElementsAre(n - 1, n - 1, n - 1)) << n;
  }
}

TEST(Interpret, ShortInnermostReductionsOfManyIndices) {  // walked in another order inside
  const auto y =
      run("program p(x: i64[5, 40, 2]) -> (s, g) {"
          "  s: i64[5] = for i: sum a in 40, b in 2: x[i, a, b] * (2*a + b + 1)"
          "  g: i64[5] = for i: argmax a in 40, b in 2: x[i, a, b] * (2*a + b) }",
          integers(DType::i64, {5, 40, 2}, std::vector<int64_t>(400, 1)));
  EXPECT_EQ(y[0].get_i64(4), 80 * 81 / 2);
  EXPECT_EQ(y[1].get_i64(4), 79);
}

// ---- scans, scatters, constants, repeats ----

TEST(Interpret, Scans) {
  const auto y =
      run("program p(x: f32[2, 4]) -> (c, r, f, s) {"
          "  c: f32[2, 4] = for b, scan t: c[b, t - 1 | 0] + x[b, t]"
          "  r: f32[4, 2] = for scan t, b: r[t - 1, b | 1] * x[b, t]"
          "  f: i64[10] = scan t: if(t < 2, 1, f[t - 1 | 0] + f[t - 2 | 0])"
          "  s: f32[2, 3, 2] = for i, scan t, j: sum k in 2: s[i, t - 1, k | 1] * x[i, j] }",
          tensor(DType::f32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(1, 3, 6, 10, 5, 11, 18, 26));
  EXPECT_THAT(numbers(y[1]), ElementsAre(1, 5, 2, 30, 6, 210, 24, 1680));
  EXPECT_THAT(whole(y[2]), ElementsAre(1, 1, 2, 3, 5, 8, 13, 21, 34, 55));
  EXPECT_THAT(numbers(y[3]), ElementsAre(2, 4, 6, 12, 18, 36, 10, 12, 110, 132, 1210, 1452));
}

TEST(Interpret, NarrowScansRoundEveryStep) {
  const auto y = run("program p(x: bf16[300]) -> (c) { c: bf16[300] = scan t: c[t - 1 | 0] + x[t] }",
                     list(DType::bf16, Values(300, 1)));
  EXPECT_EQ(y[0].get_f64(299), 256);
}

TEST(Interpret, ScatterReducers) {
  const std::vector<std::pair<std::string, Values>> cases = {
      {"set", {9, 4, 5}}, {"sum", {9, 15, 17}}, {"prod", {9, 72, 135}}, {"max", {9, 9, 9}}, {"min", {9, 2, 3}}};
  for (const auto& [reducer, expected] : cases) {
    const auto y = run(
        "program p(i: i64[4], g: f32[4]) -> (y) { y: f32[3] = scatter " + reducer + " k in 4 into 9: [i[k]] <- g[k] }",
        integers(DType::i64, {4}, {1, 2, 1, 2}), list(DType::f32, {2, 3, 4, 5}));
    EXPECT_THAT(numbers(y[0]), ElementsAreArray(expected)) << reducer;
  }
  const auto b = run(
      "program p(i: i64[2], x: bool[2], g: bool[2]) -> (y, z) {"
      "  y: bool[2] = scatter and k in 2 into x: [i[k]] <- g[k]  z: bool[2] = scatter or k in 2 into x: [i[k]] <- g[k] "
      "}",
      integers(DType::i64, {2}, {0, 1}), integers(DType::boolean, {2}, {1, 0}), integers(DType::boolean, {2}, {0, 1}));
  EXPECT_THAT(whole(b[0]), ElementsAre(0, 0));
  EXPECT_THAT(whole(b[1]), ElementsAre(1, 1));
}

TEST(Interpret, ScatterKeepsNarrowValuesRounded) {
  const auto y = run("program p(g: f16[4096]) -> (y) { y: f16[1] = scatter sum k in 4096 into 0: [0] <- g[k] }",
                     list(DType::f16, Values(4096, 1)));
  EXPECT_EQ(y[0].get_f64(0), 2048);
  const auto n = run("program p(g: f64[3]) -> (y) { y: f64[1] = scatter max k in 3 into 0: [0] <- g[k] }",
                     list(DType::f64, {1, nan, 2}));
  EXPECT_TRUE(std::isnan(n[0].get_f64(0)));
}

TEST(Interpret, ScatterOutside) {
  const std::string program =
      "program p(x: f32[2, 2], i: i64[3], g: f32[3, 2]) -> (y, x) { y: f32[2, 2] = scatter set b in 3, d in 2 into x: "
      "[i[b], d";
  const auto y = run(program + " | drop] <- g[b, d] }", tensor(DType::f32, {2, 2}, {1, 2, 3, 4}),
                     integers(DType::i64, {3}, {-1, 1, 2}), tensor(DType::f32, {3, 2}, {5, 6, 7, 8, 9, 10}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(numbers(y[1]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(error_of(program + "] <- g[b, d] }", Tensor(DType::f32, {2, 2}), integers(DType::i64, {3}, {0, 1, 2}),
                     Tensor(DType::f32, {3, 2})),
            "range: in 'y': subscript 0 of the target is 2, but its extent is 2\ndrop writes outside the array with "
            "[... | drop]");
}

TEST(Interpret, Constants) {
  const auto y =
      run("program p() -> (a, b, c, d, e, f) {"
          "  a: i64[4] = const [0, 2, 1, 3]  b: f16[2, 2] = const [0.1]  c: bool[2] = const [true, false]"
          "  d: f32[3] = const [1, -inf, nan]  e: c64[1] = const [2.5]  f: u8[2] = const [255, 7] }");
  EXPECT_THAT(whole(y[0]), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(numbers(y[1]), ElementsAre(0.0999755859375, 0.0999755859375, 0.0999755859375, 0.0999755859375));
  EXPECT_THAT(whole(y[2]), ElementsAre(1, 0));
  EXPECT_THAT(numbers(y[3]), same_as({1, -inf, nan}));
  EXPECT_EQ(y[4].get_c128(0), (std::complex<double>(2.5, 0)));
  EXPECT_THAT(whole(y[5]), ElementsAre(255, 7));
}

TEST(Interpret, RepeatCarriesAndStacks) {
  const auto y =
      run("program p(h0: f32[2], x: f32[3, 2]) -> (h, hs, x) {"
          "  (h: f32[2], hs: f32[3, 2]) = repeat t in 3 carry (prev = h0) {"
          "    next: f32[2] = for i: prev[i] * 2 + x[t, i]"
          "    yield (next, stack next) } }",
          list(DType::f32, {1, 0}), tensor(DType::f32, {3, 2}, {0, 1, 0, 1, 0, 1}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(8, 7));
  EXPECT_THAT(numbers(y[1]), ElementsAre(2, 1, 4, 3, 8, 7));
  EXPECT_THAT(numbers(y[2]), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(Interpret, RepeatYieldsItsCarriesAndOuterArrays) {
  const auto y =
      run("program p(a0: i64[1], b0: i64[1]) -> (a, b, c, d, s) {"
          "  (a: i64[1], b: i64[1], c: i64[1], d: i64[1], s: i64[5, 1]) = repeat t in 5 carry (a = a0, b = b0, c = a0, "
          "d = a0) {"
          "    n: i64[1] = for i: a[i] + b[i]"
          "    yield (b, n, b0, n, stack a) } }",
          integers(DType::i64, {1}, {0}), integers(DType::i64, {1}, {1}));
  EXPECT_THAT(whole(y[0]), ElementsAre(5));  // Fibonacci
  EXPECT_THAT(whole(y[1]), ElementsAre(8));
  EXPECT_THAT(whole(y[2]), ElementsAre(1));
  EXPECT_THAT(whole(y[3]), ElementsAre(8));
  EXPECT_THAT(whole(y[4]), ElementsAre(0, 1, 1, 2, 3));
}

TEST(Interpret, RepeatNoTimesAndNested) {
  const auto y = run(
      "program p(x: i64[2]) -> (a, s, b) {"
      "  (a: i64[2], s: i64[0, 2]) = repeat t in 0 carry (c = x) { n: i64[2] = for i: c[i] + 1  yield (n, stack n) }"
      "  (b: i64[2]) = repeat t in 3 carry (c = x) {"
      "    (d: i64[2]) = repeat u in 4 carry (e = c) { n: i64[2] = for i: e[i] + 10 * t + u  yield (n) }"
      "    yield (d) } }",
      integers(DType::i64, {2}, {5, 6}));
  EXPECT_THAT(whole(y[0]), ElementsAre(5, 6));
  EXPECT_EQ(y[1].shape(), (Shape{0, 2}));
  EXPECT_THAT(whole(y[2]), ElementsAre(5 + 3 * 6 + 120, 6 + 3 * 6 + 120));
}

// ---- the program's borders ----

TEST(Interpret, OutputsMayRepeatAndBeInputs) {
  const auto y = run("program p(x: f32[1]) -> (y, x, y) { y: f32[1] = for i: x[i] + 1 }", list(DType::f32, {1}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(2));
  EXPECT_THAT(numbers(y[1]), ElementsAre(1));
  EXPECT_THAT(numbers(y[2]), ElementsAre(2));
}

TEST(Interpret, InputsMustFit) {
  const std::string program = "program p(x: f32[2], n: i64[]) -> (x) { }";
  EXPECT_EQ(error_of(program, Tensor(DType::f32, {2})), "usage: program 'p' takes 2 inputs, but 1 are given");
  EXPECT_EQ(error_of(program, Tensor(DType::f64, {2}), Tensor(DType::i64, {})),
            "type: input 'x' is declared f32, but f64 is given");
  EXPECT_EQ(error_of(program, Tensor(DType::f32, {2}), Tensor(DType::i64, {1})),
            "shape: input 'n' is declared [], but [1] is given");
}

TEST(Interpret, RefusesTooMuchMemory) {
  EXPECT_EQ(error_of("program p() -> (s) { y: f64[1048576, 8193] = for i, j: 1  s: f64[] = y[0, 0] }"),
            "limit: 'y' would take the memory in use beyond 64 GiB\nrun the program on smaller arrays");
  const std::string half = "f64[1048576, 5000] = for i, j: 1  ";
  EXPECT_EQ(error_of("program p() -> (s) { x: " + half + " y: " + half + " s: f64[] = x[0, 0] + y[0, 0] }"),
            "limit: 'y' would take the memory in use beyond 64 GiB\nrun the program on smaller arrays");
}

TEST(Interpret, OpaqueOperationsThatCanNotRun) {
  EXPECT_EQ(error_of("program p(x: f32[2]) -> (y) { y: f32[2] = opaque mystery(x) }", Tensor(DType::f32, {2})),
            "unsupported: in 'y': opaque operation 'mystery' can not run\nthose that can are sort, topk, fft, "
            "cholesky, solve, triangular_solve, lu, random");
}

}  // namespace
}  // namespace lightline::loops
