// Schedules: printed, parsed and followed they give the same code; changed by hand they give the same values.
#include "loops/plan/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/emit_c.h"
#include "loops/plan/plan_testing.h"
#include "loops/plan/planned.h"
#include "loops/plan/values_testing.h"

namespace lightline::loops::plan {
namespace {

TEST(Schedule, PrintedParsedAndFollowedGivesTheSameCode) {
  const auto texts = program_texts();
  EXPECT_GE(texts.size(), 160u);
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    const Program program = parsed(text);
    const Schedule schedule = decided(program);
    const std::string printed = print(program, schedule);
    const auto again = parse_schedule(program, printed, name);
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << printed;
    EXPECT_EQ(*again, schedule) << printed;
    EXPECT_EQ(print(program, *again), printed);
    const auto code = emit_c(program), followed = emit_c(program, *again);
    ASSERT_TRUE(code.ok() && followed.ok()) << to_string(followed.error()) << "\n" << printed;
    EXPECT_TRUE(*code == *followed) << printed;
  }
}

TEST(Schedule, PlansAreVerifiedAndParsedAgain) {
  for (const auto& [name, text] : program_texts()) {
    SCOPED_TRACE(name);
    const Program program = parsed(text);
    const auto planned = plan_program(program);
    ASSERT_TRUE(planned.ok()) << to_string(planned.error());
    const Plan plan = plan_of(*planned);
    const std::string printed = print(program, plan);
    const Status status = verify(program, plan);
    EXPECT_TRUE(status.ok()) << to_string(status.error()) << "\n" << printed;
    const auto again = parse_plan(program, printed, name);
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << printed;
    EXPECT_EQ(*again, plan) << printed;
    EXPECT_EQ(print(program, *again), printed);
  }
}

// Statements whose names are words of the text.
TEST(Schedule, NamesThatAreWordsPrintAndParse) {
  for (const std::string word : {"unrolled", "by", "share", "turning", "within", "once", "phase", "reduce", "stage",
                                 "keep", "kernel", "fold", "product", "partial", "combine", "blocks", "lanes"}) {
    SCOPED_TRACE(word);
    const Program program = parsed(
        fmt::format("program p(x: f32[64, 8]) -> (a, {0}, z) {{\n  a: f32[64] = for i: sum j in 8: exp(x[i, j])\n"
                    "  {0}: f32[64] = for i: sum j in 8: x[i, j] / a[i]\n  z: f32[64] = for i: {0}[i] + a[i]\n}}\n",
                    word));
    const Schedule schedule = decided(program);
    const std::string printed = print(program, schedule);
    const auto again = parse_schedule(program, printed, word);
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << printed;
    EXPECT_EQ(*again, schedule) << printed;
    const auto planned = plan_program(program);
    ASSERT_TRUE(planned.ok());
    const Plan plan = plan_of(*planned);
    const auto plan_again = parse_plan(program, print(program, plan), word);
    ASSERT_TRUE(plan_again.ok()) << to_string(plan_again.error()) << "\n" << print(program, plan);
    EXPECT_EQ(*plan_again, plan);
  }
}

// ---- schedules that nobody decided ----

// The same with the parallel loops of every map and reduction in reverse.
Schedule reversed(const Program& program) {
  Schedule schedule = unfused_schedule(program);
  const StatementTable table(program);
  for (ScheduledKernel& kernel : schedule.kernels) {
    ScheduledStatement& each = kernel.statements[0];
    if (!std::holds_alternative<Compute>(table[each.statement].node)) continue;
    const std::vector<OwnIndex> indices = table.own_indices(each.statement);
    const auto kind = [&](const Loop& loop) { return indices[loop.index].kind; };
    if (std::ranges::find(each.loops, IndexKind::scan, kind) != each.loops.end()) continue;
    std::reverse(each.loops.begin(), std::ranges::find(each.loops, IndexKind::reduce, kind));
  }
  return schedule;
}

// Statements that are each a kernel of their own, with their loops in the order of the text or in reverse.
TEST(Schedule, UnfusedProgramsComputeTheSame) {
  std::vector<Scheduled> list;
  size_t turn = 0;
  for (const auto& [name, text] : program_texts()) {
    if (name.starts_with("fn_") || name.starts_with("dtype_") || name.starts_with("reduce_accumulator_") ||
        (name.starts_with("net_") && turn++ % 3 != 0))
      continue;
    Program program = parsed(text);
    const bool is_reversed = turn++ % 2 == 0;
    Schedule schedule = is_reversed ? reversed(program) : unfused_schedule(program);
    const Status status = verify(program, schedule);
    EXPECT_TRUE(status.ok()) << name << ": " << to_string(status.error());
    list.push_back({name, std::move(program), std::move(schedule)});
  }
  EXPECT_GE(list.size(), 100u);
  constexpr size_t batch = 40;
  for (size_t from = 0; from < list.size(); from += batch) {
    const auto begin = list.begin() + ptrdiff_t(from);
    expect_values({begin, begin + ptrdiff_t(std::min(batch, list.size() - from))});
  }
}

const std::string rows = R"(program rows(x: f32[24, 40], w: f32[40, 18]) -> (y, z) {
  top: f32[24] = for i: max j in 40: x[i, j]
  e: f32[24, 40] = for i, j: exp(x[i, j] - top[i])
  total: f32[24] = for i: sum j in 40: e[i, j]
  y: f32[24, 40] = for i, j: e[i, j] / total[i]
  p: f32[24, 18] = for i, k: sum j in 40: y[i, j] * w[j, k]
  z: f32[24, 18] = for i, k: p[i, k] + 1
})";

