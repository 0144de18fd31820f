// The narrowest types that values can be taken in, and what products of them cost.
#include <gtest/gtest.h>

#include "demand/pricing.h"

namespace lightline::demand {
namespace {

using testing_support::analysis_of;

std::map<Operands, double> products(const std::string& inputs, const std::string& body, const std::string& type) {
  return analysis_of("program p(" + inputs + ") -> (y) {\n  y: " + type + "[8, 8] = for i, j: " + body + "\n}")
      .fused.work.macs;
}

TEST(Widths, NumbersThatAreOnlyZeroOrOneAreTruths) {
  const std::map<Operands, double> truths{{DType::boolean, 8 * 8 * 16}};
  for (const char* bit : {"u8(a[i, k] mod 2)", "bitand(a[i, k], 1)", "bitand(ushr(a[i, k], 3), 1)"}) {
    const std::string body = "sum k in 16: f32(" + std::string(bit) + ") * f32(b[k, j])";
    EXPECT_EQ(products("a: u8[8, 16], b: bool[16, 8]", body, "f32"), truths) << bit;
  }
  EXPECT_EQ(products("a: f32[8, 16], b: bool[16, 8]", "sum k in 16: min(max(round(a[i, k]), 0.0), 1.0) * f32(b[k, j])",
                     "f32"),
            truths);
}

TEST(Widths, NumbersUpToThreeAreNot) {
  const auto found =
      products("a: u8[8, 16], b: bool[16, 8]", "sum k in 16: f32(bitand(a[i, k], 3)) * f32(b[k, j])", "f32");
  EXPECT_FALSE(found.contains(Operands(DType::boolean)));
  EXPECT_FALSE(products("a: f32[8, 16], b: bool[16, 8]", "sum k in 16: remainder(a[i, k], 2.0) * f32(b[k, j])", "f32")
                   .contains(Operands(DType::boolean)))
      << "no whole numbers";
}

TEST(Widths, CountingWhereTruthsDifferTakesTheirProducts) {
  const std::map<Operands, double> truths{{DType::boolean, 8 * 8 * 16}};
  for (const char* body : {"sum k in 16: if(a[i, k] != b[j, k], 1, 0)", "sum k in 16: i64(a[i, k] == b[j, k])"}) {
    EXPECT_EQ(products("a: bool[8, 16], b: bool[8, 16]", body, "i64"), truths) << body;
  }
  for (const char* body :
       {"or k in 16: a[i, k] != b[j, k]", "and k in 16: a[i, k] == b[j, k]", "or k in 16: a[i, k] and b[j, k]"}) {
    const Analysis a = analysis_of(
        "program p(a: bool[8, 16], b: bool[8, 16]) -> (y) {\n  y: bool[8, 8] = for i, j: " + std::string(body) + "\n}");
    EXPECT_EQ(a.fused.work.macs, truths) << body;
    EXPECT_LE(a.fused.work.total_vector_ops(), 64) << body;
  }
}

TEST(Widths, TheFloorNeedsBothSidesOfADifference) {
  const Analysis a = analysis_of(
      "program p(a: bool[8, 16], b: bool[8, 16]) -> (y) {\n"
      "  y: i64[8, 8] = for i, j: sum k in 16: if(a[i, k] != b[j, k], 1, 0)\n}");
  EXPECT_EQ(a.floor.input_bytes, 2 * 8 * 16);
}

TEST(Widths, RealTimesComplexIsTwoProducts) {
  EXPECT_EQ(products("a: f32[8, 16], b: c64[16, 8]", "sum k in 16: complex(a[i, k], 0.0) * b[k, j]", "c64"),
            (std::map<Operands, double>{{DType::f32, 2 * 8 * 8 * 16}}));
  EXPECT_EQ(products("a: c64[8, 16], b: c64[16, 8]", "sum k in 16: a[i, k] * b[k, j]", "c64"),
            (std::map<Operands, double>{{DType::f32, 3 * 8 * 8 * 16}}));
}

TEST(Widths, AProductWithItsOwnConjugateTransposeCountsHalf) {
  EXPECT_EQ(products("a: c64[8, 16]", "sum k in 16: a[i, k] * conj(a[j, k])", "c64"),
            (std::map<Operands, double>{{DType::f32, 3 * 8 * 9 / 2 * 16}}));
}

// Ranges are followed through functions that keep them small.
TEST(Widths, WholeNumbersThatStaySmallAreNarrow) {
  const auto widest = [](const std::string& body) {
    const auto found = products("a: u8[8, 16], x: f32[8, 16], b: i8[16, 8]", "sum k in 16: " + body, "f32");
    return found.size() == 1 ? bits(found.begin()->first.wide) : -1;
  };
  for (const char* narrow :
       {"f32(shr(i32(a[i, k]), 4)) * f32(b[k, j])", "f32(i32(a[i, k]) div 16 - 8) * f32(b[k, j])",
        "floor(min(max(x[i, k], -127.0), 126.0) + 0.5) * f32(b[k, j])", "round(127.0 * tanh(x[i, k])) * f32(b[k, j])",
        "round(2.0 * min(max(x[i, k], -30.0), 30.0)) / 2.0 * f32(b[k, j])", "copysign(1.0, x[i, k]) * f32(b[k, j])",
        "if(x[i, k] > 0, 0.7, 0.1) * f32(b[k, j])"})
    EXPECT_LE(widest(narrow), 8) << narrow;
  for (const char* wide : {"round(300.0 * f32(b[k, i])) * x[i, k]", "round(500.0 * tanh(x[i, k])) * f32(b[k, j])",
                           "127.0 * tanh(x[i, k]) * f32(b[k, j])", "round(0.5 + x[i, k]) * f32(b[k, j])"})
    EXPECT_EQ(widest(wide), 32) << wide;
}

// (x - y)^2 of 16-bit numbers is x^2 - 2 x y + y^2.
TEST(Widths, ADifferenceOfNarrowNumbersIsTakenApart) {
  EXPECT_EQ(products("x: bf16[8, 16], z: bf16[8, 16]",
                     "sum k in 16: (f32(x[i, k]) - f32(z[j, k])) * (f32(x[i, k]) - f32(z[j, k]))", "f32"),
            (std::map<Operands, double>{{DType::bf16, 8 * 8 * 16}}));
}

// (a - z) b is a b - z b, and the second is less.
TEST(Widths, ASumIsNoWiderThanItsLargeParts) {
  for (const char* body :
       {"(f32(a[i, k]) - 128) * f32(b[k, j])", "(f32(a[i, k]) - z[]) * f32(b[k, j])",
        "(f32(bitand(a[i, k], 15)) - 8) * f32(b[k, j])", "round(min(max(x[i, k], -128.0), 127.0)) * f32(b[k, j])",
        "(f32(a[i, k]) / 255 - 0.5) * f32(b[k, j])"}) {
    const auto found =
        products("a: u8[8, 16], x: f32[8, 16], b: i8[16, 8], z: f32[]", "sum k in 16: " + std::string(body), "f32");
    ASSERT_EQ(found.size(), 1u) << body;
    const auto& [operands, count] = *found.begin();
    EXPECT_EQ(bits(operands.narrow), 8) << body;
    EXPECT_EQ(bits(operands.wide), 8) << body;
    EXPECT_EQ(count, 8 * 8 * 16) << body;
  }
  EXPECT_EQ(products("a: f32[8, 16], b: bool[16, 8]", "sum k in 16: (2 * f32(a[i, k] > 0) - 1) * f32(b[k, j])", "f32"),
            (std::map<Operands, double>{{DType::boolean, 8 * 8 * 16}}));
  EXPECT_EQ(
      products("a: u8[8, 16], x: f32[8, 16], b: f32[16, 8]", "sum k in 16: (f32(a[i, k]) + x[i, k]) * b[k, j]", "f32"),
      (std::map<Operands, double>{{DType::f32, 8 * 8 * 16}}))
      << "a part is as wide as what it meets";
}

TEST(Widths, ASumThatIsRoundedIsMultipliedAsItIs) {  // queries with a bias
  const Analysis a = analysis_of(
      "program p(x: bf16[64, 32], w: bf16[32, 16], b: bf16[16], k: bf16[64, 16]) -> (y) {\n"
      "  h: f32[64, 16] = for i, j: sum r in 32: f32(x[i, r]) * f32(w[r, j])\n"
      "  q: bf16[64, 16] = for i, j: bf16(h[i, j] + f32(b[j]))\n"
      "  y: f32[64, 64] = for i, j: sum d in 16: f32(q[i, d]) * f32(k[j, d])\n}");
  EXPECT_EQ(a.fused.work.macs.count(DType::f32), 0u);
  EXPECT_EQ(a.fused.work.macs.at(DType::bf16), 64 * 16 * 32 + 64 * 64 * 16);
}

}  // namespace
}  // namespace lightline::demand
