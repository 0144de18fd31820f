// torch.nn.functional orders the parameters of some operators in its own way; their definitions are the same.
#include "ops/build/registry.h"

namespace lightline::ops {
namespace {

// Gives the positions too only if asked.
Definition positions_if_asked(Definition define) {
  return [define = std::move(define)](OpCall& c) {
    define(c);
    if (!c.flag("return_indices", false) && c.results.size() > 1) c.results.resize(1);
  };
}

}  // namespace

void register_functional_forms(Registry& r) {
  const std::string legacy = "size_average, reduce, reduction";
  const std::pair<const char*, std::string> forms[] = {
      {"softmax", "input, dim, _stacklevel, dtype"},
      {"log_softmax", "input, dim, _stacklevel, dtype"},
      {"softmin", "input, dim, _stacklevel, dtype"},
      {"batch_norm", "input, running_mean, running_var, weight, bias, training, momentum, eps"},
      {"instance_norm", "input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps"},
      {"cross_entropy", "input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing"},
      {"nll_loss", "input, target, weight, size_average, ignore_index, reduce, reduction"},
      {"mse_loss", "input, target, " + legacy},
      {"l1_loss", "input, target, " + legacy},
      {"smooth_l1_loss", "input, target, " + legacy + ", beta"},
      {"kl_div", "input, target, " + legacy + ", log_target"},
      {"binary_cross_entropy", "input, target, weight, " + legacy},
      {"binary_cross_entropy_with_logits", "input, target, weight, " + legacy + ", pos_weight"},
      {"poisson_nll_loss", "input, target, log_input, full, size_average, eps, reduce, reduction"},
      {"soft_margin_loss", "input, target, " + legacy},
      {"hinge_embedding_loss", "input, target, margin, " + legacy},
      {"margin_ranking_loss", "input1, input2, target, margin, " + legacy},
      {"cosine_embedding_loss", "input1, input2, target, margin, " + legacy},
      {"triplet_margin_loss", "anchor, positive, negative, margin, p, eps, swap, " + legacy},
      {"multi_margin_loss", "input, target, p, margin, weight, " + legacy},
      {"multilabel_margin_loss", "input, target, " + legacy},
      {"relu", "input, inplace"},
      {"relu6", "input, inplace"},
      {"selu", "input, inplace"},
      {"silu", "input, inplace"},
      {"mish", "input, inplace"},
      {"hardswish", "input, inplace"},
      {"hardsigmoid", "input, inplace"},
      {"hardtanh", "input, min_val, max_val, inplace"},
      {"leaky_relu", "input, negative_slope, inplace"},
      {"elu", "input, alpha, inplace"},
      {"celu", "input, alpha, inplace"},
      {"threshold", "input, threshold, value, inplace"},
      {"dropout", "input, p, train, inplace"},
      {"dropout1d", "input, p, train, inplace"},
      {"dropout2d", "input, p, train, inplace"},
      {"dropout3d", "input, p, train, inplace"},
  };
  for (const auto& [name, parameters] : forms) {
    const Operator* op = r.find(name).op;
    LL_CHECK(op != nullptr);
    Definition define = op->define;
    r.add(std::string("torch.nn.functional.") + name, parameters, std::move(define));
  }
  for (const std::string name : {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"}) {
    Definition define = r.find(name).op->define;
    r.add("torch.nn.functional." + name, "input, output_size, return_indices", positions_if_asked(std::move(define)));
  }
}

}  // namespace lightline::ops
