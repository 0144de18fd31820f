// lightline emit: the generated code, what was planned for it, or the normal form that is priced, as text.
#include <memory>

#include "api/analyze.h"
#include "base/file.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct EmitOptions {
  std::string file;
  bool c = false;
  bool schedule = false;
  bool plan = false;
  bool normal_form = false;
  std::string with_schedule;
  std::string output;
};

Result<std::string> text_of(const api::Program& program, const EmitOptions& options) {
  if (options.normal_form) return api::normal_form_text_of(program);
  if (options.schedule) return api::schedule_text_of(program);
  return options.plan ? api::plan_text_of(program) : api::c_text_of(program);
}

int write(const std::string& code, const EmitOptions& options) {
  if (options.output.empty()) {
    print(code);
    return exit_ok;
  }
  const auto written = write_file(options.output, code);
  return written.ok() ? exit_ok : report_error(written.error());
}

int emit_as(const std::string& schedule_file, const api::Program& program, const EmitOptions& options) {
  const auto schedule = read_source(schedule_file);
  if (!schedule.ok()) return report_error(schedule.error());
  const auto code = api::c_text_of(program, *schedule);
  return code.ok() ? write(*code, options) : report_error(code.error(), schedule->text);
}

int emit(const EmitOptions& options) {
  if (!options.c && !options.schedule && !options.plan && !options.normal_form)
    return report_error({ErrorCode::usage,
                         "one of --c, --schedule, --plan and --normal-form is required",
                         "see lightline emit --help",
                         {}});
  if (!options.with_schedule.empty() && options.file == "-" && options.with_schedule == "-")
    return report_error({ErrorCode::usage, "the program and its schedule can not both be standard input", "", {}});
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::load(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  if (!options.with_schedule.empty()) return emit_as(options.with_schedule, *program, options);
  const auto code = text_of(*program, options);
  return code.ok() ? write(*code, options) : report_error(code.error(), source->text);
}

}  // namespace

void add_emit(Command& root) {
  auto options = std::make_shared<EmitOptions>();
  Command command =
      root.add("emit", "Print the code generated for a program, what is planned for it, or its normal form");
  command.option("FILE", options->file, help_of_file(Takes::loops, false)).required().shown_as(" ");
  const Option c = command.flag("--c", options->c, "Emit C");
  Option schedule = command.flag("--schedule", options->schedule,
                                 "The kernels, their loops and tiles, and what stays near (docs/schedules.md)");
  Option plan = command.flag("--plan", options->plan, "The same, with what threads and vector lanes do");
  Option normal_form = command.flag("--normal-form", options->normal_form,
                                    "The program that bounds price, with its statement borders gone (docs/bounds.md)");
  schedule.excludes(c);
  plan.excludes(c).excludes(schedule);
  normal_form.excludes(c).excludes(schedule).excludes(plan);
  command
      .option("--with-schedule", options->with_schedule,
              "Emit C that does as the schedule in this file says; - is standard input")
      .shown_as("FILE")
      .excludes(schedule)
      .excludes(plan)
      .excludes(normal_form);
  command.option("-o,--output", options->output, "Write to this file instead of standard output").shown_as("FILE");
  command.footer(
      "Examples:\n"
      "  lightline emit examples/loops/matmul.lir --c\n"
      "  lightline emit model.lir --c -o model.c\n"
      "  lightline emit examples/loops/layer_norm.lir --schedule\n"
      "  lightline emit examples/loops/layer_norm.lir --plan\n"
      "  lightline emit examples/loops/attention.lir --normal-form\n"
      "  lightline emit model.lir --c --with-schedule model.schedule");
  command.runs([options] { return emit(*options); });
}

}  // namespace lightline::cli
