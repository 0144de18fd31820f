// Dimensions that go, or become 1.
#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

TensorType reduced_type(const TypeCall& call) {
  TensorType type = call.first();
  const std::vector<int64_t> dims = call.integers("dim");
  // an empty list is all dimensions to sums, and none to all and any
  const bool none = dims.empty() && call.has("dim") && (call.op().name == "all" || call.op().name == "any");
  if (!none) type.shape = reduced_shape(type.shape, chosen_dims(dims, type.shape.size()), call.flag("keepdim"));
  return type;
}

Types reduced(const TypeCall& call) { return {reduced_type(call)}; }

// max(x) is one number, max(x, dim) the values and their places.
Types extreme(const TypeCall& call) {
  TensorType type = reduced_type(call);
  if (!call.has("dim")) return {type};
  return {type, {DType::i64, type.shape}};
}

DType real_part(DType dtype) { return dtype == DType::c64 ? DType::f32 : dtype; }

Types norm(const TypeCall& call) {
  TensorType type = call.first();
  std::vector<int64_t> dims = call.integers("dim");
  type.shape = reduced_shape(type.shape, chosen_dims(dims, type.shape.size()), call.flag("keepdim"));
  type.dtype = real_part(floating_type(call.dtype().value_or(type.dtype)));
  return {type};
}

Types variance(const TypeCall& call) {
  TensorType type = reduced_type(call);
  type.dtype = real_part(type.dtype);
  return {type};
}

Types quantile(const TypeCall& call) {
  TensorType type = reduced_type(call);
  if (const TensorType* q = call.tensor_if("q"))
    type.shape.insert(type.shape.begin(), q->shape.begin(), q->shape.end());
  return {type};
}

Types top(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t dim = wrapped(call.integer("dim", -1), type.shape.size());
  if (!type.shape.empty()) type.shape[size_t(dim)] = call.integer("k");
  return {type};
}

Types distance(const TypeCall& call) { return {{promoted(call.operands({"self", "other"})), {}}}; }

// Sums of trapezoids, and differences: one less along the dimension for every step.
Types accumulated(const TypeCall& call) {
  TensorType type = call.first();
  const size_t dim = size_t(wrapped(call.integer("dim", -1), type.shape.size()));
  if (call.op().name == "trapezoid")
    type.shape.erase(type.shape.begin() + int64_t(dim));
  else if (call.op().name == "diff") {
    for (const char* more : {"prepend", "append"})
      if (const TensorType* part = call.tensor_if(more)) type.shape[dim] += part->shape.empty() ? 1 : part->shape[dim];
    type.shape[dim] = std::max<int64_t>(type.shape[dim] - call.integer("n", 1), 0);
  } else {
    --type.shape[dim];
  }
  return {type};
}

Types softened(const TypeCall& call) {
  TensorType type = call.tensor("self");
  if (call.flag("half_to_float")) type.dtype = DType::f32;
  return {type};
}

Types gradient_dtype(const TypeCall& call) {
  return {{call.dtype("input_dtype").value_or(call.tensor("grad_output").dtype), call.tensor("grad_output").shape}};
}

Types counted_by_data(const TypeCall& call) {
  Types types;
  for (size_t i = 0; i < call.result_count(); ++i) {
    if (const TensorType* type = call.recorded(i))
      types.push_back(*type);
    else
      refuse("how many elements there are depends on data", ErrorCode::unsupported);
  }
  return types;
}

}  // namespace

void add_reduction_rules(TypeRules& rules) {
  rules.insert({{"reduced", reduced},
                {"extreme", extreme},
                {"norm", norm},
                {"variance", variance},
                {"quantile", quantile},
                {"top", top},
                {"distance", distance},
                {"accumulated", accumulated},
                {"softened", softened},
                {"gradient_dtype", gradient_dtype},
                {"counted_by_data", counted_by_data}});
}

}  // namespace lightline::graph
