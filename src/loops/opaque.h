// Executable built-ins for opaque operations, shared by the interpreter and emitted code.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/program.h"

namespace lightline::loops {

bool has_opaque_builtin(std::string_view name);
// Fills `results` (allocated by the caller with the declared types) from `operands`.
Status run_opaque(const Opaque& operation, const std::vector<const Tensor*>& operands,
                  const std::vector<Tensor*>& results);
// Checks operands, attributes and result types of a known built-in; unknown names pass.
Status check_opaque(const Program& program, const Opaque& operation);

}  // namespace lightline::loops
