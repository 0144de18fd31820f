#include "loops/plan/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/opaque_signature.h"
#include "loops/ir/verify.h"
#include "loops/plan/decisions.h"

namespace lightline::loops::plan {
namespace {

// An array that readers compute for themselves.
struct FoldedArray {
  std::vector<VarId> dims;
  NodeId body = none;
};

class StepBuilder {
 public:
  StepBuilder(SteppedProgram& stepped, const ArrayUses& uses, Decisions& decisions)
      : program_(stepped.program),
        table_(program_),
        stepped_(stepped),
        uses_(uses),
        decisions_(decisions),
        folded_(program_.arrays.size()) {}

  Status run() { return block(none, program_.statements, stepped_.steps); }

 private:
  Status block(StatementId owner, const std::vector<Statement>& statements, std::vector<Step>& steps) {
    decisions_.begin_block(owner, steps);
    for (const Statement& statement : statements) {
      statement_ = table_.id_of(&statement);
      if (const auto* opaque = std::get_if<Opaque>(&statement.node)) {
        const int number = opaque_count_++;
        LL_DO(decisions_.place(statement_, Step{OpaqueStep{statement_, opaque, number}}));
        continue;
      }
      if (!uses_.is_live(&statement)) {
        if (const auto* repeat = std::get_if<Repeat>(&statement.node)) skip_opaques(*repeat);
        continue;
      }
      if (const auto* compute = std::get_if<Compute>(&statement.node))
        LL_DO(add(*compute));
      else if (const auto* scatter = std::get_if<Scatter>(&statement.node))
        LL_DO(add(*scatter));
      else if (const auto* constant = std::get_if<Constant>(&statement.node))
        LL_DO(add(*constant));
      else
        LL_DO(add(std::get<Repeat>(statement.node)));
    }
    decisions_.end_block();
    return Ok{};
  }

  void skip_opaques(const Repeat& repeat) {
    for (const Statement& inner : repeat.body) {
      if (std::holds_alternative<Opaque>(inner.node)) ++opaque_count_;
      if (const auto* nested = std::get_if<Repeat>(&inner.node)) skip_opaques(*nested);
    }
  }

  // ---- expressions ----
  NodeId expression(ExprId root) {
    if (const auto known = values_.find(root); known != values_.end()) return known->second;
    const Expr& expr = program_.exprs[root];
    NodeId result = none;
    switch (expr.kind) {
      case ExprKind::literal: result = nodes().literal(expr.type, expr.literal); break;
      case ExprKind::index: result = index_.at(expr.args[0]); break;
      case ExprKind::cast: result = nodes().cast(expr.target, expression(expr.args[0])); break;
      case ExprKind::read: result = read(expr); break;
      case ExprKind::call: {
        NodeId args[3] = {none, none, none};
        for (int i = 0; i < info(expr.function).arity; ++i) args[i] = expression(expr.args[i]);
        result = nodes().call(expr.function, expr.type, args[0], args[1], args[2]);
      }
    }
    values_.emplace(root, result);
    return result;
  }

  NodeId subscript(ExprId id) { return nodes().cast(DType::i64, expression(id)); }

