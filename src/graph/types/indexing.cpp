// Elements that data pick.
#include <algorithm>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

Types embedding(const TypeCall& call) {
  const TensorType &weight = call.tensor("weight"), &indices = call.tensor("indices");
  Shape shape = indices.shape;
  shape.insert(shape.end(), weight.shape.begin() + 1, weight.shape.end());
  return {{weight.dtype, std::move(shape)}};
}

Types embedding_gradient(const TypeCall& call) {
  const bool plain = call.tensor_if("grad") != nullptr;
  const TensorType& gradient = call.tensor(plain ? "grad" : "grad_output");
  return {{gradient.dtype, {call.integer("num_weights"), gradient.shape.back()}}};
}

Types embedding_bag(const TypeCall& call) {
  const TensorType &weight = call.tensor("weight"), &indices = call.tensor("indices"),
                   &offsets = call.tensor("offsets");
  const int64_t bags = offsets.shape.at(0) - (call.flag("include_last_offset") ? 1 : 0);
  Types types = {{weight.dtype, {bags, weight.shape.at(1)}}};
  for (size_t i = 1; i < 4; ++i)
    if (const TensorType* type = call.recorded(i))
      types.push_back(*type);
    else
      types.push_back({indices.dtype, {i == 1 ? indices.shape.at(0) : bags}});
  return types;
}

// x[i, :, j]: where the indices stand together, their shape stands there; else in front.
Shape indexed_shape(const Shape& from, const std::vector<const TensorType*>& indices) {
  Shape joined;
  std::vector<bool> picked(from.size(), false);
  size_t dim = 0, first = from.size(), last = 0;
  for (const TensorType* index : indices) {
    if (!index) {
      ++dim;
      continue;
    }
    if (index->dtype == DType::boolean || index->dtype == DType::u8)
      refuse("how many elements a mask picks depends on data", ErrorCode::unsupported);
    expect(dim < from.size(), "there are more indices than dimensions");
    joined = joined_shape(joined, index->shape);
    picked[dim] = true;
    first = std::min(first, dim);
    last = dim++;
  }
  bool together = true;
  for (size_t i = first; i <= last && i < from.size(); ++i) together &= picked[i];
  Shape shape;
  if (!together) shape = joined;
  for (size_t i = 0; i < from.size(); ++i) {
    if (together && i == first) shape.insert(shape.end(), joined.begin(), joined.end());
    if (!picked[i]) shape.push_back(from[i]);
  }
  return shape;
}

Types indexed(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  const std::vector<const TensorType*> indices = call.optional_tensors("indices");
  const bool masked = std::ranges::any_of(
      indices, [](const TensorType* one) { return one && (one->dtype == DType::boolean || one->dtype == DType::u8); });
  if (masked)
    if (const TensorType* type = call.recorded(0)) return {*type};
  return {{self.dtype, indexed_shape(self.shape, indices)}};
}

Types gathered(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  if (call.tensor_if("index")) return {{self.dtype, call.tensor("index").shape}};
  Shape shape = call.tensor("indices").shape;
  if (!call.has("dim")) return {{self.dtype, {element_count_of(shape)}}};
  const size_t dim = size_t(wrapped(call.integer("dim"), self.shape.size()));
  Shape others = self.shape;
  others[dim] = 1;
  Shape own = shape;
  own[dim] = 1;
  others = joined_shape(others, own);
  others[dim] = shape[dim];
  return {{self.dtype, std::move(others)}};
}

Types index_select(const TypeCall& call) {
  TensorType type = call.tensor("self");
  const int64_t count = element_count_of(call.tensor("index").shape);
  if (!type.shape.empty()) type.shape[size_t(wrapped(call.integer("dim"), type.shape.size()))] = count;
  return {type};
}

Types taken(const TypeCall& call) { return {{call.tensor("self").dtype, call.tensor("index").shape}}; }

Types buckets(const TypeCall& call) {
  const auto operand = call.operand_if("self");
  const DType dtype = call.flag("out_int32") ? DType::i32 : DType::i64;
  return {{dtype, operand && operand->tensor ? operand->tensor->shape : Shape{}}};
}

Types isin(const TypeCall& call) {
  const auto operand = call.operand_if("elements");
  return {{DType::boolean, operand && operand->tensor ? operand->tensor->shape : Shape{}}};
}

Types histogram(const TypeCall& call) {
  const DType dtype = call.tensor("self").dtype;
  if (call.op().name == "histc") return {{dtype, {call.integer("bins", 100)}}};
  const TensorType* edges = call.tensor_if("bins");
  const int64_t bins = edges ? edges->shape.at(0) - 1 : call.integer("bins", 100);
  return {{dtype, {bins}}, {dtype, {bins + 1}}};
}

Types bincount(const TypeCall& call) {
  if (const TensorType* type = call.recorded(0)) return {*type};
  refuse("how many bins there are depends on data", ErrorCode::unsupported);
}

Types nonzero_static(const TypeCall& call) {
  return {{DType::i64, {call.integer("size"), int64_t(call.tensor("self").shape.size())}}};
}

}  // namespace

void add_indexing_rules(TypeRules& rules) {
  rules.insert({{"embedding", embedding},
                {"embedding_gradient", embedding_gradient},
                {"embedding_bag", embedding_bag},
                {"indexed", indexed},
                {"masked_index", indexed},
                {"gathered", gathered},
                {"index_select", index_select},
                {"taken", taken},
                {"buckets", buckets},
                {"isin", isin},
                {"histogram", histogram},
                {"bincount", bincount},
                {"nonzero_static", nonzero_static}});
}

}  // namespace lightline::graph
