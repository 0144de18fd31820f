// lightline run: executes a program and reports what came out.
#include <algorithm>
#include <memory>

#include "api/run.h"
#include "cli/cli.h"
#include "report/run_report.h"

namespace lightline::cli {
namespace {

struct RunOptions {
  std::string file;
  api::InputOptions inputs;
  bool seed_given = false;
  std::string backend = "interp";
  std::optional<int> threads;
  std::string output;
  int repeat = 1;
  bool json = false;
};

Result<report::RunReport> run_program(const api::Program& program, const RunOptions& options) {
  if (!options.output.empty()) LL_DO(api::check_output_file(options.output, program));  // not after a long run
  LL_TRY(const api::Inputs inputs,
         api::gather_inputs(program, options.inputs, [](const std::string& text) { note(text); }));
  LL_TRY(api::RunResult result,
         api::run(program, inputs.tensors, {api::backend_of(options.backend), options.threads, options.repeat}));
  const loops::Program& loops = program.loops();
  if (options.seed_given && std::ranges::find(inputs.sources, "random") == inputs.sources.end())
    note("--seed changes nothing: no input is random");
  report::RunReport report{
      .file = program.file(), .program = loops.name, .backend = options.backend, .seed = options.inputs.seed};
  report.times_ms = std::move(result.times_ms);
  report.compile_ms = result.compile_ms;
  report.from_cache = result.from_cache;
  for (size_t i = 0; i < loops.inputs.size(); ++i)
    report.inputs.push_back(
        report::summarize(loops.arrays[loops.inputs[i]].name, inputs.tensors[i], inputs.sources[i]));
  for (size_t i = 0; i < loops.outputs.size(); ++i)
    report.outputs.push_back(report::summarize(loops.arrays[loops.outputs[i].array].name, result.outputs[i]));
  if (!options.output.empty()) LL_DO(api::write_outputs(options.output, program, std::move(result.outputs)));
  return report;
}

int run(const RunOptions& options) {
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = api::load(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  const auto report = run_program(*program, options);
  if (!report.ok()) return report_error(report.error(), source->text);
  options.json ? print(report::to_json(*report)) : print_lines(report::to_table(*report));
  return exit_ok;
}

}  // namespace

void add_run(Command& root) {
  auto options = std::make_shared<RunOptions>();
  Command command = root.add("run", "Execute a program and print its outputs' types, checksums and time");
  command.option("FILE", options->file, help_of_file(Takes::loops, false)).required().shown_as(" ");
  command.option("-i,--input", options->inputs.named, "An input from .npy, .npz or .safetensors; may be repeated")
      .shown_as("NAME=FILE[:KEY]")
      .one_value_each();
  command.option("--inputs", options->inputs.all, "A file that holds inputs by their names").shown_as("FILE");
  const Option seed =
      command
          .option("--seed", options->inputs.seed, api::rules::seed, "Seed of the inputs that no file gives (default 0)")
          .shown_as("N");
  command.option("--backend", options->backend, "interp: the reference (default); c: emitted C")
      .one_of(api::rules::backend);
  command.option("--threads", options->threads, api::rules::threads, "Threads of emitted C (default 0: all)")
      .shown_as("N");
  command.option("-o,--output", options->output, "Write the outputs to .npz, .npy or .safetensors").shown_as("FILE");
  command.option("--repeat", options->repeat, api::Count{1, 1000000}, "Run N times and report the best time")
      .shown_as("N");
  command.flag("--json", options->json, "Print JSON (docs/json.md)");
  command.footer(
      "Examples:\n"
      "  lightline run examples/loops/matmul.lir\n"
      "  lightline run model.lir --input x=x.npy --input w=weights.safetensors:layer.0.w -o out.npz\n"
      "  lightline run model.lir --backend c --threads 1 --repeat 20 --json");
  command.runs([options, seed] {
    options->seed_given = seed.given();
    return run(*options);
  });
}

}  // namespace lightline::cli
