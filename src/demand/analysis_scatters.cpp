// What scatters demand.
#include <algorithm>

#include "demand/analyzer.h"

namespace lightline::demand {

void Analyzer::visit(const Scatter& node, RepeatContext& context, size_t group) {
  if (demanded_[node.result].empty()) return;
  const Domain domain = domain_of(node, context.counters);
  Piece points = whole_of(domain, context);
  cut_to_wanted(node, domain, points);
  double writes = 0;
  if (!points.bounds_empty()) {
    for (const ExprId subscript : node.target) demand_reads(subscript, domain, points, context, group);
    if (!may_miss(node, domain)) {
      if (context.counts()) groups_[group].work.add(counter_.of(node, {domain, points, context.counted_elsewhere}));
      demand_reads(node.body, domain, points, context, group);
    }
    std::vector<int> own(node.domain.size());
    for (size_t i = 0; i < own.size(); ++i) own[i] = int(i);
    writes = count(project(points, own));
  }
  want_copied(node, writes, context, group);
}

bool Analyzer::may_miss(const Scatter& node, const Domain& domain) const {
  const auto& wanted = demanded_[node.result].pieces();
  if (wanted.size() == 1 && wanted[0] == Piece::whole(shape(node.result))) return false;
  return std::any_of(node.target.begin(), node.target.end(),
                     [&](ExprId subscript) { return !structure_.affine(subscript, domain); });
}

void Analyzer::cut_to_wanted(const Scatter& node, const Domain& domain, Piece& points) const {
  const auto& wanted = demanded_[node.result].pieces();
  for (size_t d = 0; d < node.target.size(); ++d) {
    const auto subscript = structure_.affine(node.target[d], domain);
    if (!subscript) continue;
    Range range{0, shape(node.result)[d] - 1, 1};
    if (wanted.size() == 1 && !wanted[0].floating) range = wanted[0].box[d];
    HalfSpace above{range.hi - subscript->constant, subscript->terms},
        below{subscript->constant - range.lo, subscript->terms};
    for (auto& term : above.terms) term.second = -term.second;
    points.cut(std::move(below));
    points.cut(std::move(above));
  }
  if (node.reducer != Reducer::sum) return;
  for (const HalfSpace& cut : structure_.support(node.body, SkippedValue::zero, domain)) points.cut(cut);
}

void Analyzer::want_copied(const Scatter& node, double writes, const RepeatContext& context, size_t group) {
  if (node.init_array == none) return;
  const auto in_place = in_place_.find(node.result);
  if (in_place != in_place_.end() && in_place->second == node.init_array) return;
  const bool replaces = node.reducer == Reducer::set;
  for (Piece piece : demanded_[node.result].pieces()) {
    if (replaces && writes > 0) {
      if (piece.box.empty() || !piece.cuts.empty()) continue;
      double row = 1;
      for (size_t i = 1; i < piece.box.size(); ++i) row *= double(piece.box[i].count());
      const double rows = std::min(double(piece.box[0].count()), (writes + row - 1) / row);
      piece.box[0].hi -= int64_t(rows) * piece.box[0].step;
    }
    piece.floating |= replaces && writes > 0;
    want(context, group, node.init_array, std::move(piece));
  }
}

}  // namespace lightline::demand
