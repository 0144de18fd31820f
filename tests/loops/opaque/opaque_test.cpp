#include "loops/opaque/opaque.h"

#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "loops/interpret_testing.h"
#include "loops/ir/opaque_signature.h"
#include "support/seed.h"

namespace lightline::loops {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ---- sort and topk ----

TEST(Opaque, SortIsStableAndNanIsGreatest) {
  const Values x = {3, nan, 1, 3, -inf, 1};
  auto y = run("program p(x: f32[6]) -> (v, i) { (v: f32[6], i: i64[6]) = opaque sort(x) }", list(DType::f32, x));
  EXPECT_THAT(whole(y[1]), ElementsAre(4, 2, 5, 0, 3, 1));
  EXPECT_EQ(y[0].get_f64(0), -inf);
  EXPECT_TRUE(std::isnan(y[0].get_f64(5)));
  y = run("program p(x: f32[6]) -> (v, i) { (v: f32[6], i: i64[6]) = opaque sort(x, descending = true) }",
          list(DType::f32, x));
  EXPECT_THAT(whole(y[1]), ElementsAre(1, 0, 3, 2, 5, 4));
}

TEST(Opaque, SortAlongADimension) {
  const auto y =
      run("program p(x: i32[3, 2]) -> (v, i, w, j) {"
          "  (v: i32[3, 2], i: i64[3, 2]) = opaque sort(x, dim = 0)  (w: i32[3, 2], j: i64[3, 2]) = opaque sort(x, dim "
          "= -1, descending = true) }",
          integers(DType::i32, {3, 2}, {5, 1, 2, 9, 3, 4}));
  EXPECT_THAT(whole(y[0]), ElementsAre(2, 1, 3, 4, 5, 9));
  EXPECT_THAT(whole(y[1]), ElementsAre(1, 0, 2, 2, 0, 1));
  EXPECT_THAT(whole(y[2]), ElementsAre(5, 1, 9, 2, 4, 3));
  EXPECT_THAT(whole(y[3]), ElementsAre(0, 1, 1, 0, 1, 0));
}

TEST(Opaque, TopkTakesTheFirstOfEqualValues) {
  const auto y =
      run("program p(x: bf16[2, 4]) -> (v, i, w, j, e) {"
          "  (v: bf16[2, 2], i: i64[2, 2]) = opaque topk(x, k = 2)"
          "  (w: bf16[1, 4], j: i64[1, 4]) = opaque topk(x, k = 1, dim = 0, largest = false)"
          "  (e: bf16[2, 0], f: i64[2, 0]) = opaque topk(x, k = 0) }",
          tensor(DType::bf16, {2, 4}, {1, 7, 7, 7, 4, 3, 8, 0}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(7, 7, 8, 4));
  EXPECT_THAT(whole(y[1]), ElementsAre(1, 2, 2, 0));
  EXPECT_THAT(numbers(y[2]), ElementsAre(1, 3, 7, 0));
  EXPECT_THAT(whole(y[3]), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(y[4].shape(), (Shape{2, 0}));
}

TEST(Opaque, EmptyLines) {
  const auto y =
      run("program p(x: f32[0, 3]) -> (v, w) { (v: f32[0, 3], i: i64[0, 3]) = opaque sort(x, dim = 0)  (w: f32[0, 3], "
          "j: i64[0, 3]) = opaque sort(x) }",
          Tensor(DType::f32, {0, 3}));
  EXPECT_EQ(y[0].shape(), (Shape{0, 3}));
}

// ---- fft ----

std::vector<std::complex<double>> slow_transform(const std::vector<std::complex<double>>& x, double sign) {
  std::vector<std::complex<double>> y(x.size());
  for (size_t k = 0; k < x.size(); ++k)
    for (size_t j = 0; j < x.size(); ++j)
      y[k] += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * double(j * k % x.size()) / double(x.size()));
  return y;
}

TEST(Opaque, FftOfEveryLength) {
  for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 31, 64, 100, 127})
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(testing_support::seed_text());
      const Tensor x = random_tensor(DType::c64, {n}, testing_support::seed_of(uint64_t(n)));
      std::vector<std::complex<double>> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(x.get_c128(i));
      const auto expected = slow_transform(values, inverse ? 1 : -1);
      const std::string type = "c64[" + std::to_string(n) + "]";
      const auto y = run("program p(x: " + type + ") -> (y) { y: " + type +
                             " = opaque fft(x, inverse = " + (inverse ? "true" : "false") + ") }",
                         Tensor::dense_copy(x.view()));
      for (int64_t i = 0; i < n; ++i)
        EXPECT_LE(std::abs(y[0].get_c128(i) - expected[size_t(i)]), 1e-6 * std::sqrt(double(n))) << n << " " << i;
    }
}

