#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "api/guard.h"
#include "api/json_options.h"
#include "api/lightline.h"
#include "api/run.h"

using lightline::Error;
using lightline::ErrorCode;
using lightline::Ok;
using lightline::Result;
using lightline::Status;
using lightline::Tensor;

struct lightline_program {
  explicit lightline_program(lightline::api::Program loaded);
  lightline::api::Program program;
  std::vector<std::optional<Tensor>> carried;
  std::vector<lightline_tensor> inputs;  // with the data of those that the program carries
};

struct lightline_outputs {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  std::vector<lightline_tensor> views;
};

lightline_program::lightline_program(lightline::api::Program loaded)
    : program(std::move(loaded)), carried(lightline::api::carried_values(program)) {
  const lightline::loops::Program& loops = program.loops();
  for (size_t i = 0; i < loops.inputs.size(); ++i) {
    const auto& array = loops.arrays[loops.inputs[i]];
    const void* data = carried[i] ? carried[i]->data() : nullptr;
    inputs.push_back({array.name.c_str(), name(array.dtype).data(), int32_t(array.shape.size()), array.shape.data(),
                      data, carried[i] ? size_t(carried[i]->byte_count()) : 0});
  }
}

namespace {

namespace api = lightline::api;

char* copied(const std::string& text) noexcept {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// All that the library does for a caller in C happens inside `work`, a function that gives a Status.
template <class Work>
lightline_status border(char** error, const Work& work) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Status status = api::guarded(work);
    if (status.ok()) return LIGHTLINE_OK;
    if (error != nullptr) *error = copied(to_string(status.error()));
    return status.error().code == ErrorCode::internal ? LIGHTLINE_DEFECT : LIGHTLINE_BAD_INPUT;
  } catch (...) {
    return LIGHTLINE_BAD_INPUT;  // there is no memory for the words
  }
}

Status require(bool condition) {
  if (!condition) return Error{ErrorCode::usage, "an argument is NULL", "", {}};
  return Ok{};
}

// What a caller gets back is NULL until there is something to give.
template <class T>
Status clear(T** result) {
  LL_DO(require(result != nullptr));
  *result = nullptr;
  return Ok{};
}

