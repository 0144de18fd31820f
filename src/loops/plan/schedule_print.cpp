// Schedules and plans to text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/plan/plan.h"
#include "loops/plan/schedule_words.h"

namespace lightline::loops::plan {
namespace {

class SchedulePrinter {
 public:
  SchedulePrinter(const Program& program, const Schedule& schedule, const Plan* plan)
      : program_(program), schedule_(schedule), plan_(plan), table_(program) {}

  std::string run() {
    line(plan_ == nullptr ? fmt::format("schedule {} {{", program_.name)
                          : fmt::format("plan {} on {} {{", program_.name, plan_->target));
    ++depth_;
    for (const FoldedStatement& folded : schedule_.folded)
      line(fmt::format("fold {}{}", table_.text(folded.statement), folded.unrolled ? " unrolled" : ""));
    std::vector<StatementId> open;  // repeats
    for (size_t k = 0; k < schedule_.kernels.size(); ++k) {
      while (!open.empty() && open.back() != schedule_.kernels[k].inside) close(open);
      kernel(k);
      if (schedule_.kernels[k].kind == KernelKind::repeat) open.push_back(schedule_.kernels[k].statements[0].statement);
    }
    while (!open.empty()) close(open);
    --depth_;
    line("}");
    return std::move(text_);
  }

 private:
  void line(std::string_view words) {
    text_.append(2 * depth_, ' ');
    text_ += words;
    text_ += '\n';
  }
  void close(std::vector<StatementId>& open) {
    open.pop_back();
    --depth_;
    line("}");
  }

  void kernel(size_t number) {
    const ScheduledKernel& kernel = schedule_.kernels[number];
    if (kernel.kind == KernelKind::repeat) {
      line(fmt::format("repeat {} {{", table_.text(kernel.statements[0].statement)));
      ++depth_;
      return;
    }
    line(kernel.kind == KernelKind::product ? "kernel product {" : "kernel {");
    ++depth_;
    for (size_t s = 0; s < kernel.statements.size(); ++s) {
      statement(kernel.statements[s]);
      if (plan_ != nullptr) axes(kernel.statements[s].statement, plan_->kernels[number].axes[s]);
    }
    if (plan_ != nullptr) mapping(plan_->kernels[number]);
    --depth_;
    line("}");
  }

  void statement(const ScheduledStatement& each) {
    indices_ = table_.own_indices(each.statement);
    std::vector<std::string> loops;
    for (const Loop& loop : each.loops) loops.push_back(loop_text(loop) + (loop.turning ? " turning" : ""));
    line(fmt::format("{}: {}{}{}", table_.text(each.statement),
                     loops.empty() ? "once" : fmt::format("for {}", fmt::join(loops, ", ")),
                     each.shared == 0 ? "" : fmt::format(" share {}", each.shared), each.unrolled ? " unrolled" : ""));
    ++depth_;
    for (const Residency& kept : each.residency) {
      std::string text = fmt::format("keep {}", table_.array_text(kept.array));
      if (kept.index != none) text += fmt::format(" where {} < {}", indices_[kept.index].name, kept.below);
      text += fmt::format(" in {}", name(kept.level));
      if (kept.loop != Residency::whole_kernel) text += fmt::format(" within {}", loop_text(each.loops[kept.loop]));
      line(text);
    }
    --depth_;
  }

  std::string loop_text(const Loop& loop) const {
    const std::string& index = indices_[loop.index].name;
    if (!loop.extents.empty()) return fmt::format("{} by ({})", index, fmt::join(loop.extents, ", "));
    return loop.step == 1 ? index : fmt::format("{} by {}", index, loop.step);
  }

  // ---- of plans ----
  void axes(StatementId statement, const std::vector<AxisUse>& uses) {
    if (uses.empty()) return;
    indices_ = table_.own_indices(statement);
    std::vector<std::string> words;
    for (const AxisUse& use : uses) {
      std::vector<std::string> names;
      for (const uint32_t index : use.indices) names.push_back(indices_[index].name);
      std::string text(name(use.axis));
      text += names.size() == 1 ? " " + names[0] : fmt::format(" ({})", fmt::join(names, ", "));
      if (use.pieces != 0)
        text += fmt::format(" in {}", use.pieces);
      else if (use.step != 1)
        text += " by " + amount(use.step);
      words.push_back(std::move(text));
    }
    ++depth_;
    line(fmt::format("on {}", fmt::join(words, ", ")));
    --depth_;
  }

  static std::string amount(int64_t value) { return value == AxisUse::any ? "any" : std::to_string(value); }

  void mapping(const KernelPlan& plan) {
    std::vector<std::string> units;
    for (size_t axis = 0; axis < axis_count; ++axis)
      if (plan.units[axis] != AxisUse::any) units.push_back(fmt::format("{} {}", name(Axis(axis)), plan.units[axis]));
    if (!units.empty()) line(fmt::format("units {}", fmt::join(units, ", ")));
    for (const Phase& phase : plan.phases) {
      std::vector<std::string> parts;
      for (const PhasePart& part : phase.parts)
        parts.push_back(table_.text(part.statement) +
                        (part.part == Part::whole ? "" : fmt::format(" {}", name(part.part))));
      line(fmt::format("phase {}", fmt::join(parts, ", ")));
    }
    for (const ReductionPlace& place : plan.reductions)
      line(fmt::format("reduce {} in {}", table_.text(place.statement), name(place.site)));
    for (const Staged& staged : plan.staged)
      line(fmt::format("stage {}{}{}", table_.array_text(staged.array),
                       staged.in_place_of == none ? "" : " in " + table_.array_text(staged.in_place_of),
                       staged.elements == AxisUse::any ? "" : fmt::format(" by {}", staged.elements)));
  }

  const Program& program_;
  const Schedule& schedule_;
  const Plan* plan_;
  StatementTable table_;
  std::vector<OwnIndex> indices_;  // of the statement being printed
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace

std::string print(const Program& program, const Schedule& schedule) {
  return SchedulePrinter(program, schedule, nullptr).run();
}

std::string print(const Program& program, const Plan& plan) {
  return SchedulePrinter(program, plan.schedule, &plan).run();
}

std::string_view name(Level level) { return level_words[size_t(level)]; }
std::string_view name(Axis axis) { return axis_words[size_t(axis)]; }
std::string_view name(Part part) { return part_words[size_t(part)]; }
std::string_view name(ReductionSite site) { return site_words[size_t(site)]; }

}  // namespace lightline::loops::plan
