// Did you mean ...?
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lightline {

// "did you mean 'H20' or 'H200'?": the candidates nearest to a mistyped word, ignoring case, which are within two edits
// (one for short words), or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

std::string lower_case(std::string_view text);

}  // namespace lightline
