// Small pieces of a line of text.
#pragma once

#include <string_view>

namespace lightline {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r";
  const size_t first = text.find_first_not_of(space), last = text.find_last_not_of(space);
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// The text up to `mark`, which is taken off with it; all of it if there is none.
inline std::string_view take_until(std::string_view& text, std::string_view mark) {
  const size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
  return trimmed(head);
}

}  // namespace lightline
