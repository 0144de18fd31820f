#include "frontend/export/torch_export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "frontend/export/sym_expr.h"
#include "frontend/load/load.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/print.h"
#include "ops/lower/lower.h"

namespace lightline::frontend {
namespace {

std::string fixture(const std::string& name) {
  return std::string(LIGHTLINE_SOURCE_DIR) + "/tests/frontend/data/" + name;
}

Result<graph::Graph> load_fixture(const std::string& name) {
  LL_TRY(const std::string content, read_file(fixture(name)));
  return parse_graph(content, ExportForm::training, fixture(name));
}

// One node relu(x) on f32[2]; `node` and `sizes` can be bent.
std::string program(const std::string& nodes, const std::string& sizes = R"([{"as_int": 2}])",
                    const std::string& output = "y") {
  const auto tensor = [&](const std::string& name) {
    return fmt::format(R"("{}": {{"dtype": 7, "sizes": {}, "strides": [], "layout": 7}})", name, sizes);
  };
  return fmt::format(
      R"({{"graph_module": {{"graph": {{"inputs": [{{"as_tensor": {{"name": "x"}}}}], "outputs": [{{"as_tensor": {{"name": "{}"}}}}], "nodes": [{}],
    "tensor_values": {{{}, {}, {}}}, "sym_int_values": {{}}, "sym_bool_values": {{}}}},
    "signature": {{"input_specs": [{{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}}], "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "{}"}}}}}}}}]}}}}}})",
      output, nodes, tensor("x"), tensor("y"), tensor("z"), output);
}
std::string unary(const std::string& target, const std::string& from, const std::string& to) {
  return fmt::format(
      R"({{"target": "{}", "inputs": [{{"name": "self", "arg": {{"as_tensor": {{"name": "{}"}}}}}}], "outputs": [{{"as_tensor": {{"name": "{}"}}}}], "metadata": {{}}, "name": "{}"}})",
      target, from, to, to);
}
std::string message_of(const std::string& json) {
  const auto graph = parse_torch_export(json);
  if (!graph.ok()) return graph.error().message;
  const auto lowered = ops::lower(*graph);
  return lowered.ok() ? "ok" : lowered.error().message;
}

TEST(TorchExport, ReadsAProgram) {
  const auto graph = parse_torch_export(program(unary("torch.ops.aten.relu.default", "x", "y")));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].target, "aten.relu.default");
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(loops::print(lowered->program),
            "program main(x: f32[2]) -> (y) {\n  @ \"aten.relu.default\"\n  y: f32[2] = for i: max(x[i], 0)\n}\n");
}

TEST(TorchExport, InPlaceWritesReachTheBaseThroughAView) {
  // v = x.select(0, 1); v.neg_(); return x
  const std::string nodes =
      R"({"target": "torch.ops.aten.select.int", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "dim", "arg": {"as_int": 0}}, {"name": "index", "arg": {"as_int": 1}}],
      "outputs": [{"as_tensor": {"name": "v"}}], "metadata": {}, "name": "v"}, )" +
      unary("torch.ops.aten.neg_.default", "v", "w");
  std::string json = program(nodes, R"([{"as_int": 3}])", "x");
  const auto graph = parse_torch_export(json);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  Tensor x(DType::f32, {3});
  for (int64_t i = 0; i < 3; ++i) x.set_f64(i, double(i + 1));
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  const auto results = loops::interpret(lowered->program, inputs);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].get_f64(0), 1);
  EXPECT_EQ((*results)[0].get_f64(1), -2);
  EXPECT_EQ((*results)[0].get_f64(2), 3);
}

TEST(TorchExport, UnknownOperatorsAreNamed) {
  const auto graph = parse_torch_export(program(unary("torch.ops.mylib.frobnicate.default", "x", "y")));
  ASSERT_TRUE(graph.ok());
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_THAT(lowered->not_executable, ::testing::ElementsAre(::testing::Pair("mylib.frobnicate.default", 1)));
}

TEST(TorchExport, ADifferentShapeIsAnErrorThatNamesTheNode) {
  std::string json = program(unary("torch.ops.aten.relu.default", "x", "y"));
  const size_t at = json.find("\"y\": {\"dtype\": 7");
  json.replace(at, 16, "\"y\": {\"dtype\": 6");
  EXPECT_EQ(message_of(json),
            "node 'y' (aten.relu.default): result 'y' should be f16[2] but the operator gives f32[2]");
}

TEST(TorchExport, SizesThatOnlyTheDataTellAreTheLeastAndSaid) {
  for (const auto& [least, taken] : {std::pair(0, 1), std::pair(3, 3)}) {
    std::string json = program(unary("torch.ops.aten.relu.default", "x", "y"),
                               R"json([{"as_expr": {"expr_str": "Symbol('u0', integer=True)", "hint": null}}])json");
    EXPECT_EQ(message_of(json), "tensor 'x': a size depends on data and has no example value");
    json.insert(1, fmt::format(R"("range_constraints": {{"u0": {{"min_val": {}, "max_val": 48}}}}, )", least));
    const auto graph = parse_torch_export(json);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(graph->values[graph->outputs[0].value].type->shape, (Shape{taken}));
    EXPECT_THAT(graph->assumptions, ::testing::ElementsAre(fmt::format(
                                        "the size u0 is not known before the program runs; taken as {}", taken)));
  }
}

