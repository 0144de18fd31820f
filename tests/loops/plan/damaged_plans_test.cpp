// Plans damaged at random: whatever `verify` lets pass computes what the interpreter does, in any order that it allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "loops/plan/plan_executor.h"
#include "support/seed.h"

namespace lightline::loops::plan {
namespace {

// Phases, axes, places and stages that nobody thought about.
class PlanDamage : Draws {
 public:
  PlanDamage(const Program& program, Plan plan, std::mt19937_64& random)
      : Draws(random), program_(program), table_(program), plan_(std::move(plan)) {}

  Plan run() {
    if (draw(3) == 0) join_kernels();
    for (size_t count = 1 + draw(5); count-- > 0;) damage_once();
    return std::move(plan_);
  }

 private:
  void damage_once() {
    const size_t k = draw(plan_.kernels.size());
    ScheduledKernel& kernel = plan_.schedule.kernels[k];
    KernelPlan& plan = plan_.kernels[k];
    const size_t place = draw(kernel.statements.size());
    switch (draw(12)) {
      case 0: plan.axes[place] = random_axes(kernel.statements[place]); break;
      case 1:
      case 2:
      case 3: spread_alike(kernel, plan); break;
      case 4: kernel.statements[place].shared = uint32_t(draw(kernel.statements[place].loops.size() + 1)); break;
      case 5: set_phases(kernel, plan, draw(2) == 0); break;
      case 6: split_or_merge(plan); break;
      case 7: swap_parts(plan); break;
      case 8: set_reduction(kernel.statements[place], plan); break;
      case 9:
      case 10: set_stage(kernel, plan, kernel.statements[place]); break;
      case 11: turn_loops(kernel.statements[place]); break;
    }
  }

  AxisUse random_use(const ScheduledStatement& each) {
    static constexpr Axis axes[] = {Axis::blocks, Axis::threads, Axis::threads, Axis::lanes};
    AxisUse use{axes[draw(4)], {any_loop(each)}, 1, 0};
    if (draw(6) == 0) use.indices.push_back(any_loop(each));
    if (draw(4) == 0) use.step = int64_t(draw(4));
    if (draw(6) == 0) use.pieces = int64_t(1 + draw(3));
    return use;
  }
  uint32_t any_loop(const ScheduledStatement& each) { return each.loops[draw(each.loops.size())].index; }
  std::vector<AxisUse> random_axes(const ScheduledStatement& each) {
    std::vector<AxisUse> uses;
    if (!each.loops.empty())
      for (size_t count = draw(3); count-- > 0;) uses.push_back(random_use(each));
    std::ranges::stable_sort(uses, {}, &AxisUse::axis);
    return uses;
  }

  // One use for all statements with a loop in that place.
  void spread_alike(const ScheduledKernel& kernel, KernelPlan& plan) {
    const size_t level = draw(2);
    AxisUse use{Axis(draw(2) == 0 ? 2 : draw(axis_count)), {0}, 1, 0};
    const bool is_only = draw(2) == 0;
    for (size_t place = 0; place < kernel.statements.size(); ++place) {
      const std::vector<Loop>& loops = kernel.statements[place].loops;
      if (is_only) plan.axes[place].clear();
      if (level >= loops.size() || draw(8) == 0) continue;
      use.indices = {loops[level].index};
      plan.axes[place].push_back(use);
      std::ranges::stable_sort(plan.axes[place], {}, &AxisUse::axis);
      set_site(kernel.statements[place], plan);
    }
  }
  void set_site(const ScheduledStatement& each, KernelPlan& plan) {
    std::erase_if(plan.reductions, [&](const ReductionPlace& other) { return other.statement == each.statement; });
    const auto* compute = std::get_if<Compute>(&table_[each.statement].node);
    if (compute != nullptr && compute->reducer != Reducer::none && !each.unrolled)
      plan.reductions.push_back({each.statement, draw(3) == 0 ? ReductionSite::lanes : ReductionSite::block});
  }

  void set_phases(const ScheduledKernel& kernel, KernelPlan& plan, bool is_split) {
    plan.phases.clear();
    for (const ScheduledStatement& each : kernel.statements) {
      if (plan.phases.empty() || is_split || draw(2) == 0) plan.phases.emplace_back();
      plan.phases.back().parts.push_back({each.statement, Part::whole});
    }
  }
  void split_or_merge(KernelPlan& plan) {
    if (plan.phases.empty()) return;
    const size_t at = draw(plan.phases.size());
    std::vector<PhasePart>& parts = plan.phases[at].parts;
    if (draw(2) == 0 && parts.size() > 1) {
      Phase later{{parts.back()}};
      parts.pop_back();
      plan.phases.insert(plan.phases.begin() + ptrdiff_t(at) + 1, later);
    } else if (at + 1 < plan.phases.size()) {
      const std::vector<PhasePart> later = plan.phases[at + 1].parts;
      parts.insert(parts.end(), later.begin(), later.end());
      plan.phases.erase(plan.phases.begin() + ptrdiff_t(at) + 1);
    }
  }
  void swap_parts(KernelPlan& plan) {
    if (plan.phases.empty()) return;
    std::swap(any(any(plan.phases).parts), any(any(plan.phases).parts));
  }

