// Dropout inside of other operators.
#pragma once

#include "ops/build/lowering.h"

namespace lightline::ops {

// x / (1 - p) where a draw says that the element stays, else 0.
SymbolicTensor drop_out(Lowering& l, const SymbolicTensor& x, double p);

}  // namespace lightline::ops
