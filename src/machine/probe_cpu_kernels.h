// Loops that keep one core's units busy and do nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "machine/machine.h"

namespace lightline::machine {

struct CpuKernel {
  std::string_view name;  // "AVX-512 FMA"
  RateType type;
  bool matrix;                      // multiply-accumulates that the file lists under [matrix]; else vector operations
  double operations_per_iteration;  // a multiply-accumulate is two
  bool (*supported)();
  void (*run)(int64_t iterations);
};
std::span<const CpuKernel> cpu_kernels();

// Memory traffic over one thread's part of the arrays, stores past the caches where the ISA can.
void stream_read(const float* a, size_t count);
void stream_copy(float* a, const float* b, size_t count);
void stream_triad(float* a, const float* b, const float* c, size_t count);

// Core clock now, from a chain of dependent multiplications of known latency; 0 where that is not known.
double measured_clock(double seconds);

}  // namespace lightline::machine
