// Kernels for a CPU as a plan: a block is a task that one thread takes, lanes are those of its vectors.
#include <algorithm>

#include "loops/plan/planned.h"

namespace lightline::loops::plan {
namespace {

class PlanReader {
 public:
  explicit PlanReader(const PlannedProgram& planned) : planned_(planned), stepped_(planned.stepped) {}

  Plan run() {
    plan_.target = stepped_.target.name;
    plan_.schedule = schedule_of(planned_);
    read(stepped_.steps);
    return std::move(plan_);
  }

 private:
  void read(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const size_t number = plan_.kernels.size();
      const Kernel& kernel = planned_.kernels[number];
      const ScheduledKernel& scheduled = plan_.schedule.kernels[number];
      KernelPlan& plan = plan_.kernels.emplace_back();
      plan.axes.resize(scheduled.statements.size());
      if (scheduled.kind != KernelKind::repeat) add_phase(scheduled, Part::whole, plan);
      if (const auto* nest = std::get_if<NestKernel>(&kernel))
        add(*nest, scheduled, plan);
      else if (const auto* product = std::get_if<ContractionStep>(&step.node))
        add(*product, std::get<ProductKernel>(kernel), scheduled, plan);
      else if (const auto* scatter = std::get_if<ScatterKernel>(&kernel))
        add(*scatter, plan.axes[0]);
      if (const auto* repeat = std::get_if<RepeatStep>(&step.node)) read(repeat->body);
    }
  }

  static void add_phase(const ScheduledKernel& scheduled, Part part, KernelPlan& plan) {
    Phase& phase = plan.phases.emplace_back();
    for (const ScheduledStatement& each : scheduled.statements) phase.parts.push_back({each.statement, part});
  }
  std::vector<uint32_t> own(const std::vector<VarId>& vars) const {
    std::vector<uint32_t> indices;
    for (const VarId var : vars) indices.push_back(stepped_.own_index.at(var));
    return indices;
  }

  // ---- nests ----
  void add(const NestKernel& kernel, const ScheduledKernel& scheduled, KernelPlan& plan) const {
    for (size_t row = 0; row < kernel.tree.rows.size(); ++row) {
      const size_t id = kernel.tree.rows[row].member;
      const Member& member = kernel.tree.members[id];
      const ScheduledStatement& each = scheduled.statements[row];
      add_nests(kernel, member, each, plan.axes[row]);
      add_own_row(kernel, id, each, plan.axes[row]);
      std::ranges::stable_sort(plan.axes[row], {}, &AxisUse::axis);
      if (member.folded.reducer != Reducer::none && !member.folded.reduced.empty())
        plan.reductions.push_back({each.statement, site_of(kernel, member)});
      if (member.host != none)
        plan.staged.push_back({.array = member.folded.result, .elements = member.elements, .in_place_of = member.host});
    }
    for (const Buffer& buffer : kernel.buffers)
      plan.staged.push_back({.array = buffer.array, .elements = buffer.elements});
    if (kernel.form != NestForm::parts) return;
    plan.phases.clear();
    add_phase(scheduled, Part::partial, plan);
    add_phase(scheduled, Part::combine, plan);
  }

  // Loops that were merged are counted as one number.
  void add_nests(const NestKernel& kernel, const Member& member, const ScheduledStatement& each,
                 std::vector<AxisUse>& axes) const {
    size_t level = 0;
    for (const Nest* nest : member.path) {
      std::vector<uint32_t> group;
      for (size_t i = 0; i < nest->merged; ++i) group.push_back(each.loops[level++].index);
      const bool is_outer = std::ranges::find(kernel.outer, nest) != kernel.outer.end();
      if (kernel.threads && is_outer)
        axes.push_back({Axis::blocks, group});
      else if (kernel.threads && nest == kernel.inner && kernel.form == NestForm::rows && kernel.piece != 0)
        axes.push_back({Axis::blocks, group, kernel.piece});
      else if (nest == kernel.inner && kernel.form == NestForm::parts)
        axes.push_back({Axis::blocks, group, 1, kernel.parts});
      if (nest->is_row && nest->is_vector) axes.push_back({Axis::lanes, group});
    }
  }

  // The last loop of a compute that runs it by itself.
  void add_own_row(const NestKernel& kernel, size_t id, const ScheduledStatement& each,
                   std::vector<AxisUse>& axes) const {
    const Member& member = kernel.tree.members[id];
    if (!member.folded.tiled && member.folded.transposed == none) return;
    const uint32_t row = each.loops.back().index;
    if (kernel.threads && kernel.form == NestForm::tiles && kernel.pieces > 1)
      axes.push_back({Axis::blocks, {row}, kernel.piece});
    if (kernel.threads && kernel.form == NestForm::transposed)
      for (size_t i = 0; i + 2 < each.loops.size(); ++i)
        axes.push_back({Axis::blocks, {each.loops[i].index}, each.loops[i].step});
    if (member.is_vector) axes.push_back({Axis::lanes, {row}});
  }

  static ReductionSite site_of(const NestKernel& kernel, const Member& member) {
    if (kernel.form == NestForm::parts) return ReductionSite::blocks;
    const bool is_in_row = !member.folded.tiled && !member.path.empty() && member.path.back()->is_row;
    return is_in_row && member.path.back()->is_vector ? ReductionSite::lanes : ReductionSite::thread;
  }

  // ---- products ----
  void add(const ContractionStep& step, const ProductKernel& kernel, const ScheduledKernel& scheduled,
           KernelPlan& plan) const {
    const size_t rows = step.batch.size(), columns = rows + step.m.size(), depth = columns + step.n.size();
    for (size_t s = 0; s < scheduled.statements.size(); ++s) {
      const auto group = [&](size_t from, size_t to) {
        std::vector<uint32_t> indices;
        for (size_t i = from; i < to; ++i) indices.push_back(scheduled.statements[s].loops[i].index);
        return indices;
      };
      std::vector<AxisUse>& axes = plan.axes[s];
      if (kernel.threads && rows > 0) axes.push_back({Axis::blocks, group(0, rows)});
      if (kernel.threads) axes.push_back({Axis::blocks, group(rows, columns), AxisUse::any});
      if (kernel.threads) axes.push_back({Axis::blocks, group(columns, depth), AxisUse::any});
      axes.push_back({Axis::lanes, group(columns, depth)});
    }
    const StatementId product = scheduled.statements[0].statement;
    plan.phases.insert(plan.phases.begin(), Phase{{{product, Part::pack}}});
    plan.reductions.push_back({product, ReductionSite::thread});
    for (const NodeId factor : {step.a, step.b})
      stepped_.nodes.for_each(factor, [&](const Node& node, NodeId) {
        if (node.kind == NodeKind::load &&
            std::ranges::find(plan.staged, node.array, &Staged::array) == plan.staged.end())
          plan.staged.push_back({.array = node.array});
      });
  }

  void add(const ScatterKernel& kernel, std::vector<AxisUse>& axes) const {
    if (kernel.share == ScatterKernel::Share::outermost) axes.push_back({Axis::blocks, own({kernel.loops[0]})});
    if (kernel.share == ScatterKernel::Share::pieces)
      axes.push_back({Axis::blocks, own({kernel.loops.back()}), kernel.piece});
    if (kernel.is_vector) axes.push_back({Axis::lanes, own({kernel.loops.back()})});
  }

  const PlannedProgram& planned_;
  const SteppedProgram& stepped_;
  Plan plan_;
};

}  // namespace

Plan plan_of(const PlannedProgram& planned) { return PlanReader(planned).run(); }

}  // namespace lightline::loops::plan
