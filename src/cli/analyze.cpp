// lightline analyze: how fast could this program run on that machine?
#include <fmt/format.h>

#include <memory>

#include "bound/bound.h"
#include "cli/cli.h"
#include "demand/analysis.h"
#include "frontend/load/load.h"
#include "machine/catalogue.h"
#include "report/analyze_report.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string file;
  std::string arch = "H200";
  std::string math = "tf32";
  std::string retype;
  std::string clock;
  std::string ceilings = "nominal";
  std::string form = "training";
  std::string algorithms = "standard";
  bool values = false;
  bool warm = false;
  double measured = 0;
  size_t top = 10;
  bool json = false;
};

Result<std::vector<machine::Machine>> chosen_machines(const Options& options) {
  std::vector<machine::Machine> machines;
  if (options.arch == "all") {
    LL_TRY(machines, machine::all_machines());
  } else {
    for (size_t from = 0; from <= options.arch.size();) {
      const size_t comma = std::min(options.arch.find(',', from), options.arch.size());
      LL_TRY(machine::Machine found, machine::find_machine(options.arch.substr(from, comma - from)));
      machines.push_back(std::move(found));
      from = comma + 1;
    }
  }
  if (options.ceilings == "measured")
    for (machine::Machine& m : machines) {
      if (m.measured.matrix.empty() && m.measured.bytes_per_second.value == 0)
        return Error{ErrorCode::usage,
                     fmt::format("{} has no measured ceilings", m.name),
                     "give a file that lightline arch probe -o FILE wrote on that machine",
                     {}};
      m = machine::at_measured(std::move(m));
    }
  if (!options.clock.empty()) {
    LL_TRY(const double hz, machine::parse_clock(options.clock));
    for (machine::Machine& m : machines) m = machine::with_clock(std::move(m), hz);
  }
  return machines;
}

machine::MathMode math_of(const std::string& text) {
  return text == "strict"   ? machine::MathMode::strict
         : text == "fast16" ? machine::MathMode::fast16
                            : machine::MathMode::tf32;
}

// Prices the program as if its tensors of one float type were of another.
Status retype(loops::Program& program, const std::string& rule) {
  if (rule.empty()) return Ok{};
  const size_t equals = rule.find('=');
  const auto from = dtype_from_name(rule.substr(0, equals));
  const auto to = dtype_from_name(equals == std::string::npos ? "" : rule.substr(equals + 1));
  if (!from || !to || compute_type(*from) != DType::f32 || compute_type(*to) != DType::f32 || !is_float(*from) ||
      !is_float(*to))
    return Error{ErrorCode::usage,
                 fmt::format("'{}' does not name two float types", rule),
                 "write --retype f32=bf16; both of f32 f16 bf16 f8e4m3 f8e5m2 f4e2m1",
                 {}};
  for (loops::Array& array : program.arrays)
    if (array.dtype == *from) array.dtype = *to;
  return Ok{};
}

Status analyze_program(const Source& source, const std::string& carried, const std::vector<machine::Machine>& machines,
                       const Options& options, bool lines) {
  LL_TRY(Loops source_loops, loops_of(source));
  loops::Program& program = source_loops.program;
  LL_DO(retype(program, options.retype));
  demand::KnownValues known;
  for (size_t i = 0; i < source_loops.known.size() && options.values; ++i)
    if (const auto& tensor = source_loops.known[i]; tensor && is_integer(tensor->dtype()))
      known.emplace(program.inputs[i], &*tensor);
  const demand::Analysis analysis = demand::analyze(program, known);
  for (const machine::Machine& m : machines) {
    report::AnalyzeReport report;
    report.program = source.name;
    report.loops = &program;
    report.analysis = &analysis;
    report.machine = &m;
    report.options = {math_of(options.math), options.algorithms == "any", options.warm};
    report.bounds = bound::bound(analysis, m, report.options);
    if (options.measured > 0) report.measured_ms = options.measured;
    report.assumptions = source_loops.assumptions;
    report.assumptions.insert(report.assumptions.end(), analysis.assumptions.begin(), analysis.assumptions.end());
    if (options.ceilings == "measured")
      report.assumptions.emplace_back("rates are the best that arch probe reached, which proves nothing");
    if (!known.empty()) report.assumptions.emplace_back("indices have the values that the program file carries");
    print(options.json || lines ? report::to_json(report, options.top, carried, !lines)
                                : report::to_text(report, options.top));
    if (!options.json && !lines && machines.size() > 1) print("\n");
  }
  return Ok{};
}

