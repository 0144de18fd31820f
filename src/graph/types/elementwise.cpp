// Element by element: shapes that are broadcast, dtypes that are promoted.
#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

TensorType joined_type(const std::vector<TypedOperand>& operands) {
  TensorType type{promoted(operands), {}};
  for (const TypedOperand& operand : operands)
    if (operand.tensor) type.shape = joined_shape(type.shape, operand.tensor->shape);
  return type;
}

Types joined(const TypeCall& call) {
  return {joined_type(call.words.empty() ? call.operands() : call.operands(call.words))};
}

// Division gives floats, unless it is told to round.
Types quotient(const TypeCall& call) {
  TensorType type = joined_type(call.operands());
  if (!call.has("rounding_mode")) type.dtype = floating_type(type.dtype);
  return {type};
}

Types float_power(const TypeCall& call) {
  TensorType type = joined_type(call.operands());
  type.dtype = type.dtype == DType::c64 ? DType::c64 : DType::f64;
  return {type};
}

Types clamped(const TypeCall& call) { return {joined_type(call.operands({"self", "min", "max"}))}; }

Types where(const TypeCall& call) {
  TensorType type = joined_type(call.operands({"self", "other"}));
  type.shape = joined_shape(type.shape, call.tensor("condition").shape);
  return {type};
}

Types angle(const TypeCall& call) {
  TensorType type = call.tensor("self");
  type.dtype = type.dtype == DType::c64 ? DType::f32 : floating_type(type.dtype);
  return {type};
}

Types halved(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const size_t dim = size_t(wrapped(call.integer("dim", -1), type.shape.size()));
  expect(!type.shape.empty() && type.shape[dim] % 2 == 0, "glu halves a dimension of even size");
  type.shape[dim] /= 2;
  return {type};
}

// A number of Python's own.
Types scalar_of(const TypeCall& call) {
  const DType dtype = call.tensor("self").dtype;
  return {{is_float(dtype) ? DType::f64 : is_integer(dtype) ? DType::i64 : dtype, {}}};
}

// Its own dtype, whatever is put in where the mask holds.
Types masked(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  return {{self.dtype, joined_shape(self.shape, call.tensor("mask").shape)}};
}

Types complex_view(const TypeCall& call) {
  TensorType type = call.tensor("self");
  expect(!type.shape.empty() && type.shape.back() == 2, "the last dimension of the parts of complex numbers is 2");
  type.shape.pop_back();
  return {{DType::c64, type.shape}};
}

Types real_view(const TypeCall& call) {
  Shape shape = call.tensor("self").shape;
  shape.push_back(2);
  return {{DType::f32, shape}};
}

// What the backward pass may reuse; empty where it is computed again.
Types log_sigmoid_buffer(const TypeCall& call) {
  if (const TensorType* type = call.recorded(1)) return {*type};
  return {call.tensor("self")};
}

Types symbol(const TypeCall&) { return {{DType::i64, {}}}; }

}  // namespace

void add_elementwise_rules(TypeRules& rules) {
  rules.insert({{"joined", joined},
                {"quotient", quotient},
                {"float_power", float_power},
                {"clamped", clamped},
                {"where", where},
                {"angle", angle},
                {"halved", halved},
                {"scalar_of", scalar_of},
                {"masked", masked},
                {"complex_view", complex_view},
                {"real_view", real_view},
                {"log_sigmoid_buffer", log_sigmoid_buffer},
                {"symbol", symbol}});
}

}  // namespace lightline::graph
