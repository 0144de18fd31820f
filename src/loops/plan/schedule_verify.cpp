// Whether a schedule runs every live statement once, in an order and with loops that fit.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "loops/plan/fold_sizes.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {
namespace {

class ScheduleVerifier {
 public:
  ScheduleVerifier(const Program& program, const Schedule& schedule)
      : program_(program),
        schedule_(schedule),
        table_(program),
        uses_(find_uses(program)),
        kernel_of_(table_.size(), nowhere),
        place_of_(table_.size(), 0),
        is_folded_(table_.size(), false),
        last_read_(table_.size(), none) {}

  Status run() {
    for (const FoldedStatement& folded : schedule_.folded) LL_DO(check_folded(folded));
    LL_DO(check_blocks());
    for (StatementId id = 0; id < table_.size(); ++id) LL_DO(check_presence(id));
    LL_DO(check_sizes(program_, table_, schedule_));
    for (StatementId id = 0; id < table_.size(); ++id)
      if (is_folded_[id]) last_read_[id] = last_read_by(id);
    reads_.emplace(program_, table_, schedule_);
    for (size_t k = 0; k < schedule_.kernels.size(); ++k) LL_DO(check_kernel(k));
    return Ok{};
  }

 private:
  static constexpr size_t nowhere = std::numeric_limits<size_t>::max();

  Error wrong(StatementId statement, std::string_view reason, std::string hint = "") const {
    return {ErrorCode::range, fmt::format("'{}' {}", table_.text(statement), reason), std::move(hint),
            where(schedule_, statement)};
  }
  const ArrayUse& use_of(StatementId id) const { return uses_.arrays[results_of(table_[id])[0]]; }

  // ---- each statement once ----
  Status check_folded(const FoldedStatement& folded) {
    const StatementId id = folded.statement;
    if (id >= table_.size()) return unknown(id);
    if (is_folded_[id]) return wrong(id, "is folded twice", "leave it out here");
    is_folded_[id] = true;
    const auto* compute = std::get_if<Compute>(&table_[id].node);
    const auto* constant = std::get_if<Constant>(&table_[id].node);
    if (compute == nullptr && (constant == nullptr || constant->values.size() != 1))
      return wrong(id, "can not be folded: only maps and constants of one value can");
    if (compute == nullptr) return folded.unrolled ? wrong(id, "has no reduction to unroll") : Status(Ok{});
    if (std::ranges::any_of(compute->loops, [&](IndexId i) { return program_.indices[i].kind == IndexKind::scan; }))
      return wrong(id, "can not be folded: it is a scan");
    if (std::ranges::any_of(compute->reduced, [&](IndexId i) { return program_.indices[i].extent == 0; }))
      return wrong(id, "can not be folded: it reduces over nothing");
    if (is_reduction(id) && !folded.unrolled)
      return wrong(id, "can not be folded: it is a reduction", "an unrolled reduction can");
    if (!is_reduction(id) && folded.unrolled) return wrong(id, "has no reduction to unroll");
    if (use_of(id).reads == 0) return wrong(id, "can not be folded: nothing reads it");
    return Ok{};
  }

  Error unknown(StatementId id) const {
    return {ErrorCode::range, fmt::format("there is no statement {}: the program has {}", id, table_.size()), "", {}};
  }

  bool is_reduction(StatementId id) const {
    return looping_indices(table_, id, false).size() > looping_indices(table_, id, true).size();
  }

  // Kernels inside a repeat follow it, and are those of its block.
  Status check_blocks() {
    std::vector<StatementId> open;
    for (size_t k = 0; k < schedule_.kernels.size(); ++k) {
      const ScheduledKernel& kernel = schedule_.kernels[k];
      if (kernel.statements.empty())
        return Error{ErrorCode::range,
                     "a kernel has no statements",
                     "leave it out",
                     {"", kernel.place.line, kernel.place.column}};
      while (!open.empty() && open.back() != kernel.inside) open.pop_back();
      for (size_t place = 0; place < kernel.statements.size(); ++place) {
        const StatementId id = kernel.statements[place].statement;
        if (id >= table_.size()) return unknown(id);
        if (kernel_of_[id] != nowhere) return wrong(id, "is there twice", "leave it out here");
        kernel_of_[id] = k;
        place_of_[id] = place;
        const bool follows = kernel.inside == none ? open.empty() : !open.empty();
        if (table_.repeat_of(id) != kernel.inside || !follows) return misplaced(id);
        if (std::holds_alternative<Repeat>(table_[id].node) != (kernel.kind == KernelKind::repeat))
          return wrong(id, kernel.kind == KernelKind::repeat ? "is not a repeat" : "is a repeat, not part of a kernel");
      }
      if (kernel.kind != KernelKind::repeat) continue;
      if (kernel.statements.size() != 1) return wrong(kernel.statements[1].statement, "stands beside a repeat");
      open.push_back(kernel.statements[0].statement);
    }
    return Ok{};
  }

