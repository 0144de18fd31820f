// Decisions by rules of thumb: what is cheap is folded, what fits together shares loops.
#include <algorithm>
#include <unordered_set>

#include "loops/plan/decisions.h"

namespace lightline::loops::plan {
namespace {

bool is_transcendental(const Node& node) {
  return node.kind == NodeKind::call && info(node.function).transcendental_ops > 0 && !is_integer(node.type);
}

bool contains_load(const Nodes& nodes, NodeId root) {
  bool found = false;
  nodes.for_each(root, [&](const Node& node, NodeId) { found |= node.kind == NodeKind::load; });
  return found;
}

// Arithmetic in one evaluation; address arithmetic and plain conversions are free.
int work_of(const Nodes& nodes, const Target& target, NodeId root) {
  int work = 0;
  std::unordered_set<NodeId> seen{root};
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const Node& node = nodes[stack.back()];
    stack.pop_back();
    if (node.kind == NodeKind::load) {
      const bool indirect =
          std::ranges::any_of(nodes.operands(node), [&](NodeId subscript) { return contains_load(nodes, subscript); });
      work += indirect ? target.gather_work : 0;
      continue;
    }
    if (node.kind == NodeKind::call) work += is_transcendental(node) ? target.transcendental_work : 1;
    if (node.kind == NodeKind::cast && compute_type(node.target) != node.target) work += target.conversion_work;
    nodes.for_each_child(node, [&](NodeId child) {
      if (seen.insert(child).second) stack.push_back(child);
    });
  }
  return work;
}

class Decider : public Decisions {
 public:
  Decider(SteppedProgram& stepped, const ArrayUses& uses)
      : stepped_(stepped), program_(stepped.program), target_(stepped.target), uses_(uses) {}

  Result<bool> unrolls(const FoldedCompute& folded, FoldForm, int64_t points, int nodes) override {
    const bool is_rounded = compute_type(folded.accumulator) != folded.accumulator;
    const bool is_position = folded.reducer == Reducer::argmax || folded.reducer == Reducer::argmin;
    return !folded.reduced.empty() && !is_position && !is_rounded && points <= target_.most_unrolled_points &&
           points * nodes <= target_.largest_unrolled_nodes;
  }

  bool only_folds(StatementId) const override { return false; }

  Status order(FoldedCompute& folded) override {
    measure(stepped_, folded);
    choose_order(stepped_, folded);
    return Ok{};
  }

  Result<bool> folds(const Compute& compute, const FoldedCompute& folded) override {
    if (folded.scan != none) return false;
    const ArrayUse& use = uses_.arrays[compute.result];
    if (use.reads == 0) return false;
    if (stepped_.nodes[folded.body].has_checks) return keeps_checks(program_, compute, use);
    int size = 0;
    stepped_.nodes.for_each(folded.body, [&](const Node&, NodeId) { ++size; });
    if (size > target_.largest_folded_nodes) return false;
    const int work = work_of(stepped_.nodes, target_, folded.body);
    if (compute.is_view || work == 0) return true;
    if (use.others > 0 || use.reads > 1 || use.crosses_block || use.reader == nullptr) return false;
    return work <= target_.cheap_work || use.reader_points <= double(size_of(program_.arrays[compute.result].shape));
  }

  bool folds(const Constant& constant, StatementId) override { return uses_.arrays[constant.result].reads > 0; }

  // Inside, producers and readers outside do not count: a compute can not join their steps.
  void begin_block(StatementId, std::vector<Step>& steps) override {
    const size_t arrays = program_.arrays.size();
    blocks_.push_back({&steps, std::vector<int>(arrays, -1), std::vector<int>(arrays, -1)});
  }
  void end_block() override { blocks_.pop_back(); }

  Status place(StatementId, Step step) override {
    append(std::move(step));
    return Ok{};
  }

  // A compute joins the step of its last producer, or a later one that reads the same arrays, or starts its own.
  Status place(FoldedCompute folded) override {
    if (auto contraction = find_contraction(stepped_, folded))
      append(Step{std::move(*contraction)});
    else if (const std::optional<size_t> at = find_step(folded))
      join(std::move(folded), *at);
    else
      append(Step{NestStep{{std::move(folded)}, {}}});
    return Ok{};
  }

 private:
  struct Block {
    std::vector<Step>* steps;
    std::vector<int> producer;  // by array: the step that defines it
    std::vector<int> reader;    // the last step that reads it
  };

  void append(Step step) {
    Block& block = blocks_.back();
    block.steps->push_back(std::move(step));
    note(block.steps->size() - 1);
  }

  void note(size_t at) {
    Block& block = blocks_.back();
    const Step& step = (*block.steps)[at];
    for (const ArrayId array : defined_by(step)) block.producer[array] = int(at);
    for_each_read(stepped_, step, [&](ArrayId array) { block.reader[array] = std::max(block.reader[array], int(at)); });
  }

  std::optional<size_t> find_step(const FoldedCompute& folded) const {
    const Block& block = blocks_.back();
    int earliest = -1;
    std::vector<int> candidates;
    if (!folded.is_empty)
      stepped_.nodes.for_each(folded.body, [&](const Node& node, NodeId) {
        if (node.kind != NodeKind::load || node.array == folded.result) return;
        earliest = std::max(earliest, block.producer[node.array]);
        candidates.push_back(block.reader[node.array]);
      });
    candidates.push_back(earliest);
    std::ranges::sort(candidates);
    for (const int at : candidates)
      if (at >= earliest && at >= 0 && takes((*block.steps)[size_t(at)], folded)) return size_t(at);
    return std::nullopt;
  }

  bool takes(const Step& step, const FoldedCompute& folded) const {
    if (const auto* nest = std::get_if<NestStep>(&step.node))
      return nest->computes.size() < target_.most_statements && can_join(stepped_, *nest, folded);
    const auto* contraction = std::get_if<ContractionStep>(&step.node);
    return contraction != nullptr && contraction->epilogue.size() < target_.most_statements &&
           can_follow(stepped_, *contraction, folded);
  }

  void join(FoldedCompute folded, size_t at) {
    Step& step = (*blocks_.back().steps)[at];
    if (auto* nest = std::get_if<NestStep>(&step.node))
      nest->computes.push_back(std::move(folded));
    else
      std::get<ContractionStep>(step.node).epilogue.push_back(std::move(folded));
    note(at);
  }

  SteppedProgram& stepped_;
  const Program& program_;
  const Target& target_;
  const ArrayUses& uses_;
  std::vector<Block> blocks_;
};

}  // namespace

std::unique_ptr<Decisions> decide(SteppedProgram& stepped, const ArrayUses& uses) {
  return std::make_unique<Decider>(stepped, uses);
}

bool keeps_checks(const Program& program, const Compute& compute, const ArrayUse& use) {
  if (use.others > 0 || use.reads != 1) return false;
  const Expr& site = program.exprs[use.site];
  const auto* reader = std::get_if<Compute>(&use.reader->node);
  if (reader == nullptr || use.crosses_block || site.has_fill || reader->reducer != Reducer::none ||
      reader->loops.size() != compute.loops.size())
    return false;
  if (reader->is_view) return false;
  for (uint32_t d = 0; d < site.args[2]; ++d) {
    const Expr& written = program.exprs[subscripts_of(program, site)[d]];
    if (written.kind != ExprKind::index || written.args[0] != reader->loops[d] ||
        program.indices[written.args[0]].extent != program.arrays[compute.result].shape[d])
      return false;
  }
  return true;
}

}  // namespace lightline::loops::plan
