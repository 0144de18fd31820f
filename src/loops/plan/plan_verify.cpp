// Whether a plan fits its schedule: axes, phases, places of reductions, stages.
#include <fmt/format.h>

#include <algorithm>

#include "loops/plan/plan_check.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {
namespace {

class PlanVerifier {
 public:
  PlanVerifier(const Program& program, const Plan& plan)
      : program_(program), plan_(plan), table_(program), reads_(program, table_, plan.schedule) {}

  Status run() {
    if (plan_.kernels.size() != plan_.schedule.kernels.size())
      return Error{ErrorCode::range, "a plan has one part for every kernel of its schedule", "", {}};
    for (size_t k = 0; k < plan_.kernels.size(); ++k) LL_DO(check(plan_.schedule.kernels[k], plan_.kernels[k]));
    return Ok{};
  }

 private:
  Error wrong(StatementId statement, std::string_view reason) const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.text(statement), reason), "",
            where(plan_.schedule, statement)};
  }

  Status check(const ScheduledKernel& kernel, const KernelPlan& plan) const {
    if (plan.axes.size() != kernel.statements.size())
      return wrong(kernel.statements[0].statement, "stands in a kernel whose plan has axes for other statements");
    if (kernel.kind == KernelKind::repeat && !(plan.phases.empty() && plan.staged.empty()))
      return wrong(kernel.statements[0].statement, "is a repeat: the kernels inside it have phases and stages");
    for (const ReductionPlace& place : plan.reductions) LL_DO(check_reduction(kernel, plan, place));
    for (const Phase& phase : plan.phases)
      for (const PhasePart& part : phase.parts) LL_DO(check_part(plan, part));
    for (size_t s = 0; s < kernel.statements.size(); ++s) {
      LL_DO(check_axes(kernel.statements[s], plan, plan.axes[s]));
      if (s > 0) LL_DO(check_shared(kernel, plan, s));
    }
    if (kernel.kind != KernelKind::repeat) LL_DO(check_phases(kernel, plan));
    for (const Staged& staged : plan.staged) LL_DO(check_staged(kernel, plan, staged));
    return Ok{};
  }

  static const ScheduledStatement* find(const ScheduledKernel& kernel, StatementId statement) {
    const auto found = std::ranges::find(kernel.statements, statement, &ScheduledStatement::statement);
    return found == kernel.statements.end() ? nullptr : &*found;
  }

  // ---- axes ----
  Status check_axes(const ScheduledStatement& each, const KernelPlan& plan, const std::vector<AxisUse>& uses) const {
    const std::vector<OwnIndex> indices = table_.own_indices(each.statement);
    std::vector<std::pair<Axis, uint32_t>> seen;
    for (const AxisUse& use : uses) {
      if (!seen.empty() && use.axis < seen.back().first)
        return wrong(each.statement, fmt::format("has {} inside {}", name(use.axis), name(seen.back().first)));
      int64_t extent = 1;
      for (const uint32_t index : use.indices) {
        if (std::ranges::find(each.loops, index, &Loop::index) == each.loops.end())
          return wrong(each.statement, fmt::format("has {} over an index without a loop", name(use.axis)));
        const std::string& word = indices[index].name;
        if (std::ranges::find(seen, std::pair(use.axis, index)) != seen.end())
          return wrong(each.statement, fmt::format("has {} over '{}' twice", name(use.axis), word));
        seen.emplace_back(use.axis, index);
        LL_DO(check_order(each.statement, plan, use.axis, indices[index]));
        extent *= indices[index].extent;
      }
      if (use.indices.empty() || std::max(use.step, use.pieces) > extent || std::min(use.step, use.pieces) < 0)
        return wrong(each.statement, fmt::format("has {} over more than there is: {} of {}", name(use.axis),
                                                 std::max(use.step, use.pieces), extent));
    }
    return Ok{};
  }

  // A scan runs in order, and what a reduced index brings together must be brought together.
  Status check_order(StatementId statement, const KernelPlan& plan, Axis axis, const OwnIndex& index) const {
    if (index.kind == IndexKind::scan)
      return wrong(statement, fmt::format("scans '{}' in order, not over {}", index.name, name(axis)));
    if (index.kind != IndexKind::reduce || !std::holds_alternative<Compute>(table_[statement].node)) return Ok{};
    const auto place = std::ranges::find(plan.reductions, statement, &ReductionPlace::statement);
    const ReductionSite least = least_site(plan, axis);
    if (place != plan.reductions.end() && place->site >= least) return Ok{};
    return wrong(statement, fmt::format("reduces '{}' over {}, but not in {}", index.name, name(axis), name(least)));
  }
  // Threads are those of a warp in a kernel that knows warps, else those of the block.
  static ReductionSite least_site(const KernelPlan& plan, Axis axis) {
    const auto has_warps = [](const std::vector<AxisUse>& uses) {
      return std::ranges::find(uses, Axis::warps, &AxisUse::axis) != uses.end();
    };
    switch (axis) {
      case Axis::blocks: return ReductionSite::blocks;
      case Axis::warps: return ReductionSite::block;
      case Axis::threads: return std::ranges::any_of(plan.axes, has_warps) ? ReductionSite::warp : ReductionSite::block;
      case Axis::lanes: break;
    }
    return ReductionSite::lanes;
  }

  // Statements that share a loop run it alike, and count it as one number with no loop of their own.
  Status check_shared(const ScheduledKernel& kernel, const KernelPlan& plan, size_t place) const {
    const ScheduledStatement &each = kernel.statements[place], &before = kernel.statements[place - 1];
    for (uint32_t level = 0; level < each.shared; ++level)
      if (uses_of(plan.axes[place], each.loops[level].index) !=
          uses_of(plan.axes[place - 1], before.loops[level].index))
        return wrong(each.statement,
                     fmt::format("runs its loop over '{}', which it shares, over other axes than '{}' does",
                                 table_.own_indices(each.statement)[each.loops[level].index].name,
                                 table_.text(before.statement)));
    const auto is_shared = [&](uint32_t index) {
      return std::ranges::find(each.loops.begin(), each.loops.begin() + each.shared, index, &Loop::index) !=
             each.loops.begin() + each.shared;
    };
    for (const AxisUse& use : plan.axes[place])
      if (const auto count = std::ranges::count_if(use.indices, is_shared);
          count != 0 && size_t(count) != use.indices.size())
        return wrong(each.statement,
                     fmt::format("counts loops as one number over {}, and shares only some of them", name(use.axis)));
    return Ok{};
  }
  // How an index is spread, and by which of the uses of that axis: whatever its name and its place in the statement.
  static std::vector<AxisUse> uses_of(const std::vector<AxisUse>& uses, uint32_t index) {
    std::vector<AxisUse> found;
    std::array<uint32_t, axis_count> count{};
    for (const AxisUse& use : uses) {
      const uint32_t number = count[size_t(use.axis)]++;
      const auto at = std::ranges::find(use.indices, index);
      if (at == use.indices.end()) continue;
      found.push_back(use);
      found.back().indices = {uint32_t(at - use.indices.begin()), uint32_t(use.indices.size()), number};
    }
    return found;
  }

  // ---- phases ----
  struct Turn {
    size_t phase = 0;
    size_t turn = 0;  // among all parts of all phases, from 1
  };
  struct Turns {
    Turn pack, start, end;
  };

  Status check_phases(const ScheduledKernel& kernel, const KernelPlan& plan) const {
    std::vector<Turns> turns(kernel.statements.size());
    size_t turn = 0;
    for (size_t phase = 0; phase < plan.phases.size(); ++phase)
      for (const PhasePart& part : plan.phases[phase].parts) {
        const ScheduledStatement* each = find(kernel, part.statement);
        if (part.statement >= table_.size() || each == nullptr)
          return Error{ErrorCode::range, "a phase has a statement of another kernel", "", {}};
        LL_DO(add_turn(kernel, part, {phase, ++turn}, turns[size_t(each - kernel.statements.data())]));
      }
    for (size_t place = 0; place < kernel.statements.size(); ++place) LL_DO(check_turn(kernel, place, turns));
    return Ok{};
  }

  Status add_turn(const ScheduledKernel& kernel, const PhasePart& part, const Turn& now, Turns& turns) const {
    const bool is_start = part.part == Part::whole || part.part == Part::partial;
    const bool is_end = part.part == Part::whole || part.part == Part::combine;
    const bool has_started = turns.start.turn != 0, has_ended = turns.end.turn != 0;
    if ((is_start && has_started) || (is_end && (has_ended || (!is_start && !has_started))))
      return wrong(part.statement, "runs twice, or is combined before it starts");
    if (part.part == Part::pack && (has_started || turns.pack.turn != 0 || kernel.kind != KernelKind::product ||
                                    part.statement != kernel.statements[0].statement))
      return wrong(part.statement, "is packed, but is no product that starts later");
    if (is_start && turns.pack.turn != 0 && turns.pack.phase == now.phase)
      return wrong(part.statement, "starts in the phase that packs its factors");
    if (part.part == Part::combine && turns.start.phase == now.phase)
      return wrong(part.statement, "is combined in the phase that computes its parts");
    if (part.part == Part::pack) turns.pack = now;
    if (is_start) turns.start = now;
    if (is_end) turns.end = now;
    return Ok{};
  }

  // Statements start in the order of the kernel, after the end of what they read. Parts are combined once all blocks
  // are through the loops that make them.
  Status check_turn(const ScheduledKernel& kernel, size_t place, const std::vector<Turns>& turns) const {
    const StatementId statement = kernel.statements[place].statement;
    const Turn& start = turns[place].start;
    if (start.turn == 0 || turns[place].end.turn == 0) return wrong(statement, "is in no phase, or is never combined");
    for (size_t other = 0; other < place; ++other) {
      const StatementId made = kernel.statements[other].statement;
      const auto is_read = [&](ArrayId array) { return reads_.reads(statement, array); };
      if (turns[other].end.turn > start.turn && std::ranges::any_of(results_of(table_[made]), is_read))
        return wrong(statement, fmt::format("starts before '{}', which it reads, is done", table_.text(made)));
      if (turns[other].start.turn > start.turn)
        return wrong(made,
                     fmt::format("starts after '{}', before which it stands in the kernel", table_.text(statement)));
      const bool is_combined = turns[other].end.turn != turns[other].start.turn;
      if (is_combined && shared_since(kernel, other, place) > 0 && turns[other].end.phase <= start.phase)
        return wrong(made,
                     fmt::format("is combined before the loops that it shares with '{}' end", table_.text(statement)));
    }
    return Ok{};
  }

  // ---- reductions ----
  bool is_reduction(const ScheduledStatement& each) const {
    const auto* compute = std::get_if<Compute>(&table_[each.statement].node);
    return compute != nullptr && !compute->reduced.empty() && !each.unrolled;
  }

  // Only a reduction that comes together in blocks has a second step.
  Status check_part(const KernelPlan& plan, const PhasePart& part) const {
    if (part.part != Part::partial && part.part != Part::combine) return Ok{};
    if (std::ranges::find(plan.reductions, part.statement, &ReductionPlace::statement) != plan.reductions.end())
      return Ok{};
    if (part.statement >= table_.size()) return Ok{};  // check_phases says so
    return wrong(part.statement, fmt::format("runs {}, but no reduction of it has a place", name(part.part)));
  }

  Status check_reduction(const ScheduledKernel& kernel, const KernelPlan& plan, const ReductionPlace& place) const {
    const ScheduledStatement* each = find(kernel, place.statement);
    if (place.statement >= table_.size() || each == nullptr)
      return Error{ErrorCode::range, "a reduction of another kernel has a place", "", {}};
    if (!is_reduction(*each)) return wrong(place.statement, "has a place for a reduction, but reduces nothing");
    if (std::ranges::count(plan.reductions, place.statement, &ReductionPlace::statement) > 1)
      return wrong(place.statement, "has two places for its reduction");
    const bool is_combined = std::ranges::any_of(plan.phases, [&](const Phase& phase) {
      return std::ranges::find(phase.parts, PhasePart{place.statement, Part::combine}) != phase.parts.end();
    });
    if (is_combined != (place.site == ReductionSite::blocks))
      return wrong(place.statement, is_combined ? "is combined after a phase, but not reduced in blocks"
                                                : "is reduced in blocks, but never combined");
    return Ok{};
  }

  // ---- stages ----
  Status check_staged(const ScheduledKernel& kernel, const KernelPlan& plan, const Staged& staged) const {
    const bool is_known = staged.array < program_.arrays.size();
    const bool is_read = is_known && std::ranges::any_of(kernel.statements, [&](const ScheduledStatement& each) {
                           return reads_.reads(each.statement, staged.array);
                         });
    if (!is_read && !is_made(kernel, staged.array))
      return Error{ErrorCode::range, "an array is staged that the kernel neither computes nor reads", "", {}};
    if (std::ranges::count(plan.staged, staged.array, &Staged::array) > 1)
      return wrong_stage(staged, "is staged twice");
    LL_DO(check_stage_size(kernel, staged));
    return staged.in_place_of == none ? Status(Ok{}) : check_host(kernel, plan, staged);
  }

  bool is_made(const ScheduledKernel& kernel, ArrayId array) const {
    return array < program_.arrays.size() && find(kernel, table_.definition_of(array)) != nullptr;
  }
  Error wrong_stage(const Staged& staged, std::string_view reason) const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.array_text(staged.array), reason), "", {}};
  }

  // No more than there is, and of what the kernel makes no less than what an iteration keeps of it.
  Status check_stage_size(const ScheduledKernel& kernel, const Staged& staged) const {
    if (staged.elements == AxisUse::any) return Ok{};
    const int64_t all = size_of(program_.arrays[staged.array].shape);
    if (staged.elements < 0 || staged.elements > all)
      return wrong_stage(staged, fmt::format("has {} elements staged of {}", staged.elements, all));
    const ScheduledStatement* made = find(kernel, table_.definition_of(staged.array));
    if (made == nullptr) return Ok{};
    const auto is_place = [&](const Residency& kept) { return is_kept_in_stage(kept, staged.array); };
    int64_t needed = std::ranges::any_of(made->residency, is_place) ? 0 : all;
    for (const Residency& kept : made->residency)
      if (is_place(kept)) needed = std::max(needed, kept_elements(*made, kept));
    if (staged.elements < needed)
      return wrong_stage(staged,
                         fmt::format("has {} elements staged, but is kept {} at a time", staged.elements, needed));
    return Ok{};
  }

  // What one iteration of the loop makes of a statement's result: whole dimensions, but for those that the loop and
  // those around it go through.
  int64_t kept_elements(const ScheduledStatement& made, const Residency& kept) const {
    Shape extents = program_.arrays[kept.array].shape;
    const size_t loops = kept.loop == Residency::whole_kernel ? 0 : size_t(kept.loop) + 1;
    for (size_t level = 0; level < loops; ++level)
      if (made.loops[level].index < extents.size()) extents[made.loops[level].index] = made.loops[level].step;
    return size_of(extents);
  }

  // What the kernel makes may be in the memory of an array that it computes later, that is large enough, that has no
  // other guest, and after which nobody reads it.
  Status check_host(const ScheduledKernel& kernel, const KernelPlan& plan, const Staged& staged) const {
    if (!is_made(kernel, staged.in_place_of))
      return wrong_stage(staged, "is staged in the place of an array that the kernel does not compute");
    const Array &array = program_.arrays[staged.array], &host = program_.arrays[staged.in_place_of];
    const std::string host_text = table_.array_text(staged.in_place_of);
    if (!is_made(kernel, staged.array))
      return wrong_stage(staged,
                         fmt::format("is staged in the place of '{}', but the kernel does not compute it", host_text));
    if (staged.array == staged.in_place_of) return wrong_stage(staged, "is staged in its own place");
    for (const Staged& other : plan.staged) {
      if (other.array == staged.in_place_of)
        return wrong_stage(staged, fmt::format("is staged in the place of '{}', which is staged itself", host_text));
      if (other.array != staged.array && other.in_place_of == staged.in_place_of)
        return wrong_stage(staged, fmt::format("is staged in the place of '{}', where '{}' is", host_text,
                                               table_.array_text(other.array)));
    }
    const int64_t elements = staged.elements == AxisUse::any ? size_of(array.shape) : staged.elements;
    if (elements * byte_size(array.dtype) > size_of(host.shape) * byte_size(host.dtype))
      return wrong_stage(staged, fmt::format("is staged in the place of '{}', which is smaller", host_text));
    bool is_computed = false;
    for (const ScheduledStatement& each : kernel.statements) {
      const bool is_made_here = each.statement == table_.definition_of(staged.array);
      if (is_computed && (is_made_here || reads_.reads(each.statement, staged.array)))
        return wrong(each.statement, fmt::format("finds '{}' in place of '{}', in whose memory that was staged",
                                                 host_text, table_.array_text(staged.array)));
      is_computed |= each.statement == table_.definition_of(staged.in_place_of);
    }
    return Ok{};
  }

  const Program& program_;
  const Plan& plan_;
  StatementTable table_;
  FoldedReads reads_;
};

}  // namespace

Status verify(const Program& program, const Plan& plan) {
  LL_DO(verify(program, plan.schedule));
  LL_DO(PlanVerifier(program, plan).run());
  return check_units(program, plan);
}

}  // namespace lightline::loops::plan
