// lightline emit: the generated code, or what was planned for it, as text.
#include <memory>

#include "base/file.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string file;
  bool c = false;
  bool schedule = false;
  bool plan = false;
  std::string output;
};

Result<std::string> text_of(const api::Program& program, const Options& options) {
  if (options.schedule) return api::schedule_text_of(program);
  return options.plan ? api::plan_text_of(program) : api::c_text_of(program);
}

int emit(const Options& options) {
  if (!options.c && !options.schedule && !options.plan)
    return report_error(
        {ErrorCode::usage, "one of --c, --schedule and --plan is required", "see lightline emit --help", {}});
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::load(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  const auto code = text_of(*program, options);
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
  Command command = root.add("emit", "Print the code generated for a program, or what is planned for it");
  command.option("FILE", options->file, "The program; - is standard input").required().shown_as(" ");
  const Option c = command.flag("--c", options->c, "Emit C");
  Option schedule = command.flag("--schedule", options->schedule,
                                 "The kernels, their loops and tiles, and what stays near (docs/schedules.md)");
  Option plan = command.flag("--plan", options->plan, "The same, with what threads and vector lanes do");
  schedule.excludes(c);
  plan.excludes(c).excludes(schedule);
  command.option("-o,--output", options->output, "Write to this file instead of standard output").shown_as("FILE");
  command.footer(
      "Examples:\n"
      "  lightline emit examples/loops/matmul.lir --c\n"
      "  lightline emit model.lir --c -o model.c\n"
      "  lightline emit examples/loops/layer_norm.lir --schedule\n"
      "  lightline emit examples/loops/layer_norm.lir --plan");
  command.runs([options] { return emit(*options); });
}

}  // namespace lightline::cli
