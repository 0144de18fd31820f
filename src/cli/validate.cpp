// lightline validate: runs a program here and in its framework, on the same random inputs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "base/tensor_io.h"
#include "cli/cli.h"
#include "frontend/fx/samples.h"
#include "frontend/load/load.h"
#include "loops/interpret/interpret.h"
#include "loops/run/compile.h"
#include "loops/run/compile_process.h"
#include "ops/lower/lower.h"
#include "report/validate_report.h"

namespace lightline::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string file;
  std::string form = "both";
  std::string backend = "both";
  double scale = 1;
  uint64_t seed = 0;
  int workload = 0;
  bool backward = false;
  bool json = false;
};

// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "lightline-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The clone this binary was built in, if it was: its Python package and virtual environment are used.
fs::path clone_folder() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = binary.parent_path().parent_path();
  return !error && fs::exists(folder / "python" / "lightline") ? folder : fs::path();
}

std::string python_command(const fs::path& clone) {
  if (const char* given = std::getenv("LIGHTLINE_PYTHON"); given != nullptr && *given != '\0') return given;
  const fs::path own = clone / ".venv" / "bin" / "python";
  return !clone.empty() && fs::exists(own) ? own.string() : "python3";
}

Status run_framework(const Options& options, const std::string& folder) {
  const fs::path clone = clone_folder();
  if (!clone.empty()) {
    const char* before = std::getenv("PYTHONPATH");
    const std::string path = (clone / "python").string() + (before != nullptr ? std::string(":") + before : "");
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::vector<std::string> arguments = {python_command(clone),
                                        "-m",
                                        "lightline.validate",
                                        options.file,
                                        folder,
                                        "--scale",
                                        fmt::format("{}", options.scale),
                                        "--seed",
                                        fmt::format("{}", options.seed),
                                        "--workload",
                                        fmt::format("{}", options.workload)};
  if (options.backward) arguments.push_back("--backward");
  LL_TRY(const loops::ProcessResult result, loops::run_process(arguments));
  if (result.status == 0) return Ok{};
  const size_t last = result.output.find_last_of('\n', result.output.size() < 2 ? 0 : result.output.size() - 2);
  std::string message = result.output.substr(last == std::string::npos ? 0 : last + 1);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (message.starts_with("error: ")) message.erase(0, 7);
  const bool missing = message.find("No module named") != std::string::npos;
  return Error{missing ? ErrorCode::unsupported : ErrorCode::parse,
               message.empty() ? "the framework could not run the program" : message,
               missing ? "install the framework in the Python that LIGHTLINE_PYTHON names" : "",
               {options.file}};
}

// Errors of many operators add up: what counts is the distance against the size of the output as a whole.
Comparison compare_output(const Tensor& actual, const Tensor& expected) {
  Tolerance allowed = tolerance(expected.dtype());
  double largest = 0;
  if (is_float(expected.dtype()))
    for (int64_t i = 0; i < expected.size(); ++i)
      if (const double v = std::fabs(expected.get_f64(i)); std::isfinite(v)) largest = std::max(largest, v);
  allowed.absolute = std::max(allowed.absolute, allowed.relative * largest);
  return compare(actual, expected, allowed);
}

const Tensor* find_tensor(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return &tensor;
  return nullptr;
}

Result<std::vector<Tensor>> execute(const loops::Program& program, const std::vector<Tensor>& inputs,
                                    const std::string& backend) {
  if (backend == "interp") return loops::interpret(program, inputs);
  LL_TRY(const loops::CompiledPrograms compiled, loops::compile({&program}));
  return compiled.run(0, inputs);
}

Result<std::vector<report::ValidatedOutput>> validate_program(const std::string& path, const NamedTensors& tensors,
                                                              const std::string& backend) {
  LL_TRY(const graph::Graph graph, frontend::load_graph(path, frontend::Form::training));
  LL_TRY(const ops::Lowered lowered, ops::lower(graph));
  if (!lowered.opaque.empty())
    note(fmt::format("opaque operators that may not run: {}", lowered.opaque.begin()->first));
  std::vector<Tensor> inputs;
  for (const uint32_t i : lowered.inputs) {
    const std::string& name = graph.values[graph.inputs[i].value].name;
    const Tensor* tensor = find_tensor(tensors, "in." + name);
    if (tensor == nullptr)
      return Error{ErrorCode::name, fmt::format("the framework gave no value for the input '{}'", name), "", {}};
    inputs.push_back(Tensor::dense_copy(tensor->view()));
  }
  LL_TRY(const std::vector<Tensor> results, execute(lowered.program, inputs, backend));
  std::vector<report::ValidatedOutput> outputs;
  const bool is_torch = path.ends_with(".json");  // there, what an input becomes is no result of the program
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_torch && lowered.program.outputs[i].replaces != loops::none) continue;
    const Tensor* expected = find_tensor(tensors, fmt::format("out.{}", outputs.size()));
    if (expected == nullptr)
      return Error{ErrorCode::shape,
                   fmt::format("the framework gave {} outputs, but the program has more", outputs.size()),
                   "",
                   {}};
    outputs.push_back({lowered.program.arrays[lowered.program.outputs[i].array].name, expected->dtype(),
                       expected->shape(), compare_output(results[i], *expected)});
  }
  if (find_tensor(tensors, fmt::format("out.{}", outputs.size())) != nullptr)
    return Error{
        ErrorCode::shape, fmt::format("the framework gave more outputs than the program's {}", outputs.size()), "", {}};
  return outputs;
}

