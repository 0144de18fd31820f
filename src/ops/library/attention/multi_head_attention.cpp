// Multi-head attention with its projections, and the transformer encoder layer around it.
#include <fmt/format.h>

#include <cmath>

#include "ops/build/registry.h"
#include "ops/library/attention/attention.h"
#include "ops/library/contraction/contraction.h"
#include "ops/library/normalisation/normalisation.h"

namespace lightline::ops {
namespace {

std::optional<SymbolicTensor> part_of(Lowering& l, const std::optional<SymbolicTensor>& packed, int64_t first,
                                      int64_t count) {
  if (!packed) return std::nullopt;
  return l.slice(*packed, 0, first, count);
}

// Query, key and value through one packed weight [3 * features, features]. Inputs that are one tensor take one product.
std::vector<SymbolicTensor> project(Lowering& l, const std::vector<SymbolicTensor>& inputs,
                                    const SymbolicTensor& weight, const std::optional<SymbolicTensor>& bias) {
  const int64_t features = weight.shape[0] / 3;
  std::vector<SymbolicTensor> projected;
  for (size_t first = 0; first < 3;) {
    size_t end = first + 1;
    while (end < 3 && l.same_elements(inputs[end], inputs[first])) ++end;
    const int64_t count = int64_t(end - first) * features;
    const SymbolicTensor joint = linear(l, inputs[first], l.slice(weight, 0, int64_t(first) * features, count),
                                        part_of(l, bias, int64_t(first) * features, count));
    for (size_t i = first; i < end; ++i)
      projected.push_back(l.slice(joint, -1, int64_t(i - first) * features, features));
    first = end;
  }
  return projected;
}

// [batch, rows, features] as [batch, heads, rows, features / heads].
SymbolicTensor split_heads(Lowering& l, const SymbolicTensor& x, int64_t heads) {
  return l.permute(l.reshape(x, {x.shape[0], x.shape[1], heads, x.shape[2] / heads}), {0, 2, 1, 3});
}
SymbolicTensor join_heads(Lowering& l, const SymbolicTensor& x) {
  return l.reshape(l.permute(x, {0, 2, 1, 3}), {x.shape[0], x.shape[2], x.shape[1] * x.shape[3]});
}

SymbolicTensor mean_over_heads(Lowering& l, const SymbolicTensor& weights) {
  return mean_dims(l, weights.dtype, reduced_dims(weights.shape, {1}), false,
                   [&](const Indices& at) { return l.read(weights, at); });
}

void require_heads(int64_t features, int64_t heads) {
  if (heads <= 0 || features % heads != 0)
    fail(fmt::format("{} features do not divide into {} heads", features, heads));
}

// ---- aten._native_multi_head_attention ----

// The fused kernels' mask says where not to look: [rows, columns], [batch, columns], or [batch, heads, rows, columns].
std::optional<SymbolicTensor> kept_places(OpCall& c, const SymbolicTensor& query) {
  Lowering& l = c.lowering();
  auto mask = c.tensor_if("mask");
  if (!mask) return std::nullopt;
  constexpr int64_t padding_mask = 1;
  const bool by_batch = c.has("mask_type")
                            ? c.integer("mask_type") == padding_mask
                            : mask->rank() == 2 && mask->shape[0] == query.shape[0] && mask->shape[0] != query.shape[1];
  if (by_batch && mask->rank() == 2) mask = l.reshape(*mask, {mask->shape[0], 1, 1, mask->shape[1]});
  if (mask->dtype != DType::boolean) return mask;
  return l.map(DType::boolean, mask->shape, [&](const Indices& i) { return !l.read(*mask, i); });
}

struct HeadedAttention {
  AttentionInputs inputs;
  Attention attention;
  SymbolicTensor out;  // heads joined and projected
};

HeadedAttention native_attention(OpCall& c, const std::vector<SymbolicTensor>& inputs, int64_t heads) {
  Lowering& l = c.lowering();
  const SymbolicTensor weight = c.tensor("qkv_weight");
  for (const SymbolicTensor& input : inputs)
    require(input.rank() == 3, "multi-head attention needs inputs [batch, rows, features]");
  require(weight.rank() == 2 && weight.shape[0] % 3 == 0, "the packed weight has three parts");
  require_heads(weight.shape[0] / 3, heads);
  const std::vector<SymbolicTensor> projected = project(l, inputs, weight, c.tensor_if("qkv_bias"));
  HeadedAttention result;
  result.inputs = {split_heads(l, projected[0], heads), split_heads(l, projected[1], heads),
                   split_heads(l, projected[2], heads), kept_places(c, inputs[0])};
  result.inputs.scale = 1 / std::sqrt(double(weight.shape[0] / 3 / heads));
  result.inputs.zero_if_fully_masked = false;
  result.attention = attend(l, result.inputs);
  result.out = linear(l, join_heads(l, result.attention.out), c.tensor("proj_weight"), c.tensor_if("proj_bias"));
  return result;
}

void native_multi_head_attention(OpCall& c) {
  Lowering& l = c.lowering();
  const HeadedAttention result =
      native_attention(c, {c.tensor("query"), c.tensor("key"), c.tensor("value")}, c.integer("num_head"));
  c.add_result(result.out);
  if (!c.flag("need_weights", true)) return c.add_empty_result();
  const SymbolicTensor weights = attention_probabilities(l, result.out.dtype, result.inputs, result.attention);
  c.add_result(c.flag("average_attn_weights", true) ? mean_over_heads(l, weights) : weights);
}

// ---- aten._transformer_encoder_layer_fwd ----

SymbolicTensor layer_norm(OpCall& c, const SymbolicTensor& x, std::string_view weight, std::string_view bias) {
  Lowering& l = c.lowering();
  const ReducedDims dims = reduced_dims(x.shape, {-1});
  const Moments statistics = moments(l, x, dims);
  const SymbolicTensor scale = inverse_deviation(l, statistics.squares, double(dims.count()), c.number("eps", 1e-5));
  return normalised(l, x, x.dtype, {statistics.mean, scale, c.tensor_if(weight), c.tensor_if(bias)});
}

SymbolicTensor sum(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b) {
  return l.map(a.dtype, a.shape, [&](const Indices& i) { return l.read(a, i) + l.read(b, i); });
}

SymbolicTensor feed_forward(OpCall& c, const SymbolicTensor& x) {
  Lowering& l = c.lowering();
  const SymbolicTensor hidden = linear(l, x, c.tensor("ffn_weight_1"), c.tensor_if("ffn_bias_1"));
  const bool gelu = c.flag("use_gelu", false);
  const SymbolicTensor active = l.map(hidden.dtype, hidden.shape, [&](const Indices& i) {
    return gelu ? call(Function::gelu, l.read(hidden, i)) : max(l.read(hidden, i), 0.0);
  });
  return linear(l, active, c.tensor("ffn_weight_2"), c.tensor_if("ffn_bias_2"));
}

void transformer_encoder_layer(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor src = c.tensor("src");
  const bool norm_first = c.flag("norm_first", false);
  const SymbolicTensor attended = norm_first ? layer_norm(c, src, "norm_weight_1", "norm_bias_1") : src;
  SymbolicTensor x = sum(l, native_attention(c, {attended, attended, attended}, c.integer("num_heads")).out, src);
  if (!norm_first) x = layer_norm(c, x, "norm_weight_1", "norm_bias_1");
  const SymbolicTensor fed = norm_first ? layer_norm(c, x, "norm_weight_2", "norm_bias_2") : x;
  x = sum(l, feed_forward(c, fed), x);
  c.add_result(norm_first ? x : layer_norm(c, x, "norm_weight_2", "norm_bias_2"));
}

// ---- torch.nn.functional.multi_head_attention_forward ----

std::vector<SymbolicTensor> project_as_told(OpCall& c, const std::vector<SymbolicTensor>& inputs) {
  Lowering& l = c.lowering();
  const auto bias = c.tensor_if("in_proj_bias");
  if (!c.flag("use_separate_proj_weight", false)) return project(l, inputs, c.tensor("in_proj_weight"), bias);
  const int64_t features = inputs[0].shape.back();
  std::vector<SymbolicTensor> projected;
  for (const std::string_view weight : {"q_proj_weight", "k_proj_weight", "v_proj_weight"})
    projected.push_back(linear(l, inputs[projected.size()], c.tensor(weight),
                               part_of(l, bias, int64_t(projected.size()) * features, features)));
  return projected;
}

// One more row: `last`, or zeros.
SymbolicTensor with_row(Lowering& l, const SymbolicTensor& x, const std::optional<SymbolicTensor>& last) {
  Shape shape = x.shape;
  const int64_t rows = shape[1]++;
  const Literal zero = Literal::of(int64_t(0));
  return l.map(x.dtype, shape, [&](const Indices& i) {
    const Scalar inside = l.read(x, i, zero);
    return last
               ? select(value(i[1]) < double(rows), inside, l.read_broadcast(l.reshape(*last, {last->shape.back()}), i))
               : inside;
  });
}

// Joins the mask of the keys [batch, columns] and that of the scores; a mask that is true or -inf says where not to
// look.
std::optional<SymbolicTensor> joined_mask(OpCall& c, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                                          bool ignore_scores_mask) {
  Lowering& l = c.lowering();
  std::vector<SymbolicTensor> masks;
  if (auto mask = c.tensor_if("attn_mask"); mask && !ignore_scores_mask)
    masks.push_back(mask->rank() == 3
                        ? l.reshape(*mask, {mask->shape[0] == 1 ? 1 : batch, mask->shape[0] == 1 ? 1 : heads,
                                            mask->shape[1], mask->shape[2]})
                        : *mask);
  if (auto mask = c.tensor_if("key_padding_mask")) masks.push_back(l.reshape(*mask, {batch, 1, 1, mask->shape.back()}));
  if (masks.empty()) return std::nullopt;
  Shape shape;
  for (const SymbolicTensor& mask : masks) shape = broadcast(shape, mask.shape);
  require(shape.size() >= 2 && broadcast(shape, {batch, heads, rows, shape.back()}).size() == 4,
          "the masks do not fit the attention");
  shape.back() = columns;  // rows that were added are always seen
  return l.map(DType::f32, shape, [&](const Indices& i) {
    std::optional<Scalar> total;
    for (const SymbolicTensor& mask : masks) {
      Indices own(i.end() - mask.rank(), i.end());
      for (size_t d = 0; d + 1 < own.size(); ++d)
        if (mask.shape[d] == 1) own[d] = l.constant_index(0);
      const Scalar seen =
          mask.dtype == DType::boolean
              ? select(l.read(mask, own, Literal::of_bool(false)), -std::numeric_limits<double>::infinity(),
                       l.convert(l.literal(Literal::of(0.0)), DType::f32))
              : convert(l.read(mask, own, Literal::of(int64_t(0))), DType::f32);
      total = total ? *total + seen : seen;
    }
    return *total;
  });
}

void multi_head_attention_forward(OpCall& c) {
  Lowering& l = c.lowering();
  std::vector<SymbolicTensor> inputs{c.tensor("query"), c.tensor("key"), c.tensor("value")};
  const bool single = inputs[0].rank() == 2;
  // one view of one tensor stays one tensor, so that its projections are one product
  const std::vector<SymbolicTensor> given = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    require(inputs[i].rank() == (single ? 2 : 3), "multi-head attention needs inputs [rows, batch, features]");
    if (i > 0 && l.same_elements(given[i], given[i - 1]))
      inputs[i] = inputs[i - 1];
    else
      inputs[i] = single ? l.unsqueeze(inputs[i], 0) : l.transpose(inputs[i], 0, 1);
  }
  if (c.has("static_k") || c.has("static_v"))
    fail("multi-head attention with static keys is not supported", ErrorCode::unsupported);
  const int64_t heads = c.integer("num_heads"), batch = inputs[0].shape[0], rows = inputs[0].shape[1];
  require_heads(inputs[0].shape[2], heads);
  std::vector<SymbolicTensor> projected = project_as_told(c, inputs);
  if (c.has("bias_k"))
    projected[1] = with_row(l, projected[1], c.tensor_if("bias_k")),
    projected[2] = with_row(l, projected[2], c.tensor_if("bias_v"));
  if (c.flag("add_zero_attn", false))
    projected[1] = with_row(l, projected[1], {}), projected[2] = with_row(l, projected[2], {});
  const bool need_weights = c.flag("need_weights", true),
             causal = c.flag("is_causal", false) && !c.has("key_padding_mask") && !need_weights;
  AttentionInputs attention_inputs{split_heads(l, projected[0], heads), split_heads(l, projected[1], heads),
                                   split_heads(l, projected[2], heads),
                                   joined_mask(c, batch, heads, rows, projected[1].shape[1], causal), causal};
  attention_inputs.scale = 1 / std::sqrt(double(attention_inputs.query.shape.back()));
  attention_inputs.dropout = c.flag("training", true) ? c.number("dropout_p", 0) : 0;
  attention_inputs.zero_if_fully_masked = !need_weights;
  const Attention attention = attend(l, attention_inputs);
  const SymbolicTensor joined = join_heads(l, attention.out);
  const SymbolicTensor out = linear(l, single ? l.squeeze(joined, 0) : l.transpose(joined, 0, 1),
                                    c.tensor("out_proj_weight"), c.tensor_if("out_proj_bias"));
  c.add_result(out);
  if (!need_weights) return c.add_empty_result();
  SymbolicTensor weights = attention_probabilities(l, out.dtype, attention_inputs, attention);
  if (c.flag("average_attn_weights", true)) weights = mean_over_heads(l, weights);
  c.add_result(single ? l.squeeze(weights, 0) : weights);
}

}  // namespace

void register_multi_head_attention(Registry& r) {
  r.add("_native_multi_head_attention",
        "query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights, "
        "average_attn_weights, mask_type",
        native_multi_head_attention);
  r.add("_transformer_encoder_layer_fwd",
        "src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, "
        "norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, "
        "ffn_bias_2, mask, mask_type",
        transformer_encoder_layer);
  r.add("multi_head_attention_forward",
        "query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, "
        "add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training, key_padding_mask, need_weights, "
        "attn_mask, use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v, "
        "average_attn_weights, is_causal",
        multi_head_attention_forward);
}

}  // namespace lightline::ops
