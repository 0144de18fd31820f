#include "machine/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lightline::machine {

// Signatures as in cuda.h; a result of 0 is success.
struct CudaCalls {
  void* library = nullptr;
  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*device_memory)(size_t*, int) = nullptr;
  int (*context_retain)(void**, int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_set)(void*) = nullptr;
  int (*memory_info)(size_t*, size_t*) = nullptr;
  int (*memory_allocate)(uint64_t*, size_t) = nullptr;
  int (*memory_free)(uint64_t) = nullptr;
  int (*memory_set)(uint64_t, unsigned, size_t) = nullptr;
  int (*module_load)(void**, const void*) = nullptr;
  int (*module_unload)(void*) = nullptr;
  int (*module_function)(void**, void*, const char*) = nullptr;
  int (*function_attribute)(void*, int, int) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*event_create)(void**, unsigned) = nullptr;
  int (*event_destroy)(void*) = nullptr;
  int (*event_record)(void*, void*) = nullptr;
  int (*event_synchronize)(void*) = nullptr;
  int (*event_elapsed)(float*, void*, void*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  CudaCalls() = default;
  CudaCalls(const CudaCalls&) = delete;
  CudaCalls& operator=(const CudaCalls&) = delete;
  ~CudaCalls() {
    if (library != nullptr) dlclose(library);
  }

  // True if the library has every function.
  bool resolve() {
    bool complete = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    find(device_name, "cuDeviceGetName");
    find(device_attribute, "cuDeviceGetAttribute");
    find(device_memory, "cuDeviceTotalMem_v2");
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_release, "cuDevicePrimaryCtxRelease_v2");
    find(context_set, "cuCtxSetCurrent");
    find(memory_info, "cuMemGetInfo_v2");
    find(memory_allocate, "cuMemAlloc_v2");
    find(memory_free, "cuMemFree_v2");
    find(memory_set, "cuMemsetD32_v2");
    find(module_load, "cuModuleLoadData");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(function_attribute, "cuFuncSetAttribute");
    find(launch, "cuLaunchKernel");
    find(event_create, "cuEventCreate");
    find(event_destroy, "cuEventDestroy_v2");
    find(event_record, "cuEventRecord");
    find(event_synchronize, "cuEventSynchronize");
    find(event_elapsed, "cuEventElapsedTime");
    find(error_name, "cuGetErrorName");
    return complete;
  }

  Status check(int code, std::string_view what) const {
    if (code == 0) return Ok{};
    const char* name = nullptr;
    error_name(code, &name);
    return Error{
        ErrorCode::unsupported,
        fmt::format("the CUDA driver failed to {}: {}", what, name == nullptr ? fmt::format("error {}", code) : name),
        "",
        {}};
  }
};

namespace {

Result<std::unique_ptr<CudaCalls>> load_driver() {
  auto calls = std::make_unique<CudaCalls>();
  calls->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (calls->library == nullptr || !calls->resolve()) {
    return Error{ErrorCode::unsupported, "there is no CUDA driver here", "probe the processor with --device cpu", {}};
  }
  LL_DO(calls->check(calls->init(0), "start"));
  return calls;
}

}  // namespace

CudaDevice::CudaDevice(std::unique_ptr<CudaCalls> calls) : calls_(std::move(calls)) {}
CudaDevice::CudaDevice(CudaDevice&&) noexcept = default;

CudaDevice::~CudaDevice() {
  if (calls_ == nullptr) return;
  for (const uint64_t buffer : buffers_) calls_->memory_free(buffer);
  for (void* module : modules_) calls_->module_unload(module);
  if (has_context_) calls_->context_release(device_);
}

int CudaDevice::count() {
  auto calls = load_driver();
  int count = 0;
  return calls.ok() && (*calls)->device_count(&count) == 0 ? count : 0;
}