int validate(const Options& options) {
  const TemporaryFolder folder;
  if (folder.path().empty())
    return report_error({ErrorCode::io, "can not make a temporary folder", "check TMPDIR", {}});
  if (const Status status = run_framework(options, folder.path()); !status.ok()) return report_error(status.error());
  const auto tensors = read_tensors(folder.path() + "/tensors.safetensors");
  if (!tensors.ok()) return report_error(tensors.error());
  report::ValidateReport report;
  report.program = options.file;
  report.seed = options.seed;
  const bool sample = frontend::is_sample_folder(options.file);
  const bool is_jax = fs::exists(folder.path() + "/program_stablehlo.mlir");
  const std::vector<std::string> forms = sample   ? std::vector<std::string>{"text"}
                                         : is_jax ? std::vector<std::string>{"stablehlo"}
                                                  : std::vector<std::string>{"training", "core"};
  for (const std::string& form : forms) {
    if (forms.size() > 1 && options.form != "both" && options.form != form) continue;
    const std::string program =
        sample ? options.file : folder.path() + "/program_" + form + (is_jax ? ".mlir" : ".json");
    for (const std::string backend : {"interp", "c"}) {
      if (options.backend != "both" && options.backend != backend) continue;
      report::ValidatedRun run{form, backend, "", {}};
      auto outputs = validate_program(program, *tensors, backend);
      if (outputs.ok())
        run.outputs = std::move(outputs).value();
      else
        run.error = outputs.error().message;
      report.runs.push_back(std::move(run));
    }
  }
  print(options.json ? report::to_json(report) : report::to_table(report));
  return report.agrees() ? exit_ok : exit_negative;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("validate", "Run a program here and in its framework, and compare");
  command
      ->add_option("FILE", options->file,
                   "A file of PyTorch or JAX, module:function, a definition.json, or the folder of a GraphNet sample")
      ->required();
  command->add_option("--form", options->form, "Which form of a PyTorch program")
      ->check(CLI::IsMember({"training", "core", "both"}))
      ->capture_default_str();
  command->add_option("--backend", options->backend, "What runs our side")
      ->check(CLI::IsMember({"interp", "c", "both"}))
      ->capture_default_str();
  command->add_option("--scale", options->scale, "Scale the sizes at the top of a model.py by this factor")
      ->check(CLI::Range(1e-4, 1.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of weights and inputs")->capture_default_str();
  command->add_option("--workload", options->workload, "Which workload of a definition.json")->capture_default_str();
  command->add_flag("--backward", options->backward, "Validate the training step: loss and gradients");
  command->add_flag("--json", options->json, "Print JSON (schema lightline.validate)");
  command->footer(
      "Examples:\n"
      "  lightline validate examples/pytorch/transformer_block.py\n"
      "  lightline validate examples/jax/mppi.py\n"
      "  lightline validate model.py --scale 0.1 --backend c\n"
      "  lightline validate model.py --backward --json");
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace lightline::cli
