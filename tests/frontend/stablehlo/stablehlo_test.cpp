#include "frontend/stablehlo/stablehlo.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "frontend/load/load.h"
#include "fuzz/entries.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/print.h"
#include "ops/lower/lower.h"

namespace lightline::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string function(const std::string& arguments, const std::string& result, const std::string& body) {
  return fmt::format("module @m {{\n  func.func public @main({}) -> {} {{\n{}\n  }}\n}}\n", arguments, result, body);
}

Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor result(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) result.set_f64(int64_t(i), values[i]);
  return result;
}

template <class... Tensors>
std::vector<Tensor> all(Tensors... tensors) {
  std::vector<Tensor> list;
  (list.push_back(std::move(tensors)), ...);
  return list;
}

// Parses, lowers and interprets; gives the first result.
std::vector<double> run(const std::string& text, const std::vector<Tensor>& inputs) {
  const auto graph = parse_stablehlo(text, "test.mlir");
  if (!graph.ok()) {
    ADD_FAILURE() << to_string(graph.error());
    return {};
  }
  const auto lowered = ops::lower(*graph);
  if (!lowered.ok()) {
    ADD_FAILURE() << to_string(lowered.error());
    return {};
  }
  const auto results = loops::interpret(lowered->program, inputs);
  if (!results.ok()) {
    ADD_FAILURE() << to_string(results.error()) << loops::print(lowered->program);
    return {};
  }
  std::vector<double> values;
  for (int64_t i = 0; i < (*results)[0].size(); ++i) values.push_back((*results)[0].get_f64(i));
  return values;
}

std::string refused(const std::string& text) {
  const auto graph = parse_stablehlo(text, "bad.mlir");
  if (!graph.ok()) return to_string(graph.error());
  const auto lowered = ops::lower(*graph);
  return lowered.ok() ? "accepted" : to_string(lowered.error());
}

std::string loops_of(const std::string& text) {
  const auto graph = parse_stablehlo(text, "test.mlir");
  EXPECT_TRUE(graph.ok()) << to_string(graph.error());
  if (!graph.ok()) return "";
  const auto lowered = ops::lower(*graph);
  EXPECT_TRUE(lowered.ok()) << to_string(lowered.error());
  return lowered.ok() ? loops::print(lowered->program) : "";
}

TEST(StableHlo, PrettyAndGenericFormsAgree) {
  const std::string pretty = function("%arg0: tensor<2x3xf32>", "tensor<2xf32>", R"(
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>)");
  const std::string generic = R"("builtin.module"() <{sym_name = "m"}> ({
    "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
    ^bb0(%arg0: tensor<2x3xf32>):
      %cst = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
      %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %1 = "stablehlo.reduce"(%0, %cst) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%2) : (tensor<f32>) -> ()
      }) : (tensor<3x2xf32>, tensor<f32>) -> tensor<2xf32>
      "func.return"(%1) : (tensor<2xf32>) -> ()
    }) : () -> ()
  }) : () -> () loc("x"))";
  for (const std::string& text : {pretty, generic}) {
    std::vector<Tensor> inputs;
    inputs.push_back(tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}));
    EXPECT_THAT(run(text, inputs), ElementsAre(6, 15)) << text;
  }
}

TEST(StableHlo, TellsItsTextFromOthers) {
  EXPECT_TRUE(looks_like_stablehlo("// a comment\n\nmodule @m {}"));
  EXPECT_TRUE(looks_like_stablehlo("#loc1 = loc(unknown)\nmodule {}"));
  EXPECT_TRUE(looks_like_stablehlo("\"builtin.module\"() ({}) : () -> ()"));
  EXPECT_FALSE(looks_like_stablehlo("# Two layers of a perceptron.\nprogram mlp() -> () {}"));
  EXPECT_FALSE(looks_like_stablehlo("{\"graph_module\": 1}"));
  EXPECT_FALSE(looks_like_stablehlo(""));
}

TEST(StableHlo, CallsAreInlined) {
  const std::string text = R"(module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0:2 = call @both(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %1 = func.call @add(%0#0, %0#1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @both(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<2xf32>
    return %0, %arg1 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @add(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})";
  std::vector<Tensor> inputs;
  inputs.push_back(tensor(DType::f32, {2}, {3, -2}));
  EXPECT_THAT(run(text, inputs), ElementsAre(12, 2));
}

