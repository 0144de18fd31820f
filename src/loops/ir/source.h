// Places in source text, and words, for error messages.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// Line and column (both from 1, columns in bytes) of an offset; `none` gives the file alone.
Where place(std::string_view text, std::string_view file, Position position);

// "1 index", "2 indices"; without `plural`, an s is added.
std::string counted(size_t count, std::string_view noun, std::string_view plural = "");

}  // namespace lightline::loops
