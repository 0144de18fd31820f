#include "base/error.h"

#include <fmt/format.h>

#include "base/internal_error.h"

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

std::string to_string(const Error& error) {
  std::string text;
  if (!error.where.file.empty()) text += error.where.file + ":";
  if (error.where.line > 0) text += fmt::format("{}:{}:", error.where.line, error.where.column);
  if (!text.empty()) text += " ";
  text += "error: " + error.message;
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  return text;
}

void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: broken invariant: {}", file, line, condition));
}

}  // namespace lightline