Result<CudaDevice> CudaDevice::open(int index) {
  LL_TRY(std::unique_ptr<CudaCalls> calls, load_driver());
  int count = 0;
  LL_DO(calls->check(calls->device_count(&count), "count its devices"));
  if (count == 0)
    return Error{ErrorCode::unsupported, "the CUDA driver sees no device", "probe the processor with --device cpu", {}};
  if (index < 0 || index >= count)
    return Error{ErrorCode::range, fmt::format("there is no GPU {}; the driver sees {}", index, count), "", {}};
  CudaDevice device(std::move(calls));
  LL_DO(device.calls_->check(device.calls_->device_get(&device.device_, index), "open the device"));
  void* context = nullptr;
  LL_DO(device.calls_->check(device.calls_->context_retain(&context, device.device_), "make a context"));
  device.has_context_ = true;
  LL_DO(device.calls_->check(device.calls_->context_set(context), "use its context"));
  return device;
}

std::string CudaDevice::name() const {
  char name[256] = {};
  return calls_->device_name(name, sizeof name - 1, device_) == 0 ? name : "unknown GPU";
}

int CudaDevice::attribute(CudaAttribute which) const {
  int value = 0;
  return calls_->device_attribute(&value, int(which), device_) == 0 ? value : 0;
}

double CudaDevice::memory_bytes() const {
  size_t bytes = 0;
  return calls_->device_memory(&bytes, device_) == 0 ? double(bytes) : 0;
}

double CudaDevice::free_bytes() const {
  size_t free = 0, total = 0;
  return calls_->memory_info(&free, &total) == 0 ? double(free) : 0;
}

Result<uint64_t> CudaDevice::allocate(double bytes) {
  uint64_t buffer = 0;
  LL_DO(calls_->check(calls_->memory_allocate(&buffer, size_t(bytes)), "allocate memory"));
  buffers_.push_back(buffer);
  LL_DO(calls_->check(calls_->memory_set(buffer, 0, size_t(bytes) / 4), "clear memory"));
  return buffer;
}

Result<void*> CudaDevice::load(const std::string& ptx, const std::string& kernel, uint32_t shared_bytes) {
  constexpr int max_dynamic_shared_bytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  void* module = nullptr;
  LL_DO(calls_->check(calls_->module_load(&module, ptx.c_str()), fmt::format("compile {}", kernel)));
  modules_.push_back(module);
  void* function = nullptr;
  LL_DO(calls_->check(calls_->module_function(&function, module, kernel.c_str()), fmt::format("find {}", kernel)));
  if (shared_bytes > 0)
    LL_DO(calls_->check(calls_->function_attribute(function, max_dynamic_shared_bytes, int(shared_bytes)),
                        "reserve shared memory"));
  return function;
}

Status CudaDevice::launch(const Launch& kernel, const std::vector<uint64_t>& arguments) {
  std::vector<uint64_t> values = arguments;
  std::vector<void*> pointers;
  for (uint64_t& value : values) pointers.push_back(&value);
  return calls_->check(calls_->launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1, kernel.shared_bytes,
                                      nullptr, pointers.data(), nullptr),
                       "launch a kernel");
}

Result<double> CudaDevice::best_time(const Launch& kernel, const std::vector<uint64_t>& arguments, double seconds) {
  void *start = nullptr, *stop = nullptr;
  LL_DO(calls_->check(calls_->event_create(&start, 0), "make an event"));
  LL_DO(calls_->check(calls_->event_create(&stop, 0), "make an event"));
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  double best = INFINITY;
  Status status = Ok{};
  for (int n = 0; status.ok() && (n < 4 || Clock::now() < end); ++n) {
    float milliseconds = 0;
    calls_->event_record(start, nullptr);
    status = launch(kernel, arguments);
    calls_->event_record(stop, nullptr);
    if (status.ok()) status = calls_->check(calls_->event_synchronize(stop), "run a kernel");
    calls_->event_elapsed(&milliseconds, start, stop);
    if (n > 0) best = std::min(best, double(milliseconds) / 1e3);  // the first launch warms up
  }
  calls_->event_destroy(start);
  calls_->event_destroy(stop);
  LL_DO(std::move(status));
  return best;
}

}  // namespace lightline::machine