  Error misplaced(StatementId id) const {
    const StatementId repeat = table_.repeat_of(id);
    return repeat == none ? wrong(id, "stands inside a repeat that it is not part of")
                          : wrong(id, fmt::format("belongs inside the repeat '{}'", table_.text(repeat)));
  }

  Status check_presence(StatementId id) const {
    const bool is_placed = kernel_of_[id] != nowhere;
    if (is_placed && is_dead(table_, uses_, id)) return wrong(id, "is dead: no output needs it", "leave it out");
    if (is_folded_[id] && is_dead(table_, uses_, id)) return wrong(id, "is dead: no output needs it", "leave it out");
    if (is_dead(table_, uses_, id)) return Ok{};
    if (needs_no_kernel(program_, table_, id)) {
      if (!is_placed) return Ok{};
      return wrong(id, "needs no kernel: it is a table, or has no elements", "leave it out");
    }
    if (is_folded_[id] && is_placed && use_of(id).others == 0)
      return wrong(id, "is folded into all its readers and needs no kernel", "leave it out here");
    if (is_folded_[id] && !is_placed && use_of(id).others > 0)
      return wrong(id, "is needed in memory: folded or not, a kernel computes it");
    if (!is_folded_[id] && !is_placed)
      return wrong(id, "is missing: no kernel computes it and it is not folded", "give it a kernel");
    return Ok{};
  }

  // ---- kernels ----
  Status check_kernel(size_t number) const {
    const ScheduledKernel& kernel = schedule_.kernels[number];
    for (size_t place = 0; place < kernel.statements.size(); ++place) {
      const ScheduledStatement& each = kernel.statements[place];
      LL_DO(check_reads(each.statement));
      LL_DO(check_loops(each));
      LL_DO(check_shared(each, place == 0 ? nullptr : &kernel.statements[place - 1]));
      for (const Residency& kept : each.residency) LL_DO(check_residency(kernel, each, kept));
      LL_DO(check_kept_once(each));
    }
    const auto* first = std::get_if<Compute>(&table_[kernel.statements[0].statement].node);
    if (kernel.kind == KernelKind::product && (first == nullptr || first->reducer != Reducer::sum))
      return wrong(kernel.statements[0].statement, "is not a sum, so it starts no product");
    return Ok{};
  }

  // What a statement reads has been computed when it runs; folded statements read where they are read.
  Status check_reads(StatementId at) const {
    const StatementId last = last_read_by(at);
    if (last == none || runs_before(last, at)) return Ok{};
    return wrong(at, fmt::format("runs before '{}', which it reads", table_.text(last)), "put it behind that");
  }

  // Of the statements with kernels that `reader` reads, itself or through what is folded into it, the one that runs
  // last. What is folded comes earlier in the program and has its answer.
  StatementId last_read_by(StatementId reader) const {
    StatementId last = none;
    for_each_array_read(program_, table_[reader], [&](ArrayId array, Reading how) {
      StatementId definition = table_.definition_of(array);
      if (definition == none || definition == reader || table_.is_carried(array) || is_inside(reader, definition) ||
          is_inside(definition, reader))
        return;
      if (how == Reading::by_element && is_folded_[definition]) definition = last_read_[definition];
      if (definition == none || kernel_of_[definition] == nowhere) return;
      if (last == none || runs_before(last, definition)) last = definition;
    });
    return last;
  }
  bool runs_before(StatementId a, StatementId b) const {
    return std::pair(kernel_of_[a], place_of_[a]) < std::pair(kernel_of_[b], place_of_[b]);
  }
  bool is_inside(StatementId statement, StatementId repeat) const {
    for (StatementId at = table_.repeat_of(statement); at != none; at = table_.repeat_of(at))
      if (at == repeat) return true;
    return false;
  }

  Status check_loops(const ScheduledStatement& each) const {
    const StatementId id = each.statement;
    const std::vector<OwnIndex> indices = table_.own_indices(id);
    if (each.unrolled && !is_reduction(id)) return wrong(id, "has no reduction to unroll");
    const std::vector<uint32_t> looping = looping_indices(table_, id, each.unrolled);
    std::vector<int64_t> step(indices.size(), 0);  // of the last loop over each
    for (const Loop& loop : each.loops) {
      if (loop.index >= indices.size()) return wrong(id, fmt::format("has no index {}", loop.index));
      LL_DO(check_loop(id, indices[loop.index], loop, step[loop.index]));
      step[loop.index] = loop.step;
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      const bool needs_loop = std::ranges::find(looping, i) != looping.end();
      if (!needs_loop && step[i] != 0)
        return wrong(id, fmt::format("needs no loop over '{}'", indices[i].name),
                     indices[i].extent > 1 ? "its reduction is unrolled or empty" : "its extent is 1 or less");
      if (needs_loop && step[i] != 1)
        return wrong(id, fmt::format("needs a loop over the single values of '{}'", indices[i].name));
    }
    return Ok{};
  }

