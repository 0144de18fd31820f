#include "demand/analysis.h"

#include <algorithm>

#include "demand/analyzer.h"

namespace lightline::demand {

Analysis analyze(const loops::Program& program, const KnownValues& known) { return Analyzer(program, known).run(); }

Analyzer::Analyzer(const loops::Program& program, const KnownValues& known)
    : program_(program),
      ids_(loops::statement_ids(program)),
      group_of_(ids_.size(), none),
      structure_(program),
      footprints_(program, structure_, known),
      counter_(program, structure_),
      linear_(program, structure_),
      demanded_(program.arrays.size()),
      maker_(program.arrays.size(), none),
      depth_(program.arrays.size(), 0),
      view_(program.arrays.size(), nullptr),
      scatter_(program.arrays.size(), nullptr),
      is_input_(program.arrays.size(), false) {
  for (const ArrayId input : program.inputs) is_input_[input] = true;
}

Analysis Analyzer::run() {
  place(program_.statements, none);
  demand_outputs();
  RepeatContext context;
  visit(program_.statements, context);
  collect();
  return std::move(out_);
}

// ---- groups ----

void Analyzer::place(const std::vector<Statement>& block, size_t outer, size_t depth) {
  for (const Statement& statement : block) {
    const size_t group = outer == none ? group_of(statement) : outer;
    const loops::StatementId id = ids_.at(&statement);
    group_of_[id] = group;
    if (outer == none) groups_[group].statements.push_back(id);
    for (const ArrayId result : loops::results_of(statement)) {
      maker_[result] = uint32_t(group);
      depth_[result] = depth;
    }
    if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      for (const auto& carry : repeat->carries) {
        maker_[carry.inner] = uint32_t(group);
        depth_[carry.inner] = depth + 1;
      }
      place(repeat->body, group, depth + 1);
    } else if (const auto* compute = std::get_if<Compute>(&statement.node); compute && compute->is_view) {
      view_[compute->result] = compute;
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      scatter_[scatter->result] = scatter;
    }
  }
}

size_t Analyzer::group_of(const Statement& statement) {
  if (statement.group == none) {
    groups_.push_back({.name = program_.arrays[loops::results_of(statement)[0]].name});
    return groups_.size() - 1;
  }
  const auto [found, fresh] = by_group_.emplace(statement.group, groups_.size());
  if (fresh) {
    const std::string& name = program_.groups[statement.group];
    groups_.push_back({.name = name.empty() ? "output" : name});
  }
  return found->second;
}

// ---- demand ----

void Analyzer::demand_outputs() {
  for (const loops::Output& output : program_.outputs) {
    ArrayId storage = output.array;
    while (view_[storage] != nullptr) storage = program_.exprs[view_[storage]->body].args[0];
    if (is_input_[storage]) continue;  // an input, or a view of one, is returned as it is
    if (output.replaces != none) in_place_.emplace(output.array, output.replaces);
    demanded_[structure_.first_equal(output.array)].add(Piece::whole(shape(output.array)));
    returned_.insert(output.array);
  }
}

void Analyzer::want(const RepeatContext& context, size_t reader, ArrayId array, Piece piece) {
  if (piece.bounds_empty()) return;
  array = structure_.first_equal(array);
  if (!context.counts() && depth_[array] < context.trial) return;
  if (context.counts()) {
    if (in_view_ && context.counters.empty())
      used_outside_.insert(array);  // a view costs nothing itself, but what it shows must exist
    else
      read_by_[{reader, array}].add(piece);
  }
  demanded_[array].add(std::move(piece));
}

void Analyzer::visit(const std::vector<Statement>& block, RepeatContext& context) {
  for (size_t i = block.size(); i-- > 0;) {
    const size_t group = group_of_[ids_.at(&block[i])];
    std::visit([&](const auto& node) { visit(node, context, group); }, block[i].node);
  }
}

void Analyzer::visit(const loops::Opaque& node, RepeatContext& context, size_t group) {
  const bool needed =
      std::any_of(node.results.begin(), node.results.end(), [&](ArrayId result) { return !demanded_[result].empty(); });
  if (!needed) return;
  if (context.counts()) {
    groups_[group].opaque = true;
    if (seen_opaque_.insert(&node).second) ++opaque_[node.name];
  }
  for (const ArrayId operand : node.operands) want(context, group, operand, Piece::whole(shape(operand)));
}

// ---- computed statements ----

Piece Analyzer::whole_of(const Domain& domain, const RepeatContext& context) const {
  Piece piece;
  for (size_t v = 0; v < domain.first_counter(); ++v)
    piece.box.push_back({0, program_.indices[domain.variables[v]].extent - 1, 1});
  piece.box.insert(piece.box.end(), context.steps.begin(), context.steps.end());
  return piece;
}

