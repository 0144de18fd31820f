// Bounds from work and bytes that are given, on a machine with round figures: every time is worked out by hand.
#include "bound/bound.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "bound/tiny_machine.h"
#include "machine/catalogue.h"
#include "support/programs.h"

namespace lightline::bound {
namespace {

using demand::Analysis;
using demand::GroupDemand;
using demand::Work;
using machine::MathMode;
using testing_support::tiny_machine;

Work products(DType dtype, double count) {
  Work work;
  work.macs[dtype] = work.transformed_macs[dtype] = count;
  return work;
}

// A program of this work that reads and writes so many bytes; no rewrite helps it.
Analysis program(const Work& work, double bytes) {
  Analysis analysis;
  analysis.fused.work = analysis.floor.work = work;
  analysis.fused.input_bytes = analysis.floor.input_bytes = bytes / 4;
  analysis.fused.output_bytes = analysis.floor.output_bytes = bytes - bytes / 4;
  return analysis;
}

GroupDemand group(const std::string& name, const Work& work, double operand_bytes, double result_bytes) {
  GroupDemand result;
  result.name = name;
  result.work = work;
  result.operand_bytes = operand_bytes;
  result.result_bytes = result_bytes;
  return result;
}

// ---- one kernel: the slowest of its resources ----

TEST(Bound, MemoryBinds) {
  const Bounds b = bound(program(products(DType::f16, 1.8e6), 1e6), tiny_machine());
  EXPECT_DOUBLE_EQ(b.fused.matrix_ms, 0.001);
  EXPECT_DOUBLE_EQ(b.fused.memory_ms, 0.01);
  EXPECT_DOUBLE_EQ(b.fused.ms, 0.01);
  EXPECT_EQ(b.fused.bytes, 1e6);
  EXPECT_EQ(b.fused.binding, "memory");
}

TEST(Bound, MatrixUnitsBind) {
  const Bounds b = bound(program(products(DType::f16, 1.8e9), 1e6), tiny_machine());
  EXPECT_DOUBLE_EQ(b.fused.ms, 1);
  EXPECT_EQ(b.fused.binding, "matrix f16");
}

TEST(Bound, VectorUnitsBind) {
  Work work;
  work.vector_ops[DType::f32] = 8e7;
  work.vector_ops[DType::f16] = 8e7;  // carried by f32
  const Bounds b = bound(program(work, 1e6), tiny_machine());
  EXPECT_DOUBLE_EQ(b.fused.vector_ms, 2);
  EXPECT_DOUBLE_EQ(b.fused.ms, 2);
  EXPECT_EQ(b.fused.binding, "vector");
}

TEST(Bound, TranscendentalsBind) {
  Work work;
  work.vector_ops[DType::f32] = 8e7;
  work.transcendental_ops = 6e7;
  const Bounds b = bound(program(work, 1e6), tiny_machine());
  EXPECT_DOUBLE_EQ(b.fused.vector_ms, 1);
  EXPECT_DOUBLE_EQ(b.fused.transcendental_ms, 3);
  EXPECT_DOUBLE_EQ(b.fused.ms, 3);
  EXPECT_EQ(b.fused.binding, "transcendental");
}

TEST(Bound, ProductsOfSeveralTypesAddUpAndTheLongestIsNamed) {
  Work work = products(DType::f16, 1.8e9);
  work.macs[DType::f32] = 1.8e9;
  const Bounds b = bound(program(work, 0), tiny_machine());
  EXPECT_DOUBLE_EQ(b.fused.ms, 1 + 2);
  EXPECT_EQ(b.fused.binding, "matrix tf32");
}

TEST(Bound, ProductsOfUnlikeWidthsTakeWhatTheNarrowOneAllows) {
  demand::Work work;
  work.macs[demand::Operands(DType::f16, DType::f32)] = 9e8;
  const Analysis analysis = program(work, 0);
  const double mixed = bound(analysis, tiny_machine(), {.math = MathMode::strict}).fused.ms;
  EXPECT_LT(mixed, bound(program(products(DType::f32, 9e8), 0), tiny_machine(), {.math = MathMode::strict}).fused.ms);
  EXPECT_GE(mixed, bound(program(products(DType::f16, 9e8), 0), tiny_machine()).fused.ms);
}

// ---- options ----

TEST(Bound, MathModes) {
  const Analysis analysis = program(products(DType::f32, 9e8), 1e6);
  const auto with = [&](MathMode mode) { return bound(analysis, tiny_machine(), {.math = mode}); };
  EXPECT_DOUBLE_EQ(with(MathMode::strict).fused.ms, 3);
  EXPECT_EQ(with(MathMode::strict).fused.binding, "3 x tf32");
  EXPECT_DOUBLE_EQ(with(MathMode::tf32).fused.ms, 1);
  EXPECT_EQ(with(MathMode::tf32).fused.binding, "matrix tf32");
  EXPECT_DOUBLE_EQ(with(MathMode::fast16).fused.ms, 0.5);
  EXPECT_EQ(with(MathMode::fast16).fused.binding, "matrix f16");
  EXPECT_DOUBLE_EQ(bound(analysis, tiny_machine()).fused.ms, 1) << "tf32 is the default";
}

TEST(Bound, MathModesLeaveOtherTypesAlone) {
  const Analysis analysis = program(products(DType::f16, 1.8e9), 0);
  for (const MathMode mode : {MathMode::strict, MathMode::tf32, MathMode::fast16})
    EXPECT_DOUBLE_EQ(bound(analysis, tiny_machine(), {.math = mode}).fused.ms, 1);
}

TEST(Bound, AnyAlgorithmTakesTheTransformedProducts) {
  Work work = products(DType::f16, 1.8e9);
  work.transformed_macs[DType::f16] = 0.9e9;
  EXPECT_DOUBLE_EQ(bound(program(work, 0), tiny_machine()).fused.ms, 1);
  EXPECT_DOUBLE_EQ(bound(program(work, 0), tiny_machine(), {.any_algorithm = true}).fused.ms, 0.5);
}

TEST(Bound, WarmTakesWhatTheChipHoldsOffTheTraffic) {
  Analysis analysis = program({}, 10'001'024);
  analysis.groups = {group("large", {}, 1'000'000, 1024), group("small", {}, 500, 100)};
  const Bounds cold = bound(analysis, tiny_machine());
  EXPECT_EQ(cold.fused.bytes, 10'001'024);
  const Bounds warm = bound(analysis, tiny_machine(), {.warm = true});
  EXPECT_EQ(warm.fused.bytes, 9'998'976) << "of what comes in and of what goes out";
  EXPECT_DOUBLE_EQ(warm.fused.ms, 1e3 * 9'998'976 / 1e11);
  ASSERT_EQ(warm.groups.size(), 2);
  EXPECT_DOUBLE_EQ(warm.groups[0].cost.ms, 1e3 * (1'000'000 - 1024) / 1e11);
  EXPECT_EQ(warm.groups[1].cost.ms, 0) << "600 bytes fit";
  EXPECT_EQ(warm.groups[1].cost.binding, "nothing");
}

// ---- tiers ----

TEST(Bound, OperatorsOneByOneAddUpAndTheSlowestComesFirst) {
  Work all = products(DType::f16, 1.8e9);
  all.vector_ops[DType::f32] = 1.6e8;
  Analysis analysis = program(all, 3e6);
  Work adding;
  adding.vector_ops[DType::f32] = 1.6e8;
  analysis.groups = {group("copy", {}, 1e6, 1e6), group("product", products(DType::f16, 1.8e9), 1e6, 2e6),
                     group("again", {}, 2e6, 0), group("add", adding, 2e6, 1e6)};
  const Bounds b = bound(analysis, tiny_machine());
  EXPECT_DOUBLE_EQ(b.unfused_ms, 0.02 + 1 + 0.02 + 2);
  EXPECT_EQ(b.unfused_bytes, 2e6 + 3e6 + 2e6 + 3e6);
  EXPECT_DOUBLE_EQ(b.fused.ms, 2) << "all units work at the same time";
  EXPECT_EQ(b.fused.binding, "vector");
  std::vector<std::pair<std::string, std::string>> order;
  for (const GroupBound& o : b.groups) order.emplace_back(analysis.groups[o.group].name, o.cost.binding);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"add", "vector"}, {"product", "matrix f16"}, {"copy", "memory"}, {"again", "memory"}};
  EXPECT_EQ(order, expected);
  EXPECT_EQ(b.groups[0].group, 3u);
}