TEST(StableHlo, ConstantsOfAllForms) {
  const auto constant = [&](const std::string& dense, const std::string& type) {
    return run(
        function("", type, fmt::format("    %0 = stablehlo.constant {} : {}\n    return %0 : {}", dense, type, type)),
        {});
  };
  EXPECT_THAT(constant("dense<2>", "tensor<3xi32>"), ElementsAre(2, 2, 2));
  EXPECT_THAT(constant("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi8>"), ElementsAre(1, -2, 3, 4));
  EXPECT_THAT(constant("dense<0xFF800000>", "tensor<f32>"), ElementsAre(-INFINITY));
  EXPECT_THAT(constant("dense<[true, false]>", "tensor<2xi1>"), ElementsAre(1, 0));
  EXPECT_THAT(constant("dense<\"0x0000803F00000040\">", "tensor<2xf32>"), ElementsAre(1, 2));
  EXPECT_THAT(constant("dense<\"0x0000803F\">", "tensor<2xf32>"), ElementsAre(1, 1));
  EXPECT_THAT(constant("dense<\"0x05\">", "tensor<3xi1>"), ElementsAre(1, 0, 1));
  EXPECT_THAT(constant("dense<4294967295>", "tensor<ui32>"), ElementsAre(-1));  // the bits of ui32 live in i32
  EXPECT_THAT(constant("dense<(1.0, -2.0)>", "tensor<complex<f32>>"), ElementsAre(1));
  EXPECT_THAT(constant("dense<1.5>", "tensor<bf16>"), ElementsAre(1.5));
  EXPECT_THAT(constant("dense<>", "tensor<0xf32>"), ElementsAre());
}

TEST(StableHlo, UnsignedArithmeticIsExact) {
  const std::string text = function("%a: tensor<4xui32>, %b: tensor<4xui32>", "tensor<4xui32>", R"(
    %0 = stablehlo.divide %a, %b : tensor<4xui32>
    %1 = stablehlo.remainder %a, %b : tensor<4xui32>
    %2 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
    %3 = stablehlo.select %2, %1, %0 : tensor<4xi1>, tensor<4xui32>
    %c = stablehlo.constant dense<1> : tensor<4xui32>
    %4 = stablehlo.shift_right_logical %3, %c : tensor<4xui32>
    return %4 : tensor<4xui32>)");
  std::vector<Tensor> inputs(2);
  inputs[0] = tensor(DType::i32, {4}, {-2, 7, -1, -6});  // 4294967294, 7, 4294967295, 4294967290
  inputs[1] = tensor(DType::i32, {4}, {2, -1, -1, 3});
  EXPECT_THAT(run(text, inputs), ElementsAre(2147483647 / 2, 3, 0, 1431655763 / 2));
}

constexpr const char* scan_text = R"(module {
  func.func public @main(%w: tensor<2x2xf32>, %xs: tensor<3x2xf32>) -> (tensor<3x2xf32>) {
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %h = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %ys = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:5 = stablehlo.while(%a = %xs, %b = %w, %i = %c, %s = %h, %o = %ys) : tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>, tensor<2xf32>, tensor<3x2xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.dynamic_slice %a, %i, %z, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x2xf32>) -> tensor<2xf32>
      %3 = stablehlo.dot_general %s, %b, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
      %4 = stablehlo.add %3, %2 : tensor<2xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<2xf32>) -> tensor<1x2xf32>
      %6 = stablehlo.dynamic_update_slice %o, %5, %i, %z : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %a, %b, %7, %4, %6 : tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>, tensor<2xf32>, tensor<3x2xf32>
    }
    return %0#4 : tensor<3x2xf32>
  }
})";

TEST(StableHlo, CountedLoopsRepeat) {
  std::vector<Tensor> inputs(2);
  inputs[0] = tensor(DType::f32, {2, 2}, {1, 1, 0, 1});
  inputs[1] = tensor(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run(scan_text, inputs), ElementsAre(1, 2, 4, 7, 9, 17));
  const std::string loops = loops_of(scan_text);
  EXPECT_THAT(loops, HasSubstr("repeat step in 3 carry ("));
  EXPECT_THAT(loops, HasSubstr("stack "));
  EXPECT_THAT(loops, HasSubstr("[step, "));                  // the slice by the counter is a view
  EXPECT_THAT(loops, ::testing::Not(HasSubstr("scatter")));  // and the results are stacked
}

