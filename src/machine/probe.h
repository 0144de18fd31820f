// Measures the machine that the program runs on: what it says of itself, and the ceilings that simple kernels reach.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"

namespace lightline::machine {

struct ProbeOptions {
  double seconds = 0.5;  // spent on each figure
  int device = 0;        // which GPU
};

struct Probe {
  Machine machine;                   // nominal figures, and `measured` beside them
  std::vector<std::string> skipped;  // what was not measured, and why
};

// The processor: cpuid and sysfs, streaming bandwidth on all cores, fused multiply-adds and matrix instructions per
// ISA.
Result<Probe> probe_cpu(const ProbeOptions& options);

// A GPU through the CUDA driver, which is loaded at run time; an error of code `unsupported` where there is none.
// Architectural rates come from the bundled file of that name or compute capability.
Result<Probe> probe_gpu(const ProbeOptions& options);
int gpu_count();  // 0 without a driver

}  // namespace lightline::machine
