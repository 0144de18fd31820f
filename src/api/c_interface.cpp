#include <cstdlib>
#include <cstring>
#include <memory>

#include "api/guard.h"
#include "api/json_options.h"
#include "api/lightline.h"
#include "api/run.h"

using lightline::Error;
using lightline::ErrorCode;
using lightline::Result;
using lightline::Status;
using lightline::Tensor;

struct lightline_program {
  lightline::api::Program program;
};

struct lightline_outputs {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  std::vector<lightline_tensor> views;
};

namespace {

namespace api = lightline::api;

char* copied(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

lightline_status fail(const Error& error, char** message) {
  if (message != nullptr) *message = copied(to_string(error));
  return error.code == ErrorCode::internal ? LIGHTLINE_DEFECT : LIGHTLINE_BAD_INPUT;
}

Error null_argument() { return {ErrorCode::usage, "an argument is NULL", "", {}}; }

// Runs `work`, a function that gives a Result, and hands its value to `take`.
template <class Work, class Take>
lightline_status call(char** error, const Work& work, const Take& take) {
  if (error != nullptr) *error = nullptr;
  auto result = api::guarded(work);
  if (!result.ok()) return fail(result.error(), error);
  const Status taken = api::guarded([&]() -> Status {
    take(std::move(result).value());
    return lightline::Ok{};
  });
  return taken.ok() ? LIGHTLINE_OK : fail(taken.error(), error);
}

lightline_status give_text(char** error, char** text, const std::function<Result<std::string>()>& work) {
  if (text == nullptr) return fail(null_argument(), error);
  *text = nullptr;
  return call(error, work, [&](const std::string& value) { *text = copied(value); });
}

Result<Tensor> tensor_of(const lightline_tensor& given) {
  const auto dtype = lightline::dtype_from_name(given.dtype == nullptr ? "" : given.dtype);
  if (!dtype)
    return Error{ErrorCode::type,
                 std::string("'") + (given.dtype == nullptr ? "" : given.dtype) + "' is not a dtype",
                 "such as f32, bf16, i64, bool",
                 {}};
  if (given.rank < 0) return Error{ErrorCode::shape, "the rank of a tensor is negative", "", {}};
  if (given.rank > 0 && given.shape == nullptr) return null_argument();
  LL_TRY(Tensor tensor, Tensor::allocate(*dtype, lightline::Shape(given.shape, given.shape + given.rank)));
  if (given.bytes > 0 && given.data == nullptr) return null_argument();
  if (tensor.byte_count() != given.bytes)
    return Error{ErrorCode::shape,
                 "the data of '" + std::string(given.name) + "' has " + std::to_string(given.bytes) + " bytes, not " +
                     std::to_string(tensor.byte_count()),
                 "",
                 {}};
  if (given.bytes > 0) std::memcpy(tensor.data(), given.data, given.bytes);
  return tensor;
}

Result<std::vector<Tensor>> inputs_by_name(const lightline::loops::Program& program, const lightline_tensor* inputs,
                                           size_t count) {
  std::vector<Tensor> ordered;
  for (const auto id : program.inputs) {
    const std::string& wanted = program.arrays[id].name;
    const lightline_tensor* found = nullptr;
    for (size_t i = 0; i < count; ++i)
      if (inputs[i].name != nullptr && wanted == inputs[i].name) found = &inputs[i];
    if (found == nullptr) return Error{ErrorCode::name, "there is no value for the input '" + wanted + "'", "", {}};
    LL_TRY(Tensor tensor, tensor_of(*found));
    ordered.push_back(std::move(tensor));
  }
  return ordered;
}

std::unique_ptr<lightline_outputs> named_outputs(const lightline::loops::Program& program,
                                                 std::vector<Tensor> tensors) {
  auto outputs = std::make_unique<lightline_outputs>();
  outputs->tensors = std::move(tensors);
  for (const auto& output : program.outputs) outputs->names.push_back(program.arrays[output.array].name);
  for (size_t i = 0; i < outputs->tensors.size(); ++i) {
    const Tensor& tensor = outputs->tensors[i];
    outputs->views.push_back({outputs->names[i].c_str(), name(tensor.dtype()).data(), int32_t(tensor.shape().size()),
                              tensor.shape().data(), tensor.data(), tensor.byte_count()});
  }
  return outputs;
}

}  // namespace

int lightline_abi_version(void) { return LIGHTLINE_ABI_VERSION; }
const char* lightline_version(void) { return LIGHTLINE_VERSION; }
void lightline_free_text(char* text) { std::free(text); }

lightline_status lightline_load(const char* path, lightline_program** program, char** error) {
  if (path == nullptr || program == nullptr) return fail(null_argument(), error);
  *program = nullptr;
  return call(
      error,
      [&]() -> Result<api::Program> {
        LL_TRY(const api::Source source, api::read_source(path));
        return api::load(source);
      },
      [&](api::Program loaded) { *program = new lightline_program{std::move(loaded)}; });
}

lightline_status lightline_parse(const char* name, const char* text, size_t size, lightline_program** program,
                                 char** error) {
  if (name == nullptr || text == nullptr || program == nullptr) return fail(null_argument(), error);
  *program = nullptr;
  return call(
      error,
      [&] {
        return api::load({name, std::string(text, size)});
      },
      [&](api::Program loaded) { *program = new lightline_program{std::move(loaded)}; });
}

void lightline_free_program(lightline_program* program) { delete program; }

lightline_status lightline_loop_text(const lightline_program* program, char** text, char** error) {
  if (program == nullptr) return fail(null_argument(), error);
  return give_text(error, text, [&]() -> Result<std::string> { return api::text_of(program->program); });
}

lightline_status lightline_c_text(const lightline_program* program, char** text, char** error) {
  if (program == nullptr) return fail(null_argument(), error);
  return give_text(error, text, [&] { return api::c_text_of(program->program); });
}

lightline_status lightline_analyze(const lightline_program* program, const char* options, char** json, char** error) {
  if (program == nullptr) return fail(null_argument(), error);
  return give_text(error, json, [&]() -> Result<std::string> {
    LL_TRY(const api::AnalyzeRequest request, api::parse_analyze_request(options == nullptr ? "" : options));
    LL_TRY(const auto machines, api::find_machines(request.machines));
    LL_TRY(const api::Program retyped, api::retype(program->program, request.retype));
    LL_TRY(const api::Analysis analysis, api::analyze(retyped, request.options));
    std::string list;
    for (const auto& machine : machines) {
      LL_TRY(const std::string line, analysis.json(machine, request.top, "", false));
      list += (list.empty() ? "[" : ",\n") + line.substr(0, line.find_last_not_of('\n') + 1);
    }
    return list + "]\n";
  });
}

lightline_status lightline_run(const lightline_program* program, const char* backend, const lightline_tensor* inputs,
                               size_t input_count, lightline_outputs** outputs, char** error) {
  if (program == nullptr || outputs == nullptr || (inputs == nullptr && input_count > 0))
    return fail(null_argument(), error);
  *outputs = nullptr;
  const std::string chosen = backend == nullptr ? "interp" : backend;
  if (chosen != "interp" && chosen != "c")
    return fail({ErrorCode::usage, "'" + chosen + "' is not a backend", "there are interp and c", {}}, error);
  return call(
      error,
      [&]() -> Result<api::RunResult> {
        LL_TRY(const std::vector<Tensor> ordered, inputs_by_name(program->program.loops(), inputs, input_count));
        return api::run(program->program, ordered,
                        {.backend = chosen == "c" ? api::Backend::c : api::Backend::interpreter});
      },
      [&](api::RunResult result) {
        *outputs = named_outputs(program->program.loops(), std::move(result.outputs)).release();
      });
}

size_t lightline_output_count(const lightline_outputs* outputs) {
  return outputs == nullptr ? 0 : outputs->views.size();
}

const lightline_tensor* lightline_output(const lightline_outputs* outputs, size_t which) {
  return outputs == nullptr || which >= outputs->views.size() ? nullptr : &outputs->views[which];
}

void lightline_free_outputs(lightline_outputs* outputs) { delete outputs; }

lightline_status lightline_validate(const char* file, const char* options, char** json, char** error) {
  if (file == nullptr) return fail(null_argument(), error);
  bool agrees = true;
  const lightline_status status = give_text(error, json, [&]() -> Result<std::string> {
    LL_TRY(const api::ValidateOptions chosen, api::parse_validate_options(options == nullptr ? "" : options));
    LL_TRY(const auto report, api::validate(file, chosen, [](const std::string&) {}));
    agrees = report.agrees();
    return to_json(report);
  });
  return status == LIGHTLINE_OK && !agrees ? LIGHTLINE_NO : status;
}
