#include "base/shown.h"

#include <fmt/format.h>

namespace lightline {

std::string shown(std::string_view text, size_t limit) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    // A cut is made between characters of UTF-8, not inside one.
    if (i >= limit && (c & 0xC0) != 0x80) return result + "...";
    if (i >= limit + 4) return result + "...";
    if (c < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", c);
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace lightline
