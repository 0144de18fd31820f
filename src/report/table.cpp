#include "report/table.h"

#include <algorithm>

#include "base/error.h"
#include "base/shown.h"

namespace lightline::report {

size_t display_width(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
}

void Table::add_row(std::vector<std::string> cells) {
  LL_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = escaped(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      const std::string_view content = cell(c);
      const std::string padding(widths[c] - display_width(content), ' ');
      if (columns_[c].align == Align::right) line += padding;
      line += content;
      if (columns_[c].align == Align::left) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t c) -> std::string_view { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](size_t c) -> std::string_view { return row[c]; });
  return text;
}

}  // namespace lightline::report