  NodeId read(const Expr& expr) {
    const ArrayId id = expr.args[0];
    const Array& array = program_.arrays[id];
    std::vector<NodeId> subscripts;
    NodeId inside = none;
    for (uint32_t d = 0; d < expr.args[2]; ++d) {
      const ExprId written = subscripts_of(program_, expr)[d];
      subscripts.push_back(subscript(written));
      const int64_t extent = array.shape[d];
      if (expr.has_fill)
        inside = nodes().both(inside, nodes().in_range(subscripts.back(), extent));
      else if (interval_of(program_, written).data_dependent)
        inside = nodes().both(inside, nodes().checked(subscripts.back(), extent, result_, id, int(d)));
    }
    const Literal outside = expr.has_fill                   ? expr.literal
                            : array.dtype == DType::boolean ? Literal::of_bool(false)
                                                            : Literal::of(int64_t(0));
    const FoldedArray& source = folded_[id];
    if (source.body == none) return nodes().load(id, subscripts, inside, outside);
    if (inside != none && nodes().is_literal(inside) && nodes()[inside].literal.integer == 0)
      return nodes().literal(array.dtype, outside);
    Substitution by;
    bool is_same = true;
    for (size_t d = 0; d < subscripts.size(); ++d)
      if (const VarId var = source.dims[d]; var != none) {
        by.emplace(var, subscripts[d]);
        is_same &= nodes().is_var(subscripts[d], var);
      }
    const bool always = inside == none || nodes().is_literal(inside);
    const NodeId value = always && is_same ? source.body : nodes().substitute(source.body, by, always ? none : inside);
    return always ? value
                  : nodes().call(Function::select, compute_type(array.dtype), inside, value,
                                 nodes().literal(array.dtype, outside));
  }

  // ---- statements ----
  VarId bind(IndexId index) {
    const int64_t extent = program_.indices[index].extent;
    if (extent == 1) {
      index_[index] = nodes().integer(0);
      return none;
    }
    const VarId var = nodes().add_var(extent);
    index_[index] = nodes().var(var);
    return var;
  }

  void begin(ArrayId result) {
    values_.clear();
    result_ = result;
  }

  // A compute without a body; nothing if its result has no elements.
  std::optional<FoldedCompute> bind_all(const Compute& compute) {
    FoldedCompute folded;
    folded.statement = statement_;
    folded.result = compute.result;
    folded.reducer = compute.reducer;
    folded.accumulator = program_.exprs[compute.body].type == DType::c64 ? DType::c64 : compute.accumulator;
    uint32_t place = 0;
    for (const IndexId index : compute.loops) {
      const VarId var = bind(index);
      folded.dims.push_back(var);
      const uint32_t own = place++;
      if (var == none) continue;
      stepped_.own_index.emplace(var, own);
      folded.loops.push_back(var);
      if (nodes().extent(var) == 0) return std::nullopt;
      if (program_.indices[index].kind == IndexKind::scan) folded.scan = var;
    }
    for (const IndexId index : compute.reduced) {
      const VarId var = bind(index);
      if (var != none) folded.reduced.push_back(var), stepped_.own_index.emplace(var, place);
      folded.is_empty |= program_.indices[index].extent == 0;
      ++place;
    }
    if (folded.is_empty) folded.reduced.clear();
    return folded;
  }

  Status add(const Compute& compute) {
    begin(compute.result);
    auto bound = bind_all(compute);
    if (!bound) return Ok{};
    FoldedCompute& folded = *bound;
    const bool only_folds = decisions_.only_folds(statement_);
    if (only_folds) take_variables(compute, folded);
    if (!folded.is_empty) {
      folded.body = expression(compute.body);
      if (folded.reducer != Reducer::none) accumulate(folded);
    }
    LL_TRY(const bool is_folded, fold(compute, folded));
    if (is_folded && uses_.arrays[folded.result].others == 0) return Ok{};
    LL_CHECK(!only_folds);
    LL_DO(reduce(folded, FoldForm::in_kernel));
    LL_DO(decisions_.order(folded));
    finish_order(stepped_, folded);
    return decisions_.place(std::move(folded));
  }

  // What is never placed needs no variables of its own: with those of an array that it reads at its own point, the
  // expression folded there is taken as it is. A long chain would be rebuilt at every link otherwise.
  void take_variables(const Compute& compute, FoldedCompute& folded) {
    const Expr* read =
        find_read_at_own_point(program_, compute, [&](ArrayId array) { return folded_[array].body != none; });
    if (read == nullptr) return;
    folded.dims = folded_[read->args[0]].dims;
    folded.loops.clear();
    for (size_t d = 0; d < folded.dims.size(); ++d)
      if (const VarId var = folded.dims[d]; var != none) {
        index_[compute.loops[d]] = nodes().var(var);
        folded.loops.push_back(var);
      }
  }

