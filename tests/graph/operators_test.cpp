#include "graph/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/result_types.h"
#include "ops/catalogue/catalogue.h"

namespace lightline::graph {
namespace {

TEST(OperatorList, SaysParametersWithKindsAndDefaults) {
  const OperatorSignature* op = find_operator("add");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->family, "elementwise");
  ASSERT_EQ(op->parameters.size(), 3U);
  EXPECT_EQ(op->parameters[0].kind, ParameterKind::tensor);
  EXPECT_FALSE(op->parameters[0].fallback);
  EXPECT_EQ(op->parameters[1].kind, ParameterKind::operand);
  EXPECT_EQ(op->parameters[2].name, "alpha");
  EXPECT_EQ(op->parameters[2].fallback, Argument(int64_t(1)));
  EXPECT_EQ(find_operator("no such operator"), nullptr);
}

TEST(OperatorList, ReadsEveryKindOfDefault) {
  const auto list = parse_operator_list(
      "# family\nop(x, a: text = 'b, c', b: integers = [1, -2], c: real = 1e-05, d: dtype = f32, e: flag = true, "
      "f: tensor?) -> x | other names\n",
      "list");
  ASSERT_TRUE(list.ok()) << to_string(list.error());
  const OperatorSignature& op = list->at(0);
  EXPECT_EQ(op.names, (std::vector<std::string_view>{"other", "names"}));
  EXPECT_EQ(op.parameters[2].fallback, Argument(std::vector<int64_t>{1, -2}));
  EXPECT_EQ(op.parameters[3].fallback, Argument(1e-05));
  EXPECT_EQ(op.parameters[4].fallback, Argument(DType::f32));
  EXPECT_EQ(op.parameters[5].fallback, Argument(true));
  EXPECT_TRUE(op.parameters[6].optional);
  EXPECT_EQ(op.parameters[6].fallback, Argument{});
}

TEST(OperatorList, NamesTheLineOfAMistake) {
  for (const auto& [text, message] : {std::pair<const char*, const char*>{"op(x) x", "the line is not an operator"},
                                      {"op(x: thing) -> x", "'thing' is no kind of parameter"},
                                      {"op(x: real = many) -> x", "'many' is no value"},
                                      {"op(x) -> | y", "the types of the results are missing"}}) {
    const auto list = parse_operator_list(std::string("# family\n") + text + "\n", "list");
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_EQ(list.error().message, message);
    EXPECT_EQ(list.error().where.line, 2);
  }
}

TEST(OperatorList, NamesOnlyRulesThatExist) {
  for (const OperatorSignature& op : operator_list()) EXPECT_EQ(unknown_rule(op), "") << op.name;
}

// PyTorch's operators have an entry each, and every entry has a definition.
TEST(OperatorList, HasEveryDefinition) {
  std::set<std::string_view> defined;
  for (const ops::Operator& op : ops::all_operators().operators()) {
    if (op.family == "StableHLO" || op.name.starts_with("torch.nn.functional.")) continue;
    defined.insert(op.name);
    EXPECT_NE(find_operator(op.name), nullptr) << op.name;
  }
  for (const OperatorSignature& op : operator_list()) EXPECT_TRUE(defined.contains(op.name)) << op.name;
}

}  // namespace
}  // namespace lightline::graph
