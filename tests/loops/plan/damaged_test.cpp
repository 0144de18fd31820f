// Schedules damaged at random: whatever `verify` lets pass and emitted C can follow computes what the interpreter does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "loops/emit_c/emit_c.h"
#include "loops/plan/values_testing.h"
#include "support/seed.h"

namespace lightline::loops::plan {
namespace {

class Damage : Draws {
 public:
  Damage(const Program& program, Schedule schedule, std::mt19937_64& random)
      : Draws(random), table_(program), schedule_(std::move(schedule)) {}

  Schedule run() {
    const size_t count = 1 + draw(3);
    for (size_t i = 0; i < count; ++i) damage_once();
    return std::move(schedule_);
  }

 private:
  void damage_once() {
    if (schedule_.kernels.empty()) return;
    ScheduledKernel& kernel = any(schedule_.kernels);
    ScheduledStatement& each = any(kernel.statements);
    switch (draw(16)) {
      case 0: each.shared = uint32_t(draw(each.loops.size() + 1)); break;
      case 1:
      case 2:
        if (each.loops.size() > 1) std::swap(any(each.loops), any(each.loops));
        break;
      case 3: add_tiles(each); break;
      case 4:
        if (!each.loops.empty()) any(each.loops).turning ^= true;
        break;
      case 5: toggle_unrolled(each); break;
      case 6: fold(kernel, each); break;
      case 7: unfold(); break;
      case 8:
      case 9: join(); break;
      case 10: std::swap(any(kernel.statements), any(kernel.statements)); break;
      case 11: fold_too(each); break;
      case 12:
      case 13: fold_too(each), move_later(kernel, each); break;
      case 14: move_later(kernel, each); break;
      case 15: sum_rows(each); break;
    }
    if (draw(4) != 0)
      for (ScheduledKernel& other : schedule_.kernels)
        for (ScheduledStatement& statement : other.statements) statement.residency.clear();
  }

  void add_tiles(ScheduledStatement& each) {
    if (each.loops.empty()) return;
    const auto inner = each.loops.begin() + ptrdiff_t(draw(each.loops.size()));
    Loop tiles{.index = inner->index, .step = tile_of(each, inner->index)};
    each.loops.insert(each.loops.begin() + ptrdiff_t(draw(size_t(inner - each.loops.begin()) + 1)), tiles);
  }

  int64_t tile_of(const ScheduledStatement& each, uint32_t index) {
    return draw(3) == 0 ? table_.own_indices(each.statement)[index].extent : int64_t(2 + draw(7));
  }

  // The reduced indices around the last of the others, perhaps within its tiles.
  void sum_rows(ScheduledStatement& each) {
    const std::vector<OwnIndex> indices = table_.own_indices(each.statement);
    each.loops = plain_loops(each.statement, true);
    const auto reduced = std::ranges::find_if(
        each.loops, [&](const Loop& loop) { return indices[loop.index].kind == IndexKind::reduce; });
    if (reduced == each.loops.begin() || reduced == each.loops.end()) return;
    const Loop row = *std::rotate(reduced - 1, reduced, each.loops.end());
    if (draw(2) == 0) each.loops.insert(reduced - 1, {.index = row.index, .step = tile_of(each, row.index)});
  }

  std::vector<Loop> plain_loops(StatementId statement, bool with_reduced) const {
    std::vector<Loop> loops;
    const std::vector<OwnIndex> indices = table_.own_indices(statement);
    for (uint32_t i = 0; i < indices.size(); ++i)
      if (indices[i].extent > 1 && (with_reduced || indices[i].kind != IndexKind::reduce))
        loops.push_back({.index = i});
    return loops;
  }

  void toggle_unrolled(ScheduledStatement& each) {
    each.unrolled ^= true;
    each.loops = plain_loops(each.statement, !each.unrolled);
  }

  void fold(ScheduledKernel& kernel, const ScheduledStatement& each) {
    const StatementId statement = each.statement;
    schedule_.folded.push_back({statement, draw(3) == 0});
    std::erase_if(kernel.statements, [&](const ScheduledStatement& other) { return other.statement == statement; });
    if (!kernel.statements.empty()) kernel.statements[0].shared = 0;
    std::erase_if(schedule_.kernels, [](const ScheduledKernel& other) { return other.statements.empty(); });
  }

  // Computed by its readers, and in its kernel as well.
  void fold_too(const ScheduledStatement& each) {
    const std::vector<OwnIndex> indices = table_.own_indices(each.statement);
    const bool reduces =
        std::ranges::any_of(indices, [](const OwnIndex& index) { return index.kind == IndexKind::reduce; });
    schedule_.folded.push_back({each.statement, reduces});
  }

  void move_later(ScheduledKernel& kernel, const ScheduledStatement& each) {
    const size_t place = size_t(&each - kernel.statements.data());
    if (place + 1 < kernel.statements.size())
      move_within(kernel.statements, place);
    else if (kernel.kind != KernelKind::repeat)
      move_behind_others(kernel);
  }

