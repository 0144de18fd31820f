// lightline emit: the generated code as text.
#include "loops/emit_c/emit_c.h"

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
  const auto program = program_of(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  const auto code = loops::emit_c(*program);
  if (!code.ok()) return report_error(code.error(), source->text);
  if (options.output.empty()) {
    print(*code);
    return exit_ok;
  }
  const auto written = write_file(options.output, *code);
  return written.ok() ? exit_ok : report_error(written.error());
}

}  // namespace

void add_emit(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("emit", "Print the code generated for a program");
  command->add_option("FILE", options->file, "The program; - is standard input")->required()->option_text(" ");
  command->add_flag("--c", options->c, "Emit C")->required();
  command->add_option("-o,--output", options->output, "Write to this file instead of standard output")
      ->option_text("FILE");
  command->footer(
      "Examples:\n"
      "  lightline emit examples/loops/matmul.lir --c\n"
      "  lightline emit model.lir --c -o model.c");
  command->callback([options, &action] { action = [options] { return emit(*options); }; });
}

}  // namespace lightline::cli
