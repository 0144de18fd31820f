#include "einsum/lift.h"

#include <gtest/gtest.h>

#include "support/programs.h"

namespace lightline::einsum {
namespace {

TEST(Lifting, RanksKeepTheirLetters) {
  const loops::Program program = testing_support::program_of(
      "program p(x: f32[2, 64, 113, 113], w: f32[32, 64, 3, 3], v: f32[10, 32]) -> (y) {\n"
      "  c: f32[2, 32, 56, 56] = for n, o, p, q: sum c in 64, r in 3, s in 3: x[n, c, 2 * p + r, 2 * q + s] * w[o, c, "
      "r, s]\n"
      "  m: f32[2, 32] = for n, o: sum p in 56, q in 56: c[n, o, p, q]\n"
      "  y: f32[2, 10] = for n, k: sum o in 32: m[n, o] * v[k, o]\n}");
  ASSERT_EQ(program.statements.size(), 3);
  Lifting lifting(program);
  const Einsum first = lifting.of(program.statements[0]);
  EXPECT_EQ(first.statement_class, StatementClass::convolution);
  EXPECT_EQ(first.equation, "AB(2C+D)(2E+F),GBDF->AGCE");
  EXPECT_EQ(lifting.of(program.statements[1]).equation, "AGCE->AG");
  EXPECT_EQ(lifting.of(program.statements[1]).statement_class, StatementClass::reduction);
  EXPECT_EQ(lifting.of(program.statements[2]).equation, "AG,HG->AH");
  EXPECT_EQ(lifting.of(program.statements[2]).statement_class, StatementClass::contraction);
}

}  // namespace
}  // namespace lightline::einsum