TEST(Opaque, FftAlongADimension) {
  Tensor x(DType::c64, {3, 2});
  for (int64_t i = 0; i < 6; ++i) x.set_c128(i, {double(i), 0});
  const auto y =
      run("program p(x: c64[3, 2]) -> (y, z) { y: c64[3, 2] = opaque fft(x, dim = 0)  z: c64[3, 2] = opaque fft(x, dim "
          "= 1) }",
          std::move(x));
  EXPECT_LE(std::abs(y[0].get_c128(0) - 6.0), 1e-6);
  EXPECT_LE(std::abs(y[0].get_c128(1) - 9.0), 1e-6);
  EXPECT_LE(std::abs(y[0].get_c128(2) - std::complex<double>(-3, std::sqrt(3.0))), 1e-6);
  EXPECT_EQ(y[1].get_c128(4), (std::complex<double>(9, 0)));
  EXPECT_EQ(y[1].get_c128(5), (std::complex<double>(-1, 0)));
}

// ---- linear algebra ----

TEST(Opaque, Cholesky) {
  const auto y =
      run("program p(a: f64[2, 2, 2]) -> (l, u) { l: f64[2, 2, 2] = opaque cholesky(a)  u: f64[2, 2, 2] = opaque "
          "cholesky(a, upper = true) }",
          tensor(DType::f64, {2, 2, 2}, {4, 2, 2, 10, 9, 3, 3, 5}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(2, 0, 1, 3, 3, 0, 1, 2));
  EXPECT_THAT(numbers(y[1]), ElementsAre(2, 1, 0, 3, 3, 1, 0, 2));
  EXPECT_EQ(error_of("program p(a: f32[2, 2]) -> (l) { l: f32[2, 2] = opaque cholesky(a) }",
                     tensor(DType::f32, {2, 2}, {1, 2, 2, 1})),
            "range: in 'l': cholesky: matrix 0 of the batch is not positive definite at row 1");
}

TEST(Opaque, SolveExchangesRows) {
  const auto y =
      run("program p(a: f32[3, 3], b: f32[3, 2]) -> (x) { x: f32[3, 2] = opaque solve(a, b) }",
          tensor(DType::f32, {3, 3}, {0, 2, 1, 1, 1, 0, 2, 0, 3}), tensor(DType::f32, {3, 2}, {7, 1, 3, 1, 11, 5}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(1, 1, 2, 0, 3, 1));
  EXPECT_EQ(error_of("program p(a: f64[2, 2], b: f64[2, 1]) -> (x) { x: f64[2, 1] = opaque solve(a, b) }",
                     tensor(DType::f64, {2, 2}, {1, 2, 2, 4}), Tensor(DType::f64, {2, 1})),
            "range: in 'x': solve: matrix 0 of the batch is singular at column 1");
}

TEST(Opaque, TriangularSolveReadsItsTriangle) {
  // what is not a number would show if it were read
  const auto solve = [&](const Values& a, const std::string& attributes) {
    return numbers(run("program p(a: f64[2, 2], b: f64[2, 1]) -> (x) { x: f64[2, 1] = opaque triangular_solve(a, b" +
                           attributes + ") }",
                       tensor(DType::f64, {2, 2}, a), tensor(DType::f64, {2, 1}, {2, 11}))[0]);
  };
  EXPECT_THAT(solve({2, nan, 3, 4}, ""), ElementsAre(1, 2));
  EXPECT_THAT(solve({nan, nan, 3, nan}, ", unit = true"), ElementsAre(2, 5));
  EXPECT_THAT(solve({2, 100, nan, 4}, ", upper = true"), ElementsAre(-136.5, 2.75));
}

TEST(Opaque, LuExchangesRows) {
  const auto y = run("program p(a: f64[2, 2, 2]) -> (f, p) { (f: f64[2, 2, 2], p: i32[2, 2]) = opaque lu(a) }",
                     tensor(DType::f64, {2, 2, 2}, {1, 5, 2, 4, 0, 3, 0, 6}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(2, 4, 0.5, 3, 0, 3, 0, 6));
  EXPECT_THAT(numbers(y[1]), ElementsAre(2, 2, 1, 2));
  // more columns than rows, and more rows than columns
  const auto wide = run("program p(a: f64[2, 3]) -> (f, p) { (f: f64[2, 3], p: i32[2]) = opaque lu(a) }",
                        tensor(DType::f64, {2, 3}, {1, 2, 3, 2, 2, 2}));
  EXPECT_THAT(numbers(wide[0]), ElementsAre(2, 2, 2, 0.5, 1, 2));
  const auto tall = run("program p(a: f64[3, 1]) -> (f, p) { (f: f64[3, 1], p: i32[1]) = opaque lu(a) }",
                        tensor(DType::f64, {3, 1}, {1, 2, 4}));
  EXPECT_THAT(numbers(tall[0]), ElementsAre(4, 0.5, 0.25));
  EXPECT_THAT(numbers(tall[1]), ElementsAre(3));
}

// ---- random ----

TEST(Opaque, RandomIsDefinedByPosition) {
  const auto y =
      run("program p() -> (u, v, h) { u: f32[1000] = opaque random(seed = 7)  v: f32[10, 100] = opaque random(seed = "
          "7, distribution = \"uniform\")"
          "  h: bf16[1000] = opaque random(seed = 7) }");
  for (int64_t i = 0; i < 1000; ++i) {
    const uint64_t draw = splitmix64((uint64_t(7) << 32) + uint64_t(i));
    EXPECT_EQ(y[0].get_f64(i), double(draw >> 40) * 0x1p-24);
    EXPECT_EQ(y[1].get_f64(i), y[0].get_f64(i));
    EXPECT_EQ(y[2].get_f64(i), double(draw >> 56) * 0x1p-8);
  }
}

TEST(Opaque, NormalHasItsMoments) {
  const auto y = run("program p() -> (x) { x: f64[20000] = opaque random(seed = 3, distribution = \"normal\") }");
  double sum = 0, squares = 0, inside = 0;
  for (const double x : numbers(y[0])) sum += x, squares += x * x, inside += std::abs(x) < 1;
  EXPECT_NEAR(sum / 20000, 0, 0.02);
  EXPECT_NEAR(squares / 20000, 1, 0.03);
  EXPECT_NEAR(inside / 20000, 0.6827, 0.01);
}

// ---- what is refused ----

std::string refusal(const std::string& statement) {
  const std::string text =
      "program p(x: f32[2, 8], n: i64[4], z: c64[4], a: f32[3, 3], b: f32[3, 2], c: f64[3, 2]) -> () { " + statement +
      " }";
  const auto program = parse_and_verify(text);
  if (program.ok()) return "it passed";
  const Error& error = program.error();
  return std::string(name(error.code)) + ": " + error.message + (error.hint.empty() ? "" : " (" + error.hint + ")");
}

TEST(Opaque, RefusesWrongUses) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque sort(x, n)", "usage: sort takes 1 operand, not 2 (write sort(x))"},
      {"v: f32[2, 8] = opaque sort(x)",
       "usage: sort gives 2 results, not 1 (declare the values and their i64 positions)"},
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque sort(x, axis = 1)",
       "name: sort has no attribute 'axis' (it has dim, descending, total)"},
      {"x2: f32[3, 2] = opaque solve(a, b, upper = true)", "name: solve has no attribute 'upper' (it has none)"},
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque sort(x, dim = true)", "type: attribute 'dim' of sort is not an integer"},
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque sort(x, descending = 1)",
       "type: attribute 'descending' of sort is not true or false"},
      {"r: f32[2] = opaque random(distribution = 1)", "type: attribute 'distribution' of random is not a string"},
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque sort(x, dim = 2)",
       "range: attribute 'dim' of sort is 2, but the operand has 2 dimensions (count from 0, or from -1 backwards)"},
      {"(v: f32[2, 8], i: i32[2, 8]) = opaque sort(x)",
       "type: result 1 of sort is i64[2, 8], but i32[2, 8] is declared"},
      {"(v: c64[4], i: i64[4]) = opaque sort(z)",
       "type: sort needs ordered values, not c64 (order real(...) or abs(...))"},
      {"(v: f32[2, 3], i: i64[2, 3]) = opaque topk(x)", "name: topk needs the attribute 'k' (add k = ...)"},
      {"(v: f32[2, 9], i: i64[2, 9]) = opaque topk(x, k = 9)",
       "range: attribute 'k' of topk is 9, but the dimension has 8 elements (k lies between 0 and 8)"},
      {"(v: f32[2, 8], i: i64[2, 8]) = opaque topk(x, k = 3)",
       "shape: result 0 of topk is f32[2, 3], but f32[2, 8] is declared"},
      {"y: f32[2, 8] = opaque fft(x)", "type: fft needs c64, not f32 (convert with c64(...))"},
      {"y: f32[2, 8] = opaque cholesky(x)",
       "shape: cholesky needs square matrices, not f32[2, 8] (the shape of operand a is [..., n, n])"},
      {"y: i64[4] = opaque cholesky(n)", "type: cholesky needs f32 or f64, not i64"},
      {"y: f32[3, 2] = opaque solve(a, c)", "type: solve needs operands of one dtype, not f32 and f64"},
      {"y: f32[2, 8] = opaque solve(a, x)",
       "shape: solve can not take a = f32[3, 3] with b = f32[2, 8] (the shapes are [..., n, n] and [..., n, m])"},
      {"r: i64[2] = opaque random()", "type: random gives f64, f32, f16 or bf16, not i64"},
      {"r: f32[2] = opaque random(distribution = \"cauchy\")",
       "name: random has no distribution \"cauchy\" (there are \"uniform\" and \"normal\")"},
      {"y: i64[4] = opaque anything(n, depth = 3)", "it passed"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(refusal(statement), expected) << statement;
}

TEST(Opaque, KnowsItsNames) {
  EXPECT_TRUE(has_opaque_builtin("triangular_solve"));
  EXPECT_FALSE(has_opaque_builtin("mystery"));
}

}  // namespace
}  // namespace lightline::loops
