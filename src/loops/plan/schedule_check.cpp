#include "loops/plan/schedule_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "loops/plan/folded_statements.h"

namespace lightline::loops::plan {
namespace {

class OrderCheck {
 public:
  OrderCheck(const FoldedStatements& folded, const Schedule& schedule)
      : schedule_(schedule),
        stepped_(folded.stepped),
        nodes_(stepped_.nodes),
        statements_(folded),
        table_(stepped_.program) {}

  Status run(const ScheduledKernel& kernel) const {
    Producers before(kernel);
    for (size_t reader = 0; reader < kernel.statements.size(); ++reader) {
      const ScheduledStatement& each = kernel.statements[reader];
      LL_DO(check_past(each));
      LL_DO(check_points(kernel, each));
      if (reader > 0) LL_DO(check_neighbours(kernel.statements[reader - 1], each));
      before.go_to(reader);
      LL_DO(check_reads(before, each));
      if (const FoldedCompute* made = any_compute(each)) before.add(made->result, reader);
    }
    return Ok{};
  }

 private:
  // The statements of a kernel before one of them, by what they compute.
  class Producers {
   public:
    explicit Producers(const ScheduledKernel& kernel) : kernel_(kernel) {}

    void add(ArrayId result, size_t position) { positions_.emplace(result, position); }
    void go_to(size_t reader) {
      const size_t shared = kernel_.statements[reader].shared;
      while (!lowest_.empty() && shared_of(lowest_.back()) >= shared) lowest_.pop_back();
      lowest_.push_back(reader);
    }
    const size_t* find(ArrayId array) const {
      const auto found = positions_.find(array);
      return found == positions_.end() ? nullptr : &found->second;
    }
    const ScheduledStatement& at(size_t position) const { return kernel_.statements[position]; }
    // How many loops are shared by all from a producer to the reader.
    size_t shared_since(size_t producer) const { return shared_of(*std::ranges::upper_bound(lowest_, producer)); }

   private:
    size_t shared_of(size_t position) const { return kernel_.statements[position].shared; }

    const ScheduledKernel& kernel_;
    std::unordered_map<ArrayId, size_t> positions_;
    std::vector<size_t> lowest_;  // up to the reader: those that share less than all after them
  };

