// Gradients of softmax attention, from the log-sum-exp that the forward kernel kept.
#include "ops/build/registry.h"
#include "ops/library/attention/attention.h"
#include "ops/library/contraction/contraction.h"

namespace lightline::ops {
namespace {

struct Gradients {
  Lowering& l;
  const AttentionInputs& inputs;
  AttentionLoops loops;
  SymbolicTensor grad_out;
  SymbolicTensor probabilities;  // [loops..., rows, columns]
  SymbolicTensor logits;         // the gradient of the logits, [loops..., rows, columns]

  Gradients(OpCall& c, const AttentionInputs& attention)
      : l(c.lowering()),
        inputs(attention),
        loops(attention),
        grad_out(c.tensor(c.has("grad_out_") ? "grad_out_" : "grad_out")) {
    const DType compute = compute_type(inputs.query.dtype);
    const SymbolicTensor out = c.tensor("out"), row_logs = c.tensor("logsumexp"),
                         scores = attention_logits(l, inputs, loops);
    const size_t n = loops.count();
    const auto at_row = [&](const Indices& i) {
      Indices at = extended(loops.query_side(i), {i[n]});
      if (row_logs.rank() > int64_t(at.size())) at.push_back(l.constant_index(0));
      return at;
    };
    // PyTorch's own decomposition of the CPU kernel keeps the probabilities in place of the log-sum-exp.
    const bool kept_probabilities =
        row_logs.rank() == inputs.query.rank() && row_logs.shape.back() == loops.columns && loops.columns != 1;
    if (kept_probabilities)
      probabilities = l.map(compute, scores.shape, [&](const Indices& i) {
        return convert(l.read(row_logs, extended(loops.query_side(i), {i[n], i[n + 1]})), compute);
      });
    else
      probabilities = l.map(compute, scores.shape, [&](const Indices& i) {
        return call(Function::exp, l.read(scores, i) - convert(l.read(row_logs, at_row(i)), compute));
      });
    const SymbolicTensor of_probabilities =
        l.reduce(compute, scores.shape, Reducer::sum, {loops.value_features}, [&](const Indices& i, const Indices& d) {
          return l.read(grad_out, extended(loops.query_side(i), {i[n], d[0]})) *
                 l.read(inputs.value, extended(loops.key_side(i), {i[n + 1], d[0]}));
        });
    const SymbolicTensor row_dots = l.reduce(compute, loops.shape({loops.rows}), Reducer::sum, {loops.value_features},
                                             [&](const Indices& i, const Indices& d) {
                                               const Indices at = extended(loops.query_side(i), {i[n], d[0]});
                                               return l.read(grad_out, at) * l.read(out, at);
                                             });
    logits = l.map(compute, scores.shape, [&](const Indices& i) {
      return l.read(probabilities, i) * (l.read(of_probabilities, i) - l.read(row_dots, {i.begin(), i.end() - 1}));
    });
  }

  // The logits' gradient as the scores see it.
  SymbolicTensor scaled_logits() {
    if (inputs.scale == 1) return logits;
    return l.map(logits.dtype, logits.shape, [&](const Indices& i) { return l.read(logits, i) * inputs.scale; });
  }

  SymbolicTensor of_query(const SymbolicTensor& scores) {
    const size_t n = loops.count();
    const SymbolicTensor split = l.reduce(inputs.query.dtype, loops.shape({loops.rows, loops.features}), Reducer::sum,
                                          {loops.columns}, [&](const Indices& i, const Indices& j) {
                                            const Indices leading(i.begin(), i.begin() + int64_t(n));
                                            return l.read(scores, extended(leading, {i[n], j[0]})) *
                                                   l.read(inputs.key, extended(loops.key_side(i), {j[0], i[n + 1]}));
                                          });
    return l.reshape(split, inputs.query.shape);
  }