TEST(TorchExport, ThousandsOfNamesAreFound) {
  std::string nodes;
  for (int i = 0; i < 5000; ++i)
    nodes +=
        unary("torch.ops.aten.relu.default", i == 0 ? "x" : fmt::format("n{}", i - 1), fmt::format("n{}", i)) + ",";
  const auto graph = parse_torch_export(program(nodes + unary("torch.ops.aten.relu.default", "n4999", "y")));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 5001u);
  EXPECT_EQ(std::get<graph::ValueRef>(graph->nodes[5000].arguments[0].value).id, graph->nodes[4999].results[0]);
  EXPECT_EQ(message_of(program(nodes + unary("torch.ops.aten.relu.default", "n4998", "n7"))), "'n7' is defined twice");
}

TEST(TorchExport, HostileProgramsEndInAMessage) {
  EXPECT_THAT(message_of(""), ::testing::StartsWith("not valid JSON"));
  EXPECT_THAT(message_of("{"), ::testing::StartsWith("not valid JSON"));
  EXPECT_EQ(message_of("{}"), "the program has no 'graph_module'");
  EXPECT_EQ(message_of("[]"), "the program is missing or of the wrong kind");
  EXPECT_EQ(message_of(program(unary("torch.ops.aten.relu.default", "z", "y"))),
            "node 'y' uses 'z' before it is defined");
  EXPECT_EQ(message_of(program(unary("torch.ops.aten.relu.default", "y", "z") + "," +
                               unary("torch.ops.aten.relu.default", "z", "y"))),
            "node 'z' uses 'y' before it is defined");
  EXPECT_EQ(message_of(program(unary("torch.ops.aten.relu.default", "x", "y"), R"([{"as_int": -3}])")),
            "tensor 'x': a size is negative: -3");
  EXPECT_EQ(message_of(program(unary("torch.ops.aten.relu.default", "x", "y"),
                               R"([{"as_int": 4611686018427387904}, {"as_int": 16}])")),
            "tensor 'x': the shape [4611686018427387904, 16] has too many elements");
  EXPECT_THAT(message_of(std::string(5000, '[')), ::testing::StartsWith("not valid JSON"));
}

TEST(Pt2, TiedWeightsAreOneInputAndMutationsAreOutputs) {
  const auto graph = load_fixture("linear_tied.pt2");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(graph->inputs.size(), 8u);
  EXPECT_EQ(lowered->program.inputs.size(), 7u);  // a.weight and b.weight are one
  std::vector<std::string> replaced;
  for (const loops::Output& output : lowered->program.outputs)
    if (output.replaces != loops::none) replaced.push_back(lowered->program.arrays[output.replaces].name);
  EXPECT_THAT(replaced, ::testing::ElementsAre("b_n", "x"));
}

TEST(Pt2, KeepsTheValuesOfBuffersAndConstants) {
  const auto graph = load_fixture("linear_tied.pt2");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  int known = 0;
  for (const graph::Input& input : graph->inputs) {
    if (!input.known) continue;
    ++known;
    EXPECT_NE(input.kind, graph::InputKind::parameter);
    if (input.known->dtype() == DType::i64 && input.known->size() == 4) {
      EXPECT_EQ(input.known->get_i64(0), 1);
    } else if (input.known->size() == 2) {
      EXPECT_EQ(input.known->get_i64(0), 2);
    }
  }
  EXPECT_EQ(known, 3);
}

TEST(Pt2, BothBranchesOfACondAreLoweredAndSaid) {
  const auto graph = load_fixture("cond.pt2");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->assumptions.size(), 1u);
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(lowered->calls.at("where"), 1);
}

TEST(Pt2, DynamicSizesTakeTheirExample) {
  const auto graph = load_fixture("dynamic.pt2");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->values[graph->outputs[0].value].type->shape, (Shape{2, 4}));
}

TEST(Pt2, WhileLoopsAreOpaqueByName) {
  const auto graph = load_fixture("while_loop.pt2");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(lowered->not_executable.count("higher_order.while_loop"), 1u);
}

TEST(Pt2, EveryTruncationEndsInAMessage) {
  const auto content = read_file(fixture("linear_tied.pt2"));
  ASSERT_TRUE(content.ok());
  for (size_t size = 0; size < content->size(); size += 97) {
    const auto graph = parse_graph(std::string_view(*content).substr(0, size), ExportForm::training, "cut.pt2");
    EXPECT_FALSE(graph.ok()) << size;
  }
}

TEST(SymExpr, Evaluates) {
  const auto value = [](std::string_view symbol) -> std::optional<int64_t> {
    if (symbol == "s0") return 7;
    if (symbol == "u1") return 3;
    return std::nullopt;
  };
  EXPECT_EQ(evaluate_sym_expr("Symbol('s0', positive=True, integer=True)", value), 7);
  EXPECT_EQ(
      evaluate_sym_expr("FloorDiv(Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1)), Integer(4))", value),
      3);
  EXPECT_EQ(evaluate_sym_expr("Max(Integer(1), Mod(Symbol('s0', integer=True), Symbol('u1', integer=True)))", value),
            1);
  EXPECT_EQ(evaluate_sym_expr("2*s0 + 1", value), 15);
  EXPECT_EQ(evaluate_sym_expr("Symbol('unknown', integer=True)", value), std::nullopt);
  EXPECT_EQ(evaluate_sym_expr("FloorDiv(Integer(1), Integer(0))", value), std::nullopt);
  EXPECT_EQ(evaluate_sym_expr("Add(", value), std::nullopt);
  EXPECT_EQ(evaluate_sym_expr(std::string(10000, '('), value), std::nullopt);
}

}  // namespace
}  // namespace lightline::frontend
