// Decisions that a schedule took. It has been verified; what is left to refuse is what steps can not do.
#include <fmt/format.h>

#include <algorithm>

#include "loops/plan/decisions.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {
namespace {

class Follower : public Decisions {
 public:
  Follower(SteppedProgram& stepped, const Schedule& schedule)
      : stepped_(stepped), schedule_(schedule), table_(stepped.program) {
    for (const FoldedStatement& each : schedule.folded) folded_.emplace(each.statement, each.unrolled);
    for (size_t k = 0; k < schedule.kernels.size(); ++k)
      for (size_t s = 0; s < schedule.kernels[k].statements.size(); ++s)
        lines_.emplace(schedule.kernels[k].statements[s].statement, Line{k, s});
  }

  Result<bool> unrolls(const FoldedCompute& folded, FoldForm form, int64_t, int) override {
    const auto line = lines_.find(folded.statement);
    const auto own = folded_.find(folded.statement);
    if (form == FoldForm::folded) return own != folded_.end() && own->second;
    return line != lines_.end() && scheduled(line->second).unrolled;
  }
  bool only_folds(StatementId statement) const override {
    return folded_.contains(statement) && !lines_.contains(statement);
  }

  Result<bool> folds(const Compute&, const FoldedCompute& folded) override {
    return folded_.contains(folded.statement);
  }
  bool folds(const Constant&, StatementId statement) override { return folded_.contains(statement); }

  // ---- loops ----
  Status order(FoldedCompute& folded) override {
    measure(stepped_, folded);
    const auto found = lines_.find(folded.statement);
    if (found == lines_.end()) return Ok{};
    const std::vector<Loop>& loops = scheduled(found->second).loops;
    if (std::ranges::any_of(loops, [](const Loop& loop) { return loop.turning || !loop.extents.empty(); }))
      return refuse(folded.statement, "has turning loops or unequal tiles, which emitted C does not");
    const bool is_product = kernel(found->second).kind == KernelKind::product;
    std::vector<VarId> parallel, reduced;
    std::vector<int64_t> tiles;  // outside the parallel loops of single values
    for (const Loop& loop : loops) {
      if (loop.step != 1) tiles.push_back(loop.step);
      if (loop.step != 1) continue;
      const VarId var = var_of(stepped_, folded, loop.index);
      LL_CHECK(var != none);
      const bool is_reduced = std::ranges::find(folded.reduced, var) != folded.reduced.end();
      (is_reduced ? reduced : parallel).push_back(var);
    }
    folded.reduced = reduced;
    if (is_product && tiles.empty()) return Ok{};  // `place` has the roles of its indices
    if (is_product) return refuse(folded.statement, "is a packed product, whose tiles emitted C chooses itself");
    folded.loops = parallel;
    if (folded.scan != none && !folded.is_empty && !finds_own_past(stepped_.nodes, folded))
      return refuse(folded.statement, "reads its own past at other points of a loop around the scan");
    if (!is_supported(folded, loops))
      return refuse(folded.statement, "has an order of loops that emitted C can not have",
                    "it runs reduced indices inside the others, the last of which may also run innermost");
    return Ok{};
  }

  // ---- steps ----
  void begin_block(StatementId repeat, std::vector<Step>& steps) override {
    blocks_.push_back(&steps);
    for (size_t k = 0; k < schedule_.kernels.size(); ++k)
      if (schedule_.kernels[k].inside == repeat) {
        slots_.emplace(k, steps.size());
        steps.emplace_back();
      }
  }
  void end_block() override { blocks_.pop_back(); }

  Status place(StatementId statement, Step step) override {
    const Line line = lines_.at(statement);
    if (kernel(line).statements.size() > 1)
      return refuse(statement, "stands in a kernel with others, but is one of its own in emitted C");
    const std::vector<Loop>& loops = scheduled(line).loops;
    if (const auto* scatter = std::get_if<ScatterStep>(&step.node)) {
      const std::vector<VarId> domain = looping_vars(stepped_, *scatter);
      bool same = loops.size() == domain.size();
      for (size_t i = 0; same && i < loops.size(); ++i)
        same = loops[i] == Loop{.index = stepped_.own_index.at(domain[i])};
      if (!same) return refuse(statement, "writes in the order of its domain: its loops can not be changed");
    }
    slot(line) = std::move(step);
    return Ok{};
  }

  Status place(FoldedCompute folded) override {
    const Line line = lines_.at(folded.statement);
    if (kernel(line).kind == KernelKind::product)
      return line.place == 0 ? place_product(std::move(folded), line) : place_epilogue(std::move(folded), line);
    LL_DO(check_shared(folded, line));
    auto& nest = std::get<NestStep>(slot(line).node);
    nest.computes.push_back(std::move(folded));
    if (nest.computes.size() == kernel(line).statements.size()) set_lines(nest, line.kernel);
    return Ok{};
  }

 private:
  struct Line {
    size_t kernel;
    size_t place;
  };

  const ScheduledKernel& kernel(Line line) const { return schedule_.kernels[line.kernel]; }
  const ScheduledStatement& scheduled(Line line) const { return kernel(line).statements[line.place]; }
  Step& slot(Line line) { return (*blocks_.back())[slots_.at(line.kernel)]; }
  Error refuse(StatementId statement, std::string_view reason, std::string hint = "") const {
    return {ErrorCode::unsupported, fmt::format("'{}' {}", table_.text(statement), reason), std::move(hint),
            where(schedule_, statement)};
  }

