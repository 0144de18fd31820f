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

Ex relu(Ex x);
Ex leaky_relu(Ex x, double slope);
Ex elu(Ex x, const EluScales& scales);
Ex gelu(Ex x, bool tanh_approximation);
Ex softplus(Ex x, double beta, double threshold);
Ex mish(Ex x);
Ex log_sigmoid(Ex x);

}  // namespace lightline::ops