TEST(StableHlo, LoopsThatDependOnDataGoOnWhileTheirConditionHolds) {
  const std::string text = function("%x: tensor<f32>", "tensor<f32>", R"(
    %0 = stablehlo.while(%a = %x) : tensor<f32>
    cond {
      %c = stablehlo.constant dense<9.0> : tensor<f32>
      %1 = stablehlo.compare LT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %a, %a : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    return %0 : tensor<f32>)");
  EXPECT_THAT(loops_of(text), HasSubstr(") while "));
  EXPECT_THAT(run(text, all(tensor(DType::f32, {}, {0.75}))), ElementsAre(12));
  EXPECT_THAT(run(text, all(tensor(DType::f32, {}, {9.5}))), ElementsAre(9.5));
}

TEST(StableHlo, LoopsThatOnlyCountLeaveNothing) {
  const std::string text = function("%x: tensor<2xi32>", "tensor<2xi32>", R"(
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.while(%i = %c) : tensor<i32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %2, %x : tensor<2xi32>
    return %3 : tensor<2xi32>)");
  EXPECT_THAT(loops_of(text), ::testing::Not(HasSubstr("repeat")));
  EXPECT_THAT(run(text, all(tensor(DType::i32, {2}, {4, -3}))), ElementsAre(7, 0));
}

TEST(StableHlo, IntegersOfFourBitsWrap) {
  const std::string text = function("%x: tensor<3xi4>, %y: tensor<3xui4>", "(tensor<3xi4>, tensor<3xui4>)", R"(
    %c = stablehlo.constant dense<5> : tensor<3xi4>
    %d = stablehlo.constant dense<3> : tensor<3xui4>
    %0 = stablehlo.add %x, %c : tensor<3xi4>
    %1 = stablehlo.multiply %y, %d : tensor<3xui4>
    %2 = stablehlo.convert %1 : (tensor<3xui4>) -> tensor<3xi4>
    %3 = stablehlo.multiply %2, %0 : tensor<3xi4>
    return %3, %1 : tensor<3xi4>, tensor<3xui4>)");
  // 7 + 5 is -4, -8 + 5 is -3, 2 + 5 is 7; 45 is 13 or -3, 18 is 2, 3 is 3; -3 * -4, 2 * -3, 3 * 7 wrap again.
  EXPECT_THAT(run(text, all(tensor(DType::i8, {3}, {7, -8, 2}), tensor(DType::u8, {3}, {15, 6, 1}))),
              ElementsAre(-4, -6, 5));
}

TEST(StableHlo, BitsOfFourAreCounted) {
  const auto counted = [&](const std::string& name) {
    const std::string text =
        function("%x: tensor<4xi4>", "tensor<4xi4>",
                 "    %0 = stablehlo." + name + " %x : tensor<4xi4>\n    return %0 : tensor<4xi4>");
    return run(text, all(tensor(DType::i8, {4}, {-1, -8, 0, 5})));
  };
  EXPECT_THAT(counted("popcnt"), ElementsAre(4, 1, 0, 2));
  EXPECT_THAT(counted("count_leading_zeros"), ElementsAre(0, 0, 4, 1));
}

TEST(StableHlo, ComparatorsOfAllBitsTellZerosAndNaNsApart) {
  const std::string text = function("%x: tensor<5xf32>", "tensor<5xf32>", R"(
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<5xf32>) -> tensor<5xf32>
    %c = stablehlo.constant dense<1.0> : tensor<5xf32>
    %2 = stablehlo.divide %c, %0 : tensor<5xf32>
    return %2 : tensor<5xf32>)");
  EXPECT_THAT(loops_of(text), HasSubstr("total = true"));
  const double infinity = HUGE_VAL;
  EXPECT_THAT(run(text, all(tensor(DType::f32, {5}, {2, 0.0, -0.0, -4, 0.5}))),
              ElementsAre(-0.25, -infinity, infinity, 2, 0.5));
}

// A comparator may put anything in the place of its zeros; only what makes them alike is an order of the values.
TEST(StableHlo, ComparatorsThatChangeTheirValuesAreNoOrders) {
  const std::string text = function("%x: tensor<3xf32>", "tensor<3xf32>", R"(
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %c = stablehlo.constant dense<7.0> : tensor<f32>
      %1 = stablehlo.compare EQ, %a, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %c, %a : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare LT, %2, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>)");
  EXPECT_THAT(loops_of(text), HasSubstr("opaque sort_by_comparator"));
}

