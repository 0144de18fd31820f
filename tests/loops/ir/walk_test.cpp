#include "loops/ir/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loops/ir/parse.h"

namespace lightline::loops {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

Program nested() {
  const auto program = parse_and_verify(R"(program nested(x: f32[4], p: i64[4], q: i64[4]) -> (h, last) {
  first: f32[4] = for i: exp(x[p[q[i]]] + x[i] * 2) - x[3 - i]
  (h: f32[4]) = repeat t in 3 carry (a = first) {
    inner: f32[4] = for i: a[i] + 1
    (c: f32[4]) = repeat u in 2 carry (b = inner) {
      deepest: f32[4] = for i: b[i] * b[i]
      yield (deepest)
    }
    yield (c)
  }
  last: f32[4] = for i: x[i]
}
)");
  EXPECT_TRUE(program.ok());
  return *program;
}

std::string first_result(const Program& program, const Statement& statement) {
  return program.arrays[results_of(statement)[0]].name;
}

TEST(Walk, StatementsAreNumberedInTheOrderOfTheText) {
  const Program program = nested();
  const auto statements = statements_by_id(program);
  std::vector<std::string> names;
  for (const Statement* statement : statements) names.push_back(first_result(program, *statement));
  EXPECT_THAT(names, ElementsAre("first", "h", "inner", "c", "deepest", "last"));
  const auto ids = statement_ids(program);
  EXPECT_EQ(ids.size(), statements.size());
  for (StatementId id = 0; id < statements.size(); ++id) EXPECT_EQ(ids.at(statements[id]), id);
}

TEST(Walk, ReadsComeInTheOrderOfTheTextWithoutThoseOfSubscripts) {
  const Program program = nested();
  std::vector<ExprKind> kinds_of_subscripts;
  std::vector<std::string> names;
  for_each_read(program, std::get<Compute>(program.statements[0].node).body, [&](const Expr& read) {
    names.push_back(program.arrays[read.args[0]].name);
    kinds_of_subscripts.push_back(program.exprs[*subscripts_of(program, read)].kind);
  });
  EXPECT_THAT(names, ElementsAre("x", "x", "x"));
  EXPECT_THAT(kinds_of_subscripts, ElementsAre(ExprKind::read, ExprKind::index, ExprKind::call));
}

TEST(Walk, EveryExpressionIsVisitedSubscriptsToo) {
  const Program program = nested();
  std::vector<std::string> names;
  std::vector<ExprId> visited;
  for_each_expr(program, std::get<Compute>(program.statements[0].node).body, [&](ExprId id) {
    visited.push_back(id);
    const Expr& expr = program.exprs[id];
    EXPECT_EQ(operands_of(expr).size(), size_t(arity(expr)));
    if (expr.kind == ExprKind::read) names.push_back(program.arrays[expr.args[0]].name);
  });
  EXPECT_THAT(names, UnorderedElementsAre("x", "p", "q", "x", "x"));
  EXPECT_EQ(visited.size(), 15u);
}

}  // namespace
}  // namespace lightline::loops