  Error wrong(StatementId statement, std::string_view reason) const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.text(statement), reason), "", where(schedule_, statement)};
  }

  // Also one that reduces over nothing: its result is read like any other, though it reads nothing itself.
  const FoldedCompute* any_compute(const ScheduledStatement& each) const { return statements_.compute(each.statement); }
  const FoldedCompute* compute(const ScheduledStatement& each) const {
    const FoldedCompute* found = any_compute(each);
    return found == nullptr || found->is_empty ? nullptr : found;
  }

  template <class Visit>
  void for_each_load(NodeId root, const Visit& visit) const {
    nodes_.for_each(root, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load) visit(node);
    });
  }

  // The variable of a statement's own index, if it is a dimension of its result.
  VarId dimension_var(const FoldedCompute& folded, uint32_t index) const {
    return index < folded.dims.size() ? folded.dims[index] : none;
  }

  Status check_neighbours(const ScheduledStatement& from, const ScheduledStatement& to) const {
    if (to.shared == 0 || (any_compute(from) != nullptr && any_compute(to) != nullptr)) return Ok{};
    return wrong(to.statement,
                 fmt::format("shares a loop with '{}', and one of them is no compute", table_.text(from.statement)));
  }

  // In every loop that a reader shares with a producer, it reads what the same iteration has computed.
  Status check_reads(const Producers& before, const ScheduledStatement& to) const {
    const FoldedCompute* reader = compute(to);
    if (reader == nullptr) return Ok{};
    std::string problem;
    size_t nearest = 0;  // of the producers with a problem
    for_each_load(reader->body, [&](const Node& load) {
      const size_t* producer = before.find(load.array);
      if (producer == nullptr || (!problem.empty() && *producer <= nearest)) return;
      std::string found = problem_of(before.at(*producer), to, load, before.shared_since(*producer));
      if (found.empty()) return;
      problem = std::move(found);
      nearest = *producer;
    });
    if (!problem.empty()) return wrong(to.statement, problem);
    return Ok{};
  }

  // Of one read of what `from` computes; empty if there is none.
  std::string problem_of(const ScheduledStatement& from, const ScheduledStatement& to, const Node& load,
                         size_t shared) const {
    for (size_t level = 0; level < shared; ++level) {
      const uint32_t made = from.loops[level].index;
      const VarId here = var_of(stepped_, *compute(to), to.loops[level].index);
      if (dimension_var(*any_compute(from), made) == none)
        return fmt::format("reads '{}' inside the loop that computes it, before that ends",
                           table_.text(from.statement));
      if (!nodes_.is_var(nodes_.operands(load)[made], here))
        return fmt::format("reads '{}' at another iteration of their shared loop over '{}'",
                           table_.text(from.statement), table_.own_indices(to.statement)[to.loops[level].index].name);
    }
    return "";
  }

  // A scan finds its past if it stays at one point of every loop around it.
  Status check_past(const ScheduledStatement& each) const {
    const FoldedCompute* folded = compute(each);
    if (folded == nullptr || folded->scan == none) return Ok{};
    const uint32_t scan = stepped_.own_index.at(folded->scan);
    for (const Loop& loop : each.loops) {
      if (loop.index == scan && loop.turning) return wrong(each.statement, "turns back in its scan");
      if (loop.index == scan && loop.step == 1) return Ok{};
      if (loop.index == scan) continue;  // over tiles: the loops inside still run around single steps
      bool stays = true;
      if (loop.index >= folded->dims.size())
        return wrong(each.statement, "reduces around its scan, whose past is then not finished");
      for_each_load(folded->body, [&](const Node& load) {
        if (load.array == folded->result)
          stays &= nodes_.is_var(nodes_.operands(load)[loop.index], dimension_var(*folded, loop.index));
      });
      if (!stays)
        return wrong(each.statement,
                     fmt::format("reads its own past at other points of '{}', which runs around its scan",
                                 table_.own_indices(each.statement)[loop.index].name));
    }
    return Ok{};
  }

  // Where the first of equal values is wanted, or every step rounds, points come in the order of the text. So do writes
  // to one element, if the last one stays.
  Status check_points(const ScheduledKernel& kernel, const ScheduledStatement& each) const {
    if (const ScatterStep* scatter = statements_.scatter(each.statement))
      return check_text_order(each, ordered_writes(*scatter), "writes in the order of its domain");
    const FoldedCompute* folded = compute(each);
    if (folded == nullptr || folded->reducer == Reducer::none || !reduces_in_order(*folded)) return Ok{};
    if (kernel.kind == KernelKind::product)
      return wrong(each.statement, "rounds as it sums, in the order of its text: that is no packed product");
    std::vector<uint32_t> reduced;
    for (const VarId var : folded->reduced) reduced.push_back(stepped_.own_index.at(var));
    return check_text_order(each, reduced, "reduces in the order of its text");
  }

  // The indices of a scatter along which the order of writes matters: not those that tell elements apart.
  std::vector<uint32_t> ordered_writes(const ScatterStep& step) const {
    std::vector<uint32_t> ordered;
    const DType dtype = stepped_.program.arrays[step.result].dtype;
    if (step.reducer != Reducer::set && compute_type(dtype) == dtype) return ordered;
    for (const VarId var : step.domain)
      if (std::ranges::none_of(step.target, [&](NodeId target) { return nodes_.is_var(target, var); }))
        ordered.push_back(stepped_.own_index.at(var));
    return ordered;
  }

  // Whether the loops over these indices go through their points in the order of the text: each with all its tiles
  // inside those of the indices before it, and none turning.
  Status check_text_order(const ScheduledStatement& each, const std::vector<uint32_t>& ordered,
                          std::string_view reason) const {
    const auto name_of = [&](const Loop& loop) { return table_.own_indices(each.statement)[loop.index].name; };
    const Loop* before = nullptr;
    for (const Loop& loop : each.loops) {
      if (std::ranges::find(ordered, loop.index) == ordered.end()) continue;
      if (loop.turning)
        return wrong(each.statement, fmt::format("{}: its loop over '{}' can not turn", reason, name_of(loop)));
      if (before != nullptr && loop.index < before->index)
        return wrong(each.statement,
                     fmt::format("{}: '{}' can not run inside '{}'", reason, name_of(loop), name_of(*before)));
      before = &loop;
    }
    return Ok{};
  }

  const Schedule& schedule_;
  const SteppedProgram& stepped_;
  const Nodes& nodes_;
  const FoldedStatements& statements_;
  StatementTable table_;
};

}  // namespace

