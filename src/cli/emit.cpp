// lightline emit: the generated code as text.
#include <memory>

#include "base/file.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string file;
  bool c = false;
  std::string output;
};

int emit(const Options& options) {
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::load(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  const auto code = api::c_text_of(*program);
  if (!code.ok()) return report_error(code.error(), source->text);
  if (options.output.empty()) {
    print(*code);
    return exit_ok;
  }
  const auto written = write_file(options.output, *code);
  return written.ok() ? exit_ok : report_error(written.error());
}

}  // namespace

void add_emit(Command& root) {
  auto options = std::make_shared<Options>();
  Command command = root.add("emit", "Print the code generated for a program");
  command.option("FILE", options->file, "The program; - is standard input").required().shown_as(" ");
  command.flag("--c", options->c, "Emit C").required();
  command.option("-o,--output", options->output, "Write to this file instead of standard output").shown_as("FILE");
  command.footer(
      "Examples:\n"
      "  lightline emit examples/loops/matmul.lir --c\n"
      "  lightline emit model.lir --c -o model.c");
  command.runs([options] { return emit(*options); });
}

}  // namespace lightline::cli
