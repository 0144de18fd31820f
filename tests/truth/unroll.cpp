#include "truth/unroll.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "base/maths.h"
#include "truth/opaque_rows.h"

namespace lightline::truth {
namespace {

using namespace loops;

struct Stop : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Definition {
  enum class Kind : uint8_t { input, statement, carried };
  Kind kind = Kind::input;
  const Statement* statement = nullptr;
  size_t result = 0;                     // which of the statement's results, or which carry
  const Repeat* repeat = nullptr;        // carried: by whom
  std::vector<const Repeat*> enclosing;  // whose steps the array belongs to
};

class Unroller {
 public:
  Unroller(const Program& program, const std::vector<Tensor>& inputs, const UnrollOptions& options)
      : program_(program), options_(options), definitions_(program.arrays.size()), indices_(program.indices.size(), 0) {
    out_.graph.limit = options.limit;
    for (size_t i = 0; i < inputs.size(); ++i) tensors_[program.inputs[i]] = &inputs[i];
    define(program.statements, {});
  }

  Unrolled run() {
    for (const Output& output : program_.outputs) {
      UnrolledOutput result{.declared = output};
      const int64_t count = elements_in(output.array);
      for (int64_t place = 0; place < count; ++place) {
        result.roots.push_back(root_of({output.array, place}));
        result.elements.push_back(element(output.array, place));
      }
      out_.outputs.push_back(std::move(result));
    }
    return std::move(out_);
  }

 private:
  int64_t elements_in(ArrayId array) const { return *element_count(program_.arrays[array].shape); }

  void define(const std::vector<Statement>& block, const std::vector<const Repeat*>& enclosing) {
    for (const Statement& statement : block) {
      const auto results = results_of(statement);
      for (size_t i = 0; i < results.size(); ++i)
        definitions_[results[i]] = {Definition::Kind::statement, &statement, i, nullptr, enclosing};
      const auto* repeat = std::get_if<Repeat>(&statement.node);
      if (repeat == nullptr) continue;
      auto inside = enclosing;
      inside.push_back(repeat);
      for (size_t i = 0; i < repeat->carries.size(); ++i)
        definitions_[repeat->carries[i].inner] = {Definition::Kind::carried, &statement, i, repeat, inside};
      define(repeat->body, inside);
    }
  }

  struct Key {
    ArrayId array;
    int64_t place;
    int64_t step;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return size_t(mixed(mixed(key.array, uint64_t(key.place)), uint64_t(key.step)));
    }
  };
  int64_t step_of(const Definition& definition) const {
    int64_t step = 0;
    for (const Repeat* repeat : definition.enclosing)
      step = step * (program_.indices[repeat->counter].extent + 1) + indices_[repeat->counter];
    return step;
  }

  NodeId element(ArrayId array, int64_t place) {
    const Definition& definition = definitions_[array];
    const Key key{array, place, step_of(definition)};
    if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
    if (out_.graph.full() || ++depth_ > 4000) throw Stop("the program is too large to unroll");
    const NodeId node = fresh_element(array, place, definition);
    --depth_;
    out_.graph.settle(node, array, place);
    memo_.emplace(key, node);
    return node;
  }

  NodeId fresh_element(ArrayId array, int64_t place, const Definition& definition) {
    if (definition.kind == Definition::Kind::input)
      return out_.graph.leaf(array, place, program_.arrays[array].dtype, Value::element(*tensors_.at(array), place));
    if (definition.kind == Definition::Kind::carried) {
      const Repeat::Carry& carry = definition.repeat->carries[definition.result];
      const int64_t step = indices_[definition.repeat->counter];
      return step == 0 ? element(carry.init, place) : at_step(*definition.repeat, step - 1, carry.next, place);
    }
    const auto& node = definition.statement->node;
    if (const auto* compute = std::get_if<Compute>(&node)) return of_compute(*compute, place);
    if (const auto* scatter = std::get_if<Scatter>(&node)) return of_scatter(*scatter, place, definition);
    if (const auto* constant = std::get_if<Constant>(&node)) {
      out_.constants_read.insert({array, place});
      const auto& values = constant->values;
      return out_.graph.constant(
          converted(Value::of(program_.arrays[array].dtype, values[values.size() == 1 ? 0 : size_t(place)]),
                    program_.arrays[array].dtype));
    }
    if (const auto* opaque = std::get_if<Opaque>(&node)) return of_opaque(*opaque, definition.result, place);
    return of_repeat(std::get<Repeat>(node), definition.result, place);
  }