TEST(StableHlo, MasksShowTheirStructure) {
  const std::string text = function("%x: tensor<4x4xf32>", "tensor<4x4xf32>", R"(
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi32>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %6 = stablehlo.select %4, %x, %5 : tensor<4x4xi1>, tensor<4x4xf32>
    return %6 : tensor<4x4xf32>)");
  EXPECT_THAT(loops_of(text), HasSubstr("if(i >= j, x[i, j], 0"));
}

TEST(StableHlo, AnyReducerAppliesStepByStep) {
  // keeps the value that is nearest to zero; not one of the reducers
  const std::string text = function("%x: tensor<2x3xf32>", "tensor<2xf32>", R"(
    %cst = stablehlo.constant dense<100.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %cst) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
     reducer(%a: tensor<f32>, %b: tensor<f32>)  {
      %1 = stablehlo.abs %a : tensor<f32>
      %2 = stablehlo.abs %b : tensor<f32>
      %3 = stablehlo.compare LT, %1, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
    return %0 : tensor<2xf32>)");
  std::vector<Tensor> inputs;
  inputs.push_back(tensor(DType::f32, {2, 3}, {3, -2, 5, -1, 4, 7}));
  EXPECT_THAT(run(text, inputs), ElementsAre(-2, -1));
}

TEST(StableHlo, ScansRunForwardsAndBackwards) {
  const auto text = [](const std::string& reverse, int dimension, const std::string& slice,
                       const std::string& results) {
    return function("%x: tensor<2x3xf32>", results,
                    fmt::format(R"(
    %0 = stablehlo.constant dense<0.0> : {1}
    %1:2 = chlo.scan(%x) inits (%0) dimension={2}  attributes {{is_associative = true, is_reverse = {0}}} {{
    ^bb0(%input: {1}, %carry: {1}):
      %2 = stablehlo.add %input, %carry : {1}
      stablehlo.return %2, %2 : {1}, {1}
    }} : (tensor<2x3xf32>, {1}) -> (tensor<2x3xf32>, {1})
    return %1#0 : tensor<2x3xf32>)",
                                reverse, slice, dimension));
  };
  std::vector<Tensor> inputs;
  inputs.push_back(tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(run(text("false", 1, "tensor<2xf32>", "tensor<2x3xf32>"), inputs), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(run(text("true", 1, "tensor<2xf32>", "tensor<2x3xf32>"), inputs), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(run(text("true", 0, "tensor<3xf32>", "tensor<2x3xf32>"), inputs), ElementsAre(5, 7, 9, 4, 5, 6));
}

TEST(StableHlo, DonatedArgumentsAreReplaced) {
  const auto graph =
      parse_stablehlo(function("%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}", "tensor<2xf32>",
                               "    %0 = stablehlo.add %x, %x : tensor<2xf32>\n    return %0 : tensor<2xf32>"),
                      "m.mlir");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->outputs[0].replaces, graph->inputs[0].value);
}

TEST(StableHlo, ShardingsAreNoted) {
  const auto graph = parse_stablehlo(R"(module {
    sdy.mesh @mesh = <["x"=2]>
    func.func public @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
      %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<2xf32>
      %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
  })",
                                     "m.mlir");
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  EXPECT_TRUE(graph->nodes.empty());
  EXPECT_THAT(graph->assumptions, ElementsAre(HasSubstr("shardings are ignored")));
}

TEST(StableHlo, UnknownOperatorsKeepTheirName) {
  const auto graph = parse_stablehlo(function("%x: tensor<2xf32>", "tensor<2xf32>",
                                              "    %0 = stablehlo.custom_call @mystery(%x) {backend_config = \"\"} : "
                                              "(tensor<2xf32>) -> tensor<2xf32>\n    return %0 : tensor<2xf32>"),
                                     "m.mlir");
  ASSERT_TRUE(graph.ok());
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
  EXPECT_EQ(lowered->not_executable.at("stablehlo.custom_call.mystery"), 1);
}

