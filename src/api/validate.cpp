#include "api/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <complex>

#include "api/framework.h"
#include "api/guard.h"
#include "base/file.h"
#include "base/shown.h"
#include "base/temporary_folder.h"
#include "base/tensor_io.h"
#include "frontend/fx/samples.h"

namespace lightline::api {
namespace {

Error unfit(const std::string& file, std::string message) { return {ErrorCode::usage, std::move(message), "", {file}}; }

// Dotted names, as an import takes them.
bool is_module_name(std::string_view text) {
  const auto fits = [](char c) { return std::isalnum(uint8_t(c)) != 0 || c == '_' || c == '.' || uint8_t(c) >= 0x80; };
  return !text.empty() && std::ranges::all_of(text, fits) && !text.ends_with(".py");
}

// A framework takes seconds to start: what can be told without it is told first.
Status check_source(const std::string& file) {
  if (frontend::is_sample_folder(file)) return Ok{};
  if (frontend::is_folder(file)) return unfit(file, "this folder is no GraphNet sample: it has no model.py");
  const bool is_named_as_source = file.ends_with(".py") || file.ends_with(".json");
  const size_t colon = file.find(':');
  if (is_named_as_source || file_exists(file) || colon == std::string::npos) {
    LL_DO(check_readable(file));
    if (is_named_as_source) return Ok{};
    return Error{ErrorCode::usage,
                 "this is no model.py, module:function, definition.json or folder of a GraphNet sample",
                 "name what the program was made from: there is a framework to compare with",
                 {file}};
  }
  if (is_module_name(std::string_view(file).substr(0, colon))) return Ok{};
  return Error{ErrorCode::usage,
               fmt::format("'{}' is no name of a module", shown(file.substr(0, colon))),
               "write module:function as Python imports it, package.model:function; or the name of a file alone",
               {file}};
}

// Options that this kind of file does not know.
Status check_options(const std::string& file, const ValidateOptions& options) {
  const bool is_sample = frontend::is_sample_folder(file);
  if (is_sample && options.backward) return unfit(file, "a GraphNet sample has no training step to go backward in");
  if (is_sample && options.form != "both") return unfit(file, "a GraphNet sample has one form");
  if (options.scale != 1 && (is_sample || !file.ends_with(".py"))) return unfit(file, "only a model.py can be scaled");
  if (options.workload != 0 && !file.ends_with(".json")) return unfit(file, "only a definition.json has workloads");
  return Ok{};
}

const loops::Compute* maker_of(const loops::Program& program, loops::ArrayId array) {
  for (const loops::Statement& statement : program.statements) {
    const auto* compute = std::get_if<loops::Compute>(&statement.node);
    if (compute != nullptr && compute->result == array) return compute;
  }
  return nullptr;
}

// The coarsest dtype that the values of an array had before they were only moved and converted: an f32 that was an f16
// is as exact as an f16.
DType precision_of(const loops::Program& program, loops::ArrayId array) {
  DType coarsest = program.arrays[array].dtype;
  const auto pass = [&](DType dtype) {
    if (tolerance(dtype).relative > tolerance(coarsest).relative) coarsest = dtype;
  };
  while (const loops::Compute* maker = maker_of(program, array)) {
    if (maker->reducer != loops::Reducer::none) break;
    const loops::Expr* value = &program.exprs[maker->body];
    for (; value->kind == loops::ExprKind::cast; value = &program.exprs[value->args[0]]) pass(value->target);
    if (value->kind != loops::ExprKind::read || value->args[0] == array) break;
    array = value->args[0];
    pass(program.arrays[array].dtype);
  }
  return coarsest;
}

double size_of(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::c64 ? std::abs(tensor.get_c128(i)) : std::fabs(tensor.get_f64(i));
}

// Errors of many operators add up: what counts is the distance against the size of the output as a whole.
Comparison compare_output(const Tensor& actual, const Tensor& expected, DType precision) {
  Tolerance allowed = tolerance(precision);
  double largest = 0;
  if (is_float(expected.dtype()) || expected.dtype() == DType::c64)
    for (int64_t i = 0; i < expected.size(); ++i)
      if (const double v = size_of(expected, i); std::isfinite(v)) largest = std::max(largest, v);
  allowed.absolute = std::max(allowed.absolute, allowed.relative * largest);
  return compare(actual, expected, allowed);
}

const Tensor* find_tensor(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors)
    if (key == name) return &tensor;
  return nullptr;
}

Result<std::vector<Tensor>> inputs_of(const Program& program, const NamedTensors& tensors) {
  std::vector<Tensor> inputs;
  for (const std::string& name : program.source_names()) {
    const Tensor* tensor = find_tensor(tensors, "in." + name);
    if (tensor == nullptr)
      return Error{ErrorCode::name, fmt::format("the framework gave no value for the input '{}'", name), "", {}};
    inputs.push_back(Tensor::dense_copy(tensor->view()));
  }
  return inputs;
}

// `is_torch`: there, what an input becomes is no result of the program.
Result<std::vector<report::ValidatedOutput>> compare_outputs(const loops::Program& program,
                                                             const std::vector<Tensor>& results,
                                                             const NamedTensors& tensors, bool is_torch) {
  std::vector<report::ValidatedOutput> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_torch && program.outputs[i].replaces != loops::none) continue;
    const Tensor* expected = find_tensor(tensors, fmt::format("out.{}", outputs.size()));
    if (expected == nullptr)
      return Error{ErrorCode::shape,
                   fmt::format("the framework gave {} outputs, but the program has more", outputs.size()),
                   "",
                   {}};
    const loops::ArrayId array = program.outputs[i].array;
    outputs.push_back({program.arrays[array].name, expected->dtype(), expected->shape(),
                       compare_output(results[i], *expected, precision_of(program, array))});
  }
  if (find_tensor(tensors, fmt::format("out.{}", outputs.size())) != nullptr)
    return Error{
        ErrorCode::shape, fmt::format("the framework gave more outputs than the program's {}", outputs.size()), "", {}};
  return outputs;
}