  NodeId at_step(const Repeat& repeat, int64_t step, ArrayId array, int64_t place) {
    const int64_t kept = std::exchange(indices_[repeat.counter], step);
    const NodeId node = element(array, place);
    indices_[repeat.counter] = kept;
    return node;
  }

  NodeId of_repeat(const Repeat& repeat, size_t result, int64_t place) {
    const int64_t steps = program_.indices[repeat.counter].extent;
    if (result < repeat.carries.size()) {
      const Repeat::Carry& carry = repeat.carries[result];
      return steps == 0 ? element(carry.init, place) : at_step(repeat, steps - 1, carry.next, place);
    }
    const ArrayId stacked = repeat.stacked[result - repeat.carries.size()];
    const int64_t inner = elements_in(stacked);
    return at_step(repeat, place / inner, stacked, place % inner);
  }

  std::vector<int64_t> swapped_in(const std::vector<IndexId>& ids, int64_t place) {
    std::vector<int64_t> kept(ids.size());
    for (size_t i = ids.size(); i-- > 0;) {
      const int64_t extent = program_.indices[ids[i]].extent;
      kept[i] = std::exchange(indices_[ids[i]], place % extent);
      place /= extent;
    }
    return kept;
  }
  void restore(const std::vector<IndexId>& ids, const std::vector<int64_t>& kept) {
    for (size_t i = 0; i < ids.size(); ++i) indices_[ids[i]] = kept[i];
  }
  int64_t points(const std::vector<IndexId>& ids) const {
    int64_t count = 1;
    for (const IndexId id : ids) count *= program_.indices[id].extent;
    return count;
  }

  NodeId of_compute(const Compute& compute, int64_t place) {
    const DType stored = program_.arrays[compute.result].dtype;
    const auto kept = swapped_in(compute.loops, place);
    NodeId node = none;
    if (compute.reducer == Reducer::none) {
      node = evaluate(compute.body);
    } else {
      std::vector<NodeId> values;
      const int64_t count = points(compute.reduced);
      for (int64_t i = 0; i < count; ++i) {
        const auto outer = swapped_in(compute.reduced, i);
        values.push_back(evaluate(compute.body));
        restore(compute.reduced, outer);
      }
      out_.graph.colour = 500'000 + compute.result;
      node = reduce(compute.reducer, values, compute.accumulator, stored);
    }
    restore(compute.loops, kept);
    return out_.graph.cast(node, stored);
  }

  NodeId reduce(Reducer reducer, std::vector<NodeId> values, DType accumulator, DType stored) {
    const DType type = compute_type(accumulator);
    ScalarGraph& graph = out_.graph;
    if (reducer == Reducer::argmax || reducer == Reducer::argmin)
      return graph.position(reducer == Reducer::argmax, values);
    if (reducer == Reducer::all) return graph.logic(Function::logical_and, values);
    if (reducer == Reducer::any) return graph.logic(Function::logical_or, values);
    for (NodeId& value : values) value = graph.cast(value, accumulator);
    if (reducer == Reducer::sum) return graph.sum(values, type);
    if (reducer == Reducer::prod) return values.empty() ? graph.number(type, 1) : product(values);
    const Function function = reducer == Reducer::max ? Function::max : Function::min;
    if (values.empty()) values.push_back(graph.constant(empty_extremum(function, type, stored)));
    return graph.extremum(function, values, type);
  }
  NodeId product(const std::vector<NodeId>& values) {
    NodeId result = values[0];
    for (size_t i = 1; i < values.size(); ++i) result = out_.graph.product(result, values[i]);
    return result;
  }
  static Value empty_extremum(Function function, DType type, DType stored) {
    const double infinity = function == Function::max ? -HUGE_VAL : HUGE_VAL;
    if (!is_integral(type)) return Value::of(type, infinity);
    const IntegerLimits limits = integer_limits(stored);
    return Value::of_integer(type, function == Function::max ? limits.least : limits.greatest);
  }