TEST(Bound, OfEqualOperatorsTheFirstInTheProgramComesFirst) {
  Analysis analysis = program({}, 1e6);
  for (int i = 0; i < 100; ++i) analysis.groups.push_back(group("copy", {}, i % 2 == 0 ? 1e6 : 2e6, 0));
  const Bounds b = bound(analysis, tiny_machine());
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(b.groups[i].group, 2 * i + 1);
    EXPECT_EQ(b.groups[50 + i].group, 2 * i);
  }
}

TEST(Bound, TheFloorTakesAllUnitsTogether) {
  // 1800 products of f16 on the matrix units and 80 on the vector units, every clock
  const Bounds b = bound(program(products(DType::f16, 1.88e9), 0), tiny_machine());
  EXPECT_DOUBLE_EQ(b.floor.ms, 1);
  EXPECT_DOUBLE_EQ(b.fused.ms, 1.88 / 1.8);
}

TEST(Bound, SumsMayRunOnMatrixUnits) {
  Work work;
  work.sums[DType::f32] = 8e7;
  const Bounds sums = bound(program(work, 0), tiny_machine());
  EXPECT_LT(sums.fused.ms, 1);
  work.vector_ops[DType::f32] = 8e7;
  EXPECT_GE(bound(program(work, 0), tiny_machine()).fused.vector_ms, 1) << "the rest does not";
}