  // Has its readers compute it, if that is decided.
  Result<bool> fold(const Compute& compute, FoldedCompute folded) {
    LL_DO(reduce(folded, FoldForm::folded));
    if (folded.reducer != Reducer::none) return false;
    LL_TRY(const bool folds, decisions_.folds(compute, folded));
    if (!folds) return false;
    const DType dtype = program_.arrays[folded.result].dtype;
    folded_[folded.result] = {folded.dims, compute.is_view ? folded.body : nodes().cast(dtype, folded.body)};
    stepped_.folded.push_back({statement_, folded.unrolled});
    return true;
  }

  // Converts to the accumulator's type.
  void accumulate(FoldedCompute& folded) {
    const bool extreme = folded.reducer == Reducer::max || folded.reducer == Reducer::min;
    if (is_integer(folded.accumulator)) {  // the low bits of a sum do not depend on the high ones
      const DType own = nodes()[folded.body].type;
      folded.accumulator = finds_position(folded) || extreme || own == DType::i64 ? own : DType::i32;
    }
    folded.body = nodes().cast(compute_type(folded.accumulator), folded.body);
  }
  static bool finds_position(const FoldedCompute& folded) {
    return folded.reducer == Reducer::argmax || folded.reducer == Reducer::argmin;
  }

  // Unrolls reductions of a few points.
  Status reduce(FoldedCompute& folded, FoldForm form) {
    if (folded.reducer == Reducer::none || folded.is_empty) return Ok{};
    if (folded.reduced.empty() && finds_position(folded)) {
      folded.body = nodes().cast(program_.arrays[folded.result].dtype, nodes().integer(0));
      folded.reducer = Reducer::none;
      return Ok{};
    }
    int64_t points = 1;
    for (const VarId var : folded.reduced)
      points = std::min(points * std::min(nodes().extent(var), most_points), most_points);
    int size = 0;
    nodes().for_each(folded.body, [&](const Node& node, NodeId) { size += node.kind != NodeKind::literal; });
    LL_TRY(folded.unrolled, decisions_.unrolls(folded, form, points, size));
    if (folded.unrolled || folded.reduced.empty()) unroll(folded, points);
    return Ok{};
  }

  void unroll(FoldedCompute& folded, int64_t points) {
    const bool rounded = compute_type(folded.accumulator) != folded.accumulator;
    const DType result = program_.arrays[folded.result].dtype;
    const NodeId body = folded.body;
    NodeId sum = none;
    for (int64_t point = 0; point < points; ++point) {
      Substitution by;
      int64_t rest = point;
      for (size_t i = folded.reduced.size(); i-- > 0;) {
        const int64_t extent = nodes().extent(folded.reduced[i]);
        by.emplace(folded.reduced[i], nodes().integer(rest % extent));
        rest /= extent;
      }
      const NodeId value = nodes().substitute(body, by);
      sum = sum == none ? value : nodes().call(combining_function(folded.reducer), nodes()[body].type, sum, value);
    }
    if (rounded) sum = nodes().cast(folded.accumulator, sum);
    folded.body = nodes()[sum].type == compute_type(result) ? sum : nodes().cast(result, sum);
    folded.reducer = Reducer::none;
    folded.reduced.clear();
  }

