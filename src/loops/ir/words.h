// The words of the language that can not be names.
#pragma once

#include <string_view>

namespace lightline::loops {

bool is_reserved(std::string_view word);

}  // namespace lightline::loops