const std::string others = R"(program others(x: f32[12, 20, 16], m: bool[12]) -> (c, t, a, s, d) {
  few: f32[12, 20] = for i, j: sum r in 3: x[i, j, 2 * r]
  c: f32[12, 20, 16] = for i, scan j, k: c[i, j - 1, k | 0] + x[i, j, k]
  t: f32[16, 20, 12] = for k, j, i: x[i, j, k] + few[i, j]
  a: i64[12] = for i: argmax j in 20, k in 16: x[i, j, k]
  s: f32[16] = for k: sum i in 12, j in 20: x[i, j, k] * few[i, j]
  d: f32[12] = for i: if(m[i], few[i, 3], 0)
})";

const std::string two_readers = R"(program two_readers(x: f32[9]) -> (h, y, z) {
  h: f32[9] = for i: x[i] * x[i] + 1
  y: f32[9] = for i: sqrt(h[i])
  z: f32[9] = for i: (y[i] - h[i]) / h[i]
})";

const std::string followed = R"(program followed(x: f32[33, 70], w: f32[70, 41], s: f32[33, 41]) -> (n as s, y) {
  t: f32[33, 41] = for i, j: sum k in 70: x[i, k] * w[k, j]
  n: f32[33, 41] = for i, j: s[i, j] * 0.9 + t[i, j]
  y: f32[33, 41] = for i, j: t[i, j] - s[32 - i, j]
})";

struct ByHand {
  const char* what;
  const std::string* program;
  const char* schedule;
};

const ByHand by_hand[] = {
    {"one kernel for all, the product as loops", &rows, R"(schedule rows {
  kernel {
    top: for i, j
    e: for i, j share 1
    total: for i, j share 2
    y: for i, j share 1
    p: for i, j, k share 1
    z: for i, k share 1
  }
})"},
    {"the exponential twice, a narrow row of totals", &rows, R"(schedule rows {
  fold e
  kernel {
    top: for i, j
    total: for i, j share 1
    y: for i, j share 1
  }
  kernel {
    p: for i, k by 5, j, k
  }
  kernel {
    z: for k, i
  }
})"},
    {"a product that is swapped, with what follows in its order", &rows, R"(schedule rows {
  kernel {
    top: for i, j
  }
  kernel {
    e: for j, i
  }
  kernel {
    total: for j, i
      keep total in local
  }
  kernel {
    y: for i by 8, j by 8, i, j
  }
  kernel product {
    p: for k, i, j
    z: for k, i share 2
  }
})"},
    {"rows of totals that are one tile", &rows, R"(schedule rows {
  kernel {
    top: for i, j
    e: for i, j share 1
    total: for i, j share 2
  }
  kernel {
    y: for j, i
  }
  kernel {
    p: for i, k by 18, j, k
  }
  kernel {
    z: for k, i
  }
})"},
    {"what follows a product, in another order than the program's", &followed, R"(schedule followed {
  kernel product {
    t: for i, j, k
      keep t in registers within j
    y: for i, j share 2
    n: for i, j share 2
  }
})"},
    {"other orders, unrolled, kernels in another order", &others, R"(schedule others {
  kernel {
    a: for i, j, k
  }
  kernel {
    few: for j, i unrolled
  }
  kernel {
    s: for j, i, k
  }
  kernel {
    c: for k, i, j
  }
  kernel {
    t: for j, k by 4, i by 4, k, i
  }
  kernel {
    d: for i
  }
})"},
    {"folded and unrolled, a scan outermost", &others, R"(schedule others {
  fold few unrolled
  kernel {
    c: for j, i, k
    t: for j, k, i share 1
  }
  kernel {
    a: for i, j, k
    d: for i share 1
  }
  kernel {
    s: for k, j, i
  }
})"},
    {"folded into a reader that runs before its kernel", &two_readers, R"(schedule two_readers {
  fold y
  kernel {
    h: for i
    z: for i share 1
    y: for i share 1
  }
})"},
};

