// What repeats demand: their last step, and the steps before it.
#include <algorithm>

#include "demand/analyzer.h"

namespace lightline::demand {
namespace {

constexpr size_t max_repeat_depth = 4;  // deeper ones are priced by their outputs only

}  // namespace

void Analyzer::visit(const loops::Repeat& node, RepeatContext& context, size_t group) {
  const int64_t steps = program_.indices[node.counter].extent;
  std::vector<PointSet> wanted;
  for (const ArrayId result : node.results) wanted.push_back(demanded_[result]);
  const size_t carried = node.carries.size();
  if (std::all_of(wanted.begin(), wanted.end(), [](const PointSet& region) { return region.empty(); })) return;
  if (steps == 0 || context.counters.size() >= max_repeat_depth) {
    for (size_t i = 0; i < carried && steps == 0; ++i) pass_on(context, group, node.carries[i].init, wanted[i]);
    return;
  }
  std::vector<PointSet> finally(wanted.begin(), wanted.begin() + int64_t(carried));
  const std::vector<PointSet> stacked(wanted.begin() + int64_t(carried), wanted.end());
  const VariableSet own = bit(context.counters.size());

  RepeatContext last = context;
  if (steps > 1) last.counted_elsewhere |= own;
  std::vector<PointSet> before = round(node, last, {steps - 1, steps - 1, 1}, finally, stacked);
  if (steps == 1) {
    for (size_t i = 0; i < carried; ++i) pass_on(context, group, node.carries[i].init, before[i]);
    return;
  }
  RepeatContext trial = context;
  if (trial.counts()) trial.trial = context.counters.size() + 1;
  const std::vector<PointSet> again = round(node, trial, {0, 0, 1}, before, stacked);
  bool steady = true;
  for (size_t i = 0; i < carried; ++i) steady &= again[i].contains(before[i]);
  if (!steady) before.assign(carried, PointSet{});  // claim nothing but the stacked results
  round(node, context, {0, steps - 2, 1}, before, stacked);
  const std::vector<PointSet> initial = steady ? again : round(node, trial, {0, 0, 1}, before, stacked);
  for (size_t i = 0; i < carried; ++i) pass_on(context, group, node.carries[i].init, initial[i]);
}

void Analyzer::pass_on(const RepeatContext& context, size_t group, ArrayId array, const PointSet& region) {
  for (const Piece& piece : region.pieces()) want(context, group, array, piece);
}

std::vector<PointSet> Analyzer::round(const loops::Repeat& node, RepeatContext context, Range steps,
                                      const std::vector<PointSet>& next, const std::vector<PointSet>& stacked) {
  clear(node.body);
  for (const auto& carry : node.carries) demanded_[carry.inner] = {};
  for (size_t i = 0; i < node.carries.size(); ++i)
    for (const Piece& piece : next[i].pieces()) demanded_[structure_.first_equal(node.carries[i].next)].add(piece);
  for (size_t i = 0; i < stacked.size(); ++i)
    for (Piece piece : stacked[i].pieces()) {
      const Range at = piece.box[0];
      if (at.lo > steps.lo || at.hi < steps.hi || at.step != 1 || piece.floating) continue;  // not in all these steps
      const bool tied = std::any_of(piece.cuts.begin(), piece.cuts.end(),
                                    [](const HalfSpace& cut) { return cut.terms[0].first == 0; });
      if (tied) continue;
      piece.box.erase(piece.box.begin());
      for (HalfSpace& cut : piece.cuts)
        for (auto& term : cut.terms) --term.first;
      demanded_[structure_.first_equal(node.stacked[i])].add(std::move(piece));
    }
  context.counters.push_back(node.counter);
  context.steps.push_back(steps);
  visit(node.body, context);
  std::vector<PointSet> reads;
  for (const auto& carry : node.carries) reads.push_back(demanded_[carry.inner]);
  return reads;
}

void Analyzer::clear(const std::vector<Statement>& block) {
  loops::for_each_statement(block, [&](const Statement& statement) {
    for (const ArrayId result : loops::results_of(statement)) demanded_[result] = {};
  });
}

}  // namespace lightline::demand
