#include "base/error.h"

#include <fmt/format.h>

#include "base/internal_error.h"
#include "base/shown.h"

namespace lightline {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return "usage";
    case ErrorCode::io: return "io";
    case ErrorCode::parse: return "parse";
    case ErrorCode::name: return "name";
    case ErrorCode::type: return "type";
    case ErrorCode::shape: return "shape";
    case ErrorCode::range: return "range";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::limit: return "limit";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

Error out_of_memory(std::string_view what, const std::string& file) {
  return {
      ErrorCode::limit, fmt::format("there is no memory for {}", what), "free memory, or use a smaller file", {file}};
}

namespace {

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Errors quote what they are about, which may be as long as the input: the middle of a long text is left out.
std::string shortened(const std::string& given) {
  constexpr size_t most = 2000, kept_at_end = 500;
  const std::string text = escaped(given);
  if (text.size() <= most) return text;
  size_t head = most - kept_at_end, tail = text.size() - kept_at_end;
  while (head > 0 && is_inside_character(text[head])) --head;
  while (tail < text.size() && is_inside_character(text[tail])) ++tail;
  return fmt::format("{} [... {} bytes ...] {}", text.substr(0, head), tail - head, text.substr(tail));
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text;
  if (!error.where.file.empty()) text += shortened(error.where.file) + ":";
  if (error.where.line > 0) text += fmt::format("{}:{}:", error.where.line, error.where.column);
  if (!text.empty()) text += " ";
  text += "error: " + shortened(error.message);
  if (!error.hint.empty()) text += "\n  hint: " + shortened(error.hint);
  return text;
}

void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: broken invariant: {}", file, line, condition));
}

}  // namespace lightline