TEST(Schedule, ChangedByHandComputesTheSame) {
  std::vector<Scheduled> list;
  for (const ByHand& each : by_hand) {
    SCOPED_TRACE(each.what);
    Program program = parsed(*each.program);
    auto schedule = parse_schedule(program, each.schedule, "schedule");
    ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
    const auto code = emit_c(program, *schedule), usual = emit_c(program);
    ASSERT_TRUE(code.ok()) << to_string(code.error());
    EXPECT_NE(*code, *usual) << "the schedule is not followed";
    // Following leaves no choice: what comes back is what went in.
    const auto planned = plan_program(program, *schedule);
    ASSERT_TRUE(planned.ok());
    Schedule done = schedule_of(*planned);
    for (ScheduledKernel& kernel : done.kernels)
      for (ScheduledStatement& statement : kernel.statements) statement.residency.clear();
    for (ScheduledKernel& kernel : schedule->kernels)
      for (ScheduledStatement& statement : kernel.statements) statement.residency.clear();
    EXPECT_EQ(done, *schedule);
    const Status status = verify(program, plan_of(*planned));
    EXPECT_TRUE(status.ok()) << to_string(status.error());
    list.push_back({each.what, std::move(program), std::move(*schedule)});
  }
  expect_values(list);
}

// A reduction may be one expression where it is read and loops where it is stored, or the other way round.
TEST(Schedule, FoldedAndInAKernelMayDifferInForm) {
  const std::string text =
      "program p(x: f32[4, 8]) -> (p, q) {\n"
      "  p: f32[4] = for r: sum i in 8: x[r, i]\n"
      "  q: f32[4] = for r: p[r] * 2\n}";
  std::vector<Scheduled> list;
  for (const std::string line : {"p: for r, i", "p: for r unrolled"}) {
    Program program = parsed(text);
    auto schedule = parse_schedule(
        program, fmt::format("schedule p {{ fold p unrolled kernel {{ {} }} kernel {{ q: for r }} }}", line));
    ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
    list.push_back({line, std::move(program), std::move(*schedule)});
  }
  EXPECT_NE(*emit_c(list[0].program, list[0].schedule), *emit_c(list[1].program, list[1].schedule));
  expect_values(list);
}

// Whether opaque statements can run is no matter of the schedule.
TEST(Schedule, VerifiesAroundOpaqueStatementsThatCanNotRun) {
  const Program program = parsed(
      "program p(x: f32[8, 6]) -> (z) {\n"
      "  y: f32[8, 6] = opaque unheard_of(x)\n"
      "  z: f32[8] = for i: sum j in 6: y[i, j]\n}");
  const Schedule schedule = unfused_schedule(program);
  const Status status = verify(program, schedule);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(emit_c(program, schedule).error().message, "the opaque operation 'unheard_of' can not be executed");
}

// Writes to elements that an index tells apart may come in any order of that index.
TEST(Schedule, ScattersMayTurnAndReorderWhatTellsElementsApart) {
  const Program program = parsed(
      "program p(x: f32[4, 6], n: i64[4]) -> (y) {\n"
      "  y: f32[8, 6] = scatter set i in 4, j in 6 into 0: [n[i], j] <- x[i, j]\n}");
  const auto schedule = parse_schedule(program, "schedule p { kernel { y: for j by 2 turning, i by 2, j, i } }");
  ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
  const Status status = verify(program, *schedule);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

// What emitted C can not do yet prints, parses and verifies all the same.
TEST(Schedule, SaysMoreThanEmittedCDoes) {
  const Program program = parsed(
      "program product(a: f32[100, 64], b: f32[64, 80]) -> (c) {\n"
      "  c: f32[100, 80] = for i, j: sum k in 64: a[i, k] * b[k, j]\n}");
  const std::string text = R"(schedule product {
  kernel {
    c: for i by (40, 40, 20), j by 32 turning, k by 16, i by 4, i, j, k
      keep a in cache
      keep b where k < 48 in cache within i by (40, 40, 20)
      keep a in local within k by 16
      keep c in registers within i by 4
  }
}
)";
  const auto schedule = parse_schedule(program, text);
  ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
  EXPECT_EQ(print(program, *schedule), text);
  const Status status = verify(program, *schedule);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(to_string(emit_c(program, *schedule).error()),
            "3:5: error: 'c' has turning loops or unequal tiles, which emitted C does not");
}

