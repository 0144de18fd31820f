// Places in source text for error messages.
#pragma once

#include <string_view>

#include "base/error.h"
#include "loops/program.h"

namespace lightline::loops {

// Line and column (both from 1, columns in bytes) of an offset; `none` gives the file alone.
Where place(std::string_view text, std::string_view file, Position position);

}  // namespace lightline::loops