  void set_reduction(const ScheduledStatement& each, KernelPlan& plan) {
    std::erase_if(plan.reductions, [&](const ReductionPlace& other) { return other.statement == each.statement; });
    const auto site = ReductionSite(draw(5));
    plan.reductions.push_back({each.statement, site});
    if (site != ReductionSite::blocks) return;
    if (draw(2) == 0 && !each.loops.empty()) {
      std::vector<AxisUse>& uses = plan.axes[0];
      uses = {{Axis::blocks, {each.loops.back().index}, 1, 0}};
    }
    for (Phase& phase : plan.phases)
      for (PhasePart& part : phase.parts)
        if (part.statement == each.statement) part.part = Part::partial;
    plan.phases.push_back({{{each.statement, Part::combine}}});
  }

  void set_stage(ScheduledKernel& kernel, KernelPlan& plan, ScheduledStatement& each) {
    const ArrayId array = results_of(table_[each.statement])[0];
    std::erase_if(plan.staged, [&](const Staged& other) { return other.array == array; });
    each.residency.clear();
    Staged staged{array};
    const size_t loops = each.loops.size();
    if (draw(2) == 0 && loops > 1) {
      each.residency.push_back({.array = array, .level = Level::local, .loop = uint32_t(draw(loops - 1))});
      Shape extents = program_.arrays[array].shape;
      for (size_t level = 0; level <= each.residency[0].loop; ++level)
        if (each.loops[level].index < extents.size()) extents[each.loops[level].index] = each.loops[level].step;
      staged.elements = size_of(extents) - int64_t(draw(8) == 0);
    }
    if (draw(2) == 0) staged.in_place_of = results_of(table_[any(kernel.statements).statement])[0];
    plan.staged.push_back(staged);
  }

  void turn_loops(ScheduledStatement& each) {
    if (each.loops.size() > 1) std::swap(any(each.loops), any(each.loops));
    if (!each.loops.empty() && draw(3) == 0) any(each.loops).turning ^= true;
  }

  void join_kernels() {
    Schedule& schedule = plan_.schedule;
    while (schedule.kernels.size() > 1 && draw(4) != 0) {
      const size_t first = draw(schedule.kernels.size() - 1);
      ScheduledKernel &into = schedule.kernels[first], &from = schedule.kernels[first + 1];
      if (draw(2) == 0) from.statements[0].shared = uint32_t(draw(from.statements[0].loops.size() + 1));
      into.kind = KernelKind::loops;
      into.statements.insert(into.statements.end(), from.statements.begin(), from.statements.end());
      KernelPlan &plan = plan_.kernels[first], &other = plan_.kernels[first + 1];
      plan.axes.insert(plan.axes.end(), other.axes.begin(), other.axes.end());
      plan.reductions.insert(plan.reductions.end(), other.reductions.begin(), other.reductions.end());
      plan.staged.insert(plan.staged.end(), other.staged.begin(), other.staged.end());
      plan.phases.insert(plan.phases.end(), other.phases.begin(), other.phases.end());
      schedule.kernels.erase(schedule.kernels.begin() + ptrdiff_t(first) + 1);
      plan_.kernels.erase(plan_.kernels.begin() + ptrdiff_t(first) + 1);
    }
  }

  const Program& program_;
  StatementTable table_;
  Plan plan_;
};

// Inputs are small whole numbers: sums are exact, but for the narrow ones, and there are equals among the greatest.
const char* const programs[] = {
    R"(program scans(x: f32[5, 6]) -> (c, d, t) {
  c: f32[5, 6] = for i, scan j: c[i, j - 1 | 0] + x[i, j]
  d: f32[5, 6] = for scan i, j: d[i - 1, 5 - j | 1] + c[i, j]
  t: f32[5, 6] = for i, j: d[i, 5 - j] + c[i, j]
})",
    R"(program scatters(x: f32[6, 4], n: i64[6]) -> (y, z, u) {
  v: f32[6, 4] = for i, j: x[i, j] + 1
  y: f32[3] = scatter set i in 6, j in 4 into 0: [n[i]] <- v[i, j]
  z: f32[3, 4] = scatter sum i in 6, j in 4 into 0: [n[i], j] <- v[i, j]
  u: f32[3, 4] = for k, j: z[k, j] + y[k]
})",
    R"(program reductions(x: f32[4, 8]) -> (a, y, s) {
  m: f32[4] = for i: max j in 8: x[i, j]
  e: f32[4, 8] = for i, j: x[i, j] - m[i]
  s: f32[4] = for i: sum j in 8: e[i, j]
  y: f32[4, 8] = for i, j: e[i, j] * s[i]
  a: i64[] = argmax i in 4, j in 8: x[i, j]
})",
    R"(program narrow(x: bf16[4, 16]) -> (s, t) {
  h: bf16[4, 16] = for i, j: x[i, j] * 37
  s: bf16[4] = for i: sum[bf16] j in 16: h[i, j]
  t: bf16[16] = for j: sum[bf16] i in 4: h[i, j]
})",
    R"(program rows(x: f32[4, 6], w: f32[4, 6]) -> (r, y) {
  e: f32[4, 6] = for i, j: x[i, j] + 1
  r: f32[4, 6] = for i, j: e[i, 5 - j] + x[i, j]
  y: f32[4, 6] = for i, j: e[i, j] * w[i, j]
})",
    R"(program lines(x: f32[8], w: f32[8]) -> (r, y, z) {
  e: f32[8] = for i: x[i] + 1
  r: f32[8] = for i: e[7 - i] + 1
  f: f32[8] = for i: w[i] + r[i]
  y: f32[8] = for i: w[i] * 2
  z: f32[8] = for i: f[i] * y[i]
})",
    R"(program turned(x: f32[4, 6], w: f32[6, 4]) -> (y, z) {
  e: f32[6, 4] = for i, j: x[j, i] + w[i, j]
  y: f32[4, 6] = for i, j: e[j, i] * 2
  z: f32[1, 4, 6] = for k, i, j: y[i, j] + x[i, j]
})",
    R"(program totals(x: f32[12]) -> (m, n, y) {
  m: f32[] = max i in 12: x[i]
  n: f32[] = sum i in 12: x[i]
  y: f32[12] = for i: x[i] - m[]
})",
};

