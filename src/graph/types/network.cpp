// Parts of networks: attention, norms, losses, recurrent cells, quantisation; and matrices that are factored.
#include <algorithm>

#include "graph/type_rules.h"

namespace lightline::graph {
namespace {

using Types = std::vector<TensorType>;

// ---- attention ----

TensorType attended(const TypeCall& call) {
  const TensorType &query = call.tensor("query"), &value = call.tensor("value");
  expect(query.shape.size() >= 2 && value.shape.size() >= 2, "attention is over rows");
  const Shape& key = call.tensor("key").shape;
  const auto batch = [](const Shape& shape, size_t inner) {
    return Shape(shape.begin(), shape.end() - int64_t(std::min(shape.size(), inner)));
  };
  // groups of query heads may share a head of keys
  const bool grouped = call.flag("enable_gqa") && query.shape.size() > 2 && key.size() > 2;
  Shape shape = grouped ? batch(query.shape, 2) : joined_shape(batch(query.shape, 2), batch(key, 2));
  shape.push_back(query.shape[query.shape.size() - 2]);
  shape.push_back(value.shape.back());
  return {query.dtype, std::move(shape)};
}

Types attention(const TypeCall& call) { return {attended(call)}; }

Types attention_weights(const TypeCall& call) {
  TensorType type = call.tensor("query");
  const Shape& key = call.tensor("key").shape;
  type.shape.back() = key.at(key.size() - 2);
  return {type};
}

// What follows the result (logarithms of sums, seeds) is as the source has it; without, only the result.
Types flash_attention(const TypeCall& call) {
  Types types = {attended(call)};
  for (size_t i = 1; i < call.result_count(); ++i)
    if (const TensorType* type = call.recorded(i)) {
      types.push_back(*type);
    } else {
      Shape rows = types[0].shape;
      rows.pop_back();
      types.push_back({DType::f32, std::move(rows)});
    }
  return types;
}

Types multi_head_weights(const TypeCall& call) {
  if (call.result_count() < 2) return {};
  if (const TensorType* type = call.recorded(1)) return {*type};
  if (!call.flag("need_weights", true)) return {};
  const TensorType &query = call.tensor("query"), &key = call.tensor("key");
  const bool batched = query.shape.size() == 3;  // rows, batch, features
  Shape shape = batched ? Shape{query.shape[1], query.shape[0], key.shape[0]} : Shape{query.shape[0], key.shape[0]};
  if (!call.flag("average_attn_weights", true)) shape.insert(shape.end() - 2, call.integer("num_heads"));
  return {{query.dtype, std::move(shape)}};
}

// ---- norms ----

DType statistics_dtype(const TypeCall& call, DType dtype) {
  for (size_t i = 1; i < call.result_count(); ++i)
    if (const TensorType* type = call.recorded(i)) return type->dtype;
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

Types layer_norm(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const size_t count = call.integers("normalized_shape").size();
  expect(count <= input.shape.size(), "layer_norm has more sizes than there are dimensions");
  Shape rows = input.shape;
  std::fill(rows.end() - int64_t(count), rows.end(), 1);
  if (const TensorType* type = call.recorded(1)) rows = type->shape;
  const TensorType statistics{statistics_dtype(call, input.dtype), rows};
  return {input, statistics, statistics};
}

Types layer_norm_backward(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType affine{input.dtype, call.integers("normalized_shape")};
  const TensorType *weight = call.tensor_if("weight"), *bias = call.tensor_if("bias");
  return {input, weight ? *weight : affine, bias ? *bias : affine};
}

Types rms_norm(const TypeCall& call) {
  Types types = layer_norm(call);
  types.pop_back();
  return types;
}

Types channel_statistics(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType statistics{statistics_dtype(call, input.dtype), {input.shape.at(1)}};
  return {statistics, statistics};
}

// The result, and the statistics that the backward pass reads: none outside of training, unless the source says so.
Types batch_norm(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  Types types = {input};
  const bool training = call.op().name.find("no_training") == std::string_view::npos &&
                        call.op().name.find("no_update") == std::string_view::npos && call.flag("training", true);
  for (size_t i = 1; i < std::max<size_t>(call.result_count(), 3); ++i) {
    const TensorType* type = call.recorded(i);
    types.push_back(type ? *type : TensorType{statistics_dtype(call, input.dtype), {training ? input.shape.at(1) : 0}});
  }
  return types;
}

Types norm_backward(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType* weight = call.tensor_if("weight");
  const TensorType channels = weight ? *weight : TensorType{input.dtype, {input.shape.at(1)}};
  return {input, channels, channels};
}

Types group_norm(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType statistics{statistics_dtype(call, input.dtype), {call.integer("N"), call.integer("group")}};
  return {input, statistics, statistics};
}

Types group_norm_backward(const TypeCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType* weight = call.tensor_if("weight");
  const TensorType channels = weight ? *weight : TensorType{input.dtype, {call.integer("C")}};
  return {input, channels, channels};
}

Types weight_norm(const TypeCall& call) {
  const TensorType &v = call.tensor("v"), &g = call.tensor("g");
  return {v, {statistics_dtype(call, v.dtype), g.shape}};
}

Types norm_except_dim(const TypeCall& call) {
  TensorType type = call.tensor("v");
  const int64_t dim = call.integer("dim", 0);
  if (dim == -1) return {{type.dtype, {}}};
  std::vector<bool> chosen(type.shape.size(), true);
  chosen[size_t(wrapped(dim, type.shape.size()))] = false;
  type.shape = reduced_shape(type.shape, chosen, true);
  return {type};
}

// ---- losses ----

// What a loss is per sample or per element before it is averaged or added up.
Shape unreduced(const TypeCall& call) {
  const std::string_view name = call.op().name;
  if (name.starts_with("nll_loss") || name.starts_with("cross_entropy")) {
    Shape shape = call.tensor("self").shape;
    if (!shape.empty()) shape.erase(shape.size() == 1 ? shape.begin() : shape.begin() + 1);
    return shape;
  }
  if (name.starts_with("ctc_loss")) {
    const Shape& rows = call.tensor("log_probs").shape;
    return rows.size() == 3 ? Shape{rows[1]} : Shape{};
  }
  if (name.starts_with("multi_margin") || name.starts_with("multilabel_margin")) {
    const Shape& shape = call.tensor("self").shape;
    return shape.size() > 1 ? Shape{shape[0]} : Shape{};
  }
  if (name.starts_with("cosine_embedding") || name.starts_with("triplet")) {
    Shape rows = call.tensor(name.starts_with("triplet") ? "anchor" : "input1").shape;
    if (!rows.empty()) rows.pop_back();
    return rows;
  }
  Shape shape;
  for (const TypedOperand& operand : call.operands())
    if (operand.tensor && !(name.starts_with("binary_cross_entropy") && operand.tensor->shape.empty()))
      shape = joined_shape(shape, operand.tensor->shape);
  return shape;
}

Types loss(const TypeCall& call) {
  const std::string_view name = call.op().name;
  const auto recorded_rest = [&](Types types) {
    for (size_t i = 1; i < call.result_count(); ++i) {
      const TensorType* type = call.recorded(i);
      types.push_back(type ? *type : TensorType{types[0].dtype, {}});
    }
    return types;
  };
  DType dtype = promoted(call.operands());
  if (name.starts_with("nll_loss") || name.starts_with("cross_entropy") || name.starts_with("multi"))
    dtype = call.tensor("self").dtype;
  if (name.starts_with("margin_ranking") || name.starts_with("poisson") || name.starts_with("cosine") ||
      name.starts_with("triplet"))
    dtype = floating_type(dtype);
  if (name == "l1_loss" && dtype == DType::c64) dtype = DType::f32;
  if (name.starts_with("ctc_loss")) dtype = call.tensor("log_probs").dtype;
  const std::string_view word = call.text("reduction");
  const bool none = word.empty() ? call.integer("reduction", 1) == 0 : word == "none";
  const bool own = name == "ctc_loss" && call.result_count() > 1;  // the part without a reduction
  return recorded_rest({{dtype, none || own ? unreduced(call) : Shape{}}});
}

// ---- recurrent ----

Types recurrent(const TypeCall& call) {
  Types types;
  for (size_t i = 0; i < call.result_count(); ++i)
    if (const TensorType* type = call.recorded(i)) types.push_back(*type);
  if (!types.empty() && types.size() == call.result_count()) return types;
  const TensorType& input = call.tensor("input");
  const Types states = call.argument("hx") ? call.tensors("hx") : Types{};
  expect(!states.empty(), "the initial state is missing");
  const int64_t directions = call.flag("bidirectional") ? 2 : 1;
  types = {input};
  const int64_t hidden = states[0].shape.back();
  types[0].shape.back() = directions * hidden;
  for (const TensorType& state : states) types.push_back(state);
  return types;
}

Types cell(const TypeCall& call) {
  Types types;
  for (size_t i = 0; i < call.result_count(); ++i)
    if (const TensorType* type = call.recorded(i)) types.push_back(*type);
  if (!types.empty() && types.size() == call.result_count()) return types;
  const Types states = call.tensors(call.argument("hx") ? "hx" : "cx");
  expect(!states.empty(), "the state is missing");
  return states;
}

// ---- quantised ----

Types dequantized(const TypeCall& call) {
  TensorType type = call.tensor("input");
  type.dtype = call.dtype("out_dtype").value_or(call.dtype("output_dtype").value_or(DType::f32));
  return {type};
}

Types qparams(const TypeCall&) { return {{DType::f64, {1}}, {DType::i64, {1}}}; }

Types token_qparams(const TypeCall& call) {
  Shape shape = call.tensor("input").shape;
  if (!shape.empty()) shape.back() = 1;
  if (call.recorded(0) && call.recorded(1)) return {*call.recorded(0), *call.recorded(1)};
  return {{DType::f64, shape}, {DType::i64, shape}};
}

// ---- matrices ----

Types batch_of(const TypeCall& call) {
  TensorType type = call.tensor(call.words.at(0));
  expect(type.shape.size() >= 2, "a matrix has two dimensions");
  type.shape.resize(type.shape.size() - 2);
  return {type};
}

// Zero for every matrix that could be factored.
Types info(const TypeCall& call) {
  Shape shape = call.first().shape;
  expect(shape.size() >= 2, "a matrix has two dimensions");
  shape.resize(shape.size() - 2);
  return {{DType::i32, std::move(shape)}};
}

TensorType matrix_of(const TypeCall& call) { return call.first(); }

// The factors that PyTorch gives with a determinant.
Types determinant_parts(const TypeCall& call) {
  const TensorType matrix = matrix_of(call);
  expect(matrix.shape.size() >= 2, "a matrix has two dimensions");
  Shape batch(matrix.shape.begin(), matrix.shape.end() - 2), pivots(matrix.shape.begin(), matrix.shape.end() - 1);
  Types types = {{matrix.dtype, batch}};
  if (call.op().name.find("slogdet") != std::string_view::npos)
    types.push_back({matrix.dtype == DType::c64 ? DType::f32 : matrix.dtype, batch});
  if (call.op().name.starts_with('_')) {
    types.push_back(matrix);
    types.push_back({DType::i32, pivots});
  }
  return types;
}

Types lu(const TypeCall& call) {
  Types types;
  for (size_t i = 0; i < call.result_count(); ++i) {
    const TensorType* type = call.recorded(i);
    if (!type) refuse("the factors' types are not known here", ErrorCode::unsupported);
    types.push_back(*type);
  }
  return types;
}

Types solved(const TypeCall& call) {
  const TensorType &a = call.tensor("A"), &b = call.tensor("B");
  const bool vector = b.shape.size() == 1 || (b.shape.size() == a.shape.size() - 1 &&
                                              std::equal(b.shape.begin(), b.shape.end(), a.shape.begin()));
  Shape shape = b.shape;
  if (!vector) {
    shape = joined_shape(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
    shape.insert(shape.end(), b.shape.end() - 2, b.shape.end());
  } else if (b.shape.size() == 1) {
    shape = Shape(a.shape.begin(), a.shape.end() - 1);
  }
  Types types = {{b.dtype, std::move(shape)}};
  for (size_t i = 1; i < call.result_count(); ++i)
    if (const TensorType* type = call.recorded(i)) types.push_back(*type);
  return types;
}

Types triangular_solved(const TypeCall& call) {
  const TensorType &a = call.tensor("self"), &b = call.tensor("B");
  Shape shape = joined_shape(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  shape.insert(shape.end(), b.shape.end() - 2, b.shape.end());
  return {{b.dtype, std::move(shape)}};
}

Types covariance(const TypeCall& call) {
  const TensorType& self = call.tensor("self");
  const DType dtype = floating_type(self.dtype);
  if (self.shape.size() < 2) return {{dtype, {}}};
  return {{dtype, {self.shape[0], self.shape[0]}}};
}

Types nothing(const TypeCall&) { return {}; }

}  // namespace

void add_network_rules(TypeRules& rules) {
  rules.insert({{"attention", attention},
                {"attention_weights", attention_weights},
                {"flash_attention", flash_attention},
                {"multi_head_weights", multi_head_weights},
                {"layer_norm", layer_norm},
                {"rms_norm", rms_norm},
                {"layer_norm_backward", layer_norm_backward},
                {"channel_statistics", channel_statistics},
                {"batch_norm", batch_norm},
                {"norm_backward", norm_backward},
                {"group_norm", group_norm},
                {"group_norm_backward", group_norm_backward},
                {"weight_norm", weight_norm},
                {"norm_except_dim", norm_except_dim},
                {"loss", loss},
                {"recurrent", recurrent},
                {"cell", cell},
                {"dequantized", dequantized},
                {"qparams", qparams},
                {"token_qparams", token_qparams},
                {"batch_of", batch_of},
                {"info", info},
                {"determinant_parts", determinant_parts},
                {"lu", lu},
                {"solved", solved},
                {"triangular_solved", triangular_solved},
                {"covariance", covariance},
                {"none", nothing}});
}

}  // namespace lightline::graph
