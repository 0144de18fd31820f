// How the loop tree of a step runs: what a task is, what threads share, where rows between statements lie.
#include <algorithm>

#include "loops/plan/kernels.h"

namespace lightline::loops::plan {
namespace {

class NestPlanner {
 public:
  NestPlanner(SteppedProgram& stepped, const NestStep& step, const Stored& stored)
      : stepped_(stepped), target_(stepped.target), stored_(stored) {
    kernel_.tree = build_tree(stepped, step, stored);
    kernel_.totals_row.assign(kernel_.tree.members.size(), 0);
  }

  NestKernel run() {
    LL_CHECK(kernel_.tree.items.size() == 1);
    place_buffers();
    Item& item = kernel_.tree.items[0];
    if (item.nest) merge_loops(stepped_, kernel_.tree, *item.nest);
    plan_rows(item);
    plan_tasks(item);
    return std::move(kernel_);
  }

 private:
  const Nodes& nodes() const { return stepped_.nodes; }
  std::vector<Member>& members() { return kernel_.tree.members; }

  // ---- memory ----
  void place_buffers() {
    int64_t on_stack = 0;
    for (const Member& member : members()) {
      const ArrayId id = member.folded.result;
      if (stored_[id] || member.host != none || member.elements == 1) continue;
      Buffer buffer{id, compute_type(stepped_.program.arrays[id].dtype), member.elements};
      const int64_t line = target_.cache_line_bytes;
      const int64_t bytes = pieces_of(buffer.elements * byte_size(buffer.type), line) * line;
      buffer.on_stack = on_stack + bytes <= target_.stack_bytes;
      buffer.offset = buffer.on_stack ? 0 : kernel_.own_bytes;
      (buffer.on_stack ? on_stack : kernel_.own_bytes) += bytes;
      kernel_.buffers.push_back(buffer);
    }
  }

  // ---- innermost loops ----
  bool is_innermost(const Nest& nest) {
    return std::ranges::all_of(nest.items,
                               [&](const Item& item) { return !item.nest && !members()[item.member].folded.tiled; });
  }

  void plan_rows(Item& item) {
    if (!item.nest) return plan_own_row(members()[item.member]);
    Nest& nest = *item.nest;
    for (Item& inner : nest.items) plan_rows(inner);
    nest.is_row = is_innermost(nest);
    if (!nest.is_row) return;
    std::vector<NodeId> values;
    nest.is_vector = true;
    for (const Item& inner : nest.items) {
      const Member& member = members()[inner.member];
      const FoldedCompute& folded = member.folded;
      if (member.body != none) values.push_back(member.body);
      const bool in_order = folded.reducer != Reducer::none && !folded.is_empty &&
                            !combines_in_any_order(folded.reducer, folded.accumulator);
      nest.is_vector &= !folded.scalar_only && folded.scan != nest.var && !in_order;
    }
    nest.guards = splitting_guards(stepped_, nest.var, values);
  }

  // The row of a compute that runs its last loop itself.
  void plan_own_row(Member& member) {
    const FoldedCompute& folded = member.folded;
    if (!folded.tiled && folded.transposed == none) return;
    member.is_vector = !folded.scalar_only && !(folded.tiled && folded.accumulator == DType::c64);
    member.guards = splitting_guards(stepped_, folded.loops.back(), {&member.body, 1});
  }

  // ---- tasks ----
  bool is_parallel() {
    double work = 0;
    for (const Member& member : members())
      work += member.folded.points * std::max(1.0, member.folded.cost / target_.light_point_work);
    return work > target_.parallel_points;
  }

  // Whether the iterations of a loop may run in any order.
  bool is_free(const Nest& nest) {
    return std::ranges::all_of(nest.members, [&](size_t id) {
      return !members()[id].is_reduced_at(nest.level) && members()[id].folded.scan != nest.var;
    });
  }

  // The loops directly inside one another from the outermost on, as far as they may run in any order.
  std::vector<Nest*> free_loops(Item& item) {
    std::vector<Nest*> list;
    for (Item* at = &item; at->nest && is_free(*at->nest); at = &at->nest->items[0]) {
      list.push_back(at->nest.get());
      if (at->nest->items.size() != 1) break;
    }
    return list;
  }

