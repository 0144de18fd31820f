// Elementwise operators of StableHLO as tensor operators, and what they share.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ops/build/registry.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {

const graph::Argument* node_argument(const graph::Node& node, std::string_view name) {
  for (const graph::NamedArgument& argument : node.arguments)
    if (argument.name == name) return &argument.value;
  return nullptr;
}

std::vector<int64_t> node_integers(const graph::Node& node, std::string_view name) {
  const graph::Argument* value = node_argument(node, name);
  const auto* list = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return list ? *list : std::vector<int64_t>{};
}

std::string_view ScalarCall::text(std::string_view name) const {
  const graph::Argument* value = node_argument(node, name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

int64_t ScalarCall::integer(std::string_view name, int64_t fallback) const {
  const graph::Argument* value = node_argument(node, name);
  const auto* integer = value ? std::get_if<int64_t>(value) : nullptr;
  return integer ? *integer : fallback;
}

const std::vector<ScalarOperator>& scalar_operators() {
  static const std::vector<ScalarOperator> all = [] {
    std::vector<ScalarOperator> list = arithmetic_operators();
    for (const auto& more : {bit_operators(), transcendental_operators(), special_operators()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const ScalarOperator* scalar_operator(std::string_view target) {
  static const std::unordered_map<std::string_view, const ScalarOperator*> by_name = [] {
    std::unordered_map<std::string_view, const ScalarOperator*> map;
    for (const ScalarOperator& op : scalar_operators()) map.emplace(op.name, &op);
    return map;
  }();
  const auto found = by_name.find(target);
  return found == by_name.end() ? nullptr : found->second;
}

void require_arity(const ScalarOperator& op, size_t operands) {
  const auto arity = size_t(1 + std::count(op.parameters.begin(), op.parameters.end(), ','));
  require(operands == arity, fmt::format("the operator takes {} operands, not {}", arity, operands));
}

Scalar apply(const ScalarOperator& op, const ScalarCall& scalar, const std::vector<Scalar>& values) {
  require_arity(op, values.size());
  try {
    const Scalar result = op.function(scalar, values);
    return is_integer(scalar.result) ? wrapped(result, scalar.result, scalar.result_width) : result;
  } catch (OpError& error) {
    if (error.code == ErrorCode::internal) error.code = ErrorCode::type;  // foreign operands that do not fit each other
    throw;
  }
}

ScalarCall scalar_of(Lowering& lowering, const graph::Graph& graph, const graph::Node& node) {
  const auto type_of = [&](graph::ValueId id) {
    return id != graph::no_value && graph.values[id].type ? graph.values[id].type->dtype : DType::f32;
  };
  ScalarCall scalar{lowering, node, DType::f32, DType::f32};
  if (!node.results.empty()) scalar.result = type_of(node.results[0]);
  scalar.operand = scalar.result;
  for (const graph::NamedArgument& argument : node.arguments) {
    const auto* ref = std::get_if<graph::ValueRef>(&argument.value);
    if (!ref || !argument.name.empty()) continue;
    scalar.operand = type_of(ref->id);
    break;
  }
  scalar.is_unsigned = node_argument(node, "unsigned") != nullptr;
  scalar.result_unsigned = node_argument(node, "result_unsigned") != nullptr;
  scalar.width = int(scalar.integer("width", bits(scalar.operand)));
  scalar.result_width = int(scalar.integer("result_width", bits(scalar.result)));
  return scalar;
}

std::vector<graph::ValueId> operand_ids(const graph::Node& node) {
  std::vector<graph::ValueId> ids;
  for (const graph::NamedArgument& argument : node.arguments)
    if (const auto* ref = std::get_if<graph::ValueRef>(&argument.value); ref && argument.name.empty())
      ids.push_back(ref->id);
  return ids;
}

std::vector<SymbolicTensor> operands(const OpCall& call) {
  std::vector<SymbolicTensor> result;
  for (const graph::NamedArgument& argument : call.node().arguments) {
    const auto* ref = std::get_if<graph::ValueRef>(&argument.value);
    if (!ref || !argument.name.empty()) continue;
    const auto& tensor = call.value(ref->id);
    if (!tensor) fail("an operand has no value");
    result.push_back(*tensor);
  }
  return result;
}

SymbolicTensor first_operand(const OpCall& call) {
  std::vector<SymbolicTensor> all = operands(call);
  require(!all.empty(), "the operator has no operand");
  return std::move(all[0]);
}

TensorType result_type_of(const OpCall& call, size_t i) {
  auto type = call.recorded(i);
  if (!type) fail("the type of a result is not recorded");
  return *std::move(type);
}

Scalar StackedUpdate::operator()(const Indices&) const {
  fail("a tensor is read while a loop fills it", ErrorCode::internal);
}

Scalar read_memory(Lowering& l, const SymbolicTensor& tensor, const Indices& index) {
  if (!l.formula_of(tensor)) return l.read(tensor, index);
  const loops::ArrayId array = l.array_of(tensor);
  std::vector<loops::ExprId> subscripts;
  for (const Subscript& ix : index) subscripts.push_back(l.algebra().emit(l.program(), ix.sum));
  return {&l, l.program().read(array, subscripts), compute_type(tensor.dtype), false};
}

std::optional<Literal> known_literal(const Lowering& lowering, const SymbolicTensor& tensor) {
  const Formula* formula = lowering.formula_of(tensor);
  return formula ? formula->constant : std::nullopt;
}

const graph::Graph& region(const OpCall& call, size_t i) {
  const graph::Argument* value = node_argument(call.node(), fmt::format("region_{}", i));
  const auto* ref = value ? std::get_if<graph::SubgraphRef>(value) : nullptr;
  if (!ref || ref->index >= call.graph().subgraphs.size()) fail("the operator has no body");
  return call.graph().subgraphs[ref->index];
}

std::vector<SymbolicTensor> captures(const OpCall& call, size_t i) {
  return call.tensors(fmt::format("captures_{}", i));
}

namespace {

constexpr int heaviest_formula = 24;

bool in_range(Interval range, DType dtype, int width) {
  if (width >= 64) return range.low > INT64_MIN / 4 && range.high < INT64_MAX / 4;
  const IntegerLimits limits = integer_limits(dtype);
  const int unused = bits(dtype) - width;
  return range.low >= (limits.least >> unused) && range.high <= (limits.greatest >> unused);
}

// Integers that a subscript can express stay subscripts, as long as nothing wraps around.
std::optional<Subscript> subscript(Lowering& l, const ScalarCall& s, const std::vector<SymbolicTensor>& x,
                                   const Indices& i) {
  if (!is_integer(s.operand) || !is_integer(s.result)) return std::nullopt;
  std::vector<Subscript> known;
  for (const SymbolicTensor& tensor : x) {
    const auto index = l.known_index(tensor, i);
    if (!index) return std::nullopt;
    known.push_back(*index);
  }
  const std::string_view name = s.node.target;
  const auto constant = [](const Subscript& ix) { return ix.sum.terms.empty() && is_modest(ix.sum.constant); };
  std::optional<Subscript> result;
  if (name == "stablehlo.add") result = known[0] + known[1];
  if (name == "stablehlo.subtract") result = known[0] - known[1];
  if (name == "stablehlo.negate") result = 0 - known[0];
  if (name == "stablehlo.convert") result = known[0];
  if (name == "stablehlo.multiply" && constant(known[1])) result = known[0] * known[1].sum.constant;
  if (name == "stablehlo.multiply" && constant(known[0])) result = known[1] * known[0].sum.constant;
  const bool divides = name == "stablehlo.divide" || name == "stablehlo.remainder";
  if (divides && constant(known[1]) && known[1].sum.constant > 0 && l.algebra().range(known[0].sum).low >= 0)
    result = name == "stablehlo.divide" ? div(known[0], known[1].sum.constant) : mod(known[0], known[1].sum.constant);
  const bool orders = name == "stablehlo.maximum" || name == "stablehlo.minimum";
  if (orders || name == "stablehlo.clamp") {
    const auto greater = [&](const Subscript& a, const Subscript& b) {
      const Interval range = l.algebra().range((a - b).sum);
      return range.low >= 0 ? &a : range.high <= 0 ? &b : nullptr;
    };
    const Subscript* chosen = nullptr;
    if (orders) {
      const Subscript* high = greater(known[0], known[1]);
      if (high) chosen = (name == "stablehlo.maximum") == (high == &known[0]) ? &known[0] : &known[1];
    } else if (greater(known[1], known[0]) == &known[1] && greater(known[2], known[1]) == &known[2]) {
      chosen = &known[1];
    }
    if (chosen) result = *chosen;
  }
  if (!result || !in_range(l.algebra().range(result->sum), s.result, s.result_width)) return std::nullopt;
  const bool is_unsigned = s.is_unsigned || s.result_unsigned;
  if (is_unsigned && l.algebra().range(result->sum).low < 0) return std::nullopt;
  return result;
}

// A comparison of subscripts: as one of i64 values, which shows its structure, or decided by their ranges.
struct Comparison {
  std::optional<bool> decided;
  std::optional<Scalar> value;
};
Comparison compare_subscripts(Lowering& l, const ScalarCall& s, const std::vector<SymbolicTensor>& x,
                              const Indices& i) {
  if (s.node.target != "stablehlo.compare" || x.size() != 2 || !is_integer(s.operand)) return {};
  const auto a = l.known_index(x[0], i), b = l.known_index(x[1], i);
  if (!a || !b) return {};
  const std::string_view direction = s.text("comparison_direction");
  const Interval range = l.algebra().range((*a - *b).sum);
  if (s.is_unsigned && (l.algebra().range(a->sum).low < 0 || l.algebra().range(b->sum).low < 0)) return {};
  const bool equal = range.low == 0 && range.high == 0, apart = range.low > 0 || range.high < 0;
  const auto either = [](bool yes, bool no) { return yes || no ? std::optional(yes) : std::nullopt; };
  Comparison result;
  if (direction == "EQ") result.decided = either(equal, apart);
  if (direction == "NE") result.decided = either(apart, equal);
  if (direction == "LT") result.decided = either(range.high < 0, range.low >= 0);
  if (direction == "LE") result.decided = either(range.high <= 0, range.low > 0);
  if (direction == "GT") result.decided = either(range.low > 0, range.high <= 0);
  if (direction == "GE") result.decided = either(range.low >= 0, range.high < 0);
  if (result.decided) {
    result.value = l.literal(Literal::of_bool(*result.decided));
    return result;
  }
  const Scalar left = value(*a), right = value(*b);
  result.value = direction == "EQ"   ? left == right
                 : direction == "NE" ? left != right
                 : direction == "LT" ? left < right
                 : direction == "LE" ? left <= right
                 : direction == "GT" ? left > right
                                     : left >= right;
  return result;
}

Scalar element(Lowering& l, const ScalarCall& s, const ScalarOperator& op, const std::vector<SymbolicTensor>& x,
               const Indices& i) {
  std::vector<Scalar> values;
  for (const SymbolicTensor& tensor : x) values.push_back(l.read(tensor, tensor.shape.empty() ? Indices{} : i));
  return apply(op, s, values);
}

void define_scalar(OpCall& c, const ScalarOperator& op) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> x = operands(c);
  const TensorType type = result_type_of(c);
  const ScalarCall s = scalar_of(l, c.graph(), c.node());
  require_arity(op, x.size());
  for (const SymbolicTensor& tensor : x)
    require(tensor.shape == type.shape || tensor.shape.empty(), "the shapes of an elementwise operator differ");
  if (s.node.target == "stablehlo.select" && x.size() == 3) {
    const auto predicate = known_literal(l, x[0]);
    const SymbolicTensor& chosen = predicate && predicate->integer != 0 ? x[1] : x[2];
    if (predicate && chosen.shape == type.shape) return c.add_result(chosen);
  }
  if (s.node.target == "stablehlo.convert" && s.operand == s.result && s.is_unsigned == s.result_unsigned &&
      s.width <= s.result_width)
    return c.add_result(x[0]);
  int weight = 1;
  for (const SymbolicTensor& tensor : x) {
    const Formula* formula = l.formula_of(tensor);
    weight += formula ? formula->weight : heaviest_formula;
  }
  Formula formula;
  const SymbolicTensor result = l.map(type.dtype, type.shape, [&](const Indices& i) {
    if (weight <= heaviest_formula) {
      if (const auto index = subscript(l, s, x, i)) {
        formula.index = [&l, s, x](const Indices& at) { return subscript(l, s, x, at); };
        return convert(value(*index), type.dtype);
      }
      if (const Comparison comparison = compare_subscripts(l, s, x, i); comparison.value) {
        if (comparison.decided) formula.constant = Literal::of_bool(*comparison.decided);
        formula.value = [&l, s, x, &op](const Indices& at) {
          const Comparison again = compare_subscripts(l, s, x, at);
          return again.value ? *again.value : element(l, s, op, x, at);
        };
        return *comparison.value;
      }
    }
    return element(l, s, op, x, i);
  });
  if (weight <= heaviest_formula) {
    if (!formula.index && !formula.value) {
      const DType dtype = type.dtype;
      formula.value = [&l, s, x, &op, dtype](const Indices& at) {
        const Scalar value = convert(element(l, s, op, x, at), dtype);
        return compute_type(dtype) == dtype ? value : l.rounded(value, dtype);
      };
    }
    formula.weight = weight;
    l.know(result, std::move(formula));
  }
  c.add_result(result);
}

}  // namespace
}  // namespace lightline::ops::stablehlo

namespace lightline::ops {

void register_stablehlo(Registry& r) {
  register_stablehlo_scalars(r);
  register_stablehlo_shapes(r);
  register_stablehlo_contraction(r);
  register_stablehlo_reduction(r);
  register_stablehlo_indexing(r);
  register_stablehlo_loops(r);
  register_stablehlo_ordering(r);
  register_stablehlo_linear(r);
  register_stablehlo_householder(r);
  register_stablehlo_branches(r);
  register_stablehlo_ragged(r);
}

void register_stablehlo_scalars(Registry& r) {
  for (const stablehlo::ScalarOperator& op : stablehlo::scalar_operators())
    r.add(std::string(op.name), std::string(op.parameters), [&op](OpCall& c) { stablehlo::define_scalar(c, op); });
}

}  // namespace lightline::ops