TEST(Bound, NothingIsClipped) {
  Analysis analysis = program(products(DType::f16, 1.8e9), 1e6);
  analysis.floor.work = products(DType::f16, 18.8e9);
  analysis.groups = {group("half", products(DType::f16, 0.9e9), 1e6, 0)};
  const Bounds b = bound(analysis, tiny_machine());
  EXPECT_DOUBLE_EQ(b.floor.ms, 10);
  EXPECT_DOUBLE_EQ(b.fused.ms, 1);
  EXPECT_DOUBLE_EQ(b.unfused_ms, 0.5);
}

TEST(Bound, NoWorkTakesNoTime) {
  const Bounds b = bound(Analysis{}, tiny_machine());
  for (const double ms : {b.unfused_ms, b.fused.ms, b.floor.ms}) EXPECT_EQ(ms, 0);
  EXPECT_EQ(b.fused.binding, "nothing");
  EXPECT_EQ(b.fused.bytes, 0);
  EXPECT_EQ(b.unfused_bytes, 0);
  EXPECT_EQ(b.intensity, 0) << "not 0 / 0";
  EXPECT_TRUE(b.groups.empty());
}

TEST(Bound, IntensityAndRidge) {
  Analysis analysis = program(products(DType::f32, 5e6), 1e6);
  analysis.groups = {group("first", {}, 1e6, 1e6), group("second", {}, 1e6, 1e6)};
  const Bounds b = bound(analysis, tiny_machine());
  EXPECT_DOUBLE_EQ(b.intensity, 5) << "of the fused bytes";
  EXPECT_DOUBLE_EQ(b.ridge, 9) << "9e11 products over 1e11 bytes";
  EXPECT_DOUBLE_EQ(bound(analysis, tiny_machine(), {.math = MathMode::fast16}).ridge, 18);
  EXPECT_EQ(b.fused.binding, "memory") << "5 is below the ridge";
  EXPECT_EQ(bound(program(products(DType::f32, 10e6), 1e6), tiny_machine()).fused.binding, "matrix tf32");
  Work mixed = products(DType::f32, 1e6);
  mixed.macs[DType::f16] = 2e6;
  EXPECT_DOUBLE_EQ(bound(program(mixed, 1e6), tiny_machine()).ridge, 18) << "of the type with most products";
}

// ---- machines ----

TEST(Bound, ALockedClockSlowsTheUnitsAndNotTheMemory) {
  Work work = products(DType::f16, 1.8e9);
  work.vector_ops[DType::f32] = 8e7;
  work.transcendental_ops = 2e7;
  const Bounds b = bound(program(work, 1e8), machine::with_clock(tiny_machine(), 0.5e9));
  EXPECT_DOUBLE_EQ(b.fused.matrix_ms, 2);
  EXPECT_DOUBLE_EQ(b.fused.vector_ms, 2);
  EXPECT_DOUBLE_EQ(b.fused.transcendental_ms, 2);
  EXPECT_DOUBLE_EQ(b.fused.memory_ms, 1);
}

TEST(Bound, MeasuredCeilingsAreTakenWhereTheyAreLower) {
  const machine::Machine measured = machine::at_measured(tiny_machine());
  // 0.9 TFLOP/s are half of 900 products per clock; the f16 ceiling is above the nominal rate.
  EXPECT_DOUBLE_EQ(bound(program(products(DType::f32, 9e8), 0), measured).fused.ms, 2);
  EXPECT_DOUBLE_EQ(bound(program(products(DType::f16, 1.8e9), 0), measured).fused.ms, 1);
  EXPECT_DOUBLE_EQ(bound(program({}, 1e6), measured).fused.ms, 0.02);
  Work work;
  work.vector_ops[DType::f32] = 8e7;
  EXPECT_DOUBLE_EQ(bound(program(work, 0), measured).fused.ms, 1) << "no ceiling was measured";
}

TEST(Bound, TheSameProgramOnSeveralMachines) {
  machine::Machine wide = tiny_machine();
  for (machine::MemoryLevel& memory : wide.memories) memory.bytes_per_second.value *= 4;
  const Analysis analysis = program(products(DType::f16, 0.9e9), 1e8);
  const Bounds here = bound(analysis, tiny_machine()), there = bound(analysis, wide);
  EXPECT_DOUBLE_EQ(here.fused.ms, 1);
  EXPECT_EQ(here.fused.binding, "memory");
  EXPECT_DOUBLE_EQ(there.fused.ms, 0.5);
  EXPECT_EQ(there.fused.binding, "matrix f16");
}