  // Points of the scatter's domain, in order, by the element they write.
  const std::map<int64_t, std::vector<int64_t>>& writers(const Scatter& scatter, const Definition& definition) {
    const Key key{scatter.result, -1, step_of(definition)};
    const auto [place, fresh] = writers_.try_emplace(key);
    if (!fresh) return place->second;
    std::map<int64_t, std::vector<int64_t>> hits;
    const Shape& shape = program_.arrays[scatter.result].shape;
    const int64_t count = points(scatter.domain);
    for (int64_t point = 0; point < count; ++point) {
      const auto kept = swapped_in(scatter.domain, point);
      const size_t reads = out_.index_reads.size();
      const int64_t target = offset(scatter.result, shape, scatter.target.data());
      if (out_.index_reads.size() > reads) targets_by_data_.insert(scatter.result);
      restore(scatter.domain, kept);
      if (target >= 0)
        hits[target].push_back(point);
      else if (!scatter.drop_outside)
        throw Stop("a scatter writes outside its array");
    }
    return writers_[key] = std::move(hits);
  }

  NodeId of_scatter(const Scatter& scatter, int64_t place, const Definition& definition) {
    ScalarGraph& graph = out_.graph;
    const DType stored = program_.arrays[scatter.result].dtype;
    const auto& all = writers(scatter, definition);
    const auto hit = all.find(place);
    const std::vector<int64_t> hits = hit == all.end() ? std::vector<int64_t>() : hit->second;
    std::vector<NodeId> values;
    for (const int64_t point : hits) {
      if (scatter.reducer == Reducer::set && point != hits.back()) continue;
      const auto kept = swapped_in(scatter.domain, point);
      values.push_back(evaluate(scatter.body));
      restore(scatter.domain, kept);
    }
    if (options_.data != Data::given && targets_by_data_.contains(scatter.result))
      out_.uncertain_operations += double(values.size());
    if (scatter.reducer == Reducer::set && !values.empty()) return graph.cast(values.back(), stored);
    const NodeId init =
        scatter.init_array != none ? element(scatter.init_array, place) : evaluate(scatter.init_literal);
    if (values.empty()) return graph.cast(init, stored);
    values.insert(values.begin(), init);
    graph.colour = 500'000 + scatter.result;
    const DType type = compute_type(stored);
    switch (scatter.reducer) {
      case Reducer::sum: return graph.cast(graph.sum(values, type), stored);
      case Reducer::prod: return graph.cast(product(values), stored);
      case Reducer::all: return graph.logic(Function::logical_and, values);
      case Reducer::any: return graph.logic(Function::logical_or, values);
      default:
        return graph.cast(graph.extremum(scatter.reducer == Reducer::max ? Function::max : Function::min, values, type),
                          stored);
    }
  }

  NodeId of_opaque(const Opaque& opaque, size_t result, int64_t place) {
    const OpaqueRow row = opaque_row(program_, opaque, result, place);
    std::vector<NodeId> demanded;
    std::vector<Tensor> operands;
    for (const OpaqueRow::Operand& operand : row.operands) {
      Tensor tensor(program_.arrays[operand.array].dtype, operand.shape);
      for (size_t i = 0; i < operand.places.size(); ++i) {
        if (operand.places[i] < 0) continue;
        const NodeId node = element(operand.array, operand.places[i]);
        demanded.push_back(node);
        const Value& value = out_.graph[node].value;
        if (is_integral(value.type))
          tensor.set_i64(int64_t(i), value.integer());
        else
          tensor.set_c128(int64_t(i), value.number());
      }
      operands.push_back(std::move(tensor));
    }
    auto value = row_value(program_, opaque, row, operands, result);
    if (!value.ok()) throw Stop(value.error().message);
    return out_.graph.oracle(row.identity, std::move(demanded), program_.arrays[opaque.results[result]].dtype, *value);
  }