  // Places keep the loops that they share.
  void move_within(std::vector<ScheduledStatement>& statements, size_t place) {
    std::vector<uint32_t> shared;
    for (const ScheduledStatement& each : statements) shared.push_back(each.shared);
    const auto from = statements.begin() + ptrdiff_t(place);
    std::rotate(from, from + 1, from + 1 + ptrdiff_t(draw(size_t(statements.end() - from))));
    for (size_t i = 0; i < shared.size(); ++i) statements[i].shared = shared[i];
  }

  // Inside a repeat, no further than it goes.
  void move_behind_others(const ScheduledKernel& kernel) {
    const auto from = schedule_.kernels.begin() + (&kernel - schedule_.kernels.data());
    const auto last = std::find_if(from, schedule_.kernels.end(), [&](const ScheduledKernel& other) {
      return kernel.inside != none && other.inside != kernel.inside;
    });
    std::rotate(from, from + 1, from + 1 + ptrdiff_t(draw(size_t(last - from))));
  }

  // Into a kernel of its own, before the first with a later statement.
  void unfold() {
    if (schedule_.folded.empty()) return;
    const StatementId statement = any(schedule_.folded).statement;
    std::erase_if(schedule_.folded, [&](const FoldedStatement& other) { return other.statement == statement; });
    ScheduledKernel kernel;
    kernel.inside = table_.repeat_of(statement);
    kernel.statements.push_back({.statement = statement, .loops = plain_loops(statement, true)});
    const auto at = std::ranges::find_if(
        schedule_.kernels, [&](const ScheduledKernel& other) { return other.statements[0].statement > statement; });
    schedule_.kernels.insert(at, std::move(kernel));
  }

  // Two kernels in one, sharing some loops.
  void join() {
    if (schedule_.kernels.size() < 2) return;
    const size_t first = draw(schedule_.kernels.size() - 1);
    ScheduledKernel &into = schedule_.kernels[first], &from = schedule_.kernels[first + 1];
    from.statements[0].shared = uint32_t(draw(from.statements[0].loops.size() + 1));
    into.kind = draw(2) == 0 ? into.kind : KernelKind::loops;
    into.statements.insert(into.statements.end(), from.statements.begin(), from.statements.end());
    schedule_.kernels.erase(schedule_.kernels.begin() + ptrdiff_t(first) + 1);
  }

  StatementTable table_;
  Schedule schedule_;
};

// Rounded values have equals among them, so that the first of the greatest is told from the others.
const char* const programs[] = {
    R"(program softmax(x: f32[24, 40], w: f32[40, 18]) -> (y, z) {
  top: f32[24] = for i: max j in 40: x[i, j]
  e: f32[24, 40] = for i, j: exp(x[i, j] - top[i])
  total: f32[24] = for i: sum j in 40: e[i, j]
  y: f32[24, 40] = for i, j: e[i, j] / total[i]
  p: f32[24, 18] = for i, k: sum j in 40: y[i, j] * w[j, k]
  z: f32[24, 18] = for i, k: p[i, k] + 1
})",
    R"(program positions(x: f32[12, 20, 16]) -> (a, b, c) {
  r: f32[12, 20, 16] = for i, j, k: floor(x[i, j, k] * 3)
  a: i64[12] = for i: argmax j in 20, k in 16: r[i, j, k]
  b: i64[16] = for k: argmin i in 12, j in 20: r[i, j, k] * 2
  c: i64[12, 20] = for i, j: argmax k in 16: r[i, j, k]
})",
    R"(program narrow(x: bf16[24, 32]) -> (s, t) {
  s: bf16[24] = for i: sum[bf16] j in 32: x[i, j]
  h: bf16[24, 32] = for i, j: x[i, j] * 3 + s[i]
  t: bf16[32] = for j: sum[bf16] i in 24: h[i, j]
})",
    R"(program scans(x: f32[12, 20, 16]) -> (c, d, t) {
  c: f32[12, 20, 16] = for i, scan j, k: c[i, j - 1, k | 0] + x[i, j, k]
  d: f32[20, 16] = for scan j, k: d[j - 1, 15 - k | 1] + c[3, j, k]
  m: f32[12, 20, 16] = for i, j, k: c[i, j, k] * 2
  t: f32[16, 20, 12] = for k, j, i: m[i, j, k] + x[i, j, k]
})",
    R"(program writes(x: f32[9, 7], n: i64[9, 7]) -> (y, z) {
  v: f32[9, 7] = for i, j: x[i, j] + 1
  y: f32[3] = scatter set i in 9, j in 7 into 0: [n[i, j]] <- v[i, j]
  q: f32[3, 7] = scatter set i in 9, j in 7 into 0: [n[i, 2], j] <- v[i, j]
  z: f32[3] = for k: sum j in 7: q[k, j] + y[k]
})",
    R"(program windows(x: f32[10, 12]) -> (s, f, u) {
  few: f32[10, 10] = for i, j: sum r in 3: x[i, j + r]
  g: f32[10, 10] = for i, j: few[i, 9 - j] + few[9 - i, j]
  s: f32[10] = for i: sum j in 10: g[i, j] * few[i, j]
  f: f32[10, 10] = for i, j: few[j, i] + s[j]
  u: f32[] = sum i in 10: s[i]
})",
    R"(program both(x: f32[10, 6]) -> (p, q, r) {
  p: f32[10] = for i: sum j in 6: x[i, j]
  q: f32[10] = for i: p[i] * 2 + p[9 - i]
  r: f32[10, 6] = for i, j: exp(x[i, j]) * p[i]
})",
    R"(program steps(x: f32[6, 8], h: f32[8]) -> (out, all) {
  (out: f32[8], all: f32[6, 8]) = repeat t in 6 carry (now = h) {
    a: f32[8] = for i: now[7 - i] * x[t, i]
    m: f32[] = max i in 8: a[i]
    b: f32[8] = for i: a[i] - m[] + now[i]
    yield (b, stack a)
  }
})",
    R"(program carries(x: f32[5, 8]) -> (s, all, q) {
  start: f32[8] = for j: x[0, j] * 2
  (s: f32[8], all: f32[5, 8]) = repeat t in 5 carry (now = start) {
    a: f32[8] = for j: now[7 - j] + x[t, j] + start[j]
    b: f32[8] = for j: a[j] * start[7 - j]
    yield (b, stack a)
  }
  q: f32[8] = for j: start[7 - j] + s[j]
})",
    R"(program operands(x: f32[16], n: i64[9]) -> (v, y, u) {
  m: f32[16] = for j: x[j] * 2
  z: f32[16] = for j: m[15 - j] + 1
  (v: f32[16], w: i64[16]) = opaque sort(m, dim = 0, descending = false)
  y: f32[16] = scatter sum k in 9 into z: [n[k]] <- m[k]
  u: f32[16] = for j: z[j] + m[j] + v[j]
})",
    R"(program shared(x: f32[9, 6]) -> (h, y, z) {
  h: f32[9, 6] = for i, j: x[i, j] * x[i, j] + 1
  y: f32[9, 6] = for i, j: sqrt(h[i, j])
  z: f32[9, 6] = for i, j: (y[i, j] - h[i, j]) / h[i, j]
})",
};

