#include "loops/run/compile.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "loops/emit_c/emit_c.h"
#include "loops/opaque/opaque.h"
#include "loops/plan/steps.h"
#include "loops/plan/uses.h"
#include "loops/run/cache.h"
#include "loops/run/errors.h"
#include "loops/run/threads.h"

namespace lightline::loops {

// What CompiledPrograms::State is made of; types without linkage would not do for it.
namespace compiled {

// As declared in the prelude of emitted code.
struct Host {
  void* self;
  void* (*allocate)(void* self, size_t bytes);
  void (*release)(void* self, void* memory);
  int (*opaque)(void* self, int32_t number, const void* const* operands, void* const* results);
  void (*outside)(void* self, int32_t statement, int32_t array, int32_t dimension, int64_t subscript);
  const int* failed;
  int (*threads)(void* self);
};
using Entry = int (*)(const Host*, const void* const* inputs, void* const* outputs);

// Memory that runs borrow. Blocks are kept for the next run: fresh pages cost more than the work on them.
class Pool {
 public:
  Pool() = default;
  ~Pool() {
    for (const Block& block : free_blocks_) std::free(block.memory);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* take(size_t bytes) {
    const size_t unit = bytes >= huge ? huge : 64;
    bytes = (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
    const std::lock_guard lock(mutex_);
    auto best = free_blocks_.end();
    for (auto it = free_blocks_.begin(); it != free_blocks_.end(); ++it)
      if (it->bytes >= bytes && it->bytes / 2 <= bytes && (best == free_blocks_.end() || it->bytes < best->bytes))
        best = it;
    Block block{nullptr, bytes};
    if (best != free_blocks_.end()) {
      block = *best;
      free_blocks_.erase(best);
      kept_ -= block.bytes;
    } else {
      block.memory = std::aligned_alloc(unit, bytes);
      if (block.memory == nullptr) return nullptr;
      if (bytes >= huge) madvise(block.memory, bytes, MADV_HUGEPAGE);
    }
    used_.emplace(block.memory, block.bytes);
    return block.memory;
  }

  void release(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto it = used_.find(memory);
    const Block block{memory, it->second};
    used_.erase(it);
    if (kept_ + block.bytes > most_kept) return std::free(memory);
    kept_ += block.bytes;
    free_blocks_.push_back(block);
  }

 private:
  static constexpr size_t huge = size_t(2) << 20;
  static constexpr size_t most_kept = size_t(1) << 30;
  struct Block {
    void* memory;
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> free_blocks_;
  std::unordered_map<void*, size_t> used_;
  size_t kept_ = 0;
};

struct LoadedProgram {
  const Program* program = nullptr;
  Entry entry = nullptr;
  std::vector<const Opaque*> opaques;
  std::vector<std::vector<bool>> in_place;  // by output, by input
};

}  // namespace compiled

namespace {

using compiled::Host, compiled::LoadedProgram, compiled::Pool;

constexpr int no_memory = 2;

// Outputs whose storage may be that of the input they replace: a scatter starts from the input, and nothing else uses
// it.
bool runs_in_place(const Program& program, const plan::ArrayUses& uses, size_t output, ArrayId input) {
  if (program.outputs[output].replaces != input) return false;
  for (const Statement& statement : program.statements) {
    const auto* scatter = std::get_if<Scatter>(&statement.node);
    if (scatter != nullptr && scatter->result == program.outputs[output].array)
      return scatter->init_array == input && uses.arrays[input].reads == 0 && uses.arrays[input].others == 1;
  }
  return false;
}

// One run: what the emitted code calls back.
struct Run {
  Pool& pool;
  const OpenMp& openmp;
  const LoadedProgram& loaded;
  std::mutex mutex = {};
  std::optional<Error> error = {};
  int32_t statement = INT32_MAX;
  int failed = 0;
  int threads = 0;  // once they are asked for

  static Run& of(void* self) { return *static_cast<Run*>(self); }
  static void* allocate(void* self, size_t bytes) { return of(self).pool.take(bytes); }
  static void release(void* self, void* memory) { of(self).pool.release(memory); }
  static int ready(void* self) {
    Run& run = of(self);
    if (run.threads == 0) run.threads = ready_threads(run.openmp);
    return run.threads;
  }

  // Of several faults, one in the earliest statement.
  static void outside(void* self, int32_t statement, int32_t array, int32_t dimension, int64_t subscript) {
    Run& run = of(self);
    const std::lock_guard lock(run.mutex);
    __atomic_store_n(&run.failed, 1, __ATOMIC_RELAXED);
    if (run.statement <= statement) return;
    run.statement = statement;
    const Program& program = *run.loaded.program;
    run.error = array < 0 ? write_outside(program, ArrayId(statement), dimension, subscript)
                          : read_outside(program, ArrayId(statement), ArrayId(array), dimension, subscript);
  }

  static int opaque(void* self, int32_t number, const void* const* operands, void* const* results) {
    Run& run = of(self);
    const Opaque& opaque_statement = *run.loaded.opaques[size_t(number)];
    Status status = run.opaque(opaque_statement, operands, results);
    if (status.ok()) return 0;
    run.error = std::move(status).error();
    return 1;
  }

  Status opaque(const Opaque& opaque_statement, const void* const* operands, void* const* results) {
    const Program& program = *loaded.program;
    std::vector<Tensor> values, made;
    const auto allocate_all = [&](const std::vector<ArrayId>& ids, std::vector<Tensor>& list) -> Status {
      for (const ArrayId id : ids) {
        LL_TRY(Tensor tensor, Tensor::allocate(program.arrays[id].dtype, program.arrays[id].shape));
        list.push_back(std::move(tensor));
      }
      return Ok{};
    };
    LL_DO(allocate_all(opaque_statement.operands, values));
    LL_DO(allocate_all(opaque_statement.results, made));
    std::vector<const Tensor*> from;
    std::vector<Tensor*> to;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].byte_count() > 0) std::memcpy(values[i].data(), operands[i], values[i].byte_count());
      from.push_back(&values[i]);
    }
    for (Tensor& tensor : made) to.push_back(&tensor);
    if (Status status = run_opaque(opaque_statement, from, to); !status.ok()) {
      if (!opaque_statement.results.empty())
        status.error().message =
            fmt::format("in '{}': {}", program.arrays[opaque_statement.results[0]].name, status.error().message);
      return status;
    }
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].byte_count() > 0) std::memcpy(results[i], made[i].data(), made[i].byte_count());
    return Ok{};
  }
};