  // The sum over rows (and over the query heads that share a key head) of weights[row, column] * rows[row, feature].
  SymbolicTensor of_columns(const SymbolicTensor& weights, const SymbolicTensor& rows, const SymbolicTensor& like) {
    Shape extents;
    if (loops.shares_heads()) extents.push_back(loops.sharing());
    extents.push_back(loops.rows);
    return l.reduce(like.dtype, like.shape, Reducer::sum, extents, [&](const Indices& i, const Indices& r) {
      Indices leading(i.begin(), i.end() - 2);
      if (loops.shares_heads()) leading.push_back(r[0]);
      return l.read(weights, extended(leading, {r.back(), i[i.size() - 2]})) *
             l.read(rows, extended(loops.query_side(leading), {r.back(), i.back()}));
    });
  }

  // A bias that was broadcast gets the sum.
  SymbolicTensor of_bias(const SymbolicTensor& bias) {
    const Shape full = loops.query_shape({loops.rows, loops.columns});
    const SymbolicTensor spread = l.reshape(logits, full);
    std::vector<int64_t> summed;
    for (size_t d = 0; d < full.size(); ++d) {
      const int64_t own = int64_t(d) - int64_t(full.size()) + bias.rank();
      if (own < 0 || (bias.shape[size_t(own)] == 1 && full[d] != 1)) summed.push_back(int64_t(d));
    }
    return l.reshape(summed.empty() ? l.cast(spread, bias.dtype) : sum_over(l, bias.dtype, spread, summed), bias.shape);
  }
};

void backward(OpCall& c, std::string_view mask) {
  AttentionInputs inputs{
      c.tensor("query"), c.tensor("key"), c.tensor("value"), c.tensor_if(mask), c.flag("is_causal", false), 1, 0};
  inputs.scale = attention_scale(c, inputs.query);
  if (inputs.mask && inputs.mask->size() == 0) inputs.mask.reset();
  if (c.number("dropout_p", 0) > 0)
    c.assumptions.push_back("the gradient of an attention with dropout is priced without its dropout mask");
  Gradients gradients(c, inputs);
  const bool batches_agree = Shape(inputs.key.shape.begin(), inputs.key.shape.end() - 3) ==
                             Shape(inputs.query.shape.begin(), inputs.query.shape.end() - 3);
  require(inputs.query.rank() >= 3 && batches_agree, "the gradient of an attention needs batches of one size");
  const std::vector<int64_t> wanted = c.integers("grad_input_mask", {1, 1, 1, 0});
  require(wanted.size() >= 3, "grad_input_mask has four entries");
  const SymbolicTensor scores = gradients.scaled_logits();
  c.add_result(gradients.of_query(scores));
  c.add_result(gradients.of_columns(scores, inputs.query, inputs.key));
  c.add_result(gradients.of_columns(gradients.probabilities, gradients.grad_out, inputs.value));
  if (inputs.mask && wanted.size() > 3 && wanted[3])
    c.add_result(gradients.of_bias(*inputs.mask));
  else
    c.add_empty_result();
}

}  // namespace

void register_attention_backward(Registry& r) {
  const auto with_mask = [](const char* mask) { return [mask](OpCall& c) { backward(c, mask); }; };
  r.add("_scaled_dot_product_flash_attention_for_cpu_backward",
        "grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale", with_mask("attn_mask"));
  r.add("_scaled_dot_product_flash_attention_backward",
        "grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, "
        "philox_seed, philox_offset, scale",
        with_mask("attn_mask"));
  r.add("_scaled_dot_product_efficient_attention_backward",
        "grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, "
        "grad_input_mask, is_causal, scale",
        with_mask("attn_bias"));
  r.add("_scaled_dot_product_cudnn_attention_backward",
        "grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k, "
        "max_q, max_k, dropout_p, is_causal, scale",
        with_mask("attn_bias"));
  r.add("_scaled_dot_product_fused_attention_overrideable_backward",
        "grad_out, query, key, value, attn_bias, grad_input_mask, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, "
        "dropout_p, is_causal, philox_seed, philox_offset, scale",
        with_mask("attn_bias"));
}

}  // namespace lightline::ops
