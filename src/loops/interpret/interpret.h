// The reference: executes a Program statement by statement, element by element, exactly as docs/loop-ir.md says.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// `inputs` in the program's order; dtype and shape must match. Out-of-range indirect access is an error.
// The result holds the program's outputs in order.
Result<std::vector<Tensor>> interpret(const Program& program, const std::vector<Tensor>& inputs);

}  // namespace lightline::loops
