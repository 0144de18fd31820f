// Tensors made of nothing, or of the size and dtype of another.
#include <algorithm>
#include <cmath>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// sized(size) is f32; sized(size, self) has the dtype of that tensor.
Types sized(const TypeCall& call) {
  const DType dtype = call.words.size() > 1 ? call.tensor(call.words[1]).dtype : DType::f32;
  const bool of_integers = call.op().name.starts_with("randint");
  return {{of_integers ? DType::i64 : dtype, call.integers(call.words.at(0))}};
}

Types counted(const TypeCall& call) { return {{DType::i64, {call.integer(call.words.at(0))}}}; }

bool is_real(const TypeCall& call, std::string_view name) {
  const auto operand = call.operand_if(name);
  return operand && !operand->tensor && operand->number == Category::floating;
}

Types arange(const TypeCall& call) {
  const double start = call.real("start", 0), end = call.real("end", 0), step = call.real("step", 1);
  expect(step != 0 && (end - start) / step >= 0, "the steps of arange lead away from its end");
  const bool floating = is_real(call, "start") || is_real(call, "end") || is_real(call, "step");
  const DType own = floating ? DType::f32 : DType::i64;
  return {{call.dtype().value_or(own), {int64_t(std::ceil((end - start) / step))}}};
}

Types spaced(const TypeCall& call) { return {{call.dtype().value_or(DType::f32), {call.integer("steps")}}}; }

Types window(const TypeCall& call) { return {{call.dtype().value_or(DType::f32), {call.integer("window_length")}}}; }

Types eye(const TypeCall& call) {
  const int64_t rows = call.integer("n");
  return {{call.dtype().value_or(DType::f32), {rows, call.integer("m", rows)}}};
}

Types full(const TypeCall& call) {
  const char* value = call.argument("fill_value") ? "fill_value" : "s";
  const auto operand = call.operand_if(value);
  DType dtype = operand ? operand->tensor ? operand->tensor->dtype : default_dtype(operand->number) : DType::f32;
  if (call.op().name == "scalar_tensor") dtype = DType::f32;
  return {{call.dtype().value_or(dtype), call.integers("size")}};
}

Types one_hot(const TypeCall& call) {
  Shape shape = call.tensor("self").shape;
  const int64_t classes = call.integer("num_classes", -1);
  if (classes < 0) {
    if (const TensorType* type = call.recorded(0)) return {*type};
    refuse("how many classes there are depends on data", ErrorCode::unsupported);
  }
  shape.push_back(classes);
  return {{DType::i64, std::move(shape)}};
}

Types triangle_indices(const TypeCall& call) {
  const int64_t rows = call.integer("row"), columns = call.integer("col"), offset = call.integer("offset", 0);
  const bool lower = call.op().name == "tril_indices";
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t below = std::clamp<int64_t>(i + offset + (lower ? 1 : 0), 0, columns);
    count += lower ? below : columns - below;
  }
  return {{call.dtype().value_or(DType::i64), {2, count}}};
}

Types multinomial(const TypeCall& call) {
  Shape shape = call.tensor("self").shape;
  shape.back() = call.integer("num_samples");
  return {{DType::i64, std::move(shape)}};
}

Types normal(const TypeCall& call) {
  if (call.has("size")) return {{call.dtype().value_or(DType::f32), call.integers("size")}};
  TensorType type{DType::f32, {}};
  bool first = true;
  for (const char* name : {"mean", "std"}) {
    const TensorType* one = call.tensor_if(name);
    if (!one) continue;
    if (first) type.dtype = one->dtype;
    first = false;
    type.shape = joined_shape(type.shape, one->shape);
  }
  return {type};
}

Types vander(const TypeCall& call) {
  const TensorType& x = call.tensor("x");
  Shape shape = x.shape;
  shape.push_back(call.integer("N", x.shape.back()));
  return {{x.dtype, std::move(shape)}};
}

}  // namespace

void add_creation_rules(TypeRules& rules) {
  rules.insert({{"sized", sized},
                {"counted", counted},
                {"arange", arange},
                {"spaced", spaced},
                {"window", window},
                {"eye", eye},
                {"full", full},
                {"one_hot", one_hot},
                {"triangle_indices", triangle_indices},
                {"multinomial", multinomial},
                {"normal", normal},
                {"vander", vander}});
}

}  // namespace lightline::graph
