// lightline import: programs of PyTorch and JAX as loops.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/file.h"
#include "cli/cli.h"
#include "frontend/load/load.h"
#include "loops/ir/print.h"
#include "ops/lower/lower.h"
#include "report/import_report.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string file;
  std::string output;
  std::string form = "training";
  bool stats = false;
  bool json = false;
};

frontend::Form form_of(const Options& options) {
  return options.form == "core" ? frontend::Form::core : frontend::Form::training;
}

int import_corpus(const Options& options) {
  report::ImportStats stats;
  std::string lines;
  Progress progress("importing");
  const Status status =
      frontend::for_each_program(options.file, form_of(options), [&](const frontend::CorpusEntry& entry) -> Status {
        auto graph = frontend::parse_graph(entry.program, form_of(options), entry.name);
        auto lowered = graph.ok() ? ops::lower(*graph) : Result<ops::Lowered>(graph.error());
        if (!lowered.ok()) lowered.error().where.file = entry.name;
        stats.add(entry, lowered);
        progress.step(fmt::format("{} programs", stats.programs));
        if (!options.stats) {
          const std::string line = report::import_line(entry, lowered, !options.output.empty());
          if (options.output.empty())
            print(line);
          else
            lines += line;
        }
        if (!lowered.ok() && !options.json) note(to_string(lowered.error()));
        return Ok{};
      });
  if (!status.ok()) return report_error(status.error());
  if (options.stats)
    print(options.json ? report::to_json(stats, options.file, options.form)
                       : report::to_text(stats, options.file, options.form));
  if (!options.output.empty()) {
    if (const Status written = write_file(options.output, lines); !written.ok()) return report_error(written.error());
  }
  return exit_ok;
}

int import_one(const Options& options) {
  auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  auto graph = frontend::parse_graph(source->text, form_of(options), source->name);
  if (!graph.ok()) return report_error(graph.error());
  auto lowered = ops::lower(*graph);
  if (!lowered.ok()) {
    if (lowered.error().where.file.empty()) lowered.error().where.file = source->name;
    return report_error(lowered.error());
  }
  if (options.stats) {
    report::ImportStats stats;
    stats.add({1, source->name, "", ""}, lowered);
    print(options.json ? report::to_json(stats, source->name, options.form)
                       : report::to_text(stats, source->name, options.form));
  }
  const std::string text = loops::print(lowered->program);
  if (!options.output.empty()) {
    if (const Status written = write_file(options.output, text); !written.ok()) return report_error(written.error());
  } else if (!options.stats) {
    print(text);
  }
  return exit_ok;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "Turn an exported program into loops");
  command
      ->add_option(
          "FILE", options->file,
          "A .pt2 archive, program JSON, the folder of a GraphNet sample, or a corpus (.jsonl, a folder of samples, "
          ".tar; also .xz, .zst and .gz); - is standard input")
      ->required();
  command->add_option("-o,--output", options->output, "Write the loops here (for a corpus: one JSON line per program)");
  command->add_option("--form", options->form, "Which form of a corpus entry to read")
      ->check(CLI::IsMember({"training", "core"}))
      ->capture_default_str();
  command->add_flag("--stats", options->stats, "Print operators and coverage instead of loops");
  command->add_flag("--json", options->json, "Print the statistics as JSON");
  command->footer(
      "Examples:\n"
      "  lightline import model.pt2 -o model.lir\n"
      "  lightline import corpus.jsonl.xz --stats\n"
      "  lightline import samples.tar.xz --stats\n"
      "  lightline import corpus.jsonl.xz --form core --stats --json");
  command->callback([options, &action] {
    action = [options] { return frontend::is_corpus(options->file) ? import_corpus(*options) : import_one(*options); };
  });
}

}  // namespace lightline::cli
