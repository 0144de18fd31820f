// Text tables with aligned columns, for the terminal.
//
// Room report: tables and JSON, as text; nothing is computed that is not shown, and nothing is printed.
// May use: base, graph, index, loops/ir, frontend/load, ops/build, ops/catalogue, ops/lower, machine, demand, einsum,
//   bound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lightline::report {

enum class Align : unsigned char { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void add_row(std::vector<std::string> cells);
  // A line of titles, then one line per row; columns stand two spaces apart and no line ends in a space.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Characters of a UTF-8 text, as a terminal counts them for plain scripts.
size_t display_width(std::string_view text);

}  // namespace lightline::report
