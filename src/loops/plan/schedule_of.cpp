// Steps and kernels back to a schedule.
#include <algorithm>

#include "loops/plan/planned.h"

namespace lightline::loops::plan {
namespace {

class ScheduleReader {
 public:
  explicit ScheduleReader(const PlannedProgram& planned) : planned_(planned), stepped_(planned.stepped) {}

  Schedule run() {
    schedule_.folded = stepped_.folded;
    read(stepped_.steps, none);
    return std::move(schedule_);
  }

 private:
  void read(const std::vector<Step>& steps, StatementId inside) {
    for (const Step& step : steps) {
      const Kernel& kernel = planned_.kernels[next_++];
      ScheduledKernel& scheduled = schedule_.kernels.emplace_back();
      scheduled.inside = inside;
      if (const auto* nest = std::get_if<NestKernel>(&kernel))
        add(std::get<NestStep>(step.node), *nest, scheduled);
      else if (const auto* product = std::get_if<ContractionStep>(&step.node))
        add(*product, scheduled);
      else if (const auto* scatter = std::get_if<ScatterStep>(&step.node))
        scheduled.statements.push_back({.statement = scatter->id, .loops = loops_of(looping_vars(stepped_, *scatter))});
      else if (const auto* opaque = std::get_if<OpaqueStep>(&step.node))
        scheduled.statements.push_back({.statement = opaque->id});
      if (const auto* repeat = std::get_if<RepeatStep>(&step.node)) {
        scheduled.kind = KernelKind::repeat;
        scheduled.statements.push_back({.statement = repeat->id});
        read(repeat->body, repeat->id);
      }
    }
  }

  Loop loop_of(VarId var, int64_t step = 1) const { return {.index = stepped_.own_index.at(var), .step = step}; }
  std::vector<Loop> loops_of(const std::vector<VarId>& vars) const {
    std::vector<Loop> loops;
    for (const VarId var : vars) loops.push_back(loop_of(var));
    return loops;
  }

  // ---- nests ----
  void add(const NestStep& step, const NestKernel& kernel, ScheduledKernel& scheduled) const {
    for (const TreeRow& row : kernel.tree.rows) {
      const FoldedCompute& folded = step.computes[row.member];
      ScheduledStatement& each = scheduled.statements.emplace_back();
      each.statement = folded.statement;
      each.unrolled = folded.unrolled;
      each.shared = row.shared;
      each.loops = order_of(folded, folded.tiled ? kernel.totals_row[row.member] : kernel.piece);
      keep(folded, row, kernel.tree.members[row.member], each);
    }
  }

  std::vector<Loop> order_of(const FoldedCompute& folded, int64_t tile) const {
    std::vector<Loop> loops = loops_of(folded.loops);
    if (folded.transposed != none) {
      std::erase_if(loops, [&](const Loop& loop) {
        return loop == loop_of(folded.transposed) || loop == loop_of(folded.loops.back());
      });
      for (const int64_t step : {tile, int64_t(1)})
        for (const VarId var : {folded.transposed, folded.loops.back()})
          loops.push_back(loop_of(var, std::min(step, stepped_.nodes.extent(var))));
      return loops;
    }
    const std::vector<Loop> reduced = loops_of(folded.reduced);
    if (!folded.tiled) {
      loops.insert(loops.end(), reduced.begin(), reduced.end());
      return loops;
    }
    loops.pop_back();
    const VarId row = folded.loops.back();
    if (folded.one_tile || tile < stepped_.nodes.extent(row)) loops.push_back(loop_of(row, tile));
    loops.insert(loops.end(), reduced.begin(), reduced.end());
    loops.push_back(loop_of(row));
    return loops;
  }

  // Results that no other kernel reads, and the totals of reductions.
  void keep(const FoldedCompute& folded, const TreeRow& row, const Member& member, ScheduledStatement& each) const {
    Residency kept{.array = folded.result};
    size_t loops = row.kept;
    if (!planned_.layout.stored[folded.result]) {
      kept.level = member.elements == 1 ? Level::registers : Level::local;
    } else if (folded.reducer != Reducer::none && !folded.reduced.empty()) {
      kept.level = folded.tiled ? Level::local : Level::registers;
      loops = each.loops.size() - folded.reduced.size() - (folded.tiled ? 1 : 0);
    } else {
      return;
    }
    if (loops > 0) kept.loop = uint32_t(loops - 1);
    each.residency.push_back(kept);
  }

  // ---- products ----
  // Roles one after another; what follows runs in the same order.
  void add(const ContractionStep& step, ScheduledKernel& scheduled) const {
    scheduled.kind = KernelKind::product;
    std::vector<VarId> order;
    for (const auto* role : {&step.batch, &step.m, &step.n}) order.insert(order.end(), role->begin(), role->end());
    ScheduledStatement& product = scheduled.statements.emplace_back();
    product.statement = step.folded.statement;
    product.loops = loops_of(order);
    for (const VarId var : step.k) product.loops.push_back(loop_of(var));
    for (const FoldedCompute& folded : step.epilogue) {
      ScheduledStatement& each = scheduled.statements.emplace_back();
      each.statement = folded.statement;
      each.unrolled = folded.unrolled;
      each.shared = uint32_t(order.size());
      for (const VarId var : order) {
        const auto level = std::ranges::find(step.folded.loops, var) - step.folded.loops.begin();
        each.loops.push_back(loop_of(folded.loops[size_t(level)]));
      }
    }
    keep_element(step.folded, scheduled.statements[0], order.size());
    for (size_t i = 0; i < step.epilogue.size(); ++i)
      keep_element(step.epilogue[i], scheduled.statements[i + 1], order.size());
  }

  void keep_element(const FoldedCompute& folded, ScheduledStatement& each, size_t loops) const {
    if (!planned_.layout.stored[folded.result])
      each.residency.push_back({.array = folded.result, .level = Level::registers, .loop = uint32_t(loops - 1)});
  }

  const PlannedProgram& planned_;
  const SteppedProgram& stepped_;
  Schedule schedule_;
  size_t next_ = 0;
};

}  // namespace

Schedule schedule_of(const PlannedProgram& planned) { return ScheduleReader(planned).run(); }

}  // namespace lightline::loops::plan
