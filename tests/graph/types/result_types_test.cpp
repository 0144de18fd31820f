#include "graph/result_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/load/load.h"
#include "support/node_types.h"

namespace lightline::graph {
namespace {

using ::testing::ElementsAre;

// A call with tensors of these types as its first arguments, and the named ones.
class TypeOf {
 public:
  explicit TypeOf(std::string op, std::vector<TensorType> tensors, std::vector<NamedArgument> named = {})
      : op_(std::move(op)) {
    for (TensorType& type : tensors) {
      const ValueId id = graph_.add_value("x", std::move(type));
      node_.arguments.push_back({"", ValueRef{id}});
    }
    for (NamedArgument& argument : named) node_.arguments.push_back(std::move(argument));
  }
  Result<std::vector<TensorType>> operator()() const { return result_types(*find_operator(op_), graph_, node_); }
  std::vector<std::string> text() const {
    const auto types = (*this)();
    std::vector<std::string> list;
    if (!types.ok()) return {types.error().message};
    for (const TensorType& type : *types) list.push_back(to_string(type));
    return list;
  }

 private:
  std::string op_;
  Graph graph_;
  Node node_;
};

using Ints = std::vector<int64_t>;
TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }
TensorType i64(Shape shape) { return {DType::i64, std::move(shape)}; }

TEST(ResultTypes, JoinShapesAndPromote) {
  EXPECT_THAT(TypeOf("add", {f32({4, 1}), i64({3})}).text(), ElementsAre("f32[4, 3]"));
  EXPECT_THAT(TypeOf("add", {i64({3})}, {{"other", 2.5}}).text(), ElementsAre("f32[3]"));
  EXPECT_THAT(TypeOf("eq", {f32({3}), f32({3})}).text(), ElementsAre("bool[3]"));
  EXPECT_THAT(TypeOf("exp", {i64({3})}).text(), ElementsAre("f32[3]"));
  EXPECT_THAT(TypeOf("div", {i64({3}), i64({3})}).text(), ElementsAre("f32[3]"));
  EXPECT_THAT(TypeOf("div", {i64({3}), i64({3})}, {{"rounding_mode", std::string("floor")}}).text(),
              ElementsAre("i64[3]"));
  EXPECT_THAT(TypeOf("add", {f32({4}), f32({3})}).text(),
              ElementsAre("'add': the shapes [4] and [3] do not fit each other"));
}

TEST(ResultTypes, Reduce) {
  EXPECT_THAT(TypeOf("sum", {i64({2, 3})}).text(), ElementsAre("i64[]"));
  EXPECT_THAT(TypeOf("sum", {f32({2, 3, 4})}, {{"dim", Ints{-1, 0}}, {"keepdim", true}}).text(),
              ElementsAre("f32[1, 3, 1]"));
  EXPECT_THAT(TypeOf("max", {f32({2, 3})}, {{"dim", int64_t(1)}}).text(), ElementsAre("f32[2]", "i64[2]"));
  EXPECT_THAT(TypeOf("max", {f32({2, 3})}).text(), ElementsAre("f32[]"));
  EXPECT_THAT(TypeOf("sum", {f32({2})}, {{"dim", Ints{1}}}).text(),
              ElementsAre("'sum': there is no dimension 1 in a tensor of rank 1"));
}

TEST(ResultTypes, View) {
  EXPECT_THAT(TypeOf("view", {f32({2, 6})}, {{"size", Ints{-1, 3}}}).text(), ElementsAre("f32[4, 3]"));
  EXPECT_THAT(TypeOf("permute", {f32({2, 3, 4})}, {{"dims", Ints{2, 0, 1}}}).text(), ElementsAre("f32[4, 2, 3]"));
  EXPECT_THAT(
      TypeOf("slice", {f32({10})}, {{"start", int64_t(-7)}, {"end", int64_t(100)}, {"step", int64_t(3)}}).text(),
      ElementsAre("f32[3]"));
  EXPECT_THAT(TypeOf("split", {f32({5, 2})}, {{"split_size", int64_t(2)}}).text(),
              ElementsAre("f32[2, 2]", "f32[2, 2]", "f32[1, 2]"));
  EXPECT_THAT(TypeOf("view", {f32({2, 6})}, {{"size", Ints{5, 3}}}).text(),
              ElementsAre("'view': [5, 3] has not as many elements as [2, 6]"));
}

TEST(ResultTypes, Contract) {
  EXPECT_THAT(TypeOf("matmul", {f32({7, 1, 2, 3}), f32({5, 3, 4})}).text(), ElementsAre("f32[7, 5, 2, 4]"));
  EXPECT_THAT(TypeOf("matmul", {f32({3}), f32({3})}).text(), ElementsAre("f32[]"));
  EXPECT_THAT(
      TypeOf("conv2d", {f32({1, 3, 32, 32}), f32({8, 3, 3, 3})}, {{"stride", Ints{2, 2}}, {"padding", Ints{1, 1}}})
          .text(),
      ElementsAre("f32[1, 8, 16, 16]"));
  EXPECT_THAT(TypeOf("matmul", {f32({2, 3}), f32({4, 5})}).text(),
              ElementsAre("'matmul': the inner sizes of the product differ"));
}

TEST(ResultTypes, SayWhatOnlyDataTell) {
  const auto types = TypeOf("nonzero", {f32({3})})();
  EXPECT_TRUE(types.ok()) << "without a result that is used there is nothing to say";
  Graph graph;
  const ValueId x = graph.add_value("x", f32({3})), y = graph.add_value("y");
  const Node node{"nonzero", "n", {{"self", ValueRef{x}}}, {y}};
  const auto unknown = result_types(*find_operator("nonzero"), graph, node);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
}

// Whole programs, as PyTorch recorded them.
void expect_types_of(const std::string& path, frontend::ExportForm form) {
  int programs = 0;
  const Status status = frontend::for_each_program(path, form, [&](const frontend::CorpusEntry& entry) -> Status {
    LL_TRY(const Graph graph, frontend::parse_graph(entry.program, form, path));
    EXPECT_EQ(lightline::testing::wrongly_typed_node(graph), "") << entry.name;
    ++programs;
    return Ok{};
  });
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_GT(programs, 0);
}

TEST(ResultTypes, AreThoseOfRecordedPrograms) {
  const std::filesystem::path data = std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "../shared/data";
  const char* files[] = {"kernelbench/level1.jsonl.xz", "kernelbench/level2.jsonl.xz", "sol-execbench/b200.jsonl.xz"};
  if (!std::filesystem::exists(data / files[0])) GTEST_SKIP() << "the data of KernelBench are not beside the checkout";
  for (const char* file : files)
    for (const auto form : {frontend::ExportForm::training, frontend::ExportForm::core})
      expect_types_of((data / file).string(), form);
}

}  // namespace
}  // namespace lightline::graph
