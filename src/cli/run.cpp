// lightline run: executes a program and tells what came out.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>

#include "base/tensor_io.h"
#include "cli/cli.h"
#include "loops/interpret/interpret.h"
#include "loops/run/compile.h"
#include "report/run_report.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string file;
  InputOptions inputs;
  std::string backend = "interp";
  int threads = 0;
  std::string output;
  int repeat = 1;
  bool json = false;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool holds_one_array(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".npy.xz") || path.ends_with(".npy.zst");
}

// Before a long run, not after it.
Status check_output_file(const std::string& path, const loops::Program& program) {
  const size_t count = program.outputs.size();
  if (holds_one_array(path) && count != 1) {
    const std::string message = fmt::format("'{}' holds one array, but the program has {} outputs", path, count);
    return Error{ErrorCode::usage, message, "write an .npz file", {}};
  }
  if (holds_one_array(path) || path.find(".npz") != path.npos || path.find(".safetensors") != path.npos) return Ok{};
  return Error{ErrorCode::usage, "'" + path + "' is not a tensor file", "name it .npz, .npy or .safetensors", {}};
}

// Runs the program `repeat` times and notes each time; the outputs of the last run remain.
Result<std::vector<Tensor>> execute(const loops::Program& program, const std::vector<Tensor>& inputs,
                                    const Options& options, report::RunReport& report) {
  std::function<Result<std::vector<Tensor>>()> once = [&] { return loops::interpret(program, inputs); };
  std::optional<loops::CompiledPrograms> compiled;
  if (options.backend == "c") {
    // The OpenMP runtime reads this when the compiled program is loaded.
    if (options.threads > 0) setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
    const double start = now_ms();
    LL_TRY(compiled, loops::compile({&program}, {.openmp = options.threads != 1}));
    report.compile_ms = now_ms() - start;
    report.from_cache = compiled->from_cache();
    once = [&] { return compiled->run(0, inputs); };
  }
  std::vector<Tensor> outputs;
  for (int i = 0; i < options.repeat; ++i) {
    const double start = now_ms();
    LL_TRY(outputs, once());
    report.times_ms.push_back(now_ms() - start);
  }
  return outputs;
}

Status write_outputs(const std::string& path, const loops::Program& program, std::vector<Tensor> outputs) {
  NamedTensors named;
  std::set<std::string> seen;  // an array may be an output twice; the file needs it once
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = program.arrays[program.outputs[i].array].name;
    if (seen.insert(name).second) named.emplace_back(holds_one_array(path) ? "" : name, std::move(outputs[i]));
  }
  return write_tensors(path, named);
}

Result<report::RunReport> run_program(const loops::Program& program, const std::string& file, const Options& options) {
  if (!options.output.empty()) LL_DO(check_output_file(options.output, program));
  LL_TRY(Inputs inputs, gather_inputs(program, options.inputs));
  report::RunReport report{
      .file = file, .program = program.name, .backend = options.backend, .seed = options.inputs.seed};
  LL_TRY(std::vector<Tensor> outputs, execute(program, inputs.tensors, options, report));
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    report.inputs.push_back(
        report::summarize(program.arrays[program.inputs[i]].name, inputs.tensors[i], inputs.sources[i]));
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    report.outputs.push_back(report::summarize(program.arrays[program.outputs[i].array].name, outputs[i]));
  }
  if (!options.output.empty()) LL_DO(write_outputs(options.output, program, std::move(outputs)));
  return report;
}

int run(const Options& options) {
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto program = program_of(*source);
  if (!program.ok()) return report_error(program.error(), source->text);
  const auto report = run_program(*program, source->name, options);
  if (!report.ok()) return report_error(report.error(), source->text);
  print(options.json ? report::to_json(*report) : report::to_table(*report));
  return exit_ok;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Execute a program and print its outputs' types, checksums and time");
  command->add_option("FILE", options->file, "The program; - is standard input")->required()->option_text(" ");
  command->add_option("-i,--input", options->inputs.named, "An input from .npy, .npz or .safetensors; may be repeated")
      ->option_text("NAME=FILE[:KEY]")
      ->allow_extra_args(false);
  command->add_option("--inputs", options->inputs.all, "A file that holds inputs by their names")->option_text("FILE");
  command->add_option("--seed", options->inputs.seed, "Seed of the inputs that no file gives (default 0)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N");
  command->add_option("--backend", options->backend, "interp: the reference (default); c: emitted C")
      ->check(CLI::IsMember({"interp", "c"}))
      ->option_text("interp|c");
  command->add_option("--threads", options->threads, "Threads of emitted C (default: all)")
      ->check(CLI::Range(1, 4096))
      ->option_text("N");
  command->add_option("-o,--output", options->output, "Write the outputs to .npz, .npy or .safetensors")
      ->option_text("FILE");
  command->add_option("--repeat", options->repeat, "Run N times and report the best time")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  command->add_flag("--json", options->json, "Print JSON (docs/json.md)");
  command->footer(
      "Examples:\n"
      "  lightline run examples/loops/matmul.lir\n"
      "  lightline run model.lir --input x=x.npy --input w=weights.safetensors:layer.0.w -o out.npz\n"
      "  lightline run model.lir --backend c --threads 1 --repeat 20 --json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lightline::cli
