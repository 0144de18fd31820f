// Bodies of operators, run on scalars.
#include <fmt/format.h>

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

}  // namespace lightline::ops::stablehlo
