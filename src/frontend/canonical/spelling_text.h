// spellings.txt, as text inside of the program.
#pragma once

#include <string_view>

namespace lightline::frontend {

extern const std::string_view spelling_text;

}  // namespace lightline::frontend
