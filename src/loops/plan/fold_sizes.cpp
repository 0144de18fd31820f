#include "loops/plan/fold_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "loops/ir/verify.h"
#include "loops/plan/schedule_check.h"
#include "loops/plan/uses.h"

namespace lightline::loops::plan {
namespace {

// Counts stop here; more make no difference.
constexpr int64_t countless = int64_t(1) << 40;

int64_t plus(int64_t a, int64_t b) { return std::min(a + b, countless); }
int64_t times(int64_t a, int64_t b) { return a != 0 && b > countless / a ? countless : a * b; }

struct Size {
  int64_t own = 0;         // operations of the statement's own text
  int64_t operations = 0;  // with all that is folded in and unrolled
  int64_t loads = 0;       // among them
  int64_t own_nesting = 0;
  int64_t nesting = 0;
  StatementId largest = none;  // of what is folded in
};

class SizeCheck {
 public:
  SizeCheck(const Program& program, const StatementTable& table, const Schedule& schedule)
      : program_(program), table_(table), schedule_(schedule), folded_(table.size()), uses_(table.size()) {
    for (const FoldedStatement& each : schedule.folded)
      (each.unrolled ? uses_[each.statement].folds_unrolled : uses_[each.statement].folds) = true;
    for (const ScheduledKernel& kernel : schedule.kernels)
      for (const ScheduledStatement& each : kernel.statements)
        (each.unrolled ? uses_[each.statement].runs_unrolled : uses_[each.statement].runs) = true;
  }

  Status run() {
    int64_t own = 0, in_all = 0;
    for (StatementId id = 0; id < table_.size(); ++id) {
      const Uses& use = uses_[id];
      if (!use.folds && !use.folds_unrolled && !use.runs && !use.runs_unrolled) continue;
      const Size rolled = size_of(table_[id]);
      const bool unrolls = use.folds_unrolled || use.runs_unrolled;
      const Size unrolled = unrolls ? unroll(rolled, id) : rolled;
      if (unrolls) LL_DO(check(id, unrolled, true));
      if (use.folds || use.runs) LL_DO(check(id, rolled, false));
      if (use.folds || use.folds_unrolled) folded_[id] = use.folds ? rolled : unrolled;
      own = plus(own, rolled.own);
      in_all = plus(in_all, unrolled.operations - (use.runs || use.runs_unrolled ? 0 : taken_over(id)));
      if (const int64_t most = std::max(most_in_all, times(most_growth, own)); in_all > most)
        return Error{
            ErrorCode::limit,
            fmt::format("all expressions up to '{}' have more than {} operations with what is folded into them",
                        table_.text(id), most),
            "give more statements kernels of their own", where(schedule_, id)};
    }
    return Ok{};
  }

 private:
  struct Uses {
    bool folds = false, folds_unrolled = false, runs = false, runs_unrolled = false;
  };

  Size size_of(const Statement& statement) const {
    Size size;
    if (const auto* compute = std::get_if<Compute>(&statement.node)) {
      add(compute->body, size);
    } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
      for (const ExprId target : scatter->target) add(target, size);
      add(scatter->body, size);
    } else {
      size.own = size.operations = 1;
    }
    return size;
  }

  // Operations of what a statement without a kernel reads at its own point: they are not built again for it.
  int64_t taken_over(StatementId id) const {
    const auto* compute = std::get_if<Compute>(&table_[id].node);
    if (compute == nullptr) return 0;
    const Expr* read = find_read_at_own_point(program_, *compute, [&](ArrayId array) { return is_folded(array); });
    return read == nullptr ? 0 : folded_[table_.definition_of(read->args[0])].operations;
  }
  bool is_folded(ArrayId array) const {
    const StatementId definition = table_.definition_of(array);
    return definition != none && !table_.is_carried(array) && folded_[definition].own != 0;
  }

