// torch.nn.functional orders the parameters of some operators in its own way; their definitions are the same.
#include "ops/registry.h"

namespace lightline::ops {

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
  };
  for (const auto& [name, parameters] : forms) {
    const Operator* op = r.find(name).op;
    LL_CHECK(op != nullptr);
    Definition define = op->define;
    r.add(std::string("torch.nn.functional.") + name, parameters, std::move(define));
  }
}

}  // namespace lightline::ops
