// PyTorch and JAX, in the Python that LIGHTLINE_PYTHON names, else in .venv of the clone that we were built in, else in
// the one of PATH.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace lightline::api {

// Runs Python with these arguments and our package. What fails is told of `file`, in the framework's last words; a
// Python that does not work is named, with what to do about it.
Status run_framework(std::vector<std::string> arguments, const std::string& file);

}  // namespace lightline::api
