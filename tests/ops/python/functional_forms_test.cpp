// torch.nn.functional's calls by position mean the same as ATen's by name.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "loops/ir/print.h"
#include "ops/lower/lower.h"

namespace lightline {
namespace {

using Arguments = std::vector<graph::NamedArgument>;

// A program of one call; its inputs are `shapes`, and an argument ValueRef{i} is the i-th of them.
std::string lowered(const std::string& target, const std::vector<TensorType>& inputs, Arguments arguments,
                    const TensorType& result) {
  graph::Graph g;
  for (size_t i = 0; i < inputs.size(); ++i)
    g.inputs.push_back({g.add_value("x" + std::to_string(i), inputs[i]), graph::InputKind::user, "", {}});
  const graph::ValueId y = g.add_value("y", result);
  g.nodes.push_back({target, "call", std::move(arguments), {y}});
  g.outputs.push_back({y, graph::no_value});
  auto program = ops::lower(g);
  if (!program.ok()) return to_string(program.error());
  for (std::string& group : program->program.groups) group = "call";
  return loops::print(program->program);
}

graph::NamedArgument by_position(graph::Argument value) { return {"", std::move(value)}; }
graph::Argument input(uint32_t i) { return graph::ValueRef{i}; }

TEST(FunctionalForms, BatchNorm) {
  const TensorType x{DType::f32, {4, 3, 5}}, channel{DType::f32, {3}};
  const std::vector<TensorType> inputs{x, channel, channel, channel, channel};
  Arguments positional;
  for (uint32_t i = 0; i < 5; ++i) positional.push_back(by_position(input(i)));
  positional.push_back(by_position(false));
  positional.push_back(by_position(0.1));
  positional.push_back(by_position(1e-5));
  const Arguments named{{"input", input(0)},       {"weight", input(3)}, {"bias", input(4)}, {"running_mean", input(1)},
                        {"running_var", input(2)}, {"training", false},  {"momentum", 0.1},  {"eps", 1e-5},
                        {"cudnn_enabled", true}};
  const std::string expected = lowered("aten.batch_norm.default", inputs, named, x);
  EXPECT_NE(expected.find("rsqrt"), std::string::npos);
  EXPECT_EQ(lowered("torch.nn.functional.batch_norm", inputs, positional, x), expected);
}

TEST(FunctionalForms, SoftmaxWithDtype) {
  const TensorType x{DType::bf16, {4, 3}}, y{DType::f32, {4, 3}};
  const Arguments positional{by_position(input(0)), by_position(int64_t(-1)), by_position(int64_t(3)),
                             by_position(DType::f32)};
  const Arguments named{{"self", input(0)}, {"dim", int64_t(-1)}, {"dtype", DType::f32}};
  EXPECT_EQ(lowered("torch.nn.functional.softmax", {x}, positional, y), lowered("aten.softmax.int", {x}, named, y));
}

TEST(FunctionalForms, CrossEntropyBySum) {
  const TensorType x{DType::f32, {4, 3}}, labels{DType::i64, {4}}, loss{DType::f32, {}};
  const Arguments functional{
      by_position(input(0)), by_position(input(1)), {"reduction", std::string("sum")}, {"label_smoothing", 0.1}};
  const Arguments named{{"self", input(0)}, {"target", input(1)}, {"reduction", int64_t(2)}, {"label_smoothing", 0.1}};
  EXPECT_EQ(lowered("torch.nn.functional.cross_entropy", {x, labels}, functional, loss),
            lowered("aten.cross_entropy_loss.default", {x, labels}, named, loss));
}

TEST(FunctionalForms, MeanOverTheBatch) {
  const TensorType x{DType::f32, {4, 3}}, loss{DType::f32, {}};
  const Arguments functional{by_position(input(0)), by_position(input(1)), {"reduction", std::string("batchmean")}};
  const std::string program = lowered("torch.nn.functional.kl_div", {x, x}, functional, loss);
  EXPECT_NE(program.find("[] / 4"), std::string::npos) << program;
}

}  // namespace
}  // namespace lightline
