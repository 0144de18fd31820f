// Emitted C has the figures of the target that was planned for.
#include <gtest/gtest.h>

#include "base/internal_error.h"
#include "loops/emit_c/emit_c.h"
#include "loops/emit_c/prelude.h"
#include "loops/ir/parse.h"
#include "loops/plan/planned.h"

namespace lightline::loops {
namespace {

const char* const product =
    "program p(a: f32[64, 32], b: f32[32, 48]) -> (c) {\n"
    "  c: f32[64, 48] = for i, j: sum k in 32: a[i, k] * b[k, j]\n}\n";

std::string planned_code(const Program& program, const std::vector<const plan::Target*>& targets) {
  std::vector<plan::PlannedProgram> planned;
  for (const plan::Target* target : targets) planned.push_back(plan::plan_program(program, *target).value());
  return emit_c(std::move(planned), "lightline_main");
}

TEST(EmitC, TakesTheBlockingOfThePlansTarget) {
  const Program program = parse_and_verify(product, "product").value();
  plan::Target other;
  other.product.column_panel_bytes = 12345;
  const std::string usual = planned_code(program, {&plan::generic_cpu()}), code = planned_code(program, {&other});
  EXPECT_EQ(usual, emit_c(program).value());
  EXPECT_EQ(usual.find("LL_KC (12345 /"), std::string::npos);
  EXPECT_NE(code.find("LL_KC (12345 /"), std::string::npos);
  EXPECT_THROW(planned_code(program, {&other, &plan::generic_cpu()}), InternalError);
}

TEST(EmitC, RefusesFiguresThatItsTextCanNotHave) {
  const auto code = [](auto change) {
    plan::ProductBlocking blocking;
    change(blocking);
    return c::product_prelude(blocking, "float", "f32");
  };
  EXPECT_NO_THROW(code([](plan::ProductBlocking&) {}));
  EXPECT_THROW(code([](plan::ProductBlocking& b) { b.most_packed_elements = 3 << 20; }), InternalError);
  EXPECT_THROW(code([](plan::ProductBlocking& b) { b.parallel_products = 2e6; }), InternalError);
  EXPECT_THROW(code([](plan::ProductBlocking& b) { b.registers[0].vector_bytes = 48; }), InternalError);
  EXPECT_THROW(code([](plan::ProductBlocking& b) { b.registers[3].instruction_set = "avx"; }), InternalError);
}

}  // namespace
}  // namespace lightline::loops