std::vector<Tensor> inputs_of(const Program& program, std::mt19937_64& random) {
  std::vector<Tensor> inputs;
  for (const ArrayId id : program.inputs) {
    Tensor& input = inputs.emplace_back(program.arrays[id].dtype, program.arrays[id].shape);
    for (int64_t k = 0; k < input.size(); ++k)
      input.set_f64(k, input.dtype() == DType::i64 ? double(random() % 3) : double(random() % 9) - 4);
  }
  return inputs;
}

// In several orders.
void expect_runs(const Program& program, const Plan& plan, std::mt19937_64& random) {
  const std::vector<Tensor> inputs = inputs_of(program, random);
  const auto expected = interpret(program, inputs);
  ASSERT_TRUE(expected.ok()) << to_string(expected.error());
  for (int order = 0; order < 4; ++order) {
    const std::vector<Tensor> actual = PlanExecutor(program, plan, random).run(inputs);
    for (size_t output = 0; output < actual.size(); ++output) {
      const Comparison result = compare(actual[output], (*expected)[output], {0, 0});
      ASSERT_TRUE(result.agree) << program.arrays[program.outputs[output].array].name << ": " << result.reason << "\n"
                                << print(program, plan);
    }
  }
}

Plan plan_for(const Program& program, const Schedule& schedule) {
  Plan plan{"gpu", schedule, {}};
  for (const ScheduledKernel& kernel : schedule.kernels) {
    KernelPlan& each = plan.kernels.emplace_back();
    each.axes.resize(kernel.statements.size());
    each.phases.emplace_back();
    for (const ScheduledStatement& statement : kernel.statements)
      each.phases[0].parts.push_back({statement.statement, Part::whole});
  }
  EXPECT_TRUE(verify(program, plan).ok());
  return plan;
}

TEST(DamagedPlans, ThatVerifyComputeTheSame) {
  SCOPED_TRACE(testing_support::seed_text());
  std::mt19937_64 random(testing_support::seed_of(53));
  const size_t tries = std::getenv("LIGHTLINE_LONG") != nullptr ? 60000 : 4000;
  std::map<std::string, size_t> seen;  // what verified plans have
  for (const char* text : programs) {
    const Program program = parsed(text);
    const auto planned = plan_program(program);
    ASSERT_TRUE(planned.ok());
    std::vector<Plan> starts{plan_of(*planned), plan_for(program, unfused_schedule(program))};
    std::set<std::string> distinct;
    for (size_t i = 0; i < tries; ++i) {
      // What verified is damaged further, so that plans grow.
      const size_t start = size_t(random() % starts.size());
      Plan plan = PlanDamage(program, starts[start], random).run();
      const Status status = verify(program, plan);
      if (!status.ok()) {
        ASSERT_NE(status.error().code, ErrorCode::internal) << print(program, plan);
        continue;
      }
      if (!distinct.insert(print(program, plan)).second) continue;
      expect_runs(program, plan, random);
      if (HasFatalFailure()) return;
      for (const KernelPlan& kernel : plan.kernels) {
        seen["phases"] += kernel.phases.size() > 1;
        seen["stages"] += !kernel.staged.empty();
        seen["hosts"] += std::ranges::any_of(kernel.staged, [](const Staged& s) { return s.in_place_of != none; });
        for (const std::vector<AxisUse>& uses : kernel.axes)
          for (const AxisUse& use : uses) ++seen[std::string(name(use.axis))];
        for (const ReductionPlace& place : kernel.reductions) ++seen["in " + std::string(name(place.site))];
      }
      if (starts.size() < 200) starts.push_back(std::move(plan));
    }
  }
  for (const char* what :
       {"phases", "stages", "hosts", "blocks", "threads", "lanes", "in lanes", "in block", "in blocks"})
    EXPECT_GE(seen[what], 20u) << what;
}

}  // namespace
}  // namespace lightline::loops::plan