// Threads of a block may read what others made before a barrier; the same without one is a rejected case.
TEST(Schedule, PlansForOtherMachinesVerify) {
  const Program program = parsed(
      "program p(x: f32[8, 64]) -> (b) {\n"
      "  a: f32[8, 64] = for i, j: x[i, j] + 1\n"
      "  t: f32[8] = for i: sum j in 64: a[i, j]\n"
      "  b: f32[8, 64] = for i, j: a[i, 63 - j] / t[i]\n}");
  const std::string text = R"(plan p on gpu {
  kernel {
    a: for i, j
      keep a in local within i
      on blocks i, threads j by 4, lanes j
    t: for i, j share 1
      on blocks i, threads j by 4, lanes j
    b: for i, j share 1
      on blocks i, threads j by 4, lanes j
    units threads 16, lanes 4
    phase a
    phase t
    phase b
    reduce t in block
    stage a by 64
  }
}
)";
  const auto plan = parse_plan(program, text);
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  EXPECT_EQ(print(program, *plan), text);
  const Status status = verify(program, *plan);
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

// What no text can say.
TEST(Schedule, PlansThatDoNotBelongToTheirScheduleAreRefused) {
  const Program program = parsed(
      "program p(x: f32[8]) -> (h) {\n"
      "  (h: f32[8]) = repeat t in 4 carry (now = x) {\n"
      "    a: f32[8] = for i: now[i] + 1\n    yield (a)\n  }\n}\n");
  const auto plan = parse_plan(program, "plan p on gpu { repeat h { kernel { a: for i phase a } } }");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  EXPECT_TRUE(verify(program, *plan).ok());
  Plan short_one = *plan, with_phase = *plan, without_axes = *plan;
  short_one.kernels.pop_back();
  EXPECT_EQ(verify(program, short_one).error().message, "a plan has one part for every kernel of its schedule");
  with_phase.kernels[0].phases = with_phase.kernels[1].phases;
  EXPECT_EQ(verify(program, with_phase).error().message,
            "'h' is a repeat: the kernels inside it have phases and stages");
  without_axes.kernels[1].axes.clear();
  EXPECT_EQ(verify(program, without_axes).error().message,
            "'a' stands in a kernel whose plan has axes for other statements");
}

// ---- damaged texts ----

// Every text without one of its words is refused in words, or means something.
void damage(const Program& program, const std::string& text, bool is_plan) {
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_not_of(" \n", at);
    if (from == std::string::npos) break;
    at = std::min(text.find_first_of(" \n", from), text.size());
    words.emplace_back(from, at - from);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    for (const std::string& by :
         {std::string(), text.substr(words[(i + 3) % words.size()].first, words[(i + 3) % words.size()].second)}) {
      std::string damaged = text;
      damaged.replace(words[i].first, words[i].second, by);
      SCOPED_TRACE(damaged);
      Status status = Ok{};
      if (is_plan) {
        const auto plan = parse_plan(program, damaged);
        status = plan.ok() ? verify(program, *plan) : Status(plan.error());
      } else if (const auto schedule = parse_schedule(program, damaged); schedule.ok()) {
        const auto planned = plan_program(program, *schedule);
        if (!planned.ok()) status = planned.error();
      } else {
        status = schedule.error();
        EXPECT_GT(status.error().where.line, 0);
      }
      if (status.ok()) continue;
      EXPECT_NE(status.error().code, ErrorCode::internal);
      EXPECT_FALSE(status.error().message.empty());
    }
  }
}

TEST(Schedule, DamagedTextsAreRefusedInWords) {
  const auto texts = program_texts();
  for (const char* name : {"example_attention", "example_lstm", "large_transpose", "large_reduce_columns",
                           "scan_two_dimensional_sum", "scatter_drop", "repeat_nested", "net_cross_entropy"}) {
    const Program program = parsed(texts.at(name));
    const auto planned = plan_program(program);
    ASSERT_TRUE(planned.ok());
    damage(program, print(program, schedule_of(*planned)), false);
    damage(program, print(program, plan_of(*planned)), true);
  }
}

}  // namespace
}  // namespace lightline::loops::plan
