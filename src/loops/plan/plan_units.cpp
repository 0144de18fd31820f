// Whether the units of a plan may run in any order between what synchronises them: phases for the threads of a block,
// kernels for blocks. Lanes are those of one thread, which ends a statement in all of them before the next.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "loops/plan/folded_statements.h"
#include "loops/plan/plan_check.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {
namespace {

class UnitCheck {
 public:
  UnitCheck(const FoldedStatements& folded, const StatementTable& table, const FoldedReads& reads,
            const ScheduledKernel& kernel, const KernelPlan& plan)
      : folded_(folded),
        nodes_(folded.stepped.nodes),
        table_(table),
        reads_(reads),
        kernel_(kernel),
        plan_(plan),
        starts_(kernel.statements.size(), 0),
        ends_(kernel.statements.size(), 0) {
    for (size_t phase = 0; phase < plan.phases.size(); ++phase)
      for (const PhasePart& part : plan.phases[phase].parts) {
        const size_t place = *place_of(part.statement);
        if (part.part == Part::whole || part.part == Part::partial) starts_[place] = phase;
        if (part.part == Part::whole || part.part == Part::combine) ends_[place] = phase;
      }
  }

  Status run() const {
    for (size_t place = 0; place < kernel_.statements.size(); ++place) {
      LL_DO(check_points(place));
      LL_DO(check_past(place));
      for (size_t maker = 0; maker < place; ++maker)
        if (reads(place, maker)) LL_DO(check_read(maker, place));
    }
    for (const Staged& staged : plan_.staged) LL_DO(check_stage(staged));
    return Ok{};
  }

