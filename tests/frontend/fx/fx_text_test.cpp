#include "frontend/fx/fx_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "frontend/fx/python_text.h"
#include "frontend/fx/samples.h"
#include "frontend/load/load.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/print.h"
#include "ops/lower/lower.h"

namespace lightline::frontend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(LIGHTLINE_SOURCE_DIR) + "/tests/frontend/data/graphnet" + name;
}

std::string meta(const std::string& name, const std::string& shape, const std::string& dtype = "float32",
                 const std::string& rest = "") {
  return fmt::format("class Meta_{0}:\n    name = \"{0}\"\n    shape = {1}\n    dtype = \"torch.{2}\"\n{3}", name,
                     shape, dtype, rest.empty() ? "" : "    " + rest + "\n");
}

// A sample whose forward takes x: f32[2, 3] (unless `metas` says more) and has the given lines.
std::string sample(const std::string& lines, const std::string& parameters = "x",
                   const std::string& metas = meta("x", "[2, 3]")) {
  std::string body;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    body += "        " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, " + parameters + "):\n" + body +
         metas;
}

std::string loops_of(const std::string& text) {
  const auto graph = parse_fx_text(text, "model.py");
  if (!graph.ok()) return to_string(graph.error());
  const auto lowered = ops::lower(*graph);
  return lowered.ok() ? loops::print(lowered->program) : to_string(lowered.error());
}

// The shapes of the results.
std::vector<std::string> types_of(const std::string& text) {
  const auto graph = parse_fx_text(text, "model.py");
  if (!graph.ok()) return {to_string(graph.error())};
  const auto lowered = ops::lower(*graph);
  if (!lowered.ok()) return {to_string(lowered.error())};
  std::vector<std::string> types;
  for (const loops::Output& output : lowered->program.outputs) {
    const loops::Array& array = lowered->program.arrays[output.array];
    types.push_back(fmt::format("{}{}", name(array.dtype), to_string(array.shape)));
  }
  return types;
}

std::vector<double> run(const std::string& text, double first = 1) {
  const auto graph = parse_fx_text(text, "model.py");
  EXPECT_TRUE(graph.ok()) << to_string(graph.error());
  const auto lowered = ops::lower(*graph);
  EXPECT_TRUE(lowered.ok()) << to_string(lowered.error());
  std::vector<Tensor> inputs;
  for (const loops::ArrayId id : lowered->program.inputs) {
    Tensor tensor(lowered->program.arrays[id].dtype, lowered->program.arrays[id].shape);
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, first + double(i));
    inputs.push_back(std::move(tensor));
  }
  const auto results = loops::interpret(lowered->program, inputs);
  EXPECT_TRUE(results.ok()) << to_string(results.error());
  std::vector<double> values;
  for (int64_t i = 0; i < (*results)[0].size(); ++i) values.push_back((*results)[0].get_f64(i));
  return values;
}

TEST(FxText, ReadsAProgram) {
  EXPECT_EQ(loops_of(sample("y = torch.nn.functional.relu(x, inplace=False);  x = None\nreturn (y,)")),
            "program main(x: f32[2, 3]) -> (y) {\n  @ \"torch.nn.functional.relu\"\n"
            "  y: f32[2, 3] = for i, j: max(x[i, j], 0)\n}\n");
}

TEST(FxText, TargetsAreAsSpelled) {
  const auto graph = parse_fx_text(sample("a = torch._C._nn.gelu(x)\nb = a.view(6)\nc = a + 1\nreturn (b, c)"));
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  std::vector<std::string> targets;
  for (const graph::Node& node : graph->nodes) targets.push_back(node.target);
  EXPECT_THAT(targets, ElementsAre("torch._C._nn.gelu", "Tensor.view", "operator.add"));
  EXPECT_EQ(graph->nodes[2].name, "c");
}

TEST(FxText, SizesFlowThroughPython) {
  EXPECT_THAT(types_of(sample("size = x.size()\nn = size[0]\nm = x.size(-1)\nk = n * m // 2\n"
                              "y = torch.zeros((k, m, 1))\nz = x.reshape(m, -1)\nw = x.view(x.shape[1], n)\n"
                              "return (y, z, w)")),
              ElementsAre("f32[3, 3, 1]", "f32[3, 2]", "f32[3, 2]"));
  EXPECT_THAT(types_of(sample("k = torch.sym_sum([1, s0, s0 // 2])\ny = x.expand(k, -1, -1)\nreturn (y, k)",
                              "s0: torch.SymInt, x: torch.Tensor",
                              meta("x", "[2, 3]") + meta("s0", "[]", "int64", "data = [4]"))),
              ElementsAre("f32[7, 2, 3]"));
}

TEST(FxText, TuplesAreUnpacked) {
  EXPECT_THAT(types_of(sample("a, b = x.split((1, 2), dim=1)\nc = torch.max(x, 1)\nvalues = c[0]\nwhere = c.indices\n"
                              "(d,) = x.chunk(1)\nreturn (a, b, values, where, d)")),
              ElementsAre("f32[2, 1]", "f32[2, 2]", "f32[2]", "i64[2]", "f32[2, 3]"));
}

