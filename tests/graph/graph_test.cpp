#include "graph/graph.h"

#include <gtest/gtest.h>

namespace lightline::graph {
namespace {

const TensorType f32_4{DType::f32, {4}};

// y = relu(x) + sigmoid(x), with the two independent nodes in either order and any names.
Graph diamond(bool swapped, const std::string& prefix, double factor = 1) {
  Graph g;
  const ValueId x = g.add_value(prefix + "x", f32_4), a = g.add_value(prefix + "a", f32_4),
                b = g.add_value(prefix + "b", f32_4), y = g.add_value(prefix + "y", f32_4);
  g.inputs.push_back({x, InputKind::user, "", {}});
  const Node relu{"aten.relu.default", prefix + "1", {{"self", ValueRef{x}}}, {a}};
  const Node sigmoid{"aten.sigmoid.default", prefix + "2", {{"self", ValueRef{x}}}, {b}};
  g.nodes = swapped ? std::vector<Node>{sigmoid, relu} : std::vector<Node>{relu, sigmoid};
  g.nodes.push_back(
      {"aten.add.Tensor", prefix + "3", {{"self", ValueRef{a}}, {"other", ValueRef{b}}, {"alpha", factor}}, {y}});
  g.outputs.push_back({y, no_value});
  return g;
}

std::string hash(const Graph& g) {
  std::vector<std::string> targets;
  for (const Node& node : g.nodes) targets.push_back(node.target);
  return content_hash(g, targets);
}

TEST(GraphHash, IgnoresNamesAndTheOrderOfIndependentNodes) {
  EXPECT_EQ(hash(diamond(false, "p")), hash(diamond(false, "q")));
  EXPECT_EQ(hash(diamond(false, "p")), hash(diamond(true, "p")));
}

TEST(GraphHash, SeesAttributesTypesAndEdges) {
  EXPECT_NE(hash(diamond(false, "p")), hash(diamond(false, "p", 2)));
  Graph other = diamond(false, "p");
  other.values[0].type = TensorType{DType::f16, {4}};
  EXPECT_NE(hash(diamond(false, "p")), hash(other));
  Graph crossed = diamond(false, "p");
  std::swap(crossed.nodes[2].arguments[0].value, crossed.nodes[2].arguments[1].value);
  EXPECT_NE(hash(diamond(false, "p")), hash(crossed));
}

TEST(GraphCheck, FindsUsesBeforeDefinitions) {
  Graph g = diamond(false, "p");
  EXPECT_TRUE(check(g).ok());
  std::swap(g.nodes[0], g.nodes[2]);
  const Status status = check(g);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "node 'p3' (aten.add.Tensor) uses 'pa' before it is defined");
}

TEST(GraphCheck, FindsDoubleDefinitions) {
  Graph g = diamond(false, "p");
  g.nodes[1].results = g.nodes[0].results;
  const Status status = check(g);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "node 'p2' (aten.sigmoid.default) defines 'pa', which is already defined");
}

}  // namespace
}  // namespace lightline::graph