Status check_tensor(const Array& declared, const Tensor& given, std::string_view what) {
  if (given.dtype() != declared.dtype)
    return Error{ErrorCode::type,
                 fmt::format("{} '{}' is declared {}, but {} is given", what, declared.name, name(declared.dtype),
                             name(given.dtype())),
                 "",
                 {}};
  if (given.shape() != declared.shape)
    return Error{ErrorCode::shape,
                 fmt::format("{} '{}' is declared {}, but {} is given", what, declared.name, to_string(declared.shape),
                             to_string(given.shape())),
                 "",
                 {}};
  return Ok{};
}

// A library that can not be used is removed with its text: it must not be found again.
Result<void*> load(const Library& library, const std::string& symbol) {
  void* handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string problem = handle == nullptr ? dlerror() : "";
  if (handle != nullptr && dlsym(handle, symbol.c_str()) == nullptr) {
    problem = fmt::format("{}: it has no '{}'", library.path, symbol);
    dlclose(handle);
    handle = nullptr;
  }
  std::error_code ignored;
  if (handle == nullptr)
    for (const char* suffix : {".so", ".c"})
      std::filesystem::remove(std::filesystem::path(library.path).replace_extension(suffix), ignored);
  if (!library.remove_after_loading.empty()) std::filesystem::remove_all(library.remove_after_loading, ignored);
  if (handle != nullptr) return handle;
  return Error{
      ErrorCode::io,
      fmt::format("compiled code can not be loaded: {}", problem),
      "set LIGHTLINE_CC to a compiler for this machine, or LIGHTLINE_CACHE to a directory that allows execution",
      {}};
}

}  // namespace

struct CompiledPrograms::State {
  void* library = nullptr;
  bool from_cache = false;
  OpenMp openmp;
  std::vector<compiled::LoadedProgram> programs;
  mutable compiled::Pool pool;
  ~State() {
    if (library != nullptr) dlclose(library);
  }
};