TEST(FxText, IndicesOfEveryKind) {
  EXPECT_THAT(types_of(sample("a = x[(slice(None, None, None), None, 1)]\nb = x[(Ellipsis, slice(0, None, 2))]\n"
                              "c = x[-1]\nd = x[:, 1:]\ne = x[[0, 1, 1]]\nf = x[(slice(None), torch.tensor([2, 0]))]\n"
                              "return (a, b, c, d, e, f)")),
              ElementsAre("f32[2, 1]", "f32[2, 2]", "f32[3]", "f32[2, 2]", "f32[3, 3]", "f32[2, 2]"));
  EXPECT_THAT(run(sample("y = x[(1, slice(None, None, 2))]\nreturn (y,)")), ElementsAre(4, 6));
}

TEST(FxText, WritesReachEveryAlias) {
  EXPECT_THAT(run(sample("v = x.clone()\nrow = v[0]\nrow += 10\nother = row\nv[(1, 0)] = 7\nreturn (v,)")),
              ElementsAre(11, 12, 13, 7, 5, 6));
  EXPECT_THAT(run(sample("v = x * 1\nw = torch.nn.functional.hardtanh(v, 0.0, 3.0, True)\nreturn (v,)")),
              ElementsAre(1, 2, 3, 3, 3, 3));
}

TEST(FxText, CopiesAreNotWrittenThrough) {
  const std::string lines = "v = x * 1\nt = v.transpose(0, 1)\nc = t.{}\nc += 10\nd = c\nreturn (v, d)";
  EXPECT_THAT(run(sample(fmt::format(fmt::runtime(lines), "contiguous()"))), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(sample(fmt::format(fmt::runtime(lines), "reshape(6)"))), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(sample(fmt::format(fmt::runtime(lines), "detach()"))), ElementsAre(11, 12, 13, 14, 15, 16));
  EXPECT_THAT(
      run(sample("v = x * 1\nc = v.reshape(6)\nd = torch.nn.functional.hardtanh(c, 0.0, 2.0, True)\nreturn (v,)")),
      ElementsAre(1, 2, 2, 2, 2, 2));
}

TEST(FxText, NumbersThatMetadataState) {
  const std::string metas =
      meta("x", "[2, 3]") + meta("scale", "[]", "float64", "mean = 0.5; std = 0.000; data = None");
  const auto graph = parse_fx_text(sample("item = scale.item()\ny = x * item\nreturn (y,)", "x, scale", metas));
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
  EXPECT_THAT(loops::print(lowered->program), HasSubstr("x[i, j] * 0.5"));
  ASSERT_EQ(lowered->assumptions.size(), 1u);
  EXPECT_THAT(lowered->assumptions[0], HasSubstr("metadata"));
}

TEST(FxText, AutocastRunsProductsInSixteenBits) {
  const std::string lines =
      "e = torch.amp.autocast_mode._enter_autocast(\"cuda\", torch.bfloat16, {}, None)\n"
      "y = torch._C._nn.linear(x, x, None)\nz = torch.nn.functional.softmax(y, dim=-1)\n"
      "e_1 = torch.amp.autocast_mode._exit_autocast(e)\nw = torch._C._nn.linear(x, x, None)\nreturn (y, z, w)";
  EXPECT_THAT(types_of(sample(fmt::format(fmt::runtime(lines), "True"))),
              ElementsAre("bf16[2, 2]", "f32[2, 2]", "f32[2, 2]"));
  EXPECT_THAT(types_of(sample(fmt::format(fmt::runtime(lines), "False"))),
              ElementsAre("f32[2, 2]", "f32[2, 2]", "f32[2, 2]"));
}

TEST(FxText, DataDependentSizesAreAssumed) {
  const auto graph = parse_fx_text(sample("m = x > 0\ny = x[m]\nreturn (y,)"));
  ASSERT_TRUE(graph.ok());
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
  EXPECT_EQ(lowered->program.arrays[lowered->program.outputs[0].array].shape, Shape{6});
  ASSERT_EQ(lowered->assumptions.size(), 1u);
  EXPECT_THAT(lowered->assumptions[0], HasSubstr("only the data tell"));
}

TEST(FxText, SizesFollowValuesThatMetadataState) {
  const std::string metas = meta("x", "[2, 3]") + meta("i", "[4]", "int64", "data = [0, 2, 1, 2]");
  EXPECT_THAT(types_of(sample("m = i > 0\nn = m.sum().item()\na = torch.zeros((n, 2))\nb = i[m]\nc = torch.nonzero(m)\n"
                              "d = torch.repeat_interleave(x, repeats=i[1:3], dim=0)\ne = torch.arange(i.max())\n"
                              "f = torch.nn.functional.one_hot(i)\nreturn (a, b, c, d, e, f)",
                              "x, i", metas)),
              ElementsAre("f32[3, 2]", "i64[3]", "i64[3, 1]", "f32[3, 3]", "i64[2]", "i64[4, 3]"));
}

