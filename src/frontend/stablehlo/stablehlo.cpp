#include "frontend/stablehlo/stablehlo.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/stablehlo/graph_builder.h"
#include "frontend/stablehlo/mlir.h"
#include "frontend/stablehlo/mlir_lexer.h"

namespace lightline::frontend {
namespace {

constexpr size_t max_text = size_t(512) << 20;

Where where_of(std::string_view text, size_t offset, std::string_view file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line_start = before.rfind('\n');
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = 1 + before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1);
  return {std::string(file), int(line), int(column)};
}

}  // namespace

bool looks_like_stablehlo(std::string_view text) {
  mlir::Lexer lexer(text);
  lexer.skip_blank();
  const std::string_view rest = text.substr(lexer.position());
  for (const std::string_view start : {"module", "func.func", "builtin.module", "\"builtin.module\"", "\"func.func\""})
    if (rest.starts_with(start)) return true;
  if (!rest.starts_with('#') && !rest.starts_with('!')) return false;
  const size_t end = rest.find(' ');  // an alias: #loc = ...
  return end != std::string_view::npos && end > 1 && rest.substr(end).starts_with(" = ");
}

Result<graph::Graph> parse_stablehlo(std::string_view text, std::string_view file) {
  if (text.size() > max_text)
    return Error{
        ErrorCode::limit, fmt::format("the text has more than {} MiB", max_text >> 20), "", {std::string(file)}};
  try {
    return build_graph(mlir::parse(text), text);
  } catch (const mlir::MlirError& failure) {
    return Error{failure.code, failure.message, failure.hint, where_of(text, failure.offset, file)};
  }
}

}  // namespace lightline::frontend