Status hand_over(const std::string& value, char** text) {
  *text = copied(value);
  if (*text == nullptr) return Error{ErrorCode::limit, "there is not enough memory", "", {}};
  return Ok{};
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

// The extents are read only where the caller says that there are as many as declared.
Result<Tensor> tensor_of(const lightline_tensor& given, const lightline_tensor& declared) {
  const std::string name = text_or_empty(given.name), type = text_or_empty(given.dtype);
  const auto dtype = lightline::dtype_from_name(type);
  if (!dtype)
    return Error{ErrorCode::type, fmt::format("'{}' is not a dtype", type), "such as f32, bf16, i64, bool", {}};
  if (given.rank != declared.rank)
    return Error{
        ErrorCode::shape, fmt::format("the rank of '{}' is {}, not {}", name, given.rank, declared.rank), "", {}};
  LL_DO(require(given.rank == 0 || given.shape != nullptr));
  LL_DO(require(given.bytes == 0 || given.data != nullptr));
  const lightline::Shape shape(given.shape, given.shape + given.rank);
  LL_TRY(const int64_t elements, lightline::element_count(shape));
  const uint64_t bytes = uint64_t(elements) * uint64_t(byte_size(*dtype));
  if (bytes != given.bytes)
    return Error{
        ErrorCode::shape, fmt::format("the data of '{}' has {} bytes, not {}", name, given.bytes, bytes), "", {}};
  LL_TRY(Tensor tensor, Tensor::allocate(*dtype, shape));
  if (given.bytes > 0) std::memcpy(tensor.data(), given.data, given.bytes);
  return tensor;
}

Result<std::vector<Tensor>> inputs_by_name(const lightline_program& program, const lightline_tensor* given,
                                           size_t count) {
  const auto find = [](const lightline_tensor* list, size_t size, const std::string& name) {
    return std::find_if(list, list + size, [&](const lightline_tensor& t) { return name == text_or_empty(t.name); });
  };
  const lightline_tensor* wanted = program.inputs.data();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = text_or_empty(given[i].name);
    if (find(wanted, program.inputs.size(), name) == wanted + program.inputs.size())
      return Error{ErrorCode::name, fmt::format("the program has no input '{}'", name), "", {}};
    if (find(given, i, name) != given + i)
      return Error{ErrorCode::name, fmt::format("the input '{}' is given twice", name), "", {}};
  }
  std::vector<Tensor> ordered;
  for (const lightline_tensor& input : program.inputs) {
    const lightline_tensor* found = find(given, count, input.name);
    if (found == given + count && input.data != nullptr) found = &input;
    if (found == given + count)
      return Error{ErrorCode::name, fmt::format("there is no value for the input '{}'", input.name), "", {}};
    LL_TRY(Tensor tensor, tensor_of(*found, input));
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
  return border(error, [&]() -> Status {
    LL_DO(clear(program));
    LL_DO(require(path != nullptr));
    LL_TRY(const api::Source source, api::read_source(path));
    LL_TRY(api::Program loaded, api::load(source));
    *program = new lightline_program(std::move(loaded));
    return Ok{};
  });
}

lightline_status lightline_parse(const char* name, const char* text, size_t size, lightline_program** program,
                                 char** error) {
  return border(error, [&]() -> Status {
    LL_DO(clear(program));
    LL_DO(require(name != nullptr && text != nullptr));
    LL_TRY(api::Program loaded, api::load({name, std::string(text, size)}));
    *program = new lightline_program(std::move(loaded));
    return Ok{};
  });
}

void lightline_free_program(lightline_program* program) { delete program; }

size_t lightline_input_count(const lightline_program* program) {
  return program == nullptr ? 0 : program->inputs.size();
}

const lightline_tensor* lightline_input(const lightline_program* program, size_t which) {
  return which < lightline_input_count(program) ? &program->inputs[which] : nullptr;
}

lightline_status lightline_loop_text(const lightline_program* program, char** text, char** error) {
  return border(error, [&]() -> Status {
    LL_DO(clear(text));
    LL_DO(require(program != nullptr));
    LL_TRY(const std::string loops, api::text_of(program->program));
    return hand_over(loops, text);
  });
}

lightline_status lightline_c_text(const lightline_program* program, char** text, char** error) {
  return border(error, [&]() -> Status {
    LL_DO(clear(text));
    LL_DO(require(program != nullptr));
    LL_TRY(const std::string code, api::c_text_of(program->program));
    return hand_over(code, text);
  });
}

lightline_status lightline_analyze(const lightline_program* program, const char* options, char** json, char** error) {
  return border(error, [&]() -> Status {
    LL_DO(clear(json));
    LL_DO(require(program != nullptr));
    LL_TRY(const api::AnalyzeOptions chosen, api::parse_analyze_options(text_or_empty(options)));
    LL_TRY(const auto machines, api::find_machines(chosen.machines));
    LL_TRY(const api::Analysis analysis, api::analyze(program->program, chosen));
    std::string list;
    for (const auto& machine : machines) {
      LL_TRY(const std::string line, analysis.json(machine, "", false));
      list += (list.empty() ? "[" : ",\n") + line.substr(0, line.find_last_not_of('\n') + 1);
    }
    return hand_over(list + "]\n", json);
  });
}

lightline_status lightline_run(const lightline_program* program, const char* options, const lightline_tensor* inputs,
                               size_t input_count, lightline_outputs** outputs, char** error) {
  return border(error, [&]() -> Status {
    LL_DO(clear(outputs));
    LL_DO(require(program != nullptr && (inputs != nullptr || input_count == 0)));
    LL_TRY(const api::RunOptions chosen, api::parse_run_options(text_or_empty(options)));
    LL_TRY(const std::vector<Tensor> ordered, inputs_by_name(*program, inputs, input_count));
    LL_TRY(api::RunResult result, api::run(program->program, ordered, chosen));
    *outputs = named_outputs(program->program.loops(), std::move(result.outputs)).release();
    return Ok{};
  });
}

size_t lightline_output_count(const lightline_outputs* outputs) {
  return outputs == nullptr ? 0 : outputs->views.size();
}

const lightline_tensor* lightline_output(const lightline_outputs* outputs, size_t which) {
  return which < lightline_output_count(outputs) ? &outputs->views[which] : nullptr;
}

void lightline_free_outputs(lightline_outputs* outputs) { delete outputs; }

lightline_status lightline_validate(const char* file, const char* options, char** json, char** error) {
  std::string differences;
  const lightline_status status = border(error, [&]() -> Status {
    LL_DO(clear(json));
    LL_DO(require(file != nullptr));
    LL_TRY(const api::ValidateOptions chosen, api::parse_validate_options(text_or_empty(options)));
    LL_TRY(const auto report, api::validate(file, chosen, [](const std::string&) {}));
    if (!report.agrees()) differences = to_summary(report);
    return hand_over(to_json(report), json);
  });
  if (status != LIGHTLINE_OK || differences.empty()) return status;
  if (error != nullptr) *error = copied(differences);
  return LIGHTLINE_NO;
}