TEST(FxText, UnknownOperatorsAreNamed) {
  const auto graph = parse_fx_text(sample("y = torch.ops.mylib.twist(x, 3)\nz = y + 1\nreturn (z,)"));
  ASSERT_TRUE(graph.ok());
  const auto lowered = ops::lower(*graph);
  ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
  EXPECT_EQ(lowered->not_executable.at("torch.ops.mylib.twist"), 1);
  ASSERT_EQ(lowered->assumptions.size(), 1u);
  EXPECT_THAT(lowered->assumptions[0], HasSubstr("torch.ops.mylib.twist"));
}

TEST(FxText, ErrorsNameThePlaceAndTheRemedy) {
  const std::pair<std::string, std::string> cases[] = {
      {sample("if x:\nreturn x"), "model.py:5:9: error: 'if' is not part of the straight-line code"},
      {sample("y = torch.relu(z)\nreturn (y,)"), "model.py:5:23: error: 'z' is not a value"},
      {sample("y = x +\nreturn (y,)"), "model.py:5:16: error: expected an expression, found the end of the line"},
      {sample("y = 99999999999999999999 + x\nreturn (y,)"), "does not fit 64 bits"},
      {sample("y = x"), "does not return anything"},
      {sample("return (x,)", "x, w"), "the parameter 'w' has no entry in the tensor metadata"},
      {sample("return (x,)", "x", meta("x", "[2, -3]")), "sizes that are not negative"},
      {sample("return (x,)", "x", meta("x", "[4611686018427387904, 4]")), "too many elements"},
      {sample("return (x,)", "x", meta("x", "[2]", "complex128")), "does not have the dtype 'complex128'"},
      {sample("y = x.to(torch.uint16)\nreturn (y,)"), "does not have the dtype torch.uint16"},
      {sample("y = x[(0, 0, 0)]\nreturn (y,)"), "node 'y' (operator.getitem): 3 indices for a tensor of rank 2"},
      {sample("y = x.view(4)\nreturn (y,)"), "node 'y' (Tensor.view)"},
      {sample("y = 1 // 0\nreturn (x,)"), "divides by zero"},
      {sample("y = x.frobnicate\nreturn (y,)"), "the attribute 'frobnicate' is not known"},
      {"class A:\n    x = 1\n", "there is no class with a 'forward'"},
      {sample("y = 'abc\nreturn (y,)"), "a string does not end"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(loops_of(text), HasSubstr(message)) << text;
}

TEST(FxText, DeepTextIsRefusedNotFatal) {
  EXPECT_THAT(loops_of(sample("y = " + std::string(100'000, '(') + "\nreturn (x,)")), HasSubstr("nest more than"));
  EXPECT_THAT(loops_of(sample("y = " + std::string(100'000, '-') + "1\nreturn (x,)")), HasSubstr("nest more than"));
  std::string sum = "y = x";
  for (int i = 0; i < 10'000; ++i) sum += " + x";
  EXPECT_THAT(loops_of(sample(sum + "\nreturn (y,)")), HasSubstr("operators in a row"));
}

TEST(FxText, PartsKeepTheirFileNames) {
  const std::string text = join_fx_parts({{"model.py", "class A:\n    pass\n"}, {"weight_meta.py", "\n\nclass = 3\n"}});
  const auto graph = parse_fx_text(text, "folder");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().where.file, "folder/weight_meta.py");
  EXPECT_EQ(graph.error().where.line, 3);
}

TEST(FxText, FixturesImportWithEveryShape) {
  int64_t samples = 0;
  const Status status = for_each_program(fixture(""), ExportForm::training, [&](const CorpusEntry& entry) -> Status {
    LL_TRY(const graph::Graph graph, parse_graph(entry.program, ExportForm::training, entry.name));
    LL_TRY(const ops::Lowered lowered, ops::lower(graph));
    EXPECT_TRUE(lowered.not_executable.empty()) << entry.name;
    ++samples;
    return Ok{};
  });
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(samples, 3);
}

// GraphNet's own samples, where they lie beside the checkout.
TEST(FxText, GraphNetSamplesImport) {
  const std::string archive = std::string(LIGHTLINE_SOURCE_DIR) + "/../shared/data/graphnet/samples.tar.xz";
  if (!file_exists(archive)) GTEST_SKIP() << "no " << archive;
  int64_t samples = 0, imported = 0, defined = 0, opaque = 0;
  const Status status = for_each_program(archive, ExportForm::training, [&](const CorpusEntry& entry) -> Status {
    ++samples;
    const auto graph = parse_graph(entry.program, ExportForm::training, entry.name);
    const auto lowered = graph.ok() ? ops::lower(*graph) : Result<ops::Lowered>(graph.error());
    if (!lowered.ok()) {
      ADD_FAILURE() << entry.name << ": " << to_string(lowered.error());
      return Ok{};
    }
    ++imported;
    for (const auto& [name, count] : lowered->calls) defined += count;
    for (const auto& [name, count] : lowered->not_executable) opaque += count;
    return Ok{};
  });
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(samples, 114);
  EXPECT_GE(imported, 112);
  EXPECT_GE(double(defined), 0.995 * double(defined + opaque));
}

}  // namespace
}  // namespace lightline::frontend
