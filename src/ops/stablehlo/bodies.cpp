// Bodies of reductions, scatters and sorts: graphs of scalars.
#include <fmt/format.h>

#include <unordered_map>

#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using graph::ValueId;

bool changes_shape_only(std::string_view target) {
  return target == "stablehlo.reshape" || target == "stablehlo.broadcast_in_dim" || target == "stablehlo.transpose" ||
         target == "stablehlo.broadcast";
}

Scalar constant_scalar(Lowering& l, const graph::Node& node) {
  const auto* dtype = std::get_if<DType>(node_argument(node, "dtype"));
  const graph::Argument* value = node_argument(node, "value");
  if (!dtype || !value) fail("a constant has no value", ErrorCode::internal);
  if (const auto* reals = std::get_if<std::vector<double>>(value); reals && !reals->empty()) {
    if (*dtype == DType::c64) {
      const Scalar re = literal_of(l, DType::f32, (*reals)[0], 0), im = literal_of(l, DType::f32, (*reals)[1], 0);
      return l.call(Function::complex_, re, im);
    }
    return literal_of(l, *dtype, (*reals)[0], 0);
  }
  const auto* integers = std::get_if<std::vector<int64_t>>(value);
  if (!integers || integers->empty()) fail("a constant in the body of an operator is empty");
  return literal_of(l, *dtype, 0, (*integers)[0]);
}

const graph::Node* producer(const graph::Graph& body, ValueId id) {
  for (const graph::Node& node : body.nodes)
    for (const ValueId result : node.results)
      if (result == id) return &node;
  return nullptr;
}

std::string_view direction(const graph::Node& node) {
  const graph::Argument* value = node_argument(node, "comparison_direction");
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

// Whether `id` is `target` of exactly these operands, in either order if `commutes`.
bool is_call(const graph::Graph& body, ValueId id, std::string_view target, std::string_view compares, ValueId a,
             ValueId b) {
  const graph::Node* node = producer(body, id);
  if (!node || node->target != target || (!compares.empty() && direction(*node) != compares)) return false;
  const auto ids = operand_ids(*node);
  return ids.size() == 2 && ids[0] == a && ids[1] == b;
}

}  // namespace

Scalar literal_of(Lowering& l, DType dtype, double real, int64_t integer) {
  if (dtype == DType::boolean) return l.literal(Literal::of_bool(integer != 0));
  const Literal literal = is_integer(dtype) ? Literal::of(integer) : Literal::of(real);
  return {&l, l.literal(literal).id, compute_type(dtype), true};
}

Scalar evaluate(Lowering& l, const graph::Graph& body, std::vector<Scalar> inputs,
                const std::vector<SymbolicTensor>& captured, size_t wanted) {
  require(inputs.size() + captured.size() == body.inputs.size(), "the body takes other arguments than it is given");
  std::vector<std::optional<Scalar>> values(body.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs[i].value] = inputs[i];
  for (size_t i = 0; i < captured.size(); ++i) {
    require(captured[i].size() == 1, "the body of the operator uses a tensor that is not a scalar");
    const Indices first(captured[i].shape.size(), l.constant_index(0));
    values[body.inputs[inputs.size() + i].value] = l.read(captured[i], first);
  }
  const auto value_of = [&](ValueId id) -> Scalar {
    if (id == graph::no_value || !values[id]) fail("a value in the body of the operator is not defined");
    return *values[id];
  };
  for (const graph::Node& node : body.nodes) {
    require(node.results.size() == 1 && node.results[0] != graph::no_value,
            fmt::format("the body of the operator uses '{}'", node.target));
    std::vector<Scalar> arguments;
    for (const ValueId id : operand_ids(node)) arguments.push_back(value_of(id));
    std::optional<Scalar> result;
    if (node.target == "stablehlo.constant") {
      result = constant_scalar(l, node);
    } else if (changes_shape_only(node.target) && arguments.size() == 1) {
      result = arguments[0];
    } else if (const ScalarOperator* op = scalar_operator(node.target)) {
      const ScalarCall scalar = scalar_of(l, body, node);
      result = apply(*op, scalar, arguments);
      result = compute_type(scalar.result) == scalar.result ? convert(*result, scalar.result)
                                                            : l.rounded(*result, scalar.result);
    } else {
      fail(fmt::format("the body of the operator uses '{}'", node.target), ErrorCode::unsupported);
    }
    values[node.results[0]] = result;
  }
  require(wanted < body.outputs.size(), "the body of the operator gives too few results");
  return value_of(body.outputs[wanted].value);
}