  void plan_tasks(Item& item) {
    std::vector<Nest*> outer = free_loops(item);
    Nest* row = !outer.empty() && outer.back()->is_row ? outer.back() : nullptr;
    if (row != nullptr) outer.pop_back();
    kernel_.outer.assign(outer.begin(), outer.end());
    for (const Nest* each : outer) kernel_.task_vars.push_back(each->var);
    const Item* last = outer.empty() ? &item : outer.back()->items.size() == 1 ? &outer.back()->items[0] : nullptr;
    const bool is_alone = last != nullptr && !last->nest;
    kernel_.alone = is_alone ? last->member : 0;
    const Member* alone = is_alone ? &members()[last->member] : nullptr;
    if (alone != nullptr && alone->folded.transposed != none)
      plan_transposed(*alone);
    else if (alone != nullptr && alone->folded.tiled)
      plan_tiles(*alone);
    else if (row != nullptr)
      plan_row_pieces(*row);
    else if (!outer.empty())
      kernel_.form = NestForm::loops, kernel_.inner = outer.back();
    else if (item.nest && is_parallel() && reduces_in_parts(*item.nest))
      kernel_.form = NestForm::parts, kernel_.inner = item.nest.get(), kernel_.parts = target_.reduction_parts;
    kernel_.threads = kernel_.form == NestForm::parts || (is_parallel() && kernel_.tasks(nodes()) > 1);
    for (size_t id = 0; id < members().size(); ++id)
      if (members()[id].folded.tiled && kernel_.totals_row[id] == 0)
        kernel_.totals_row[id] = totals_row(members()[id], target_.wanted_tasks);
  }

  void plan_transposed(const Member& member) {
    kernel_.form = NestForm::transposed;
    const VarId along = member.folded.transposed, row = member.folded.loops.back();
    for (const VarId var : member.folded.loops)
      if (var != along && var != row) kernel_.task_vars.push_back(var);
    kernel_.piece = member.folded.tile != 0 ? member.folded.tile : target_.transposed_block;
    kernel_.pieces = pieces_of(nodes().extent(along), kernel_.piece) * pieces_of(nodes().extent(row), kernel_.piece);
  }

  void plan_tiles(const Member& member) {
    kernel_.form = NestForm::tiles;
    int64_t outer_tasks = 1;
    for (const VarId var : kernel_.task_vars) outer_tasks *= nodes().extent(var);
    kernel_.piece = kernel_.totals_row[kernel_.alone] = totals_row(member, outer_tasks);
    kernel_.pieces = pieces_of(nodes().extent(member.folded.loops.back()), kernel_.piece);
  }

  void plan_row_pieces(Nest& row) {
    kernel_.form = NestForm::rows;
    kernel_.inner = &row;
    const int64_t extent = nodes().extent(row.var);
    if (extent < target_.fewest_row_pieces * target_.row_piece_elements) return;
    kernel_.piece = target_.row_piece_elements;
    kernel_.pieces = pieces_of(extent, kernel_.piece);
  }

  // Narrow where that makes tasks for threads.
  int64_t totals_row(const Member& member, int64_t outer_tasks) const {
    if (member.folded.tile != 0) return member.folded.tile;
    const int64_t extent = nodes().extent(member.folded.loops.back()), multiple = target_.totals_row_multiple;
    const int64_t wanted =
        outer_tasks >= target_.wanted_tasks
            ? target_.totals_row
            : std::max(target_.narrow_totals_row, extent / target_.wanted_tasks / multiple * multiple);
    return std::min({wanted, extent, target_.totals_row});
  }

  bool reduces_in_parts(const Nest& nest) {
    return nodes().extent(nest.var) >= target_.reduction_parts && std::ranges::all_of(nest.members, [&](size_t id) {
             const Member& member = members()[id];
             return member.is_reduced_at(0) && combines_in_any_order(member.folded.reducer, member.folded.accumulator);
           });
  }

  SteppedProgram& stepped_;
  const Target& target_;
  const Stored& stored_;
  NestKernel kernel_;
};

}  // namespace

int64_t NestKernel::tasks(const Nodes& nodes) const {
  int64_t count = form == NestForm::in_order || form == NestForm::parts ? 1 : pieces;
  for (const VarId var : task_vars) count *= nodes.extent(var);
  return count;
}

NestKernel plan_nest(SteppedProgram& stepped, const NestStep& step, const Stored& stored) {
  return NestPlanner(stepped, step, stored).run();
}

}  // namespace lightline::loops::plan
