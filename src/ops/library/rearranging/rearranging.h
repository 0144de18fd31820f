// Several tensors as one.
#pragma once

#include <vector>

#include "ops/build/lowering.h"

namespace lightline::ops {

SymbolicTensor joined(Lowering& l, std::vector<SymbolicTensor> tensors, int64_t dim);          // one after the other
SymbolicTensor stacked(Lowering& l, const std::vector<SymbolicTensor>& tensors, int64_t dim);  // along a new dimension

}  // namespace lightline::ops