struct Counts {
  size_t tried = 0, verified = 0, followed = 0;
};

// A broken invariant is a defect of ours, whatever the schedule.
Result<std::string> code_of(const Program& program, const Schedule& schedule) {
  try {
    return emit_c(program, schedule);
  } catch (const std::exception& error) {
    return Error{ErrorCode::internal, error.what(), "", {}};
  }
}

// Distinct codes that a damaged schedule gives.
void add_damaged(const Program& program, const std::string& name, size_t tries, size_t most, std::mt19937_64& random,
                 std::vector<Scheduled>& list, Counts& counts) {
  const Schedule starts[] = {decided(program), unfused_schedule(program)};
  std::set<std::string> seen{*emit_c(program)};
  size_t added = 0;
  for (size_t i = 0; i < tries; ++i, ++counts.tried) {
    const Schedule damaged = Damage(program, starts[i % 2], random).run();
    const Status status = verify(program, damaged);
    if (!status.ok()) {
      EXPECT_NE(status.error().code, ErrorCode::internal) << print(program, damaged);
      continue;
    }
    ++counts.verified;
    const auto code = code_of(program, damaged);
    if (!code.ok()) {
      EXPECT_EQ(code.error().code, ErrorCode::unsupported) << to_string(code.error()) << print(program, damaged);
      continue;
    }
    ++counts.followed;
    const auto planned = plan_program(program, damaged);
    ASSERT_TRUE(planned.ok()) << to_string(planned.error()) << print(program, damaged);
    const Status plan = verify(program, plan_of(*planned));
    EXPECT_TRUE(plan.ok()) << to_string(plan.error()) << print(program, damaged);
    if (added < most && seen.insert(*code).second) list.push_back({name, program, damaged}), ++added;
  }
}

TEST(DamagedSchedules, ThatVerifyComputeTheSame) {
  SCOPED_TRACE(testing_support::seed_text());
  std::mt19937_64 random(testing_support::seed_of(41));
  const bool is_long = std::getenv("LIGHTLINE_LONG") != nullptr;
  std::vector<Scheduled> list;
  Counts counts;
  for (const char* text : programs) {
    const Program program = parsed(text);
    add_damaged(program, program.name, is_long ? 2000 : 250, is_long ? 80 : 6, random, list, counts);
  }
  EXPECT_GE(counts.tried, 800u);
  EXPECT_GE(counts.verified, counts.tried / 20);
  EXPECT_GE(list.size(), 25u);
  constexpr size_t batch = 40;
  for (size_t from = 0; from < list.size(); from += batch) {
    const auto begin = list.begin() + ptrdiff_t(from);
    expect_values({begin, begin + ptrdiff_t(std::min(batch, list.size() - from))});
  }
}

}  // namespace
}  // namespace lightline::loops::plan