  // The row-major place, or -1 outside.
  int64_t offset(ArrayId array, const Shape& shape, const ExprId* subscripts) {
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const NodeId node = evaluate(subscripts[d]);
      int64_t at = out_.graph[node].value.integer();
      if (!out_.graph.is_constant(node)) {
        out_.index_reads.push_back(node);
        if (options_.data != Data::given && !is_known(node)) at = supposed(array, d, node, shape[d]);
      }
      inside = inside && at >= 0 && at < shape[d];
      place = place * shape[d] + at;
    }
    return inside ? place : -1;
  }
  bool is_known(NodeId id) const {
    const Node& node = out_.graph[id];
    if (node.kind == Kind::leaf) return options_.known.contains(node.array);
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [&](NodeId operand) { return out_.graph.is_constant(operand) || is_known(operand); });
  }
  bool is_free_flag(NodeId id) const {
    const Node& node = out_.graph[id];
    return (options_.data == Data::all_true || options_.data == Data::all_false) && node.kind == Kind::leaf &&
           node.type == DType::boolean && !options_.known.contains(node.array);
  }
  int64_t supposed(ArrayId array, size_t dimension, NodeId node, int64_t extent) {
    if (options_.data != Data::spread) return 0;
    auto& taken = spread_[{array, dimension}];
    const auto [place, fresh] = taken.try_emplace(node, int64_t(taken.size()));
    return extent == 0 ? 0 : place->second % extent;
  }

  NodeId of_read(const Expr& expr) {
    const ArrayId array = expr.args[0];
    const int64_t place = offset(array, program_.arrays[array].shape, subscripts_of(program_, expr));
    if (place >= 0) return element(array, place);
    if (!expr.has_fill) throw Stop("a read outside its array");
    return out_.graph.constant(
        converted(Value::of(program_.arrays[array].dtype, expr.literal), program_.arrays[array].dtype));
  }

  NodeId evaluate(ExprId id) {
    const Expr& expr = program_.exprs[id];
    switch (expr.kind) {
      case ExprKind::literal: return out_.graph.constant(Value::of(expr.type, expr.literal));
      case ExprKind::index: return out_.graph.constant(Value::of_integer(DType::i64, indices_[expr.args[0]]));
      case ExprKind::read: return of_read(expr);
      case ExprKind::cast: return out_.graph.cast(evaluate(expr.args[0]), expr.target);
      case ExprKind::call: break;
    }
    const int count = info(expr.function).arity;
    NodeId operands[3] = {evaluate(expr.args[0]), none, none};
    if (expr.function == Function::select && out_.graph.is_constant(operands[0]))
      return evaluate(expr.args[out_.graph[operands[0]].value.integer() != 0 ? 1 : 2]);
    if (expr.function == Function::select && is_free_flag(operands[0])) {
      out_.index_reads.push_back(operands[0]);
      return evaluate(expr.args[options_.data == Data::all_true ? 1 : 2]);
    }
    for (int i = 1; i < count; ++i) operands[i] = evaluate(expr.args[i]);
    if (out_.graph.full()) throw Stop("the program is too large to unroll");
    out_.graph.colour = id + 1;
    return out_.graph.call(expr.function, std::span(operands, size_t(count)));
  }

  UnrolledOutput::Root root_of(UnrolledOutput::Root at) {
    while (true) {
      const Definition& definition = definitions_[at.array];
      if (definition.kind != Definition::Kind::statement) return at;
      const auto* compute = std::get_if<Compute>(&definition.statement->node);
      if (compute == nullptr || !compute->is_view) return at;
      const auto kept = swapped_in(compute->loops, at.place);
      const Expr& read = program_.exprs[compute->body];
      const ArrayId array = read.args[0];
      at = {array, offset(array, program_.arrays[array].shape, subscripts_of(program_, read))};
      restore(compute->loops, kept);
    }
  }

  const Program& program_;
  const UnrollOptions& options_;
  Unrolled out_;
  std::vector<Definition> definitions_;
  std::vector<int64_t> indices_;
  std::map<ArrayId, const Tensor*> tensors_;
  std::unordered_map<Key, NodeId, KeyHash> memo_;
  std::unordered_map<Key, std::map<int64_t, std::vector<int64_t>>, KeyHash> writers_;
  std::map<std::pair<ArrayId, size_t>, std::map<NodeId, int64_t>> spread_;
  std::set<ArrayId> targets_by_data_;
  int depth_ = 0;
};

}  // namespace

Result<Unrolled> unroll(const Program& program, const std::vector<Tensor>& inputs, const UnrollOptions& options) {
  try {
    return Unroller(program, inputs, options).run();
  } catch (const Stop& stop) {
    return Error{ErrorCode::limit, stop.what()};
  }
}

}  // namespace lightline::truth
