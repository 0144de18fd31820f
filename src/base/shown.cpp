#include "base/shown.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace lightline {

size_t printable_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = uint8_t(text[0]);
  if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
  const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size || !simdjson::validate_utf8(text.data(), size)) return 0;
  return first == 0xC2 && uint8_t(text[1]) < 0xA0 ? 0 : size;  // U+0080 to U+009F
}

std::string shown(std::string_view text, size_t limit) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (i >= limit) return result + "...";
    const size_t size = printable_bytes(text.substr(i));
    result += size > 0 ? std::string(text.substr(i, size)) : fmt::format("\\x{:02x}", uint8_t(text[i]));
    i += std::max<size_t>(size, 1);
  }
  return result;
}

std::string escaped(std::string_view text) { return shown(text, text.size()); }

}  // namespace lightline
