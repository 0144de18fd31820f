// Schedules that fold much: what is too large is refused by name, and what is not is followed quickly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>

#include "base/sanitizers.h"
#include "loops/emit_c/emit_c.h"
#include "loops/plan/values_testing.h"

namespace lightline::loops::plan {
namespace {

struct Folded {
  Program program;
  Schedule schedule;
};

// Statements that each read the one before in this way, all of them folded into the last.
Folded folded_chain(size_t length, const std::function<std::string(const std::string&, size_t)>& body) {
  std::string text = "program p(x: f32[64]) -> (y) {\n";
  std::string before = "x";
  Folded made;
  for (size_t k = 0; k < length; ++k) {
    text += fmt::format("  a{}: f32[64] = for i: {}\n", k, body(before, k));
    before = fmt::format("a{}", k);
    made.schedule.folded.push_back({StatementId(k), false});
  }
  made.program = parsed(text + fmt::format("  y: f32[64] = for i: {}[i] + 1\n}}\n", before));
  made.schedule.kernels.push_back({.statements = {{.statement = StatementId(length), .loops = {{.index = 0}}}}});
  return made;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string plus_one(const std::string& before, size_t) { return before + "[i] + 1"; }

TEST(LargeSchedules, ALongChainOfFoldsIsRefused) {
  const Folded made = folded_chain(100000, plus_one);
  const Status status = verify(made.program, made.schedule);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_string(status.error()),
            "error: 'a2049' is nested 2052 deep with what is folded into it, more than 2051\n"
            "  hint: give 'a2048', which is folded into it, a kernel of its own");
}

// What reads early through a long chain is still found.
TEST(LargeSchedules, ReadsAreFollowedThroughLongChains) {
  Folded made = folded_chain(2000, plus_one);
  made.schedule.folded.erase(made.schedule.folded.begin());
  made.schedule.kernels.push_back({.statements = {{.statement = 0, .loops = {{.index = 0}}}}});
  EXPECT_EQ(verify(made.program, made.schedule).error().message, "'y' runs before 'a0', which it reads");
  std::swap(made.schedule.kernels[0], made.schedule.kernels[1]);
  made.schedule.kernels[1].statements[0].residency = {{.array = 1}, {.array = 0}};
  EXPECT_EQ(verify(made.program, made.schedule).error().message, "'y' keeps 'x', which it neither computes nor reads");
}

TEST(LargeSchedules, FollowingALongChainTakesNoLongerThanUsual) {
  const Folded made = folded_chain(2000, plus_one);
  std::string code;
  const double usual = seconds_of([&] { EXPECT_TRUE(emit_c(made.program).ok()); });
  const double followed = seconds_of([&] { code = *emit_c(made.program, made.schedule); });
  EXPECT_LT(followed, 2 * usual);
  EXPECT_GT(std::ranges::count(code, '+'), 2000);
  expect_values({{"chain", folded_chain(300, plus_one).program, folded_chain(300, plus_one).schedule}});
}

TEST(LargeSchedules, FoldsThatMultiplyAreRefused) {
  const auto thrice = [](const std::string& before, size_t k) {
    return fmt::format("{0}[i] + {0}[63 - i] * {0}[(i + {1}) mod 64]", before, k + 1);
  };
  const Folded made = folded_chain(40, thrice);
  EXPECT_EQ(to_string(verify(made.program, made.schedule).error()),
            "error: 'a7' has 32801 operations with what is folded into it, more than 16384\n"
            "  hint: give 'a6', which is folded into it, a kernel of its own");
}

TEST(LargeSchedules, ManyLargeExpressionsAreRefused) {
  const auto turned = [](const std::string& before, size_t) { return before + "[63 - i] + 1"; };
  const Folded made = folded_chain(2000, turned);
  EXPECT_EQ(to_string(verify(made.program, made.schedule).error()),
            "error: all expressions up to 'a766' have more than 1178112 operations with what is folded into them\n"
            "  hint: give more statements kernels of their own");
}

// Statements of one kernel that each read the one before, all in one loop.
Folded fused_chain(size_t length) {
  Folded made = folded_chain(length, plus_one);
  std::vector<ScheduledStatement>& statements = made.schedule.kernels[0].statements;
  statements[0].shared = 1;
  std::vector<ScheduledStatement> before;
  for (const FoldedStatement& each : made.schedule.folded)
    before.push_back({.statement = each.statement, .loops = {{.index = 0}}, .shared = before.empty() ? 0u : 1u});
  statements.insert(statements.begin(), before.begin(), before.end());
  made.schedule.folded.clear();
  return made;
}

TEST(LargeSchedules, AKernelOfManyStatementsIsCheckedQuickly) {
  const Folded made = fused_chain(8000);
  const std::clock_t start = std::clock();
  const Status status = verify(made.program, made.schedule);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, any_sanitizer ? 20 : 2);
}

// Wherever in the kernel its producer is, and however many loops those between them share.
TEST(LargeSchedules, ProducersAreFoundThroughAWholeKernel) {
  const Program program = parsed(R"(program p(x: f32[8, 8]) -> (d) {
  a: f32[8, 8] = for i, j: x[i, j] + 1
  b: f32[8, 8] = for i, j: a[i, j] + 1
  c: f32[8, 8] = for i, j: b[i, j] + 1
  d: f32[8, 8] = for i, j: c[i, j] + a[i, 7 - j]
}
)");
  const auto message = [&](uint32_t b, uint32_t c, uint32_t d) {
    const std::vector<Loop> loops{{.index = 0}, {.index = 1}};
    Schedule schedule;
    schedule.kernels = {{.statements = {{.statement = 0, .loops = loops},
                                        {.statement = 1, .loops = loops, .shared = b},
                                        {.statement = 2, .loops = loops, .shared = c},
                                        {.statement = 3, .loops = loops, .shared = d}}}};
    const Status status = verify(program, schedule);
    return status.ok() ? "" : status.error().message;
  };
  const std::string wrong = "'d' reads 'a' at another iteration of their shared loop over 'j'";
  EXPECT_EQ(message(2, 2, 2), wrong);
  EXPECT_EQ(message(1, 2, 2), "");
  EXPECT_EQ(message(2, 1, 2), "");
  EXPECT_EQ(message(2, 2, 1), "");
  EXPECT_EQ(message(2, 0, 2), "");
}

std::string sum_of(int terms) {
  return terms == 1 ? "x[3]" : fmt::format("({} + {})", sum_of(terms / 2), sum_of(terms - terms / 2));
}

// What a statement's own text makes large is no matter of the schedule.
TEST(LargeSchedules, LongTextsAreNotRefused) {
  const Program program = parsed("program p(x: f32[64]) -> (y) {\n  y: f32[] = " + sum_of(20000) + "\n}\n");
  const Status status = verify(program, unfused_schedule(program));
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

}  // namespace
}  // namespace lightline::loops::plan