void Analyzer::visit(const Compute& node, RepeatContext& context, size_t group) {
  if (demanded_[node.result].empty()) return;
  const Domain domain = domain_of(node, context.counters);
  const Piece whole = whole_of(domain, context);
  const PointSet wanted = demanded_[node.result];  // a scan adds to it
  const bool is_sum = node.reducer == Reducer::sum || node.reducer == Reducer::none;
  Cuts nothing = is_sum ? structure_.support(node.body, SkippedValue::zero, domain) : Cuts{};
  if (node.reducer == Reducer::none || node.reducer == Reducer::max) {
    const Cuts more = structure_.support(node.body, SkippedValue::negative_infinity, domain);
    nothing.insert(nothing.end(), more.begin(), more.end());
  }
  const VariableSet picked = is_sum ? structure_.one_hot_variables(node.body, domain) : 0;
  for (Piece points : wanted.pieces()) {
    points.floating = false;
    extend_scan(node, points);
    points.box.insert(points.box.end(), whole.box.begin() + int64_t(domain.loops), whole.box.end());
    // Where the value is known by structure, nothing needs to be computed or read.
    for (const HalfSpace& cut : nothing) points.cut(cut);
    for (size_t v = 0; v < domain.first_counter(); ++v)
      if (picked & bit(v)) points.fix_variable(v);
    if (points.bounds_empty()) continue;
    if (!node.is_view && context.counts()) count_work(node, domain, points, context, group);
    in_view_ = node.is_view;
    demand_reads(node.body, domain, points, context, group, node.result);
    in_view_ = false;
  }
}

void Analyzer::count_work(const Compute& node, const Domain& domain, const Piece& points, const RepeatContext& context,
                          size_t group) {
  const NeededPoints needed{domain, points, context.counted_elsewhere};
  const Work work = counter_.of(node, needed);
  groups_[group].work.add(work);
  linear_.note(node, needed, work);
}

void Analyzer::extend_scan(const Compute& node, Piece& points) const {
  for (size_t d = 0; d < node.loops.size(); ++d) {
    if (program_.indices[node.loops[d]].kind != loops::IndexKind::scan) continue;
    if (points.cuts.empty() && reads_previous(node.body, node.result, d, node.loops[d]))
      points.box[d].lo = 0, points.box[d].step = 1;
  }
}

bool Analyzer::reads_previous(ExprId id, ArrayId own, size_t dimension, IndexId index) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::read) {
    if (e.args[0] != own) return false;
    const auto form = structure_.affine(loops::subscripts_of(program_, e)[dimension], Domain{{index}, 1, 0});
    return form && form->constant == -1 && form->terms == std::vector<std::pair<int, int64_t>>{{0, 1}};
  }
  if (e.kind == ExprKind::call && e.function == Function::select) return false;
  return std::ranges::any_of(operands_of(e),
                             [&](ExprId operand) { return reads_previous(operand, own, dimension, index); });
}

void Analyzer::demand_reads(ExprId id, const Domain& domain, const Piece& points, const RepeatContext& context,
                            size_t group, ArrayId own) {
  if (points.bounds_empty()) return;
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::call && e.function == Function::select)
    return demand_select(e, domain, points, context, group, own);
  for (const ExprId operand : operands_of(e)) demand_reads(operand, domain, points, context, group, own);
  if (e.kind != ExprKind::read) return;
  const ExprId* subscripts = loops::subscripts_of(program_, e);
  for (uint32_t i = 0; i < e.args[2]; ++i) demand_reads(subscripts[i], domain, points, context, group, own);
  if (e.args[0] == own) return;  // a scan's own past
  Footprint footprint = footprints_.of(shape(e.args[0]), subscripts, e.has_fill, domain, points);
  if (footprint.piece.floating && is_input_[e.args[0]] && context.counts()) {
    double& most = expected_[e.args[0]];
    most = std::max(most, std::min(footprint.expected, double(product(shape(e.args[0])))));
  }
  for (Piece& piece : footprint.pieces()) want(context, group, e.args[0], std::move(piece));
}

void Analyzer::demand_select(const Expr& e, const Domain& domain, const Piece& points, const RepeatContext& context,
                             size_t group, ArrayId own) {
  demand_reads(e.args[0], domain, points, context, group, own);
  if (is_branch(structure_, e, domain)) {
    branches_ = true;
    return;
  }
  for (const bool truth : {true, false})
    demand_reads(e.args[truth ? 1 : 2], domain, cut_by(points, structure_.implied(e.args[0], truth, domain)), context,
                 group, own);
}

double Analyzer::product(const Shape& extents) {
  double total = 1;
  for (const int64_t extent : extents) total *= double(extent);
  return total;
}

}  // namespace lightline::demand
