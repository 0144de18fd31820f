// Activation functions as expressions, shared by the operators and by what they are fused into.
#pragma once

#include "ops/build/op_call.h"

namespace lightline::ops {

struct EluScales {
  double alpha = 1;
  double scale = 1;
  double input_scale = 1;
};
EluScales selu_scales();

// `lambd`, which PyTorch rounds to the dtype of the tensor before it compares.
double shrink_width(OpCall& c);

Scalar relu(Scalar x);
Scalar leaky_relu(Scalar x, double slope);
Scalar elu(Scalar x, const EluScales& scales);
Scalar gelu(Scalar x, bool tanh_approximation);
Scalar softplus(Scalar x, double beta, double threshold);
Scalar mish(Scalar x);
Scalar log_sigmoid(Scalar x);

}  // namespace lightline::ops
