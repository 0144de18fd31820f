// lightline check: does each program mean something?
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"

namespace lightline::cli {
namespace {

std::string count(size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

int check_file(const std::string& path, bool quiet) {
  const auto source = read_source(path);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::load(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  if (quiet) return exit_ok;
  print_line(fmt::format("{}: ok, program {} with {}, {} and {}", source->name, program->loops().name,
                         count(program->loops().inputs.size(), "input"),
                         count(program->loops().outputs.size(), "output"),
                         count(program->loops().statements.size(), "statement")));
  return exit_ok;
}

// Every program of a corpus in turn; bad ones are reported and counted.
int check_corpus(const std::string& path, const std::string& form, bool quiet) {
  int64_t good = 0, bad = 0;
  const Status status = api::for_each_program(path, form_of(form), [&](const api::CorpusEntry& entry) -> Status {
    const auto program = api::import({entry.name, entry.program}, form_of(form));
    if (program.ok()) {
      ++good;
      if (!quiet)
        print_line(fmt::format("{}: ok, {}", entry.name, count(program->loops().statements.size(), "statement")));
    } else {
      ++bad;
      report_error(in_corpus(program.error(), path, entry));
    }
    return Ok{};
  });
  if (!status.ok()) return report_error(status.error());
  print_line(fmt::format("{}: {} of {} programs verify", path, good, good + bad));
  return bad == 0 ? exit_ok : exit_negative;
}

}  // namespace

void add_check(Command& root) {
  struct CheckOptions {
    std::vector<std::string> files;
    bool quiet = false;
    std::string form = "training";
  };
  auto options = std::make_shared<CheckOptions>();
  Command command = root.add("check", "Verify programs: loops, exported programs, or corpora of them");
  command.option("FILE", options->files, help_of_file(Takes::loops, true)).required().shown_as("...");
  command.flag("-q,--quiet", options->quiet, "Print rejected programs only");
  const Option form = command.option("--form", options->form, "Which form of a corpus entry to read (default training)")
                          .one_of(corpus_form);
  command.footer(
      "Examples:\n"
      "  lightline check examples/loops/matmul.lir\n"
      "  lightline check --quiet *.lir\n"
      "  cat model.lir | lightline check -");
  command.runs([options, form] {
    if (const Status fits = check_form(form, options->files); !fits.ok()) return report_error(fits.error());
    int worst = exit_ok;
    for (const std::string& file : options->files)
      worst = std::max(worst, api::is_corpus(file) ? check_corpus(file, options->form, options->quiet)
                                                   : check_file(file, options->quiet));
    return worst;
  });
}

}  // namespace lightline::cli
