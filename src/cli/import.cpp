// lightline import: programs of PyTorch and JAX as loops.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "api/run.h"
#include "base/file.h"
#include "base/tensor_io.h"
#include "cli/cli.h"
#include "report/import_report.h"

namespace lightline::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string output;
  std::string values;
  std::string form = "training";
  bool stats = false;
  bool json = false;
};

int write_lines(const std::string& path, const std::string& lines) {
  const Status written = write_file(path, lines);
  return written.ok() ? exit_ok : report_error(written.error());
}

void print_stats(const report::ImportStats& stats, const std::string& name, const ImportOptions& options) {
  options.json ? print(report::to_json(stats, name, options.form))
               : print_lines(report::to_text(stats, name, options.form));
}

int import_corpus(const ImportOptions& options) {
  report::ImportStats stats;
  std::string lines;
  Progress progress("importing");
  const auto visit = [&](const api::CorpusEntry& entry) -> Status {
    auto program = api::import({entry.name, entry.program}, form_of(options.form));
    if (!program.ok()) program.error() = in_corpus(program.error(), options.file, entry);
    const auto imported = program.ok() ? report::Imported(program->lowered()) : report::Imported(program.error());
    stats.add(entry, imported);
    progress.step(fmt::format("{} programs", stats.programs));
    if (!options.output.empty())
      lines += report::import_line(entry, imported, true);
    else if (!options.stats)
      print(report::import_line(entry, imported, false));
    if (!program.ok() && !options.json) note(program.error());
    return Ok{};
  };
  const Status status = api::for_each_program(options.file, form_of(options.form), visit);
  if (!status.ok()) return report_error(status.error());
  if (options.stats) print_stats(stats, options.file, options);
  if (!options.output.empty())
    if (const int code = write_lines(options.output, lines); code != exit_ok) return code;
  return stats.imported == stats.programs ? exit_ok : exit_negative;
}

// Loops name their inputs; the values that a file carries for some of them stay behind.
int take_values(const api::Program& program, const ImportOptions& options) {
  std::vector<std::optional<Tensor>> carried = api::carried_values(program);
  NamedTensors values;
  std::string names;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (!carried[i]) continue;
    const std::string& name = program.loops().arrays[program.loops().inputs[i]].name;
    names += (names.empty() ? "" : ", ") + name;
    values.emplace_back(name, *std::move(carried[i]));
  }
  if (options.values.empty()) {
    if (!names.empty())
      note("the loops take as inputs what the file carries the values of: " + names +
           "; --values FILE writes them, for lightline run --inputs FILE");
    return exit_ok;
  }
  if (values.empty()) {
    note("the file carries no values; nothing was written to " + options.values);
    return exit_ok;
  }
  const Status written = write_tensors(options.values, values);
  return written.ok() ? exit_ok : report_error(written.error());
}

int import_one(const ImportOptions& options) {
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::import(*source, form_of(options.form));
  if (!program.ok()) return report_error(program.error());
  if (options.stats) {
    report::ImportStats stats;
    stats.add({1, source->name, "", ""}, program->lowered());
    print_stats(stats, source->name, options);
  }
  const auto text = api::text_of(*program);
  if (!text.ok()) return report_error(text.error());
  if (!options.stats || !options.output.empty() || !options.values.empty())
    if (const int code = take_values(*program, options); code != exit_ok) return code;
  if (!options.output.empty()) return write_lines(options.output, *text);
  if (!options.stats) print(*text);
  return exit_ok;
}

}  // namespace

void add_import(Command& root) {
  auto options = std::make_shared<ImportOptions>();
  Command command = root.add("import", "Turn an exported program into loops");
  command.option("FILE", options->file, help_of_file(Takes::foreign, true)).required();
  command.option("-o,--output", options->output, "Write the loops here (for a corpus: one JSON line per program)");
  const Option values =
      command.option("--values", options->values, "Write the values that the file carries to .npz or .safetensors")
          .shown_as("FILE");
  const Option form = command.option("--form", options->form, "Which form of a corpus entry to read (default training)")
                          .one_of(corpus_form);
  const Option stats = command.flag("--stats", options->stats, "Print operators and coverage instead of loops");
  command.flag("--json", options->json, "Print the statistics as JSON").needs(stats);
  command.footer(
      "Examples:\n"
      "  lightline import model.pt2 -o model.lir\n"
      "  lightline import corpus.jsonl.xz --stats\n"
      "  lightline import samples.tar.xz --stats\n"
      "  lightline import corpus.jsonl.xz --form core --stats --json");
  command.runs([options, form, values] {
    if (values.given() && api::is_corpus(options->file))
      return report_error({ErrorCode::usage, "--values is for one program", "leave it out", {options->file}});
    if (const Status fits = check_form(form, {options->file}); !fits.ok()) return report_error(fits.error());
    return api::is_corpus(options->file) ? import_corpus(*options) : import_one(*options);
  });
}

}  // namespace lightline::cli
