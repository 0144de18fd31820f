// The CUDA driver, loaded at run time: just enough to ask a device what it is and to time kernels on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace lightline::machine {

// Numbers of the driver API (cuda.h, CUdevice_attribute).
enum class CudaAttribute : int {
  clock_khz = 13,
  multiprocessors = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_bytes = 38,
  capability_major = 75,
  capability_minor = 76,
};

struct CudaCalls;

// One device with a context on it; device memory is given back when the object goes.
class CudaDevice {
 public:
  static Result<CudaDevice> open(int index);
  static int count();  // 0 without a driver

  CudaDevice(CudaDevice&&) noexcept;
  ~CudaDevice();

  std::string name() const;
  int attribute(CudaAttribute which) const;  // 0 if the driver does not know
  double memory_bytes() const;
  double free_bytes() const;

  Result<uint64_t> allocate(double bytes);  // zeroed

  // A kernel of a PTX text; arguments are 64-bit values.
  struct Launch {
    void* function = nullptr;
    uint32_t blocks = 1;
    uint32_t threads = 1;
    uint32_t shared_bytes = 0;
  };
  Result<void*> load(const std::string& ptx, const std::string& kernel, uint32_t shared_bytes = 0);

  // Launches the kernel again and again for about `seconds`; gives the shortest time of one launch in seconds.
  Result<double> best_time(const Launch& kernel, const std::vector<uint64_t>& arguments, double seconds);

 private:
  explicit CudaDevice(std::unique_ptr<CudaCalls> calls);
  Status launch(const Launch& kernel, const std::vector<uint64_t>& arguments);

  std::unique_ptr<CudaCalls> calls_;
  int device_ = 0;
  bool has_context_ = false;
  std::vector<uint64_t> buffers_;
  std::vector<void*> modules_;
};

}  // namespace lightline::machine
