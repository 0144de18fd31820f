// The reference: executes a Program statement by statement, element by element, exactly as docs/loop-ir.md says.
//
// Room loops/interpret: the reference: runs a program as the language page says, block by block of lanes, exactly and
// without cleverness.
// May use: base, loops/ir, loops/opaque.
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
