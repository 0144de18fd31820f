#include "ops/python/autocast.h"

#include <unordered_map>

namespace lightline::ops {
namespace {

// The lists of https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference, for CUDA.
constexpr std::string_view lowered[] = {"matmul",
                                        "mm",
                                        "bmm",
                                        "mv",
                                        "addmm",
                                        "addmv",
                                        "addr",
                                        "addbmm",
                                        "baddbmm",
                                        "chain_matmul",
                                        "multi_dot",
                                        "linalg_multi_dot",
                                        "linear",
                                        "conv1d",
                                        "conv2d",
                                        "conv3d",
                                        "conv_tbc",
                                        "conv_transpose1d",
                                        "conv_transpose2d",
                                        "conv_transpose3d",
                                        "prelu",
                                        "lstm",
                                        "gru",
                                        "rnn_tanh",
                                        "rnn_relu",
                                        "lstm_cell",
                                        "gru_cell",
                                        "rnn_tanh_cell",
                                        "rnn_relu_cell",
                                        "einsum",
                                        "scaled_dot_product_attention",
                                        "multi_head_attention_forward"};
constexpr std::string_view in_full[] = {"acos",
                                        "asin",
                                        "binary_cross_entropy_with_logits",
                                        "cosh",
                                        "cosine_embedding_loss",
                                        "cdist",
                                        "cosine_similarity",
                                        "cross_entropy",
                                        "cumprod",
                                        "cumsum",
                                        "dist",
                                        "erfinv",
                                        "exp",
                                        "expm1",
                                        "group_norm",
                                        "hinge_embedding_loss",
                                        "kl_div",
                                        "l1_loss",
                                        "layer_norm",
                                        "log",
                                        "log10",
                                        "log1p",
                                        "log2",
                                        "log_softmax",
                                        "margin_ranking_loss",
                                        "mse_loss",
                                        "multilabel_margin_loss",
                                        "multi_margin_loss",
                                        "nll_loss",
                                        "norm",
                                        "normalize",
                                        "pdist",
                                        "poisson_nll_loss",
                                        "pow",
                                        "prod",
                                        "reciprocal",
                                        "renorm",
                                        "rsqrt",
                                        "sinh",
                                        "smooth_l1_loss",
                                        "soft_margin_loss",
                                        "softmax",
                                        "softmin",
                                        "softplus",
                                        "sum",
                                        "tan",
                                        "triplet_margin_loss"};
constexpr std::string_view widened[] = {"addcdiv",     "addcmul",   "atan2",       "bilinear",  "cross", "dot",
                                        "grid_sample", "index_put", "scatter_add", "tensordot", "cat",   "stack"};

}  // namespace

Autocast::Policy Autocast::policy(std::string_view name) const {
  if (!active()) return Policy::none;
  static const std::unordered_map<std::string_view, Policy> policies = [] {
    std::unordered_map<std::string_view, Policy> map;
    for (const std::string_view n : lowered) map.emplace(n, Policy::lower);
    for (const std::string_view n : in_full) map.emplace(n, Policy::full);
    for (const std::string_view n : widened) map.emplace(n, Policy::widest);
    return map;
  }();
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) name = name.substr(dot + 1);
  const auto found = policies.find(name);
  return found == policies.end() ? Policy::none : found->second;
}

}  // namespace lightline::ops
