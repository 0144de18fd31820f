// The elements of a dense constant.
#pragma once

#include "frontend/stablehlo/mlir.h"

namespace lightline::frontend::mlir {

// Reads the text between the angle brackets, which starts at `offset` of the whole, into `into`, whose type is set.
// Memory is what the text itself holds: one element stands for a splat of any size. Throws MlirError.
void read_dense(std::string_view text, size_t offset, Dense& into);

}  // namespace lightline::frontend::mlir
