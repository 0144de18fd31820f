// Several tensors as one.
#pragma once

#include <vector>

#include "ops/build/lowering.h"

namespace lightline::ops {

Tensor joined(Lowering& l, std::vector<Tensor> tensors, int64_t dim);          // one after the other
Tensor stacked(Lowering& l, const std::vector<Tensor>& tensors, int64_t dim);  // along a new dimension

}  // namespace lightline::ops
