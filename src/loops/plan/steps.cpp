#include "loops/plan/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "loops/ir/opaque_signature.h"
#include "loops/ir/verify.h"
#include "loops/plan/uses.h"

namespace lightline::loops::plan {
namespace {

// An array that readers compute for themselves.
struct Inlined {
  std::vector<VarId> dims;
  NodeId body = none;
};

bool contains(const Nodes& nodes, NodeId root, NodeKind kind) {
  bool found = false;
  nodes.for_each(root, [&](const Node& node, NodeId) { found |= node.kind == kind; });
  return found;
}

bool is_transcendental(const Node& node) {
  return node.kind == NodeKind::call && info(node.function).transcendental_ops > 0 && !is_integer(node.type);
}

// Arithmetic in one evaluation; address arithmetic and plain conversions are free.
int work_of(const Nodes& nodes, const Target& target, NodeId root) {
  int work = 0;
  std::unordered_set<NodeId> seen{root};
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const Node& node = nodes[stack.back()];
    stack.pop_back();
    if (node.kind == NodeKind::load) {
      const bool indirect = std::ranges::any_of(
          nodes.operands(node), [&](NodeId subscript) { return contains(nodes, subscript, NodeKind::load); });
      work += indirect ? target.gather_work : 0;
      continue;
    }
    if (node.kind == NodeKind::call) work += is_transcendental(node) ? target.transcendental_work : 1;
    if (node.kind == NodeKind::cast && compute_type(node.target) != node.target) work += target.conversion_work;
    nodes.for_each_child(node, [&](NodeId child) {
      if (seen.insert(child).second) stack.push_back(child);
    });
  }
  return work;
}

class StepBuilder {
 public:
  StepBuilder(const Program& program, const Target& target)
      : program_(program),
        target_(target),
        stepped_(program, target),
        uses_(find_uses(program)),
        inlined_(program.arrays.size()),
        producer_(program.arrays.size(), -1),
        reader_(program.arrays.size(), -1) {}

  Result<SteppedProgram> run() {
    LL_DO(block(program_.statements, stepped_.steps));
    return std::move(stepped_);
  }

 private:
  Status block(const std::vector<Statement>& statements, std::vector<Step>& steps) {
    for (const Statement& statement : statements) {
      if (const auto* opaque = std::get_if<Opaque>(&statement.node)) {
        const int number = opaque_count_++;
        if (!has_opaque_builtin(opaque->name))
          return Error{ErrorCode::unsupported,
                       fmt::format("the opaque operation '{}' can not be executed", opaque->name),
                       "see docs/loop-ir.md for those that can",
                       {}};
        append(steps, OpaqueStep{opaque, number});
        continue;
      }
      if (!uses_.is_live(&statement)) {
        if (const auto* repeat = std::get_if<Repeat>(&statement.node)) skip_opaques(*repeat);
        continue;
      }
      if (const auto* compute = std::get_if<Compute>(&statement.node))
        add(*compute, steps);
      else if (const auto* scatter = std::get_if<Scatter>(&statement.node))
        add(*scatter, steps);
      else if (const auto* constant = std::get_if<Constant>(&statement.node))
        add(*constant, steps);
      else
        LL_DO(add(std::get<Repeat>(statement.node), steps));
    }
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
        inside = nodes().both(inside, nodes().checked(subscripts.back(), extent, statement_, id, int(d)));
    }
    const Literal outside = expr.has_fill                   ? expr.literal
                            : array.dtype == DType::boolean ? Literal::of_bool(false)
                                                            : Literal::of(int64_t(0));
    const Inlined& source = inlined_[id];
    if (source.body == none) return nodes().load(id, subscripts, inside, outside);
    if (inside != none && nodes().is_literal(inside) && nodes()[inside].literal.integer == 0)
      return nodes().literal(array.dtype, outside);
    Substitution by;
    for (size_t d = 0; d < subscripts.size(); ++d)
      if (source.dims[d] != none) by.emplace(source.dims[d], subscripts[d]);
    const bool always = inside == none || nodes().is_literal(inside);
    const NodeId value = nodes().substitute(source.body, by, always ? none : inside);
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

  void begin(ArrayId statement) {
    values_.clear();
    statement_ = statement;
  }

  void add(const Compute& compute, std::vector<Step>& steps) {
    begin(compute.result);
    FoldedCompute folded;
    folded.result = compute.result;
    folded.reducer = compute.reducer;
    folded.accumulator = program_.exprs[compute.body].type == DType::c64 ? DType::c64 : compute.accumulator;
    for (const IndexId index : compute.loops) {
      const VarId var = bind(index);
      folded.dims.push_back(var);
      if (var == none) continue;
      folded.loops.push_back(var);
      if (nodes().extent(var) == 0) return;
      if (program_.indices[index].kind == IndexKind::scan) folded.scan = var;
    }
    for (const IndexId index : compute.reduced) {
      const VarId var = bind(index);
      if (var != none) folded.reduced.push_back(var);
      folded.is_empty |= program_.indices[index].extent == 0;
    }
    if (folded.is_empty) {
      folded.reduced.clear();
      folded.body = none;
    } else {
      folded.body = expression(compute.body);
      if (folded.reducer != Reducer::none) reduce(folded);
    }
    classify(stepped_, folded);
    if (folded.reducer == Reducer::none && should_inline(compute, folded)) {
      const DType dtype = program_.arrays[folded.result].dtype;
      inlined_[folded.result] = {folded.dims, compute.is_view ? folded.body : nodes().cast(dtype, folded.body)};
      if (uses_.arrays[folded.result].others == 0) return;
    }
    place(std::move(folded), steps);
  }