TEST(StableHlo, ErrorsSayWhere) {
  const std::string add = "    %0 = stablehlo.add %x, %y : tensor<2xf32>\n    return %0 : tensor<2xf32>";
  EXPECT_THAT(refused(function("%x: tensor<2xf32>", "tensor<2xf32>", add)),
              HasSubstr("bad.mlir:3:28: error: the value '%y' is not defined"));
  EXPECT_THAT(refused("module {\n  func.func @main("),
              HasSubstr("bad.mlir:2:19: error: a type is expected, but the text ends"));
  EXPECT_THAT(refused(function("%x: tensor<?xf32>", "tensor<2xf32>", add)),
              HasSubstr("bad.mlir:2:37: error: the program has an extent"));
  EXPECT_THAT(refused(function("%x: tensor<2xf8E3M4>", "tensor<2xf32>", add)), HasSubstr("the element type 'f8E3M4'"));
  EXPECT_THAT(refused("module {}"), HasSubstr("the text has no function"));
  EXPECT_THAT(
      refused(function("", "tensor<2xf32>",
                       "    %0 = stablehlo.constant dense<[1.0]> : tensor<2xf32>\n    return %0 : tensor<2xf32>")),
      HasSubstr("the nesting of a constant does not fit its shape"));
  EXPECT_THAT(refused(function("%x: tensor<2xf32>", "tensor<2xf32>", "    return %x#1 : tensor<2xf32>")),
              HasSubstr("there is no '#1'"));
}

TEST(StableHlo, HostileTextIsRefused) {
  const std::string recursive = R"(module {
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = call @main(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
  })";
  EXPECT_THAT(refused(recursive), HasSubstr("calls itself"));
  // twenty functions that call the next one thirty times: 30^20 calls
  std::string text =
      "module {\n  func.func @main(%x: tensor<f32>) -> tensor<f32> {\n    %0 = call @f0(%x) : (tensor<f32>) -> "
      "tensor<f32>\n    return %0 : tensor<f32>\n  }\n";
  for (int f = 0; f < 20; ++f) {
    text += fmt::format("  func.func private @f{}(%x: tensor<f32>) -> tensor<f32> {{\n", f);
    for (int i = 0; i < 30 && f < 19; ++i)
      text += fmt::format("    %{} = call @f{}(%x) : (tensor<f32>) -> tensor<f32>\n", i, f + 1);
    text += "    return %x : tensor<f32>\n  }\n";
  }
  EXPECT_THAT(refused(text + "}\n"), HasSubstr("more than 400000 operations"));
  EXPECT_THAT(refused("module " + std::string(100'000, '{')), HasSubstr("error"));
  EXPECT_THAT(refused("module attributes {a = " + std::string(100'000, '[')), HasSubstr("nests deeper"));
  EXPECT_THAT(refused(function("%x: tensor<9223372036854775807x9223372036854775807xf32>", "tensor<f32>", "")),
              HasSubstr("too many elements"));
  EXPECT_EQ(refused(function("", "tensor<1000000x1000000xf32>",
                             "    %0 = stablehlo.constant dense<1.0> : tensor<1000000x1000000xf32>\n    return %0 : "
                             "tensor<1000000x1000000xf32>")),
            "accepted");  // a splat takes no memory
}

// Every prefix of a program, and every program with one character changed, is accepted or refused in words.
TEST(StableHlo, DamagedTextIsHandled) {
  const std::string good = scan_text;
  for (size_t size = 0; size < good.size(); size += 3)
    ASSERT_NO_THROW(fuzz::run_stablehlo(good.substr(0, size))) << size;
  for (size_t at = 0; at < good.size(); at += 2) {
    std::string damaged = good;
    damaged[at] = "9<%x}"[at % 5];
    ASSERT_NO_THROW(fuzz::run_stablehlo(damaged)) << at;
  }
}

TEST(StableHlo, CorporaHoldItsText) {
  const std::string path = testing::TempDir() + "/stablehlo.jsonl";
  ASSERT_TRUE(
      write_file(
          path,
          R"({"name": "one", "stablehlo": "module {\n  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n    return %x : tensor<2xf32>\n  }\n}", "sol_ms": 1})"
          "\n")
          .ok());
  int seen = 0;
  ASSERT_TRUE(for_each_program(path, ExportForm::training, [&](const CorpusEntry& entry) -> Status {
                ++seen;
                EXPECT_EQ(entry.name, "one");
                EXPECT_THAT(entry.carried, HasSubstr("\"sol_ms\":1"));
                const auto graph = parse_graph(entry.program, ExportForm::training, path);
                EXPECT_TRUE(graph.ok()) << to_string(graph.error());
                return Ok{};
              }).ok());
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace lightline::frontend
