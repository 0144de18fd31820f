// Statements that are loop nests: compiled once, run as often as the block they stand in.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/interpret/block.h"
#include "loops/ir/program.h"

namespace lightline::loops::interpreter {

struct PreparedCompute {
  ArrayId result = none;
  Code code;
  int64_t elements = 1;  // of the result, per step of the scan
  int64_t segment = 1;   // points reduced to one element
  IndexId scan = none;
  int64_t steps = 1;  // of the scan
  int64_t inner = 1;  // elements between neighbours along the scan
  Reducer reducer = Reducer::none;
  DType accumulator = DType::f32;
};

struct PreparedScatter {
  ArrayId result = none;
  Code code;  // its results: the target subscripts, then the value
  int64_t points = 1;
  Reducer reducer = Reducer::set;
  bool drop_outside = false;
};

Result<PreparedCompute> prepare_compute(const Program& program, const Compute& compute);
Result<PreparedScatter> prepare_scatter(const Program& program, const Scatter& scatter);

// `result` has the declared type; a scatter's holds its initial elements. Reads see `machine.arrays`.
Status run_compute(const Program& program, const PreparedCompute& prepared, BlockMachine& machine, Tensor& result);
Status run_scatter(const Program& program, const PreparedScatter& prepared, BlockMachine& machine, Tensor& result);
// Row-major values, or one for all elements.
void run_constant(const std::vector<Literal>& values, Tensor& result);

}  // namespace lightline::loops::interpreter
