#include <cstdio>

#include "base/file.h"
#include "cli/cli.h"

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

}  // namespace lightline::cli
