// Executable built-ins for opaque statements, shared by the interpreter and emitted code.
//
// Room loops/opaque: the built-ins behind opaque statements (sort, fft, cholesky and the like), run on whole tensors.
// May use: base, loops/ir.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// Fills `results` (allocated by the caller with the declared types) from `operands`.
Status run_opaque(const Opaque& statement, const std::vector<const Tensor*>& operands,
                  const std::vector<Tensor*>& results);

}  // namespace lightline::loops