  Status add(const Scatter& scatter) {
    begin(scatter.result);
    ScatterStep step;
    step.id = statement_;
    step.result = scatter.result;
    step.reducer = scatter.reducer;
    step.init = scatter.init_array;
    if (step.init == none) step.fill = expression(scatter.init_literal);
    bool empty = size_of(program_.arrays[scatter.result].shape) == 0 && scatter.drop_outside;
    for (uint32_t i = 0; i < scatter.domain.size(); ++i) {
      const IndexId index = scatter.domain[i];
      const VarId var = bind(index);
      if (var != none) step.domain.push_back(var), stepped_.own_index.emplace(var, i);
      const int64_t extent = program_.indices[index].extent;
      empty |= extent == 0;
      step.points *= double(extent);
    }
    if (!empty) {
      const Shape& shape = program_.arrays[scatter.result].shape;
      for (size_t d = 0; d < scatter.target.size(); ++d) {
        const NodeId target = subscript(scatter.target[d]);
        step.target.push_back(target);
        if (scatter.drop_outside)
          step.guard = nodes().both(step.guard, nodes().in_range(target, shape[d]));
        else if (interval_of(program_, scatter.target[d]).data_dependent)
          step.guard = nodes().both(step.guard, nodes().checked(target, shape[d], scatter.result, none, int(d)));
      }
      step.body = expression(scatter.body);
    }
    return decisions_.place(statement_, Step{std::move(step)});
  }

  Status add(const Constant& constant) {
    const Array& array = program_.arrays[constant.result];
    if (constant.values.size() != 1) {
      stepped_.constant[constant.result] = &constant;
      return Ok{};
    }
    begin(constant.result);
    FoldedCompute folded;
    folded.statement = statement_;
    folded.result = constant.result;
    for (uint32_t d = 0; d < array.shape.size(); ++d) {
      const VarId var = array.shape[d] == 1 ? none : nodes().add_var(array.shape[d]);
      folded.dims.push_back(var);
      if (var != none) folded.loops.push_back(var), stepped_.own_index.emplace(var, d);
    }
    const NodeId value = nodes().literal(array.dtype, constant.values[0]);
    if (size_of(array.shape) == 0 || decisions_.folds(constant, statement_)) {
      folded_[constant.result] = {folded.dims, nodes().cast(array.dtype, value)};
      if (size_of(array.shape) == 0) return Ok{};
      stepped_.folded.push_back({statement_, false});
      if (uses_.arrays[constant.result].others == 0) return Ok{};
    }
    folded.body = value;
    LL_DO(decisions_.order(folded));
    finish_order(stepped_, folded);
    return decisions_.place(std::move(folded));
  }

  Status add(const Repeat& repeat) {
    RepeatStep step;
    step.id = statement_;
    step.repeat = &repeat;
    step.counter = nodes().add_var(program_.indices[repeat.counter].extent);
    index_[repeat.counter] = nodes().var(step.counter);
    const StatementId own = statement_;
    LL_DO(block(own, repeat.body, step.body));
    return decisions_.place(own, Step{std::move(step)});
  }

  Nodes& nodes() { return stepped_.nodes; }

  static constexpr int64_t most_points = int64_t(1) << 20;  // counted of a reduction: more make no difference

