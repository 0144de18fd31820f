// Walks a program backwards from its outputs.
#include "demand/analysis.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "demand/linear.h"
#include "demand/structure.h"

namespace lightline::demand {

namespace {

constexpr size_t max_repeat_depth = 4;  // deeper ones are priced by their outputs only

// The repeats around a statement, each in a range of its steps.
struct RepeatContext {
  std::vector<IndexId> counters;
  std::vector<Range> steps;
  VariableSet counted_elsewhere = 0;
  size_t group = none;  // of the outermost repeat
  size_t trial = none;  // a trial: notes what is read of arrays inside this many repeats or more, counts nothing
  bool counts() const { return trial == none; }
};

class Analyzer {
 public:
  Analyzer(const loops::Program& program, const KnownValues& known)
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

  Analysis run() {
    place(program_.statements, none);
    demand_outputs();
    RepeatContext context;
    visit(program_.statements, context);
    collect();
    return std::move(out_);
  }

 private:
  const Shape& shape(ArrayId id) const { return program_.arrays[id].shape; }
  double bytes_of(ArrayId array, double elements) const { return elements * bits(program_.arrays[array].dtype) / 8.0; }

  // ---- groups ----
  void place(const std::vector<Statement>& block, size_t outer, size_t depth = 0) {
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
  size_t group_of(const Statement& statement) {
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
  void demand_outputs() {
    for (const loops::Output& output : program_.outputs) {
      ArrayId storage = output.array;
      while (view_[storage] != nullptr) storage = program_.exprs[view_[storage]->body].args[0];
      if (is_input_[storage]) continue;  // an input, or a view of one, is returned as it is
      if (output.replaces != none) in_place_.emplace(output.array, output.replaces);
      demanded_[structure_.first_equal(output.array)].add(Piece::whole(shape(output.array)));
      returned_.insert(output.array);
    }
  }
  void want(const RepeatContext& context, size_t reader, ArrayId array, Piece piece) {
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

  void visit(const std::vector<Statement>& block, RepeatContext& context) {
    for (size_t i = block.size(); i-- > 0;) {
      const size_t group = group_of_[ids_.at(&block[i])];
      std::visit([&](const auto& node) { visit(node, context, group); }, block[i].node);
    }
  }

  void visit(const loops::Constant&, RepeatContext&, size_t) {}

  void visit(const loops::Opaque& node, RepeatContext& context, size_t group) {
    const bool needed = std::any_of(node.results.begin(), node.results.end(),
                                    [&](ArrayId result) { return !demanded_[result].empty(); });
    if (!needed) return;
    if (context.counts()) {
      groups_[group].opaque = true;
      if (seen_opaque_.insert(&node).second) ++opaque_[node.name];
    }
    for (const ArrayId operand : node.operands) want(context, group, operand, Piece::whole(shape(operand)));
  }

  // ---- repeats ----
  // The last step must give what is wanted of the results. What it reads of the carried arrays is what the step before
  // must give, and so on: if that step reads as much itself, all steps before do. Step 0 reads the initial values.
  void visit(const loops::Repeat& node, RepeatContext& context, size_t group) {
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

  void pass_on(const RepeatContext& context, size_t group, ArrayId array, const PointSet& region) {
    for (const Piece& piece : region.pieces()) want(context, group, array, piece);
  }

  // Walks the body for some of the steps; gives what they read of the carried arrays.
  std::vector<PointSet> round(const loops::Repeat& node, RepeatContext context, Range steps,
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
  void clear(const std::vector<Statement>& block) {
    loops::for_each_statement(block, [&](const Statement& statement) {
      for (const ArrayId result : loops::results_of(statement)) demanded_[result] = {};
    });
  }

  // ---- scatters ----
  Piece whole_of(const Domain& domain, const RepeatContext& context) const {
    Piece piece;
    for (size_t v = 0; v < domain.first_counter(); ++v)
      piece.box.push_back({0, program_.indices[domain.variables[v]].extent - 1, 1});
    piece.box.insert(piece.box.end(), context.steps.begin(), context.steps.end());
    return piece;
  }

  void visit(const Scatter& node, RepeatContext& context, size_t group) {
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

  // Whether the data may send all writes to where nothing is wanted.
  bool may_miss(const Scatter& node, const Domain& domain) const {
    const auto& wanted = demanded_[node.result].pieces();
    if (wanted.size() == 1 && wanted[0] == Piece::whole(shape(node.result))) return false;
    return std::any_of(node.target.begin(), node.target.end(),
                       [&](ExprId subscript) { return !structure_.affine(subscript, domain); });
  }

  // Only writes that land in a demanded element count.
  void cut_to_wanted(const Scatter& node, const Domain& domain, Piece& points) const {
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

  // The copy of the initial array reads what is wanted and not overwritten: at the least, all of it but as many
  // elements as there are writes.
  void want_copied(const Scatter& node, double writes, const RepeatContext& context, size_t group) {
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

  // ---- computed statements ----
  void visit(const Compute& node, RepeatContext& context, size_t group) {
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

  void count_work(const Compute& node, const Domain& domain, const Piece& points, const RepeatContext& context,
                  size_t group) {
    const NeededPoints needed{domain, points, context.counted_elsewhere};
    const Work work = counter_.of(node, needed);
    groups_[group].work.add(work);
    linear_.note(node, needed, work);
  }

  // The last element of a running total takes all those before.
  void extend_scan(const Compute& node, Piece& points) const {
    for (size_t d = 0; d < node.loops.size(); ++d) {
      if (program_.indices[node.loops[d]].kind != loops::IndexKind::scan) continue;
      if (points.cuts.empty() && reads_previous(node.body, node.result, d, node.loops[d]))
        points.box[d].lo = 0, points.box[d].step = 1;
    }
  }
  // Whether the value always reads the element one step before.
  bool reads_previous(ExprId id, ArrayId own, size_t dimension, IndexId index) const {
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

  void demand_reads(ExprId id, const Domain& domain, const Piece& points, const RepeatContext& context, size_t group,
                    ArrayId own = none) {
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
  void demand_select(const Expr& e, const Domain& domain, const Piece& points, const RepeatContext& context,
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
  static double product(const Shape& extents) {
    double total = 1;
    for (const int64_t extent : extents) total *= double(extent);
    return total;
  }

  // ---- totals ----
  void collect() {
    for (const ArrayId input : program_.inputs) {
      const double least = demanded_[input].points();
      out_.input_bytes += bytes_of(input, least);
      if (const auto expected = expected_.find(input); expected != expected_.end())
        out_.expected_gather_bytes += bytes_of(input, std::max(0.0, expected->second - least));
    }
    out_.output_bytes = output_bytes();
    for (auto& [key, region] : read_by_) {
      const auto [reader, array] = key;
      const bool inside = maker_[array] != none && maker_[array] == reader;
      if (inside) continue;
      groups_[reader].operand_bytes += bytes_of(array, region.points());
      if (maker_[array] != none) used_outside_.insert(array);
    }
    // An array that is read and not returned needs no memory of its own if an equal one is returned.
    std::set<ArrayId> served;
    for (const ArrayId array : returned_)
      if (const ArrayId first = structure_.first_equal(array); !returned_.contains(first)) served.insert(first);
    used_outside_.insert(returned_.begin(), returned_.end());
    for (const ArrayId array : used_outside_) {
      if (maker_[array] == none || view_[array] != nullptr || served.contains(array)) continue;
      const double elements =
          structure_.first_equal(array) == array ? demanded_[array].points() : product(shape(array));
      groups_[maker_[array]].result_bytes +=
          in_place_.contains(array) ? in_place_bytes(array) : bytes_of(array, elements);
    }
    for (GroupDemand& group : groups_) {
      if (group.work.empty() && group.bytes() == 0) continue;
      out_.work.add(group.work);
      out_.groups.push_back(std::move(group));
    }
    out_.algebraic = linear_.total(out_.work);
    out_.opaque = opaque_;
    if (branches_) out_.assumptions.emplace_back("a branch is chosen by data; neither side is counted");
    if (out_.expected_gather_bytes > 0)
      out_.assumptions.emplace_back(
          "indices are not known: a gather counts the fewest rows that any indices could touch");
  }

  // Storage that is returned, each element once; a view of an input writes nothing.
  double output_bytes() {
    std::map<ArrayId, PointSet> written;
    double total = 0;
    for (const ArrayId array : returned_) {
      if (in_place_.contains(array)) {
        total += in_place_bytes(array);
        continue;
      }
      std::vector<Piece> pieces{Piece::whole(shape(array))};
      ArrayId storage = array;
      for (; view_[storage] != nullptr; storage = program_.exprs[view_[storage]->body].args[0]) {
        const Expr& read = program_.exprs[view_[storage]->body];
        std::vector<Piece> seen;
        for (const Piece& piece : pieces) {
          const Footprint footprint = footprints_.of(shape(read.args[0]), loops::subscripts_of(program_, read),
                                                     read.has_fill, domain_of(*view_[storage], {}), piece);
          for (Piece& part : footprint.pieces()) seen.push_back(std::move(part));
        }
        pieces = std::move(seen);
      }
      for (Piece& piece : pieces)
        if (!is_input_[storage]) written[storage].add(std::move(piece));
    }
    for (const auto& [array, region] : written) total += bytes_of(array, region.points());
    return total;
  }
  // An update in place writes the places it scatters to; anything else is written whole.
  double in_place_bytes(ArrayId array) const {
    const Scatter* scatter = scatter_[array];
    if (scatter == nullptr || scatter->init_array != in_place_.at(array)) return bytes_of(array, product(shape(array)));
    const Domain domain = domain_of(*scatter, {});
    const Footprint touched =
        footprints_.of(shape(array), scatter->target.data(), true, domain, whole_of(domain, RepeatContext{}));
    PointSet region;
    for (Piece& piece : touched.pieces()) region.add(std::move(piece));
    return bytes_of(array, region.points());
  }

  const loops::Program& program_;
  const std::unordered_map<const Statement*, loops::StatementId> ids_;
  std::vector<size_t> group_of_;  // by statement
  const Structure structure_;
  const Footprints footprints_;
  WorkCounter counter_;
  LinearRewrites linear_;
  std::vector<PointSet> demanded_;
  std::vector<uint32_t> maker_;  // the group that makes an array; none for inputs
  std::vector<size_t> depth_;    // repeats around the statement that makes it
  std::vector<const Compute*> view_;
  std::vector<const Scatter*> scatter_;
  std::vector<bool> is_input_;
  std::vector<GroupDemand> groups_;
  std::unordered_map<uint32_t, size_t> by_group_;
  std::map<std::pair<size_t, ArrayId>, PointSet> read_by_;
  std::map<ArrayId, ArrayId> in_place_;
  std::map<ArrayId, double> expected_;
  std::set<ArrayId> returned_;
  std::set<ArrayId> used_outside_;
  std::map<std::string, int64_t> opaque_;
  std::set<const loops::Opaque*> seen_opaque_;
  bool in_view_ = false;
  bool branches_ = false;
  Analysis out_;
};

}  // namespace

Analysis analyze(const loops::Program& program, const KnownValues& known) { return Analyzer(program, known).run(); }

}  // namespace lightline::demand
