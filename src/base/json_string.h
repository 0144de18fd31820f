// A text as JSON writes it, in quotes.
#pragma once

#include <string>
#include <string_view>

namespace lightline {

std::string json_string(std::string_view text);

}  // namespace lightline