  const Program& program_;
  StatementTable table_;
  SteppedProgram& stepped_;
  const ArrayUses& uses_;
  Decisions& decisions_;
  std::vector<FoldedArray> folded_;
  std::unordered_map<IndexId, NodeId> index_;
  std::unordered_map<ExprId, NodeId> values_;
  StatementId statement_ = none;
  ArrayId result_ = none;
  int opaque_count_ = 0;
};

Status check_executable(const Program& program) {
  for (const Opaque* opaque : opaque_statements(program))
    if (!has_opaque_builtin(opaque->name))
      return Error{ErrorCode::unsupported,
                   fmt::format("the opaque operation '{}' can not be executed", opaque->name),
                   "see docs/loop-ir.md for those that can",
                   {}};
  return Ok{};
}

void collect(const std::vector<Statement>& statements, std::vector<const Opaque*>& list) {
  for (const Statement& statement : statements) {
    if (const auto* opaque = std::get_if<Opaque>(&statement.node)) list.push_back(opaque);
    if (const auto* repeat = std::get_if<Repeat>(&statement.node)) collect(repeat->body, list);
  }
}

}  // namespace

Status add_steps(SteppedProgram& stepped, const ArrayUses& uses, Decisions& decisions) {
  return StepBuilder(stepped, uses, decisions).run();
}

Result<SteppedProgram> make_steps(const Program& program, const Target& target) {
  LL_DO(check_executable(program));
  SteppedProgram stepped(program, target);
  const ArrayUses uses = find_uses(program);
  LL_DO(add_steps(stepped, uses, *decide(stepped, uses)));
  return stepped;
}

Result<SteppedProgram> make_steps(const Program& program, const Schedule& schedule, const Target& target) {
  LL_DO(check_executable(program));
  SteppedProgram stepped(program, target);
  LL_DO(add_steps(stepped, find_uses(program), *follow(stepped, schedule)));
  return stepped;
}

std::vector<const Opaque*> opaque_statements(const Program& program) {
  std::vector<const Opaque*> list;
  collect(program.statements, list);
  return list;
}

void for_each_read(const SteppedProgram& stepped, const Step& step, const std::function<void(ArrayId)>& visit) {
  const auto value = [&](NodeId root) {
    if (root == none) return;
    stepped.nodes.for_each(root, [&](const Node& node, NodeId) {
      if (node.kind == NodeKind::load) visit(node.array);
    });
  };
  if (const auto* nest = std::get_if<NestStep>(&step.node)) {
    for (const FoldedCompute& folded : nest->computes) value(folded.body);
  } else if (const auto* contraction = std::get_if<ContractionStep>(&step.node)) {
    value(contraction->folded.body);
    for (const FoldedCompute& folded : contraction->epilogue) value(folded.body);
  } else if (const auto* scatter = std::get_if<ScatterStep>(&step.node)) {
    if (scatter->init != none) visit(scatter->init);
    for (const NodeId target : scatter->target) value(target);
    value(scatter->body);
  } else if (const auto* opaque = std::get_if<OpaqueStep>(&step.node)) {
    for (const ArrayId operand : opaque->statement->operands) visit(operand);
  } else {
    const auto& repeat = std::get<RepeatStep>(step.node);
    for (const auto& carry : repeat.repeat->carries) visit(carry.init), visit(carry.next);
    for (const ArrayId stacked : repeat.repeat->stacked) visit(stacked);
    for (const Step& inner : repeat.body) for_each_read(stepped, inner, visit);
  }
}

std::vector<ArrayId> defined_by(const Step& step) {
  std::vector<ArrayId> list;
  if (const auto* nest = std::get_if<NestStep>(&step.node)) {
    for (const FoldedCompute& folded : nest->computes) list.push_back(folded.result);
  } else if (const auto* contraction = std::get_if<ContractionStep>(&step.node)) {
    list.push_back(contraction->folded.result);
    for (const FoldedCompute& folded : contraction->epilogue) list.push_back(folded.result);
  } else if (const auto* scatter = std::get_if<ScatterStep>(&step.node)) {
    list.push_back(scatter->result);
  } else if (const auto* opaque = std::get_if<OpaqueStep>(&step.node)) {
    list = opaque->statement->results;
  } else {
    list = std::get<RepeatStep>(step.node).repeat->results;
  }
  return list;
}

VarId var_of(const SteppedProgram& stepped, const FoldedCompute& folded, uint32_t index) {
  for (const auto* list : {&folded.loops, &folded.reduced})
    for (const VarId var : *list)
      if (stepped.own_index.at(var) == index) return var;
  return none;
}

std::vector<VarId> looping_vars(const SteppedProgram& stepped, const ScatterStep& step) {
  std::vector<VarId> list = step.domain;
  std::erase_if(list, [&](VarId var) { return stepped.nodes.extent(var) <= 1; });
  return list;
}

std::vector<int64_t> row_major(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

int64_t size_of(const Shape& shape) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  return size;
}

}  // namespace lightline::loops::plan