std::optional<Reducer> plain_reducer(const graph::Graph& body) {
  if (body.inputs.size() != 2 || body.outputs.size() != 1) return std::nullopt;
  const ValueId result = body.outputs[0].value;
  if (result == body.inputs[1].value) return Reducer::set;
  const graph::Node* node = producer(body, result);
  if (!node || node_argument(*node, "unsigned")) {
    if (!node || (node->target != "stablehlo.add" && node->target != "stablehlo.multiply")) return std::nullopt;
  }
  const auto ids = operand_ids(*node);
  const ValueId a = body.inputs[0].value, b = body.inputs[1].value;
  if (ids.size() != 2 || !((ids[0] == a && ids[1] == b) || (ids[0] == b && ids[1] == a))) return std::nullopt;
  const auto& type = body.values[result].type;
  const bool boolean = type && type->dtype == DType::boolean, complex = type && type->dtype == DType::c64;
  if (node->target == "stablehlo.add") return boolean ? Reducer::any : Reducer::sum;
  if (node->target == "stablehlo.multiply") return boolean ? Reducer::all : Reducer::prod;
  if (complex) return std::nullopt;
  if (node->target == "stablehlo.maximum") return boolean ? Reducer::any : Reducer::max;
  if (node->target == "stablehlo.minimum") return boolean ? Reducer::all : Reducer::min;
  if (boolean && node->target == "stablehlo.and") return Reducer::all;
  if (boolean && node->target == "stablehlo.or") return Reducer::any;
  return std::nullopt;
}

// As JAX writes argmax: picked = a > b or a != a; taken = picked or (a == b and i < j).
KeptExtreme kept_extreme(const graph::Graph& body) {
  if (body.inputs.size() != 4 || body.outputs.size() != 2) return KeptExtreme::none;
  const ValueId a = body.inputs[0].value, i = body.inputs[1].value, b = body.inputs[2].value, j = body.inputs[3].value;
  const graph::Node *value = producer(body, body.outputs[0].value), *position = producer(body, body.outputs[1].value);
  if (!value || !position || value->target != "stablehlo.select" || position->target != "stablehlo.select")
    return KeptExtreme::none;
  const auto chosen = operand_ids(*value), placed = operand_ids(*position);
  if (chosen.size() != 3 || placed.size() != 3 || chosen[1] != a || chosen[2] != b || placed[1] != i || placed[2] != j)
    return KeptExtreme::none;
  const auto orders = [&](ValueId id, std::string_view compares) {
    return is_call(body, id, "stablehlo.compare", compares, a, b) && !node_argument(*producer(body, id), "unsigned");
  };
  const auto either = [&](ValueId id) -> std::optional<std::pair<ValueId, ValueId>> {
    const graph::Node* node = producer(body, id);
    const auto ids = node && node->target == "stablehlo.or" ? operand_ids(*node) : std::vector<ValueId>{};
    return ids.size() == 2 ? std::optional(std::pair(ids[0], ids[1])) : std::nullopt;
  };
  KeptExtreme pick = KeptExtreme::none;
  ValueId order = chosen[0];
  if (const auto parts = either(order)) {  // floats: NaN counts too
    if (!is_call(body, parts->second, "stablehlo.compare", "NE", a, a)) return KeptExtreme::none;
    order = parts->first;
  }
  if (orders(order, "GT")) pick = KeptExtreme::greatest;
  if (orders(order, "LT")) pick = KeptExtreme::least;
  const auto taken = either(placed[0]);
  if (!taken || taken->first != chosen[0]) return KeptExtreme::none;
  const graph::Node* tie = producer(body, taken->second);
  const auto ties = tie && tie->target == "stablehlo.and" ? operand_ids(*tie) : std::vector<ValueId>{};
  const bool first = ties.size() == 2 && is_call(body, ties[0], "stablehlo.compare", "EQ", a, b) &&
                     is_call(body, ties[1], "stablehlo.compare", "LT", i, j);
  return first ? pick : KeptExtreme::none;
}

}  // namespace lightline::ops::stablehlo