bool is_dead(const StatementTable& table, const ArrayUses& uses, StatementId statement) {
  for (StatementId at = statement; at != none; at = table.repeat_of(at))
    if (!uses.is_live(&table[at]) && !std::holds_alternative<Opaque>(table[at].node)) return true;
  return false;
}

bool needs_no_kernel(const Program& program, const StatementTable& table, StatementId statement) {
  const Statement& node = table[statement];
  const auto* constant = std::get_if<Constant>(&node.node);
  if (constant != nullptr && constant->values.size() != 1) return true;
  const bool is_plain = constant != nullptr || std::holds_alternative<Compute>(node.node);
  return is_plain && size_of(program.arrays[results_of(node)[0]].shape) == 0;
}

std::vector<uint32_t> looping_indices(const StatementTable& table, StatementId statement, bool unrolled) {
  const std::vector<OwnIndex> indices = table.own_indices(statement);
  const bool is_compute = std::holds_alternative<Compute>(table[statement].node);
  const auto is_reduced = [&](const OwnIndex& index) { return is_compute && index.kind == IndexKind::reduce; };
  const bool is_empty =
      std::ranges::any_of(indices, [&](const OwnIndex& index) { return is_reduced(index) && index.extent == 0; });
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < indices.size(); ++i)
    if (indices[i].extent > 1 && !(is_reduced(indices[i]) && (unrolled || is_empty))) list.push_back(i);
  return list;
}

FoldedReads::FoldedReads(const Program& program, const StatementTable& table, const Schedule& schedule)
    : program_(program), table_(table), is_folded_(table.size(), false) {
  for (const FoldedStatement& each : schedule.folded) is_folded_[each.statement] = true;
}

bool FoldedReads::reads(StatementId reader, ArrayId wanted) const {
  std::vector<bool> seen(table_.size(), false);
  std::vector<StatementId> pending{reader};
  bool found = false;
  while (!pending.empty() && !found) {
    const StatementId at = pending.back();
    pending.pop_back();
    for_each_array_read(program_, table_[at], [&](ArrayId array, Reading how) {
      const StatementId definition = table_.definition_of(array);
      const bool is_computed_here = how == Reading::by_element && definition != none && is_folded_[definition];
      found |= array == wanted && !is_computed_here;
      if (!is_computed_here || seen[definition]) return;
      seen[definition] = true;
      pending.push_back(definition);
    });
  }
  return found;
}

Where where(const Schedule& schedule, StatementId statement) {
  Where found;
  const auto take = [&](const auto& each) {
    if (each.statement == statement) found = {"", each.place.line, each.place.column};
  };
  std::ranges::for_each(schedule.folded, take);
  for (const ScheduledKernel& kernel : schedule.kernels) std::ranges::for_each(kernel.statements, take);
  return found;
}

Status check_values(const Program& program, const Schedule& schedule) {
  LL_TRY(const auto folded, fold_statements(program, schedule));
  const OrderCheck check(*folded, schedule);
  for (const ScheduledKernel& kernel : schedule.kernels) LL_DO(check.run(kernel));
  return Ok{};
}

}  // namespace lightline::loops::plan
