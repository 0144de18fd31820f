// The functions that run the opaque built-ins; loops/ir/opaque_signature.h says what they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/opaque_signature.h"

namespace lightline::loops::opaque {

// The lines of an array along one dimension: element j of line i is at start(i) + j * step.
struct Lines {
  int64_t count = 0;
  int64_t length = 0;
  int64_t step = 0;
  Lines(const Shape& shape, int64_t dimension);
  int64_t start(int64_t line) const { return line / step * (step * length) + line % step; }
};

using Operands = std::vector<const Tensor*>;
using Results = std::vector<Tensor*>;

Status run_sort(const Opaque& statement, const Operands& operands, const Results& results);
Status run_topk(const Opaque& statement, const Operands& operands, const Results& results);
Status run_fft(const Opaque& statement, const Operands& operands, const Results& results);
Status run_cholesky(const Opaque& statement, const Operands& operands, const Results& results);
Status run_solve(const Opaque& statement, const Operands& operands, const Results& results);
Status run_triangular_solve(const Opaque& statement, const Operands& operands, const Results& results);
Status run_lu(const Opaque& statement, const Operands& operands, const Results& results);
Status run_random(const Opaque& statement, const Operands& operands, const Results& results);

}  // namespace lightline::loops::opaque
