#include <cstdio>

#include "base/file.h"
#include "cli/cli.h"
#include "frontend/load.h"
#include "frontend/stablehlo.h"
#include "loops/parse.h"
#include "ops/lower.h"

namespace lightline::cli {
namespace {

Result<std::string> read_standard_input() {
  std::string content;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) content.append(buffer, count);
  if (std::ferror(stdin) != 0) return Error{ErrorCode::io, "can not read standard input", "", {}};
  return decompress(content);
}

}  // namespace

Result<Source> read_source(const std::string& path) {
  if (path == "-") {
    LL_TRY(std::string text, read_standard_input());
    return Source{"<stdin>", std::move(text)};
  }
  LL_TRY(std::string text, read_file(path));
  return Source{path, std::move(text)};
}

Result<loops::Program> program_of(const Source& source) {
  const size_t first = source.text.find_first_not_of(" \t\r\n");
  const bool exported = source.text.starts_with("PK") || (first != std::string::npos && source.text[first] == '{') ||
                        frontend::looks_like_stablehlo(source.text);
  if (!exported) return loops::parse_and_verify(source.text, source.name);
  LL_TRY(const graph::Graph graph, frontend::parse_graph(source.text, frontend::Form::training, source.name));
  auto lowered = ops::lower(graph);
  if (!lowered.ok()) {
    if (lowered.error().where.file.empty()) lowered.error().where.file = source.name;
    return std::move(lowered).error();
  }
  return std::move(lowered->program);
}

}  // namespace lightline::cli
