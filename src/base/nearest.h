// Did you mean ...?
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lightline {

// The candidate within two edits (one for short words) of a mistyped word, ignoring case, or "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

std::string lower_case(std::string_view text);

}  // namespace lightline
