#include "ops/python/known_values.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "loops/interpret/interpret.h"
#include "loops/ir/verify.h"
#include "loops/ir/walk.h"

namespace lightline::ops {
namespace {

using loops::ArrayId;
using loops::ExprId;
using loops::none;
using loops::Program;
using loops::Statement;

constexpr double most_points = 1e6;
constexpr size_t most_statements = 500;

// The statements that an array needs, found backwards from it.
class Slice {
 public:
  Slice(const Program& program, const KnownArrays& known) : program_(program), known_(known) {}

  bool collect(ArrayId wanted) {
    need(wanted);
    for (size_t i = program_.statements.size(); i-- > 0 && possible_;) {
      const Statement& statement = program_.statements[i];
      const std::vector<ArrayId> results = loops::results_of(statement);
      if (!std::ranges::any_of(results, [&](ArrayId id) { return needed_.contains(id); })) continue;
      for (const ArrayId id : results) needed_.erase(id);
      take(statement);
      chosen_.push_back(i);
      possible_ &= chosen_.size() <= most_statements && points_ <= most_points;
    }
    return possible_ && needed_.empty();  // what is left are inputs without known values
  }

  Program program(ArrayId wanted) const {
    Program part;
    part.arrays = program_.arrays;
    for (size_t i = 0; i < part.arrays.size(); ++i) part.arrays[i].name = "a" + std::to_string(i);
    part.indices = program_.indices;
    part.exprs = program_.exprs;
    part.subscripts = program_.subscripts;
    part.inputs.assign(given_.begin(), given_.end());
    std::ranges::sort(part.inputs);
    for (auto i = chosen_.rbegin(); i != chosen_.rend(); ++i) part.statements.push_back(program_.statements[*i]);
    for (Statement& statement : part.statements) statement.group = none;
    part.outputs = {{wanted, none}};
    return part;
  }

 private:
  void need(ArrayId id) {
    if (known_.contains(id))
      given_.insert(id);
    else
      needed_.insert(id);
  }
  void need_reads(ExprId root) {
    loops::for_each_expr(program_, root, [&](ExprId id) {
      const loops::Expr& expr = program_.exprs[id];
      if (expr.kind == loops::ExprKind::read) need(expr.args[0]);
    });
  }
  void take(const Statement& statement) {
    if (const auto* compute = std::get_if<loops::Compute>(&statement.node)) {
      points_ += point_count(program_, compute->loops) * point_count(program_, compute->reduced);
      need_reads(compute->body);
      needed_.erase(compute->result);  // a recurrence reads itself
    } else if (const auto* scatter = std::get_if<loops::Scatter>(&statement.node)) {
      points_ += point_count(program_, scatter->domain);
      if (scatter->init_array != none) need(scatter->init_array);
      for (const ExprId subscript : scatter->target) need_reads(subscript);
      need_reads(scatter->body);
    } else if (!std::holds_alternative<loops::Constant>(statement.node)) {
      possible_ = false;
    }
  }

  const Program& program_;
  const KnownArrays& known_;
  std::unordered_set<ArrayId> needed_, given_;
  std::vector<size_t> chosen_;  // backwards
  double points_ = 0;
  bool possible_ = true;
};

}  // namespace

std::optional<lightline::Tensor> known_content(const Program& program, ArrayId array, const KnownArrays& known) {
  Slice slice(program, known);
  if (!slice.collect(array)) return std::nullopt;
  Program part = slice.program(array);
  if (!loops::verify(part).ok()) return std::nullopt;
  std::vector<lightline::Tensor> inputs;
  for (const ArrayId id : part.inputs) inputs.push_back(lightline::Tensor::dense_copy(known.at(id)->view()));
  auto results = loops::interpret(part, inputs);
  if (!results.ok()) return std::nullopt;
  return std::move((*results)[0]);
}

}  // namespace lightline::ops
