// Printing, and errors shown with the source line they point at.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/shown.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

constexpr size_t excerpt_width = 160;

bool stderr_has_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(STDERR_FILENO) == 1;
}

std::string_view line_of(std::string_view text, int line) {
  for (int skipped = 1; skipped < line; ++skipped) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  const std::string_view found = text.substr(0, text.find('\n'));
  return found.substr(0, found.find_last_not_of('\r') + 1);
}

bool continues_character(char c) { return (uint8_t(c) & 0xC0) == 0x80; }

// A byte that can not be shown becomes a question mark. `caret` becomes what stands before `column`, as blanks.
std::string shown_line(std::string_view line, size_t column, std::string& caret) {
  std::string shown;
  for (size_t i = 0; i < line.size();) {
    const size_t size = printable_bytes(line.substr(i));
    const bool is_tab = line[i] == '\t';
    shown += is_tab ? "\t" : size == 0 ? "?" : line.substr(i, size);
    if (i < column) caret += is_tab ? '\t' : ' ';
    i += std::max<size_t>(size, 1);
  }
  return shown;
}

// The line and, below it, a caret under the column; a long line is cut to the part around the column.
std::string excerpt(std::string_view text, const Where& where) {
  std::string_view line = line_of(text, where.line);
  size_t column = std::min(size_t(std::max(where.column, 1)) - 1, line.size());
  if (line.size() > excerpt_width) {
    size_t from = column > excerpt_width / 2 ? column - excerpt_width / 2 : 0;
    while (from < column && continues_character(line[from])) ++from;
    size_t end = std::min(from + excerpt_width, line.size());
    while (end < line.size() && continues_character(line[end])) ++end;
    line = line.substr(from, end - from);
    column -= from;
  }
  std::string caret;
  const std::string shown = shown_line(line, column, caret);
  const std::string number = fmt::format("{:5}", where.line);
  return fmt::format("{} | {}\n{} | {}^\n", number, shown, std::string(number.size(), ' '), caret);
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(std::string_view line) { print(escaped(line) + "\n"); }

void print_lines(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    print_line(text.substr(at, end - at));
    at = end + 1;
  }
}

void note(std::string_view text) { std::fputs(fmt::format("note: {}\n", escaped(text)).c_str(), stderr); }

void note(const Error& error) { std::fputs(fmt::format("note: {}\n", to_string(error)).c_str(), stderr); }

int report_error(const Error& error, std::string_view text) {
  std::string message = to_string(error);
  const size_t first_line = std::min(message.find("\n  hint: "), message.size());
  std::string head = message.substr(0, first_line) + "\n";
  std::string tail = first_line < message.size() ? message.substr(first_line + 1) + "\n" : "";
  std::string shown = error.where.line > 0 && !text.empty() ? excerpt(text, error.where) : "";
  if (stderr_has_colour()) {
    replace_first(head, "error:", "\033[1;31merror:\033[0m");
    replace_first(tail, "hint:", "\033[1;36mhint:\033[0m");
    const size_t caret = shown.rfind('^');
    if (caret != std::string::npos) shown.replace(caret, 1, "\033[1;32m^\033[0m");
  }
  std::fputs((head + shown + tail).c_str(), stderr);
  return error.code == ErrorCode::internal ? exit_internal : exit_bad_input;
}

}  // namespace lightline::cli
