#include <cstdio>

#include "base/file.h"
#include "cli/cli.h"

namespace lightline::cli {

Result<api::Source> read_source(const std::string& path) {
  if (path != "-") return api::read_source(path);
  std::string content;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) content.append(buffer, count);
  if (std::ferror(stdin) != 0) return Error{ErrorCode::io, "can not read standard input", "", {}};
  LL_TRY(std::string text, decompress(content));
  return api::Source{"<stdin>", std::move(text)};
}

api::ExportForm form_of(const std::string& name) {
  return name == "core" ? api::ExportForm::core : api::ExportForm::training;
}

}  // namespace lightline::cli
