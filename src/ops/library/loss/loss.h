// What the losses share: how they are reduced, and class labels.
#pragma once

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

enum class LossReduction : uint8_t { none, mean, sum };
LossReduction loss_reduction(const OpCall& c);  // ATen's 0, 1, 2 or the name

// The loss of every element of `shape`, or their sum or mean.
SymbolicTensor reduced_loss(Lowering& l, DType dtype, const Shape& shape, LossReduction reduction,
                            const ElementAt& element);

// Labels for [N, C, ...] or [C]: the class dimension goes away. Labels equal to `ignore` do not count.
struct Labels {
  SymbolicTensor scores;
  SymbolicTensor labels;
  std::optional<SymbolicTensor> weight;  // per class
  int64_t ignore = -100;
  size_t class_dim = 0;

  int64_t classes() const { return scores.shape[class_dim]; }
  Scalar counts(Lowering& l, const Indices& at) const;                 // is not ignored
  Subscript label(Lowering& l, const Indices& at) const;               // 0 where ignored
  Indices scores_at(const Indices& at, const Subscript& label) const;  // the label's coordinates in `scores`
  // The weight of the label, 0 where ignored, in the compute type of the scores.
  Scalar label_weight(Lowering& l, const Indices& at) const;
};
Labels labels_of(const OpCall& c);

void register_class_losses(Registry& r);
void register_loss_backward(Registry& r);

}  // namespace lightline::ops