// ---- from a program's text to its time ----

struct Priced {
  loops::Program program;
  Analysis analysis;
  Bounds bounds;
};

std::unique_ptr<Priced> priced(const std::string& text, const machine::Machine& on) {
  auto result = std::make_unique<Priced>(Priced{testing_support::program_of(text), {}, {}});
  result->analysis = demand::analyze(result->program);
  result->bounds = bound(result->analysis, on);
  return result;
}

TEST(Bound, AProductAndAnActivation) {
  const auto p = priced(
      "program p(x: f16[100, 300], w: f16[300, 200]) -> (y) {\n"
      "  h: f16[100, 200] = for i, j: sum k in 300: x[i, k] * w[k, j]\n"
      "  y: f16[100, 200] = for i, j: max(h[i, j], 0)\n}",
      tiny_machine());
  EXPECT_EQ(p->bounds.fused.bytes, 2 * (100 * 300 + 300 * 200 + 100 * 200));
  EXPECT_DOUBLE_EQ(p->bounds.fused.memory_ms, 1e3 * 220'000 / 1e11);
  EXPECT_DOUBLE_EQ(p->bounds.fused.matrix_ms, 1e3 * 6e6 / 1.8e12);
  EXPECT_DOUBLE_EQ(p->bounds.fused.ms, 1e3 * 6e6 / 1.8e12);
  EXPECT_EQ(p->bounds.unfused_bytes, 220'000 + 2 * 2 * 100 * 200);
  EXPECT_DOUBLE_EQ(p->bounds.unfused_ms, 1e3 * (6e6 / 1.8e12 + 80'000 / 1e11));
  ASSERT_EQ(p->bounds.groups.size(), 2);
  EXPECT_EQ(p->analysis.groups[p->bounds.groups[0].group].name, "h");
}

// docs/bounds.md works this one out.
TEST(Bound, TheWorkedExampleOfTheDocumentation) {
  const auto h200 = machine::find_machine("H200");
  ASSERT_TRUE(h200.ok());
  const auto p = priced(
      "program p(x: bf16[64, 4096], w: bf16[4096, 4096]) -> (y) {\n"
      "  h: bf16[64, 4096] = for i, j: sum k in 4096: x[i, k] * w[k, j]\n"
      "  y: bf16[64, 4096] = for i, j: max(h[i, j], 0)\n}",
      *h200);
  EXPECT_NEAR(p->bounds.fused.matrix_ms, 0.0020, 0.00005);
  EXPECT_NEAR(p->bounds.fused.bytes, 34.6e6, 0.05e6);
  EXPECT_NEAR(p->bounds.fused.ms, 0.00704, 0.000005);
  EXPECT_NEAR(p->bounds.unfused_ms, 0.00725, 0.000005);
  EXPECT_EQ(p->bounds.fused.binding, "memory");
}

TEST(Bound, AReturnedInputTakesNoTime) {
  const auto p = priced("program p(x: f32[8]) -> (x) { }", tiny_machine());
  EXPECT_EQ(p->bounds.fused.ms, 0);
  EXPECT_EQ(p->bounds.unfused_ms, 0);
  EXPECT_EQ(p->bounds.fused.binding, "nothing");
}

// docs/bounds.md: floor <= fused <= unfused, of numbers as they come.
TEST(Bound, TheTiersOfTheExamplesAreInOrderOnEveryMachine) {
  const auto machines = machine::all_machines();
  ASSERT_TRUE(machines.ok());
  int priced_programs = 0;
  for (const auto& file : std::filesystem::directory_iterator(LIGHTLINE_SOURCE_DIR "/examples/loops")) {
    const auto text = read_file(file.path().string());
    ASSERT_TRUE(text.ok());
    for (const machine::Machine& on : *machines) {
      SCOPED_TRACE(file.path().filename().string() + " on " + on.name);
      const auto priced_program = priced(*text, on);
      const Bounds& b = priced_program->bounds;
      double sum = 0;
      for (const GroupBound& o : b.groups) sum += o.cost.ms;
      EXPECT_GT(b.floor.ms, 0);
      EXPECT_LE(b.floor.ms, b.fused.ms * (1 + 1e-12));
      EXPECT_LE(b.fused.ms, sum * (1 + 1e-12));
      EXPECT_DOUBLE_EQ(b.unfused_ms, sum);
      ++priced_programs;
    }
  }
  EXPECT_GE(priced_programs, 12 * 31);
}

}  // namespace
}  // namespace lightline::bound