  // Converts to the accumulator's type, and writes out reductions of a few points.
  void reduce(FoldedCompute& folded) {
    const bool positions = folded.reducer == Reducer::argmax || folded.reducer == Reducer::argmin;
    const bool extreme = folded.reducer == Reducer::max || folded.reducer == Reducer::min;
    if (is_integer(folded.accumulator)) {  // the low bits of a sum do not depend on the high ones
      const DType own = nodes()[folded.body].type;
      folded.accumulator = positions || extreme || own == DType::i64 ? own : DType::i32;
    }
    folded.body = nodes().cast(compute_type(folded.accumulator), folded.body);
    const DType result = program_.arrays[folded.result].dtype;
    if (folded.reduced.empty() && positions) {
      folded.body = nodes().cast(result, nodes().integer(0));
      folded.reducer = Reducer::none;
      return;
    }
    int64_t count = 1;
    for (const VarId var : folded.reduced)
      count *= std::min<int64_t>(nodes().extent(var), target_.most_written_out_points + 1);
    int size = 0;
    nodes().for_each(folded.body, [&](const Node& node, NodeId) { size += node.kind != NodeKind::literal; });
    const bool rounded = compute_type(folded.accumulator) != folded.accumulator;
    if (positions || (rounded && count > 1) || count > target_.most_written_out_points ||
        count * size > target_.largest_written_out_nodes)
      return;
    const NodeId body = folded.body;
    NodeId sum = none;
    for (int64_t point = 0; point < count; ++point) {
      Substitution by;
      int64_t rest = point;
      for (size_t i = folded.reduced.size(); i-- > 0;) {
        const int64_t extent = nodes().extent(folded.reduced[i]);
        by.emplace(folded.reduced[i], nodes().integer(rest % extent));
        rest /= extent;
      }
      const NodeId value = nodes().substitute(body, by);
      sum = sum == none ? value : nodes().call(combining(folded.reducer), nodes()[body].type, sum, value);
    }
    if (rounded) sum = nodes().cast(folded.accumulator, sum);
    folded.body = nodes()[sum].type == compute_type(result) ? sum : nodes().cast(result, sum);
    folded.reducer = Reducer::none;
    folded.reduced.clear();
  }

  static Function combining(Reducer reducer) {
    switch (reducer) {
      case Reducer::sum: return Function::add;
      case Reducer::prod: return Function::mul;
      case Reducer::max: return Function::max;
      case Reducer::min: return Function::min;
      case Reducer::all: return Function::logical_and;
      default: return Function::logical_or;
    }
  }

  bool should_inline(const Compute& compute, const FoldedCompute& folded) {
    if (folded.scan != none) return false;
    const ArrayUse& use = uses_.arrays[compute.result];
    if (use.reads == 0) return false;
    if (contains(nodes(), folded.body, NodeKind::checked))
      return use.others == 0 && use.reads == 1 && reads_each_once(compute, use);
    int size = 0;
    nodes().for_each(folded.body, [&](const Node&, NodeId) { ++size; });
    if (size > target_.largest_folded_nodes) return false;
    const int work = work_of(nodes(), target_, folded.body);
    if (compute.is_view || work == 0) return true;
    if (use.others > 0 || use.reads > 1 || use.crosses_block || use.reader == nullptr) return false;
    return work <= target_.cheap_work || use.reader_points <= double(size_of(program_.arrays[compute.result].shape));
  }

  // The one reader reads every element, each at its own point: what is checked here is checked there.
  bool reads_each_once(const Compute& compute, const ArrayUse& use) const {
    const Expr& site = program_.exprs[use.site];
    const auto* reader = std::get_if<Compute>(&use.reader->node);
    if (reader == nullptr || use.crosses_block || site.has_fill || reader->reducer != Reducer::none ||
        reader->loops.size() != compute.loops.size())
      return false;
    if (reader->is_view) return false;
    for (uint32_t d = 0; d < site.args[2]; ++d) {
      const Expr& written = program_.exprs[subscripts_of(program_, site)[d]];
      if (written.kind != ExprKind::index || written.args[0] != reader->loops[d] ||
          program_.indices[written.args[0]].extent != program_.arrays[compute.result].shape[d])
        return false;
    }
    return true;
  }