Result<std::vector<report::ValidatedOutput>> validate_program(const std::string& path, const NamedTensors& tensors,
                                                              Backend backend, const Note& note) {
  LL_TRY(const Source source, read_source(path));
  LL_TRY(const Program program, import(source, ExportForm::training));
  if (const auto& missing = program.lowered().not_executable; !missing.empty())
    note(fmt::format("opaque operators that may not run: {}", missing.begin()->first));
  LL_TRY(const std::vector<Tensor> inputs, inputs_of(program, tensors));
  LL_TRY(const RunResult result, run(program, inputs, {.backend = backend}));
  return compare_outputs(program.loops(), result.outputs, tensors, path.ends_with(".json"));
}

Result<report::ValidateReport> validate_in(const std::string& folder, const std::string& file,
                                           const ValidateOptions& options, const Note& note) {
  std::vector<std::string> arguments = {"-m",         "lightline.validate",
                                        "--scale",    fmt::format("{}", options.scale),
                                        "--seed",     fmt::format("{}", options.seed),
                                        "--workload", fmt::format("{}", options.workload)};
  if (options.backward) arguments.push_back("--backward");
  arguments.insert(arguments.end(), {"--", file, folder});
  LL_DO(run_framework(arguments, file));
  if (!file_exists(folder + "/tensors.safetensors"))
    return Error{ErrorCode::io, "the framework ended without results", "see what LIGHTLINE_PYTHON names", {file}};
  LL_TRY(const NamedTensors tensors, read_tensors(folder + "/tensors.safetensors"));
  report::ValidateReport report;
  report.program = file;
  report.seed = options.seed;
  const bool sample = frontend::is_sample_folder(file);
  const bool is_jax = file_exists(folder + "/program_stablehlo.mlir");
  const std::vector<std::string> forms = sample   ? std::vector<std::string>{"text"}
                                         : is_jax ? std::vector<std::string>{"stablehlo"}
                                                  : std::vector<std::string>{"training", "core"};
  if (is_jax && options.form != "both") return unfit(file, "a JAX program has one form");
  for (const std::string& form : forms) {
    if (forms.size() > 1 && options.form != "both" && options.form != form) continue;
    const std::string program = sample ? file : fmt::format("{}/program_{}.{}", folder, form, is_jax ? "mlir" : "json");
    for (const std::string backend : {"interp", "c"}) {
      if (options.backend != "both" && options.backend != backend) continue;
      report::ValidatedRun run{form, backend, "", {}};
      auto outputs = validate_program(program, tensors, backend == "c" ? Backend::c : Backend::interpreter, note);
      if (outputs.ok())
        run.outputs = std::move(outputs).value();
      else
        run.error = outputs.error().message;
      report.runs.push_back(std::move(run));
    }
  }
  return report;
}

}  // namespace

Result<report::ValidateReport> validate(const std::string& file, const ValidateOptions& options, const Note& note) {
  return guarded([&]() -> Result<report::ValidateReport> {
    LL_DO(check_source(file));
    LL_DO(check_options(file, options));
    LL_TRY(const TemporaryFolder folder, TemporaryFolder::make());
    return validate_in(folder.path(), file, options, note);
  });
}

}  // namespace lightline::api