  // Sets how the innermost loop runs. `folded.loops` and `folded.reduced` have their order already.
  bool is_supported(FoldedCompute& folded, const std::vector<Loop>& loops) const {
    const auto is = [&](size_t at, VarId var, bool is_tile) {
      return loops[at].index == stepped_.own_index.at(var) && (loops[at].step != 1) == is_tile;
    };
    const size_t parallel = folded.loops.size(), reduced = folded.reduced.size();
    const auto runs_at = [&](size_t at, std::span<const VarId> vars) {
      for (size_t i = 0; i < vars.size(); ++i)
        if (at + i >= loops.size() || !is(at + i, vars[i], false)) return false;
      return true;
    };
    const std::span<const VarId> outer(folded.loops.data(), parallel - (parallel == 0 ? 0 : 1));
    if (loops.size() == parallel + reduced && runs_at(0, folded.loops) && runs_at(parallel, folded.reduced))
      return true;
    if (parallel == 0 || folded.is_empty || folded.loops.back() == folded.scan) return false;
    if (reduced > 0) {  // a row of totals
      if (!runs_at(0, outer)) return false;
      const VarId row = folded.loops.back();
      const bool is_cut = is(outer.size(), row, true);
      folded.tiled = true;
      folded.tile = is_cut ? loops[outer.size()].step : stepped_.nodes.extent(row);
      folded.one_tile = is_cut && folded.tile == stepped_.nodes.extent(row);
      const size_t inside = outer.size() + (is_cut ? 1 : 0);
      return loops.size() == inside + reduced + 1 && runs_at(inside, folded.reduced) &&
             is(loops.size() - 1, row, false) &&
             folded.tile * stepped_.target.largest_total_bytes <= stepped_.target.stack_bytes;
    }
    if (folded.scan != none || parallel < 2 || loops.size() != parallel + 2) return false;  // blocks of two loops
    const VarId along = folded.loops[parallel - 2], row = folded.loops.back();
    if (!runs_at(0, outer.first(parallel - 2)) || !is(parallel - 2, along, true) || !is(parallel - 1, row, true) ||
        !is(parallel, along, false))
      return false;
    folded.transposed = along;
    folded.tile = block_of(loops[parallel - 2].step, along, loops[parallel - 1].step, row);
    return folded.tile != 0;
  }

  // One extent for the blocks of two loops; an index that is shorter has tiles of its own extent. 0: there is none.
  int64_t block_of(int64_t step, VarId along, int64_t row_step, VarId row) const {
    const int64_t height = stepped_.nodes.extent(along), width = stepped_.nodes.extent(row);
    int64_t block = std::max(step, row_step);
    if (step == height && row_step == width) block = std::max(block, stepped_.target.transposed_block);
    return std::min(block, height) == step && std::min(block, width) == row_step ? block : 0;
  }

  // ---- kernels ----
  // The loops that a compute can share: all but those that it runs by itself.
  static size_t sharable(const FoldedCompute& folded) {
    if (folded.transposed != none) return 0;
    return folded.tiled ? folded.loops.size() - 1 : folded.loops.size() + folded.reduced.size();
  }

  Status check_shared(const FoldedCompute& folded, Line line) {
    const std::vector<ScheduledStatement>& statements = kernel(line).statements;
    if (line.place > 0 && statements[line.place].shared == 0)
      return refuse(folded.statement, "shares no loop with the statement before it, as it must in one kernel of C");
    const uint32_t after = line.place + 1 < statements.size() ? statements[line.place + 1].shared : 0;
    if (std::max(statements[line.place].shared, after) > sharable(folded))
      return refuse(folded.statement, "shares a loop over tiles or inside them, which emitted C can not");
    return Ok{};
  }

  void set_lines(NestStep& nest, size_t number) const {
    for (const ScheduledStatement& each : schedule_.kernels[number].statements) {
      const auto found = std::ranges::find(nest.computes, each.statement, &FoldedCompute::statement);
      nest.lines.push_back({size_t(found - nest.computes.begin()), each.shared});
    }
  }

  Status place_product(FoldedCompute folded, Line line) {
    std::vector<uint32_t> wanted;
    for (const Loop& loop : scheduled(line).loops) wanted.push_back(loop.index);
    for (ContractionStep& step : possible_contractions(stepped_, folded)) {
      std::vector<uint32_t> order;
      for (const auto* role : {&step.batch, &step.m, &step.n, &step.k})
        for (const VarId var : *role) order.push_back(stepped_.own_index.at(var));
      if (order != wanted) continue;
      slot(line).node = std::move(step);
      return Ok{};
    }
    return refuse(folded.statement, "is not a product with these loops",
                  "write the indices of both factors, then the rows, the columns and the depth");
  }

  Status place_epilogue(FoldedCompute folded, Line line) {
    auto* product = std::get_if<ContractionStep>(&slot(line).node);
    if (product == nullptr || scheduled(line).shared != folded.loops.size() || !can_follow(stepped_, *product, folded))
      return refuse(folded.statement, "can not follow the product in its kernel",
                    "what follows is a map of the same domain, in the same order, that reads the product there");
    // Statements come in the order of the program, the schedule may have another.
    const auto later =
        std::find_if(product->epilogue.begin(), product->epilogue.end(),
                     [&](const FoldedCompute& other) { return lines_.at(other.statement).place > line.place; });
    product->epilogue.insert(later, std::move(folded));
    return Ok{};
  }

  SteppedProgram& stepped_;
  const Schedule& schedule_;
  StatementTable table_;
  std::unordered_map<StatementId, bool> folded_;
  std::unordered_map<StatementId, Line> lines_;
  std::unordered_map<size_t, size_t> slots_;  // by kernel: its step in the block
  std::vector<std::vector<Step>*> blocks_;
};

}  // namespace

std::unique_ptr<Decisions> follow(SteppedProgram& stepped, const Schedule& schedule) {
  return std::make_unique<Follower>(stepped, schedule);
}

}  // namespace lightline::loops::plan
