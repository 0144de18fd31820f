// Foreign text in messages: control characters are escaped and long text is cut.
#pragma once

#include <string>
#include <string_view>

namespace lightline {

std::string shown(std::string_view text, size_t limit = 80);

}  // namespace lightline