  Status check_loop(StatementId id, const OwnIndex& index, const Loop& loop, int64_t before) const {
    if (loop.step < 1 || (loop.step > 1 && loop.step > index.extent))
      return wrong(id, fmt::format("has tiles of {} in '{}', whose extent is {}", loop.step, index.name, index.extent));
    if (before != 0 && loop.step >= before)
      return wrong(id, before == 1
                           ? fmt::format("loops twice over '{}'", index.name)
                           : fmt::format("has tiles of {} inside tiles of {} in '{}'", loop.step, before, index.name));
    if (loop.extents.empty()) return Ok{};
    if (before != 0) return wrong(id, fmt::format("has unequal tiles inside tiles in '{}'", index.name));
    int64_t left = index.extent;
    for (const int64_t extent : loop.extents) left -= std::clamp<int64_t>(extent, 0, index.extent + 1);
    if (left != 0 || std::ranges::max(loop.extents) != loop.step || std::ranges::min(loop.extents) < 1)
      return wrong(id, fmt::format("has tiles in '{}' that do not add up to its extent {}", index.name, index.extent));
    return Ok{};
  }

  Status check_shared(const ScheduledStatement& each, const ScheduledStatement* before) const {
    if (each.shared == 0) return Ok{};
    if (before == nullptr) return wrong(each.statement, "shares loops, but is the first of its kernel");
    if (each.shared > std::min(each.loops.size(), before->loops.size()))
      return wrong(each.statement, fmt::format("shares {} loops with '{}', which is more than one of them has",
                                               each.shared, table_.text(before->statement)));
    const std::vector<OwnIndex> own = table_.own_indices(each.statement), other = table_.own_indices(before->statement);
    for (uint32_t level = 0; level < each.shared; ++level) {
      const Loop &a = each.loops[level], &b = before->loops[level];
      if (own[a.index].extent == other[b.index].extent && a.step == b.step && a.extents == b.extents &&
          a.turning == b.turning)
        continue;
      return wrong(each.statement, fmt::format("shares its loop over '{}' with '{}' of '{}', which is another",
                                               own[a.index].name, other[b.index].name, table_.text(before->statement)));
    }
    return Ok{};
  }

  Status check_residency(const ScheduledKernel& kernel, const ScheduledStatement& each, const Residency& kept) const {
    const StatementId id = each.statement;
    if (kept.array >= program_.arrays.size()) return wrong(id, "keeps an array that is not there");
    const bool is_made = std::ranges::any_of(kernel.statements, [&](const ScheduledStatement& other) {
      return table_.definition_of(kept.array) == other.statement;
    });
    if (!is_made && !reads_->reads(id, kept.array))
      return wrong(id, fmt::format("keeps '{}', which it neither computes nor reads", table_.array_text(kept.array)));
    if (kept.loop != Residency::whole_kernel && kept.loop >= each.loops.size())
      return wrong(id, fmt::format("keeps '{}' within a loop that it does not have", table_.array_text(kept.array)));
    if (kept.index == none) return Ok{};
    const std::vector<OwnIndex> indices = table_.own_indices(id);
    if (kept.index >= indices.size() || kept.below < 1 || kept.below >= indices[kept.index].extent)
      return wrong(id, fmt::format("keeps a part of '{}' that is none or all of it", table_.array_text(kept.array)));
    return Ok{};
  }

  Status check_kept_once(const ScheduledStatement& each) const {
    std::set<std::tuple<ArrayId, uint32_t, uint32_t, int64_t, Level>> seen;
    for (const Residency& kept : each.residency)
      if (!seen.emplace(kept.array, kept.loop, kept.index, kept.below, kept.level).second)
        return wrong(each.statement, fmt::format("keeps '{}' twice in the same way", table_.array_text(kept.array)));
    return Ok{};
  }

  const Program& program_;
  const Schedule& schedule_;
  StatementTable table_;
  ArrayUses uses_;
  std::vector<size_t> kernel_of_;  // by statement
  std::vector<size_t> place_of_;   // in its kernel
  std::vector<bool> is_folded_;
  std::optional<FoldedReads> reads_;
  std::vector<StatementId> last_read_;  // of folded statements: see last_read_by
};

}  // namespace

Status verify(const Program& program, const Schedule& schedule) {
  LL_DO(ScheduleVerifier(program, schedule).run());
  return check_values(program, schedule);
}

}  // namespace lightline::loops::plan