int analyze(const Options& options) {
  const auto machines = chosen_machines(options);
  if (!machines.ok()) return report_error(machines.error());
  if (!frontend::is_corpus(options.file)) {
    const auto source = read_source(options.file);
    if (!source.ok()) return report_error(source.error());
    const Status status = analyze_program(*source, "", *machines, options, false);
    return status.ok() ? exit_ok : report_error(status.error(), source->text);
  }
  int64_t bad = 0;
  const auto form = options.form == "core" ? frontend::Form::core : frontend::Form::training;
  const Status status =
      frontend::for_each_program(options.file, form, [&](const frontend::CorpusEntry& entry) -> Status {
        const Status one =
            entry.program.empty()
                ? Status(Error{
                      ErrorCode::parse, fmt::format("there is no program in {} form", options.form), "", {entry.name}})
                : analyze_program({entry.name, entry.program}, entry.carried, *machines, options, true);
        if (!one.ok()) {
          ++bad;
          report_error(one.error());
        }
        return Ok{};
      });
  if (!status.ok()) return report_error(status.error());
  if (bad > 0) note(fmt::format("{} programs could not be analysed", bad));
  return exit_ok;
}

}  // namespace

void add_analyze(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("analyze", "Bound the time of a program on given hardware");
  command
      ->add_option("FILE", options->file,
                   "Loops, an exported program (.pt2 or JSON), a GraphNet sample, or a corpus; - is standard input")
      ->required();
  command
      ->add_option("--arch", options->arch,
                   "Machines by name or .toml file, separated by commas, or all (default H200)")
      ->option_text("NAME,...|all");
  command->add_option("--math", options->math, "How f32 products may be computed (default tf32)")
      ->check(CLI::IsMember({"strict", "tf32", "fast16"}))
      ->option_text("strict|tf32|fast16");
  command
      ->add_option("--retype", options->retype, "Price the program as if its tensors of one float type were of another")
      ->option_text("f32=bf16");
  command->add_option("--clock", options->clock, "Lock the core clock, such as 1.5GHz")->option_text("CLOCK");
  command
      ->add_option("--ceilings", options->ceilings,
                   "Rates that the machine can have at most, or those that arch probe measured (default nominal)")
      ->check(CLI::IsMember({"nominal", "measured"}))
      ->option_text("nominal|measured");
  command->add_option("--form", options->form, "Which form of a corpus entry to read (default training)")
      ->check(CLI::IsMember({"training", "core"}))
      ->option_text("training|core");
  command
      ->add_option("--algorithms", options->algorithms,
                   "Arithmetic as written, or also transform-domain convolutions (default standard)")
      ->check(CLI::IsMember({"standard", "any"}))
      ->option_text("standard|any");
  command->add_flag("--values", options->values, "Rely on the integer values that the program file carries (indices)");
  command->add_flag("--warm", options->warm, "Inputs and results may start and stay on chip");
  command->add_option("--measured", options->measured, "A measured time in milliseconds, to tell the headroom")
      ->check(CLI::PositiveNumber)
      ->option_text("MS");
  command->add_option("--top", options->top, "How many operators to list (default 10)")->option_text("N");
  command->add_flag("--json", options->json, "Print JSON (schema lightline.analyze, docs/json.md)");
  command->footer(
      "Examples:\n"
      "  lightline analyze model.pt2 --arch H200\n"
      "  lightline analyze model.pt2 --arch H200,B200 --retype f32=bf16 --measured 1.25\n"
      "  lightline analyze corpus.jsonl.xz --arch all > bounds.jsonl");
  command->callback([options, &action] { action = [options] { return analyze(*options); }; });
}

}  // namespace lightline::cli
