#include "frontend/canonical/canonicalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"

namespace lightline::frontend {
namespace {

// x, z: f32[4, 6]; w: f32[6, 6]; v: f32[6]; i: i64[4]; t: f32[2, 4, 6]; im: f32[2, 3, 8, 8]; k: f32[5, 3, 3, 3]
graph::Graph read(const std::string& nodes, const std::string& result = "y") {
  const std::string text =
      "graph g {\n  input x: f32[4, 6]\n  input z: f32[4, 6]\n  input w: f32[6, 6]\n  input v: f32[6]\n  input i: "
      "i64[4]\n"
      "  input t: f32[2, 4, 6]\n  input im: f32[2, 3, 8, 8]\n  input k: f32[5, 3, 3, 3]\n  " +
      nodes + "\n  return " + result + "\n}\n";
  auto graph = graph::parse(text, "test");
  EXPECT_TRUE(graph.ok()) << to_string(graph.error()) << "\n" << text;
  return graph.ok() ? std::move(graph).value() : graph::Graph{};
}

graph::Graph canonical(const std::string& nodes, const std::string& result = "y") {
  auto graph = canonicalise(read(nodes, result));
  EXPECT_TRUE(graph.ok()) << to_string(graph.error()) << "\n" << nodes;
  return graph.ok() ? std::move(graph).value() : graph::Graph{};
}

// The spellings of a group mean the same.
const std::vector<std::vector<std::string>> groups = {
    {"y: f32[4, 6] = aten.relu.default(x)", "y: f32[4, 6] = torch.relu(x)",
     "y: f32[4, 6] = torch.nn.functional.relu(x)", "y: f32[4, 6] = Tensor.relu(x)",
     "y: f32[4, 6] = torch.nn.functional.relu(x, inplace = false)"},
    {"y: f32[4, 6] = aten.add.Tensor(x, z)", "y: f32[4, 6] = _operator.add(x, z)", "y: f32[4, 6] = torch.add(x, z)",
     "y: f32[4, 6] = Tensor.add(x, z)", "y: f32[4, 6] = aten.add.Tensor(x, z, alpha = 1)",
     "y: f32[4, 6] = Tensor.__add__(x, z)"},
    {"y: f32[4, 6] = aten.sub.Tensor(x, z)", "y: f32[4, 6] = _operator.sub(x, z)",
     "y: f32[4, 6] = torch.subtract(x, z)", "y: f32[4, 6] = aten.rsub.Tensor(z, x)"},
    {"y: f32[4, 6] = aten.mul.Tensor(x, z)", "y: f32[4, 6] = _operator.mul(x, z)",
     "y: f32[4, 6] = torch.multiply(x, z)"},
    {"y: f32[4, 6] = aten.div.Tensor(x, z)", "y: f32[4, 6] = _operator.truediv(x, z)",
     "y: f32[4, 6] = torch.true_divide(x, z)", "y: f32[4, 6] = Tensor.divide(x, z)"},
    {"y: f32[4, 6] = aten.floor_divide.default(x, z)", "y: f32[4, 6] = _operator.floordiv(x, z)",
     "y: f32[4, 6] = aten.div.Tensor_mode(x, z, rounding_mode = \"floor\")"},
    {"y: f32[4, 6] = aten.remainder.Tensor(x, z)", "y: f32[4, 6] = _operator.mod(x, z)"},
    {"y: f32[4, 6] = aten.pow.Tensor_Scalar(x, 2)", "y: f32[4, 6] = _operator.pow(x, 2)",
     "y: f32[4, 6] = torch.square(x)"},
    {"y: f32[4, 6] = aten.neg.default(x)", "y: f32[4, 6] = _operator.neg(x)", "y: f32[4, 6] = torch.negative(x)"},
    {"y: bool[4, 6] = aten.eq.Tensor(x, z)", "y: bool[4, 6] = _operator.eq(x, z)",
     "y: bool[4, 6] = Tensor.__eq__(x, z)"},
    {"y: bool[4, 6] = aten.lt.Tensor(x, z)", "y: bool[4, 6] = _operator.lt(x, z)", "y: bool[4, 6] = torch.less(x, z)"},
    {"y: bool[4, 6] = aten.ge.Tensor(x, z)", "y: bool[4, 6] = _operator.ge(x, z)",
     "y: bool[4, 6] = torch.greater_equal(x, z)"},
    {"y: bool[4, 6] = aten.ne.Tensor(x, z)", "y: bool[4, 6] = _operator.ne(x, z)",
     "y: bool[4, 6] = torch.not_equal(x, z)"},
    {"y: bool[4, 6] = aten.gt.Tensor(x, z)", "y: bool[4, 6] = _operator.gt(x, z)",
     "y: bool[4, 6] = torch.greater(x, z)"},
    {"y: bool[4, 6] = aten.le.Tensor(x, z)", "y: bool[4, 6] = _operator.le(x, z)",
     "y: bool[4, 6] = torch.less_equal(x, z)"},
    {"y: f32[4, 6] = aten.softmax.int(x, -1)", "y: f32[4, 6] = torch.softmax(x, dim = -1)",
     "y: f32[4, 6] = torch.nn.functional.softmax(x, -1, 3, none)", "y: f32[4, 6] = Tensor.softmax(x, -1)",
     "y: f32[4, 6] = aten._softmax.default(x, -1, false)", "y: f32[4, 6] = torch.softmax(x, 1)"},
    {"y: f32[4, 6] = aten.log_softmax.int(x, -1)", "y: f32[4, 6] = torch.nn.functional.log_softmax(x, -1)",
     "y: f32[4, 6] = aten._log_softmax.default(x, 1, false)"},
    {"y: f32[4, 6] = aten.sigmoid.default(x)", "y: f32[4, 6] = torch.sigmoid(x)",
     "y: f32[4, 6] = torch.special.expit(x)", "y: f32[4, 6] = torch.nn.functional.sigmoid(x)"},
    {"y: f32[4, 6] = aten.silu.default(x)", "y: f32[4, 6] = torch.nn.functional.silu(x, inplace = false)"},
    {"y: f32[4, 6] = aten.gelu.default(x)", "y: f32[4, 6] = torch._C._nn.gelu(x)",
     "y: f32[4, 6] = torch.nn.functional.gelu(x, approximate = \"none\")"},
    {"y: f32[4, 6] = aten.hardtanh.default(x, 0, 6)", "y: f32[4, 6] = torch.nn.functional.relu6(x)",
     "y: f32[4, 6] = aten.relu6.default(x)"},
    {"y: f32[4, 6] = aten.leaky_relu.default(x)", "y: f32[4, 6] = torch.nn.functional.leaky_relu(x, 0.01)"},
    {"y: f32[4, 6] = aten.elu.default(x)", "y: f32[4, 6] = torch.nn.functional.elu(x, 1)"},
    {"y: f32[4, 6] = aten.abs.default(x)", "y: f32[4, 6] = torch.absolute(x)"},
    {"y: f32[4, 6] = aten.clamp.default(x, 0)", "y: f32[4, 6] = torch.clip(x, 0)",
     "y: f32[4, 6] = aten.clamp_min.default(x, 0)"},
    {"y: f32[4, 6] = aten.acos.default(x)", "y: f32[4, 6] = torch.arccos(x)"},
    {"y: f32[4, 6] = aten.erf.default(x)", "y: f32[4, 6] = torch.special.erf(x)"},
    {"y: f32[4, 6] = aten.log1p.default(x)", "y: f32[4, 6] = torch.special.log1p(x)"},
    {"y: f32[4, 6] = aten.maximum.default(x, z)", "y: f32[4, 6] = aten.max.other(x, z)"},
    {"y: f32[4, 6] = aten.minimum.default(x, z)", "y: f32[4, 6] = aten.min.other(x, z)"},
    {"y: f32[4, 6] = aten.mm.default(x, w)", "y: f32[4, 6] = aten.matmul.default(x, w)",
     "y: f32[4, 6] = _operator.matmul(x, w)", "y: f32[4, 6] = Tensor.__matmul__(x, w)"},
    {"y: f32[2, 4, 4] = aten.bmm.default(t, u)", "y: f32[2, 4, 4] = torch.matmul(t, u)"},
    {"y: f32[4] = aten.mv.default(x, v)", "y: f32[4] = torch.matmul(x, v)"},
    {"y: f32[] = aten.dot.default(v, v)", "y: f32[] = torch.matmul(v, v)"},
    {"y: f32[4, 6] = aten.linear.default(x, w)", "y: f32[4, 6] = torch.nn.functional.linear(x, w)",
     "y: f32[4, 6] = torch._C._nn.linear(x, w, none)"},
    {"y: f32[6, 6] = aten.outer.default(v, v)", "y: f32[6, 6] = torch.ger(v, v)"},
    {"y: f32[6, 4] = aten.t.default(x)", "y: f32[6, 4] = aten.transpose.int(x, 0, 1)",
     "y: f32[6, 4] = Tensor.transpose(x, -1, 0)", "y: f32[6, 4] = aten.permute.default(x, [1, 0])",
     "y: f32[6, 4] = torch.swapaxes(x, 0, 1)", "y: f32[6, 4] = torch.movedim(x, 0, 1)",
     "y: f32[6, 4] = aten.mT.default(x)", "y: f32[6, 4] = aten.numpy_T.default(x)"},
    {"y: f32[24] = aten.view.default(x, [24])", "y: f32[24] = aten.reshape.default(x, [-1])",
     "y: f32[24] = aten.flatten.using_ints(x)", "y: f32[24] = torch.ravel(x)",
     "y: f32[24] = aten._unsafe_view.default(x, [24])"},
    {"y: f32[4, 1, 6] = aten.unsqueeze.default(x, 1)", "y: f32[4, 1, 6] = aten.view.default(x, [4, 1, 6])",
     "y: f32[4, 1, 6] = aten.unsqueeze.default(x, -2)"},
    {"y: f32[2, 2, 6] = aten.unflatten.int(x, 0, [2, 2])", "y: f32[2, 2, 6] = aten.view.default(x, [2, 2, 6])"},
    {"y: f32[2, 4, 6] = aten.expand.default(x, [2, 4, 6])", "y: f32[2, 4, 6] = aten.expand.default(x, [2, -1, -1])",
     "y: f32[2, 4, 6] = torch.broadcast_to(x, [2, 4, 6])", "y: f32[2, 4, 6] = aten.expand_as.default(x, t)"},
    {"y: f32[2, 6] = aten.slice.Tensor(x, 0, 1, 3)", "y: f32[2, 6] = aten.narrow.default(x, 0, 1, 2)",
     "y: f32[2, 6] = aten.slice.Tensor(x, -2, -3, -1)"},
    {"y: f32[4] = aten.select.int(x, 1, 5)", "y: f32[4] = aten.select.int(x, -1, -1)"},
    {"(y: f32[2, 6], _) = aten.split.Tensor(x, 2)", "y: f32[2, 6] = aten.slice.Tensor(x, 0, 0, 2)",
     "(y: f32[2, 6], _) = aten.chunk.default(x, 2)", "(y: f32[2, 6], _) = aten.split_with_sizes.default(x, [2, 2])",
     "(y: f32[2, 6], _) = aten.tensor_split.sections(x, 2)"},
    {"(y: f32[6], _, _, _) = aten.unbind.int(x)", "y: f32[6] = aten.select.int(x, 0, 0)"},
    {"y: f32[4, 6] = aten.detach.default(x)", "y: f32[4, 6] = aten.alias.default(x)",
     "y: f32[4, 6] = aten.contiguous.default(x)", "y: f32[4, 6] = aten.to.dtype(x, f32)",
     "y: f32[4, 6] = aten.dropout.default(x, 0.5, false)"},
    {"y: f32[4, 12] = aten.cat.default([x, z], 1)", "y: f32[4, 12] = torch.cat([x, z], dim = 1)",
     "y: f32[4, 12] = torch.concat([x, z], 1)", "y: f32[4, 12] = torch.cat([x, z], -1)"},
    {"y: f32[6] = aten.sum.dim_IntList(x, [0])", "y: f32[6] = torch.sum(x, 0)",
     "y: f32[6] = aten.sum.dim_IntList(x, [-2], false)"},
    {"y: f32[4, 1] = aten.mean.dim(x, [-1], true)", "y: f32[4, 1] = torch.mean(x, 1, keepdim = true)"},
    {"y: f32[4] = aten.amax.default(x, [1])", "y: f32[4] = torch.amax(x, -1)"},
    {"y: f32[4, 6] = aten.cumsum.default(x, 1)", "y: f32[4, 6] = torch.cumsum(x, dim = -1)"},
    {"y: f32[4, 6] = aten.embedding.default(w, i)", "y: f32[4, 6] = torch.nn.functional.embedding(i, w)"},
    {"y: f32[2, 5, 8, 8] = aten.conv2d.default(im, k, none, [1, 1], [1, 1])",
     "y: f32[2, 5, 8, 8] = torch.conv2d(im, k, none, 1, 1)",
     "y: f32[2, 5, 8, 8] = aten.convolution.default(im, k, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)"},
    {"(y: f32[2, 3, 4, 4], _) = aten.max_pool2d_with_indices.default(im, [2, 2])",
     "(y: f32[2, 3, 4, 4], _) = torch.nn.functional.max_pool2d(im, 2, return_indices = true)"},
    {"y: f32[2, 3, 10, 10] = aten.constant_pad_nd.default(im, [1, 1, 1, 1])",
     "y: f32[2, 3, 10, 10] = torch._C._nn.pad(im, [1, 1, 1, 1])"},
    {"y: f32[2, 3, 10, 10] = aten.reflection_pad2d.default(im, [1, 1, 1, 1])",
     "y: f32[2, 3, 10, 10] = torch.nn.functional.pad(im, [1, 1, 1, 1], \"reflect\")"},
    {"y: f32[4, 6] = aten.where.self(m, x, z)", "y: f32[4, 6] = torch.where(m, x, z)"},
    {"h: f32[4, 6] = aten.neg.default(x)\n  y: f32[4, 6] = aten.relu_.default(h)",
     "h: f32[4, 6] = aten.neg.default(x)\n  y: f32[4, 6] = aten.relu.default(h)",
     "y: f32[4, 6] = aten.neg.default(x)\n  h: f32[4, 6] = Tensor.relu_(y)"},
    {"y: f32[4, 6] = aten.add_.Tensor(x, z)", "y: f32[4, 6] = Tensor.add_(x, z)",
     "y: f32[4, 6] = aten.add_.Tensor(x, z, alpha = 1)"},
    {"y: f32[4, 6] = aten.rsqrt.default(x)", "y: f32[4, 6] = Tensor.rsqrt(x)"},
    {"y: f32[4, 6] = aten.fmod.Tensor(x, z)", "y: f32[4, 6] = torch.fmod(x, z)"},
};

TEST(Canonicalise, GivesAllSpellingsOneGraph) {
  EXPECT_GE(groups.size(), 60U);
  for (const auto& group : groups) {
    std::string first;
    for (const std::string& spelling : group) {
      const auto uses = [&](const char* name) { return spelling.find(name) != std::string::npos; };
      std::string nodes;
      if (uses("(t, u)")) nodes += "u: f32[2, 6, 4] = aten.transpose.int(t, 1, 2)\n  ";
      if (uses("(x, d)")) nodes += "d: f64[4, 6] = aten.sin.default(x)\n  ";
      if (uses("(m,")) nodes += "m: bool[4, 6] = aten.lt.Scalar(z, 0)\n  ";
      nodes += spelling;
      const std::string hash = graph::content_hash(canonical(nodes));
      if (first.empty()) first = hash;
      EXPECT_EQ(hash, first) << graph::print(canonical(nodes)) << "should be\n" << group[0];
    }
  }
}

TEST(Canonicalise, TellsDifferentProgramsApart) {
  std::vector<std::string> hashes;
  for (const char* nodes : {"y: f32[4, 6] = aten.relu.default(x)", "y: f32[4, 6] = aten.relu.default(z)",
                            "y: f32[4, 6] = aten.sigmoid.default(x)", "y: f32[4, 6] = aten.add.Tensor(x, z)",
                            "y: f32[4, 6] = aten.add.Tensor(x, z, alpha = 2)", "y: f32[4, 6] = aten.sub.Tensor(z, x)",
                            "y: f32[4, 6] = aten.sub.Tensor(x, z)", "y: f32[4, 6] = aten.softmax.int(x, 0)",
                            "y: f32[4, 6] = aten.softmax.int(x, 1)"})
    hashes.push_back(graph::content_hash(canonical(nodes)));
  for (size_t a = 0; a < hashes.size(); ++a)
    for (size_t b = 0; b < a; ++b) EXPECT_NE(hashes[a], hashes[b]) << a << " " << b;
}

TEST(Canonicalise, StructureIgnoresSizesAndDtypes) {
  const auto hash = [](const std::string& type, const std::string& op) {
    auto graph =
        graph::parse("graph g {\n  input x: " + type + "\n  y: " + type + " = " + op + "(x)\n  return y\n}\n", "test");
    return graph::structure_hash(*canonicalise(std::move(graph).value()));
  };
  EXPECT_EQ(hash("f32[4, 6]", "aten.relu.default"), hash("bf16[128, 3, 7]", "torch.relu"));
  EXPECT_NE(hash("f32[4, 6]", "aten.relu.default"), hash("f32[4, 6]", "aten.sigmoid.default"));
}

TEST(Canonicalise, WritesThroughViewsReachWhatSharesTheMemory) {
  const graph::Graph graph = canonical(
      "r: f32[6] = aten.select.int(x, 0, 1)\n  s: f32[6] = aten.relu_.default(r)\n  y: f32[4, 6] = "
      "aten.neg.default(x)");
  EXPECT_EQ(graph::print(graph),
            "graph g {\n  input x: f32[4, 6]\n  input z: f32[4, 6]\n  input w: f32[6, 6]\n  input v: f32[6]\n  input "
            "i: i64[4]\n"
            "  input t: f32[2, 4, 6]\n  input im: f32[2, 3, 8, 8]\n  input k: f32[5, 3, 3, 3]\n"
            "  r: f32[6] = select(x, dim = 0, index = 1)\n  s: f32[6] = relu(r)\n  s_1: f32[6] = select(x, dim = 0, "
            "index = 1)\n"
            "  s_2: f32[4, 6] = select_scatter(x, s, dim = 0, index = 1)\n  y: f32[4, 6] = neg(s_2)\n  return y, s_2 "
            "replaces x\n}\n");
}

TEST(Canonicalise, KeepsWhatItDoesNotKnow) {
  const graph::Graph graph = canonical("y: f32[4, 6] = my.operator(x, scale = 2.5)");
  EXPECT_EQ(graph.nodes.at(0).target, "my.operator");
}

TEST(Canonicalise, RefusesWhatHasNoTypes) {
  graph::Graph graph = read("y: f32[4, 6] = aten.relu.default(x)");
  graph.untyped = true;
  const auto result = canonicalise(std::move(graph));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "the program has no types");
}

}  // namespace
}  // namespace lightline::frontend