  void add(ExprId root, Size& size) const {
    std::vector<std::pair<ExprId, int64_t>> stack{{root, 1}};
    while (!stack.empty()) {
      const auto [id, nesting] = stack.back();
      stack.pop_back();
      const Expr& expr = program_.exprs[id];
      ++size.own;
      size.own_nesting = std::max(size.own_nesting, nesting);
      size.nesting = std::max(size.nesting, nesting);
      for (const ExprId operand : operands_of(expr)) stack.emplace_back(operand, nesting + 1);
      if (expr.kind == ExprKind::read) {
        for (const ExprId subscript : subscripts(expr)) stack.emplace_back(subscript, nesting + 1);
        add_read(expr, nesting, size);
      } else if (expr.kind != ExprKind::index) {
        size.operations = plus(size.operations, 1);
      }
    }
  }

  void add_read(const Expr& expr, int64_t nesting, Size& size) const {
    const StatementId definition = table_.definition_of(expr.args[0]);
    const bool folds = is_folded(expr.args[0]);
    const Size inner = folds ? folded_[definition] : Size{.operations = 1, .loads = 1};
    size.operations = plus(size.operations, inner.operations);
    size.loads = plus(size.loads, inner.loads);
    if (folds) nesting = plus(nesting - 1, inner.nesting);
    if (is_guarded(expr)) {  // a test for each dimension, which every load then takes part in
      const int64_t tests = 2 * int64_t(expr.args[2]) + 1;
      size.operations = plus(size.operations, plus(inner.loads, tests));
      nesting = plus(nesting, tests);
    }
    size.nesting = std::max(size.nesting, nesting);
    if (folds && (size.largest == none || inner.operations > folded_[size.largest].operations))
      size.largest = definition;
  }

  std::span<const ExprId> subscripts(const Expr& read) const { return {subscripts_of(program_, read), read.args[2]}; }
  bool is_guarded(const Expr& read) const {
    return read.has_fill ||
           std::ranges::any_of(subscripts(read), [&](ExprId id) { return interval_of(program_, id).data_dependent; });
  }

  Size unroll(Size size, StatementId id) const {
    int64_t points = 1;
    for (const OwnIndex& index : table_.own_indices(id))
      if (index.kind == IndexKind::reduce) points = times(points, index.extent);
    size.operations = times(points, plus(size.operations, 1));
    size.loads = times(points, size.loads);
    size.nesting = plus(size.nesting, points);
    return size;
  }

  Status check(StatementId id, const Size& size, bool is_unrolled) const {
    const int64_t most = std::max(most_operations, times(most_growth, size.own));
    if (size.operations > most)
      return refuse(id, size, is_unrolled, fmt::format("has {} operations", text(size.operations)), most);
    const int64_t deepest = most_nesting + size.own_nesting;
    if (size.nesting > deepest)
      return refuse(id, size, is_unrolled, fmt::format("is nested {} deep", text(size.nesting)), deepest);
    return Ok{};
  }

  static std::string text(int64_t count) {
    return count >= countless ? fmt::format("more than {}", countless) : fmt::format("{}", count);
  }

  Error refuse(StatementId id, const Size& size, bool is_unrolled, std::string_view what, int64_t limit) const {
    const bool is_own = size.largest == none || (is_unrolled && folded_[size.largest].operations < size.own);
    return {ErrorCode::limit,
            fmt::format("'{}' {} with what is {} it, more than {}", table_.text(id), what,
                        is_unrolled ? "unrolled in" : "folded into", limit),
            is_own ? "give it loops over what it reduces"
                   : fmt::format("give '{}', which is folded into it, a kernel of its own", table_.text(size.largest)),
            where(schedule_, id)};
  }

  const Program& program_;
  const StatementTable& table_;
  const Schedule& schedule_;
  std::vector<Size> folded_;  // by statement; `own` is 0 where it is not
  std::vector<Uses> uses_;
};

}  // namespace

Status check_sizes(const Program& program, const StatementTable& table, const Schedule& schedule) {
  return SizeCheck(program, table, schedule).run();
}

}  // namespace lightline::loops::plan
