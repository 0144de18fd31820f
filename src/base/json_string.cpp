#include "base/json_string.h"

#include <fmt/format.h>

namespace lightline {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (uint8_t(c) < 0x20)
      result += fmt::format("\\u{:04x}", int(c));
    else
      result += c;
  }
  return result + '"';
}

}  // namespace lightline
