// Where a text stops being JSON: our reader is fast, and does not say.
#pragma once

#include <string_view>

#include "base/error.h"

namespace lightline::frontend {

// The line and column of the first character that can not be; zeros where none is found.
Where json_place(std::string_view text);

}  // namespace lightline::frontend
