// Walks a program backwards from its outputs, and counts what each statement must do.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "demand/analysis.h"
#include "demand/linear.h"
#include "demand/structure.h"

namespace lightline::demand {

// The repeats around a statement, each in a range of its steps.
struct RepeatContext {
  std::vector<IndexId> counters;
  std::vector<Range> steps;
  VariableSet counted_elsewhere = 0;
  size_t trial = none;  // a trial: notes what is read of arrays inside this many repeats or more, counts nothing
  bool counts() const { return trial == none; }
};

class Analyzer {
 public:
  Analyzer(const loops::Program& program, const KnownValues& known);
  Analysis run();

 private:
  const Shape& shape(ArrayId id) const { return program_.arrays[id].shape; }
  double bytes_of(ArrayId array, double elements) const { return elements * bits(program_.arrays[array].dtype) / 8.0; }

  // ---- groups ----
  void place(const std::vector<Statement>& block, size_t outer, size_t depth = 0);
  size_t group_of(const Statement& statement);

  // ---- demand ----
  void demand_outputs();
  void want(const RepeatContext& context, size_t reader, ArrayId array, Piece piece);
  void visit(const std::vector<Statement>& block, RepeatContext& context);
  void visit(const loops::Constant&, RepeatContext&, size_t) {}
  void visit(const loops::Opaque& node, RepeatContext& context, size_t group);

  // ---- repeats ----
  // The last step must give what is wanted of the results. What it reads of the carried arrays is what the step before
  // must give, and so on: if that step reads as much itself, all steps before do. Step 0 reads the initial values.
  void visit(const loops::Repeat& node, RepeatContext& context, size_t group);
  void pass_on(const RepeatContext& context, size_t group, ArrayId array, const PointSet& region);
  // Walks the body for some of the steps; gives what they read of the carried arrays.
  std::vector<PointSet> round(const loops::Repeat& node, RepeatContext context, Range steps,
                              const std::vector<PointSet>& next, const std::vector<PointSet>& stacked);
  void clear(const std::vector<Statement>& block);

  // ---- scatters ----
  Piece whole_of(const Domain& domain, const RepeatContext& context) const;
  void visit(const Scatter& node, RepeatContext& context, size_t group);
  // Whether the data may send all writes to where nothing is wanted.
  bool may_miss(const Scatter& node, const Domain& domain) const;
  // Only writes that land in a demanded element count.
  void cut_to_wanted(const Scatter& node, const Domain& domain, Piece& points) const;
  // The copy of the initial array reads what is wanted and not overwritten: at the least, all of it but as many
  // elements as there are writes.
  void want_copied(const Scatter& node, double writes, const RepeatContext& context, size_t group);

  // ---- computed statements ----
  void visit(const Compute& node, RepeatContext& context, size_t group);
  void count_work(const Compute& node, const Domain& domain, const Piece& points, const RepeatContext& context,
                  size_t group);
  // The last element of a running total takes all those before.
  void extend_scan(const Compute& node, Piece& points) const;
  // Whether the value always reads the element one step before.
  bool reads_previous(ExprId id, ArrayId own, size_t dimension, IndexId index) const;
  void demand_reads(ExprId id, const Domain& domain, const Piece& points, const RepeatContext& context, size_t group,
                    ArrayId own = none);
  void demand_select(const Expr& e, const Domain& domain, const Piece& points, const RepeatContext& context,
                     size_t group, ArrayId own);
  static double product(const Shape& extents);

  // ---- totals ----
  void collect();
  // Storage that is returned, each element once; a view of an input writes nothing.
  double output_bytes();
  // An update in place writes the places it scatters to; anything else is written whole.
  double in_place_bytes(ArrayId array) const;

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

}  // namespace lightline::demand
