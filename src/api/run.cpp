#include "api/run.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "api/guard.h"
#include "base/file.h"
#include "base/tensor_io.h"
#include "loops/interpret/interpret.h"
#include "loops/run/compile.h"

namespace lightline::api {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<RunResult> run(const Program& program, const std::vector<Tensor>& inputs, const RunOptions& options) {
  return guarded([&]() -> Result<RunResult> {
    if (options.threads && options.backend != Backend::c)
      return Error{
          ErrorCode::usage, "threads are for the backend c; the interpreter uses one", "choose the backend c", {}};
    const int threads = options.threads.value_or(0);
    RunResult result;
    std::optional<loops::CompiledPrograms> compiled;
    if (options.backend == Backend::c) {
      const double start = now_ms();
      LL_TRY(compiled, loops::compile({&program.loops()}, {.openmp = threads != 1, .threads = threads}));
      result.compile_ms = now_ms() - start;
      result.from_cache = compiled->from_cache();
    }
    for (int i = 0; i < options.repeat; ++i) {
      const double start = now_ms();
      LL_TRY(result.outputs, compiled ? compiled->run(0, inputs) : loops::interpret(program.loops(), inputs));
      result.times_ms.push_back(now_ms() - start);
    }
    return result;
  });
}

Status check_output_file(const std::string& path, const Program& program) {
  const size_t count = program.loops().outputs.size();
  LL_TRY(const bool one, holds_one_tensor(path));
  if (one && count != 1) {
    const std::string message = fmt::format("'{}' holds one array, but the program has {} outputs", path, count);
    return Error{ErrorCode::usage, message, "write an .npz file", {}};
  }
  return check_target(path);
}

Status write_outputs(const std::string& path, const Program& program, std::vector<Tensor> outputs) {
  return guarded([&]() -> Status {
    LL_TRY(const bool one, holds_one_tensor(path));
    NamedTensors named;
    std::set<std::string> seen;  // an array may be an output twice; the file needs it once
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = program.loops().arrays[program.loops().outputs[i].array].name;
      if (seen.insert(name).second) named.emplace_back(one ? "" : name, std::move(outputs[i]));
    }
    return write_tensors(path, named);
  });
}

}  // namespace lightline::api
