#include <cstdio>

#include "base/file.h"
#include "cli/cli.h"
#include "frontend/fx/fx_text.h"
#include "frontend/fx/samples.h"
#include "frontend/load/load.h"
#include "frontend/stablehlo/stablehlo.h"
#include "loops/ir/parse.h"
#include "ops/lower/lower.h"

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
  LL_TRY(std::string text, frontend::is_sample_folder(path) ? frontend::read_sample(path) : read_file(path));
  return Source{path, std::move(text)};
}

Result<Loops> loops_of(const Source& source) {
  const size_t first = source.text.find_first_not_of(" \t\r\n");
  const bool exported = source.text.starts_with("PK") || (first != std::string::npos && source.text[first] == '{') ||
                        frontend::looks_like_stablehlo(source.text) || frontend::is_fx_text(source.text);
  if (!exported) {
    LL_TRY(loops::Program program, loops::parse_and_verify(source.text, source.name));
    const size_t inputs = program.inputs.size();
    return Loops{std::move(program), std::vector<std::optional<Tensor>>(inputs), {}};
  }
  LL_TRY(graph::Graph graph, frontend::parse_graph(source.text, frontend::Form::training, source.name));
  auto lowered = ops::lower(graph);
  if (!lowered.ok()) {
    if (lowered.error().where.file.empty()) lowered.error().where.file = source.name;
    return std::move(lowered).error();
  }
  Loops result{std::move(lowered->program), {}, std::move(lowered->assumptions)};
  for (const uint32_t input : lowered->inputs) result.known.push_back(std::move(graph.inputs[input].known));
  return result;
}

Result<loops::Program> program_of(const Source& source) {
  LL_TRY(Loops loops, loops_of(source));
  return std::move(loops.program);
}

}  // namespace lightline::cli
