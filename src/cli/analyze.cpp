// lightline analyze: how fast could this program run on that machine?
#include <fmt/format.h>

#include <memory>

#include "api/analyze.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct AnalyzeOptions {
  std::string file;
  std::string form = "training";
  api::AnalyzeOptions analyze;
  api::AnalyzeWords words;
  bool json = false;
};

// `lines`: one JSON object per line, with what a corpus entry carries.
Status analyze_program(const Result<api::Program>& program, const std::string& carried,
                       const std::vector<machine::Machine>& machines, const AnalyzeOptions& options, bool lines) {
  if (!program.ok()) return program.error();
  LL_TRY(const api::Analysis analysis, api::analyze(*program, api::with_words(options.analyze, options.words)));
  for (const std::string& line : analysis.notes()) note(fmt::format("{}: {}", program->file(), line));
  for (const machine::Machine& machine : machines) {
    LL_TRY(const std::string text,
           options.json || lines ? analysis.json(machine, carried, !lines) : analysis.text(machine));
    options.json || lines ? print(text) : print_lines(text);
    if (!options.json && !lines && machines.size() > 1) print("\n");
  }
  return Ok{};
}

int analyze(const AnalyzeOptions& options) {
  const auto machines = api::find_machines(api::with_words(options.analyze, options.words).machines);
  if (!machines.ok()) return report_error(machines.error());
  if (!api::is_corpus(options.file)) {
    const auto source = read_source(options.file);
    if (!source.ok()) return report_error(source.error());
    const Status status = analyze_program(api::load(*source), "", *machines, options, false);
    return status.ok() ? exit_ok : report_error(status.error(), source->text);
  }
  int64_t bad = 0;
  const auto visit = [&](const api::CorpusEntry& entry) -> Status {
    const Status one = analyze_program(api::import({entry.name, entry.program}, form_of(options.form)), entry.carried,
                                       *machines, options, true);
    if (!one.ok()) {
      ++bad;
      report_error(in_corpus(one.error(), options.file, entry));
    }
    return Ok{};
  };
  const Status status = api::for_each_program(options.file, form_of(options.form), visit);
  if (!status.ok()) return report_error(status.error());
  if (bad > 0) note(fmt::format("{} programs could not be analysed", bad));
  return bad == 0 ? exit_ok : exit_negative;
}

}  // namespace

void add_analyze(Command& root) {
  auto options = std::make_shared<AnalyzeOptions>();
  Command command = root.add("analyze", "Bound the time of a program on given hardware");
  command.option("FILE", options->file, help_of_file(Takes::loops, true)).required();
  command
      .option("--arch", options->analyze.machines.arch,
              "Machines by name or .toml file, separated by commas, or all (default H200)")
      .shown_as("NAME,...|all");
  command.option("--math", options->words.math, "How f32 products may be computed (default tf32)")
      .one_of(api::rules::math);
  command
      .option("--retype", options->analyze.retype,
              "Price the program as if its tensors of one float type were of another")
      .shown_as("f32=bf16");
  command.option("--clock", options->analyze.machines.clock, "Lock the core clock, such as 1.5GHz").shown_as("CLOCK");
  command
      .option("--ceilings", options->words.ceilings,
              "Rates that the machine can have at most, or those that arch probe measured (default nominal)")
      .one_of(api::rules::ceilings);
  const Option form = command.option("--form", options->form, "Which form of a corpus entry to read (default training)")
                          .one_of(corpus_form);
  command
      .option("--algorithms", options->words.algorithms,
              "Arithmetic as written, or also transform-domain convolutions (default standard)")
      .one_of(api::rules::algorithms);
  command.flag("--values", options->analyze.rely_on_values,
               "Rely on the values of integer inputs (indices) that the program file carries, too");
  command.flag("--warm", options->analyze.bound.warm, "Inputs and results may start and stay on chip");
  command
      .option("--measured", options->analyze.measured_ms, api::rules::measured,
              "A measured time in milliseconds, to tell the headroom")
      .shown_as("MS");
  command.option("--top", options->analyze.top, api::rules::top, "How many operators to list (default 10)")
      .shown_as("N");
  command.flag("--explain", options->analyze.explain,
               "List where bounds gave up, and how much that could be worth at most");
  command.flag("--demand", options->analyze.demand,
               "List the terms of the program: what is needed of each, what it reads, and its work (docs/demand.md)");
  command.flag("--json", options->json, "Print JSON (schema lightline.analyze, docs/json.md)");
  command.footer(
      "Examples:\n"
      "  lightline analyze model.pt2 --arch H200\n"
      "  lightline analyze model.pt2 --arch H200,B200 --retype f32=bf16 --measured 1.25\n"
      "  lightline analyze model.pt2 --explain\n"
      "  lightline analyze corpus.jsonl.xz --arch all > bounds.jsonl");
  command.runs([options, form] {
    const Status fits = check_form(form, {options->file});
    return fits.ok() ? analyze(*options) : report_error(fits.error());
  });
}

}  // namespace lightline::cli
