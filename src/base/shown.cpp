#include "base/shown.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace lightline {

namespace {

// Bytes of the first character; 0 where it is no UTF-8.
size_t character_bytes(std::string_view text) {
  const auto first = uint8_t(text[0]);
  const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return text.size() >= size && simdjson::validate_utf8(text.data(), size) ? size : 0;
}

}  // namespace

size_t printable_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = uint8_t(text[0]);
  if (first < 0x20 || first == 0x7F) return 0;
  const size_t size = character_bytes(text);
  return first == 0xC2 && size == 2 && uint8_t(text[1]) < 0xA0 ? 0 : size;  // U+0080 to U+009F
}

size_t utf8_bytes(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text.size();
  size_t done = 0;
  while (const size_t size = character_bytes(text.substr(done))) done += size;
  return done;
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