CompiledPrograms::CompiledPrograms(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledPrograms::CompiledPrograms(CompiledPrograms&&) noexcept = default;
CompiledPrograms& CompiledPrograms::operator=(CompiledPrograms&&) noexcept = default;
CompiledPrograms::~CompiledPrograms() = default;

size_t CompiledPrograms::size() const { return state_->programs.size(); }
bool CompiledPrograms::from_cache() const { return state_->from_cache; }

Result<std::vector<Tensor>> CompiledPrograms::run(size_t which, const std::vector<Tensor>& inputs) const {
  const Program& program = *state_->programs[which].program;
  std::vector<const Tensor*> from;
  for (const Tensor& input : inputs) from.push_back(&input);
  std::vector<Tensor> outputs;
  for (const Output& output : program.outputs) {
    const Array& array = program.arrays[output.array];
    LL_TRY(Tensor tensor, Tensor::allocate(array.dtype, array.shape));
    outputs.push_back(std::move(tensor));
  }
  std::vector<Tensor*> to;
  for (Tensor& output : outputs) to.push_back(&output);
  LL_DO(run_into(which, from, to));
  return outputs;
}

Status CompiledPrograms::run_into(size_t which, const std::vector<const Tensor*>& inputs,
                                  const std::vector<Tensor*>& outputs) const {
  const LoadedProgram& loaded = state_->programs[which];
  const Program& program = *loaded.program;
  if (inputs.size() != program.inputs.size())
    return Error{ErrorCode::usage,
                 fmt::format("program '{}' takes {} inputs, but {} are given", program.name, program.inputs.size(),
                             inputs.size()),
                 "",
                 {}};
  if (outputs.size() != program.outputs.size())
    return Error{ErrorCode::usage,
                 fmt::format("program '{}' gives {} outputs, but {} are taken", program.name, program.outputs.size(),
                             outputs.size()),
                 "",
                 {}};
  for (size_t i = 0; i < inputs.size(); ++i)
    LL_DO(check_tensor(program.arrays[program.inputs[i]], *inputs[i], "input"));
  for (size_t i = 0; i < outputs.size(); ++i)
    LL_DO(check_tensor(program.arrays[program.outputs[i].array], *outputs[i], "output"));
  std::vector<Tensor> copies;  // of inputs whose storage an output takes while others may still read it
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Tensor* output : outputs) to.push_back(output->data());
  copies.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const void* data = inputs[i]->data();
    bool is_taken = false;
    for (size_t j = 0; j < to.size(); ++j) is_taken |= data != nullptr && to[j] == data && !loaded.in_place[j][i];
    if (is_taken) data = copies.emplace_back(Tensor::dense_copy(inputs[i]->view())).data();
    from.push_back(data);
  }
  Run run{state_->pool, state_->openmp, loaded};
  const Host host{&run, &Run::allocate, &Run::release, &Run::opaque, &Run::outside, &run.failed, &Run::ready};
  const int status = loaded.entry(&host, from.data(), to.data());
  if (run.error) return *run.error;
  if (status == 0) return Ok{};
  if (status == no_memory)
    return Error{ErrorCode::limit, fmt::format("program '{}' needs more memory than there is", program.name), "", {}};
  return Error{ErrorCode::internal, fmt::format("program '{}' failed", program.name), "", {}};
}

Result<CompiledPrograms> compile(const std::vector<const Program*>& programs, const CompileOptions& options) {
  constexpr const char* symbol = "lightline_main";
  auto state = std::make_unique<CompiledPrograms::State>();
  if (programs.empty()) return CompiledPrograms(std::move(state));
  std::vector<const plan::Schedule*> schedules = options.schedules;
  schedules.resize(programs.size(), nullptr);
  LL_TRY(const std::string source, emit_c(programs, schedules, symbol));
  const auto entry_name = [&](size_t i) {
    return programs.size() == 1 ? std::string(symbol) : fmt::format("{}_{}", symbol, i);
  };
  LL_TRY(Library library, build_library(source, options));
  auto loaded_library = load(library, entry_name(programs.size() - 1));
  if (!loaded_library.ok() && library.from_cache) {  // it is gone now
    LL_TRY(library, build_library(source, options));
    loaded_library = load(library, entry_name(programs.size() - 1));
  }
  LL_TRY(state->library, std::move(loaded_library));
  state->from_cache = library.from_cache;
  // Threads of the OpenMP library outlive the code that started them: it must stay when the code goes.
  for (const char* runtime : {"libgomp.so.1", "libomp.so", "libomp.so.5"})
    dlopen(runtime, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  state->openmp = {options.threads, reinterpret_cast<int (*)()>(dlsym(state->library, "omp_get_max_threads")),
                   reinterpret_cast<int (*)(int)>(dlsym(state->library, fmt::format("{}_threads", symbol).c_str()))};
  for (size_t i = 0; i < programs.size(); ++i) {
    LoadedProgram loaded{programs[i], nullptr, plan::opaque_statements(*programs[i]), {}};
    loaded.entry = reinterpret_cast<compiled::Entry>(dlsym(state->library, entry_name(i).c_str()));
    LL_CHECK(loaded.entry != nullptr);
    const plan::ArrayUses uses = plan::find_uses(*programs[i]);
    for (size_t output = 0; output < programs[i]->outputs.size(); ++output) {
      auto& list = loaded.in_place.emplace_back();
      for (const ArrayId input : programs[i]->inputs) list.push_back(runs_in_place(*programs[i], uses, output, input));
    }
    state->programs.push_back(std::move(loaded));
  }
  return CompiledPrograms(std::move(state));
}

}  // namespace lightline::loops
