// lightline check: does each program mean something?
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"
#include "loops/parse.h"

namespace lightline::cli {
namespace {

std::string count(size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

int check_file(const std::string& path, bool quiet) {
  const auto source = read_source(path);
  if (!source.ok()) return report_error(source.error());
  const auto program = loops::parse_and_verify(source->text, source->name);
  if (!program.ok()) {
    const int code = report_error(program.error(), source->text);
    return code == exit_bad_input ? exit_negative : code;
  }
  if (quiet) return exit_ok;
  print(fmt::format("{}: ok, program {} with {}, {} and {}\n", source->name, program->name,
                    count(program->inputs.size(), "input"), count(program->outputs.size(), "output"),
                    count(program->statements.size(), "statement")));
  return exit_ok;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  struct Options {
    std::vector<std::string> files;
    bool quiet = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Verify programs; exit code 1 if one is rejected");
  command->add_option("FILE", options->files, "Programs to verify; - is standard input")
      ->required()
      ->option_text("...");
  command->add_flag("-q,--quiet", options->quiet, "Print rejected programs only");
  command->footer(
      "Examples:\n"
      "  lightline check examples/loops/matmul.lir\n"
      "  lightline check --quiet *.lir\n"
      "  cat model.lir | lightline check -");
  command->callback([options, &action] {
    action = [options] {
      int worst = exit_ok;
      for (const std::string& file : options->files) worst = std::max(worst, check_file(file, options->quiet));
      return worst;
    };
  });
}

}  // namespace lightline::cli
