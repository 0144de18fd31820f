#include "loops/ir/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace lightline::loops {

Where place(std::string_view text, std::string_view file, Position position) {
  Where where{std::string(file), 0, 0};
  if (position == none || text.empty()) return where;
  const std::string_view before = text.substr(0, std::min<size_t>(position, text.size()));
  where.line = 1 + int(std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  where.column = 1 + int(newline == std::string_view::npos ? before.size() : before.size() - newline - 1);
  return where;
}

std::string counted(size_t count, std::string_view noun, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

}  // namespace lightline::loops