 private:
  Error wrong(size_t place, std::string_view reason) const {
    const TextPlace& at = kernel_.statements[place].place;
    return {ErrorCode::range, fmt::format("'{}' {}", text(place), reason), "", {"", at.line, at.column}};
  }
  StatementId statement(size_t place) const { return kernel_.statements[place].statement; }
  std::string text(size_t place) const { return table_.text(statement(place)); }
  std::optional<size_t> place_of(StatementId id) const {
    const auto found = std::ranges::find(kernel_.statements, id, &ScheduledStatement::statement);
    if (found == kernel_.statements.end()) return std::nullopt;
    return size_t(found - kernel_.statements.begin());
  }
  bool reads(size_t reader, size_t maker) const {
    return std::ranges::any_of(results_of(table_[statement(maker)]),
                               [&](ArrayId array) { return reads_.reads(statement(reader), array); });
  }
  const FoldedCompute* compute(size_t place) const {
    const FoldedCompute* found = folded_.compute(statement(place));
    return found == nullptr || found->is_empty ? nullptr : found;
  }
  template <class Visit>
  void for_each_load(size_t place, ArrayId array, const Visit& visit) const {
    nodes_.for_each(compute(place)->body, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load && node.array == array) visit(nodes_.operands(node));
    });
  }

  // ---- one statement ----
  // Units share neither points whose order is that of the text, nor writes to one element.
  Status check_points(size_t place) const {
    const std::vector<OwnIndex> indices = table_.own_indices(statement(place));
    const ScatterStep* scatter = folded_.scatter(statement(place));
    const FoldedCompute* folded = compute(place);
    const bool is_ordered = folded != nullptr && folded->reducer != Reducer::none && reduces_in_order(*folded);
    for (const AxisUse& use : plan_.axes[place])
      for (const uint32_t index : use.indices) {
        if (scatter != nullptr && !tells_apart(*scatter, index))
          return wrong(place, fmt::format("writes to one element from several points of '{}', which runs over {}",
                                          indices[index].name, name(use.axis)));
        if (is_ordered && indices[index].kind == IndexKind::reduce)
          return wrong(place, fmt::format("reduces in the order of its text: '{}' can not run over {}",
                                          indices[index].name, name(use.axis)));
      }
    return Ok{};
  }

  // Whether points that differ in an index of a scatter write to different elements.
  bool tells_apart(const ScatterStep& scatter, uint32_t index) const {
    return std::ranges::any_of(scatter.domain, [&](VarId var) {
      return folded_.stepped.own_index.at(var) == index &&
             std::ranges::any_of(scatter.target, [&](NodeId target) { return nodes_.is_var(target, var); });
    });
  }

  // The thread that computes a point of a scan has computed its past.
  Status check_past(size_t place) const {
    const FoldedCompute* folded = compute(place);
    if (folded == nullptr || folded->scan == none) return Ok{};
    const std::vector<OwnIndex> indices = table_.own_indices(statement(place));
    for (const AxisUse& use : plan_.axes[place])
      for (const uint32_t index : use.indices)
        if (use.axis != Axis::lanes && !past_stays(place, index))
          return wrong(place, fmt::format("reads its own past from other points of '{}', which runs over {}",
                                          indices[index].name, name(use.axis)));
    return Ok{};
  }
  // Whether a scan reads its past at its own point of an index.
  bool past_stays(size_t place, uint32_t index) const {
    const FoldedCompute& folded = *compute(place);
    bool stays = index < folded.dims.size();
    for_each_load(place, folded.result,
                  [&](auto operands) { stays = stays && nodes_.is_var(operands[index], folded.dims[index]); });
    return stays;
  }

  // ---- two statements ----
  // Whether both are run by the same units, where they have the shared loops at the same point: of the axes up to this
  // one, both spread the same loops in the same way, and these are shared. A reduced index is never a shared loop of
  // what reads the result.
  bool same_units(size_t a, size_t b, Axis last) const {
    const std::vector<AxisUse> left = uses_up_to(a, last), right = uses_up_to(b, last);
    const uint32_t shared = shared_since(kernel_, std::min(a, b), std::max(a, b));
    const auto is_shared = [&](uint32_t mine, uint32_t other) {
      for (uint32_t level = 0; level < shared; ++level)
        if (kernel_.statements[a].loops[level].index == mine && kernel_.statements[b].loops[level].index == other)
          return true;
      return false;
    };
    return std::ranges::equal(left, right, [&](const AxisUse& x, const AxisUse& y) {
      return x.axis == y.axis && x.step == y.step && x.pieces == y.pieces &&
             std::ranges::equal(x.indices, y.indices, is_shared);
    });
  }
  std::vector<AxisUse> uses_up_to(size_t place, Axis last) const {
    std::vector<AxisUse> found;
    std::ranges::copy_if(plan_.axes[place], std::back_inserter(found),
                         [&](const AxisUse& use) { return use.axis <= last; });
    return found;
  }
  // Of the axes up to this one, the first that either is spread over.
  std::string_view first_axis(size_t a, size_t b, Axis from, Axis last) const {
    Axis found = last;
    for (const size_t place : {a, b})
      for (const AxisUse& use : plan_.axes[place])
        if (use.axis >= from && use.axis < found) found = use.axis;
    return name(found);
  }

  // What other blocks compute is read in a later kernel, what other threads compute in a later phase.
  Status check_read(size_t maker, size_t reader) const {
    if (is_combined(maker) || !same_units(maker, reader, Axis::blocks))
      return wrong(reader, fmt::format("reads '{}', which other blocks compute", text(maker)));
    if (same_units(maker, reader, Axis::threads)) return Ok{};
    if (ends_[maker] >= starts_[reader])
      return wrong(reader, fmt::format("reads '{}', which other {} compute in the same phase", text(maker),
                                       first_axis(maker, reader, Axis::warps, Axis::threads)));
    const uint32_t shared = shared_since(kernel_, maker, reader);
    for (const Residency& kept : kernel_.statements[maker].residency)
      if (kept.level == Level::registers && table_.definition_of(kept.array) == statement(maker) &&
          (kept.loop == Residency::whole_kernel || kept.loop < shared))
        return wrong(reader, fmt::format("reads '{}', which is kept in registers of other threads", text(maker)));
    return Ok{};
  }
  bool is_combined(size_t maker) const {
    return std::ranges::any_of(plan_.reductions, [&](const ReductionPlace& place) {
      return place.statement == statement(maker) && place.site == ReductionSite::blocks;
    });
  }

  // ---- stages ----
  Error wrong_stage(ArrayId array, std::string_view reason) const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.array_text(array), reason), "", {}};
  }

  Status check_stage(const Staged& staged) const {
    const auto maker = place_of(table_.definition_of(staged.array));
    if (!maker) return Ok{};
    if (is_combined(*maker)) return wrong_stage(staged.array, "is staged beside a core, but blocks combine it");
    if (folded_.scatter(statement(*maker)) != nullptr && !uses_up_to(*maker, Axis::blocks).empty())
      return wrong_stage(staged.array, "is staged in several blocks, but filled once before they write to it");
    const int64_t all = size_of(folded_.stepped.program.arrays[staged.array].shape);
    if (staged.elements < all) LL_DO(check_reused_place(staged.array, *maker));
    if (staged.in_place_of == none) return Ok{};
    const size_t host = *place_of(table_.definition_of(staged.in_place_of));
    const bool at_own_point = overwrites_own_point(staged, host);
    for (size_t user = 0; user < host; ++user)
      if ((user == *maker || reads_.reads(statement(user), staged.array)) &&
          !ends_before(*maker, user, host, at_own_point))
        return wrong_overwritten(staged, user, host);
    if (!at_own_point && reads_.reads(statement(host), staged.array)) return wrong_overwritten(staged, host, host);
    return Ok{};
  }
  Error wrong_overwritten(const Staged& staged, size_t user, size_t host) const {
    return wrong(host, fmt::format("overwrites '{}', which is staged in its place, while '{}' needs that",
                                   table_.array_text(staged.array), text(user)));
  }

  // A place that is smaller than the array, or as small as one likes, holds what one iteration makes: that is read in the same iteration, and the
  // threads of a block go through these iterations together.
  Status check_reused_place(ArrayId array, size_t maker) const {
    const ScheduledStatement& made = kernel_.statements[maker];
    uint32_t levels = 0;
    for (const Residency& kept : made.residency)
      if (is_kept_in_stage(kept, array)) levels = std::max(levels, kept.loop + 1);
    const std::vector<OwnIndex> indices = table_.own_indices(made.statement);
    for (uint32_t level = 0; level < levels; ++level) {
      const uint32_t index = made.loops[level].index;
      if (compute(maker) == nullptr || index >= compute(maker)->dims.size())
        return wrong_stage(array, fmt::format("is staged for one iteration of '{}' at a time, which does not finish it",
                                              indices[index].name));
      for (const AxisUse& use : plan_.axes[maker])
        if (use.axis != Axis::blocks && std::ranges::find(use.indices, index) != use.indices.end())
          return wrong_stage(array, fmt::format("is staged for one iteration of '{}' at a time, which runs over {}",
                                                indices[index].name, name(use.axis)));
      if (compute(maker)->scan != none && !past_stays(maker, index))
        return wrong(maker, fmt::format("reads '{}' after the iteration that it is staged for", text(maker)));
    }
    for (size_t reader = maker + 1; reader < kernel_.statements.size(); ++reader)
      if (reads_.reads(statement(reader), array) && shared_since(kernel_, maker, reader) < levels)
        return wrong(reader, fmt::format("reads '{}' after the iteration that it is staged for", text(maker)));
    return Ok{};
  }

  // Whether a user of what is staged is done with an element before the host overwrites it. If the host overwrites the
  // element that its own point reads, this is so within the loops that the user shares with the maker; else all of it
  // must be done.
  bool ends_before(size_t maker, size_t user, size_t host, bool at_own_point) const {
    if (user == maker && at_own_point) return true;  // the host reads it
    const uint32_t shared = shared_since(kernel_, user, host);
    const bool is_alone = uses_up_to(user, Axis::blocks).empty() && uses_up_to(host, Axis::blocks).empty();
    if (at_own_point ? shared > shared_since(kernel_, maker, user) : shared > 0 || !is_alone) return false;
    return ends_[user] < starts_[host] || same_units(user, host, Axis::threads);
  }

  // Whether each point of the host reads one element of the array, each another, and no point of another element: then
  // that lies where the point is written.
  bool overwrites_own_point(const Staged& staged, size_t host) const {
    const FoldedCompute* folded = compute(host);
    const Program& program = folded_.stepped.program;
    const Array &guest = program.arrays[staged.array], &array = program.arrays[staged.in_place_of];
    if (folded == nullptr || folded->reducer != Reducer::none || folded->scan != none ||
        size_of(guest.shape) != size_of(array.shape) || byte_size(guest.dtype) > byte_size(array.dtype))
      return false;
    std::vector<std::vector<VarId>> points;
    for_each_load(host, staged.array,
                  [&](auto operands) { points.push_back(own_point(*folded, guest.shape, operands)); });
    return !points.empty() && !points[0].empty() &&
           std::ranges::all_of(points, [&](const std::vector<VarId>& point) { return point == points[0]; });
  }
  // The variables of a read that are the dimensions of the result, each once; empty if it is another read.
  std::vector<VarId> own_point(const FoldedCompute& folded, const Shape& shape,
                               std::span<const NodeId> operands) const {
    std::vector<VarId> point;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      const auto var = std::ranges::find_if(folded.dims, [&](VarId each) {
        return each != none && nodes_.extent(each) == shape[d] && nodes_.is_var(operands[d], each);
      });
      if (var == folded.dims.end() || std::ranges::find(point, *var) != point.end()) return {};
      point.push_back(*var);
    }
    return point;
  }

  const FoldedStatements& folded_;
  const Nodes& nodes_;
  const StatementTable& table_;
  const FoldedReads& reads_;
  const ScheduledKernel& kernel_;
  const KernelPlan& plan_;
  std::vector<size_t> starts_, ends_;  // phases, by place
};

}  // namespace

uint32_t shared_since(const ScheduledKernel& kernel, size_t earlier, size_t later) {
  uint32_t shared = UINT32_MAX;
  for (size_t place = earlier + 1; place <= later; ++place) shared = std::min(shared, kernel.statements[place].shared);
  return shared;
}

Status check_units(const Program& program, const Plan& plan) {
  LL_TRY(const auto folded, fold_statements(program, plan.schedule));
  const StatementTable table(program);
  const FoldedReads reads(program, table, plan.schedule);
  for (size_t k = 0; k < plan.kernels.size(); ++k)
    if (plan.schedule.kernels[k].kind != KernelKind::repeat)
      LL_DO(UnitCheck(*folded, table, reads, plan.schedule.kernels[k], plan.kernels[k]).run());
  return Ok{};
}

}  // namespace lightline::loops::plan
