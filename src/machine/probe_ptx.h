// Kernels for the probe, as PTX text that the driver compiles. Each does one thing as fast as the unit allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace lightline::machine {

struct PtxKernel {
  std::string name;         // of the entry
  std::string description;  // "fma.rn.f32"
  std::string text;
  int threads = 256;                // per block
  int blocks_per_unit = 8;          // of the grid, per multiprocessor
  int shared_bytes = 0;             // dynamic, per block
  double operations_per_block = 0;  // per iteration; a multiply-accumulate is two
};

// Parameters of all: buffer a, buffer b, count (16-byte words for memory kernels, iterations for the others).
PtxKernel read_kernel();
PtxKernel write_kernel();
PtxKernel copy_kernel();

// Chains of fused multiply-adds; none where the capability ("9.0" is 90) lacks the type.
std::optional<PtxKernel> vector_kernel(RateType type, int capability);
PtxKernel exponential_kernel();

// Matrix products from registers or shared memory by the fastest instruction that the capability has: mma.sync, on
// Hopper wgmma. None where this probe does not know that instruction (tcgen05 on data-centre Blackwell).
std::optional<PtxKernel> matrix_kernel(RateType type, int capability);

}  // namespace lightline::machine