  // ---- placing ----
  template <class Node>
  void append(std::vector<Step>& steps, Node node) {
    steps.push_back(Step{std::move(node)});
    note(steps, steps.size() - 1);
  }
  void note(const std::vector<Step>& steps, size_t at) {
    for (const ArrayId array : defined_by(steps[at])) producer_[array] = int(at);
    for_each_read(stepped_, steps[at], [&](ArrayId array) { reader_[array] = std::max(reader_[array], int(at)); });
  }

  // A compute joins the step of its last producer, or a later one that reads the same arrays, or starts its own.
  void place(FoldedCompute folded, std::vector<Step>& steps) {
    if (auto contraction = find_contraction(stepped_, folded)) return append(steps, std::move(*contraction));
    int earliest = -1;
    std::vector<int> candidates;
    if (!folded.is_empty)
      nodes().for_each(folded.body, [&](const Node& node, NodeId) {
        if (node.kind != NodeKind::load || node.array == folded.result) return;
        earliest = std::max(earliest, producer_[node.array]);
        candidates.push_back(reader_[node.array]);
      });
    candidates.push_back(earliest);
    std::ranges::sort(candidates);
    for (const int at : candidates) {
      if (at < earliest || at < 0) continue;
      Step& step = steps[size_t(at)];
      auto* nest = std::get_if<NestStep>(&step.node);
      auto* contraction = std::get_if<ContractionStep>(&step.node);
      if (nest != nullptr && nest->computes.size() < target_.most_statements && can_join(stepped_, *nest, folded))
        nest->computes.push_back(std::move(folded));
      else if (contraction != nullptr && contraction->epilogue.size() < target_.most_statements &&
               can_follow(stepped_, *contraction, folded))
        contraction->epilogue.push_back(std::move(folded));
      else
        continue;
      return note(steps, size_t(at));
    }
    NestStep alone;
    alone.computes.push_back(std::move(folded));
    append(steps, std::move(alone));
  }

  void add(const Scatter& scatter, std::vector<Step>& steps) {
    begin(scatter.result);
    ScatterStep step;
    step.result = scatter.result;
    step.reducer = scatter.reducer;
    step.init = scatter.init_array;
    if (step.init == none) step.fill = expression(scatter.init_literal);
    bool empty = size_of(program_.arrays[scatter.result].shape) == 0 && scatter.drop_outside;
    for (const IndexId index : scatter.domain) {
      const VarId var = bind(index);
      if (var != none) step.domain.push_back(var);
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
    append(steps, std::move(step));
  }

  void add(const Constant& constant, std::vector<Step>& steps) {
    const Array& array = program_.arrays[constant.result];
    if (constant.values.size() != 1) {
      stepped_.constant[constant.result] = &constant;
      return;
    }
    begin(constant.result);
    FoldedCompute folded;
    folded.result = constant.result;
    for (const int64_t extent : array.shape) {
      const VarId var = extent == 1 ? none : nodes().add_var(extent);
      folded.dims.push_back(var);
      if (var != none) folded.loops.push_back(var);
    }
    const NodeId value = nodes().literal(array.dtype, constant.values[0]);
    inlined_[constant.result] = {folded.dims, nodes().cast(array.dtype, value)};
    if (uses_.arrays[constant.result].others == 0 || size_of(array.shape) == 0) return;
    folded.body = value;
    classify(stepped_, folded);
    place(std::move(folded), steps);
  }

  Status add(const Repeat& repeat, std::vector<Step>& steps) {
    RepeatStep step;
    step.repeat = &repeat;
    step.counter = nodes().add_var(program_.indices[repeat.counter].extent);
    index_[repeat.counter] = nodes().var(step.counter);
    // Inside, producers and readers outside do not count: a compute can not join their steps.
    const auto producer = std::exchange(producer_, std::vector<int>(producer_.size(), -1));
    const auto reader = std::exchange(reader_, std::vector<int>(reader_.size(), -1));
    const Status status = block(repeat.body, step.body);
    producer_ = producer;
    reader_ = reader;
    LL_DO(status);
    append(steps, std::move(step));
    return Ok{};
  }

  Nodes& nodes() { return stepped_.nodes; }

  const Program& program_;
  const Target& target_;
  SteppedProgram stepped_;
  ArrayUses uses_;
  std::vector<Inlined> inlined_;
  std::vector<int> producer_;  // by array: the step of the current block that defines it
  std::vector<int> reader_;    // the last step that reads it
  std::unordered_map<IndexId, NodeId> index_;
  std::unordered_map<ExprId, NodeId> values_;
  ArrayId statement_ = none;
  int opaque_count_ = 0;
};

void collect(const std::vector<Statement>& statements, std::vector<const Opaque*>& list) {
  for (const Statement& statement : statements) {
    if (const auto* opaque = std::get_if<Opaque>(&statement.node)) list.push_back(opaque);
    if (const auto* repeat = std::get_if<Repeat>(&statement.node)) collect(repeat->body, list);
  }
}

}  // namespace

Result<SteppedProgram> make_steps(const Program& program, const Target& target) {
  return StepBuilder(program, target).run();
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
