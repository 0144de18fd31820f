// The parts of the opaque built-ins: each has a check of its types and attributes, and a function that runs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/program.h"

namespace lightline::loops::opaque {

struct ArrayType {
  DType dtype = DType::f32;
  Shape shape;
};
std::string to_string(const ArrayType& type);  // "f32[2, 3]"

// A use of a built-in, as far as types go. Operand and result counts and the kinds of attributes are right already.
struct Use {
  const Opaque& operation;
  std::vector<ArrayType> operands;
  std::vector<ArrayType> results;
};

// Attributes, or what they are when not given.
int64_t integer(const Opaque& operation, std::string_view name, int64_t otherwise);
bool flag(const Opaque& operation, std::string_view name, bool otherwise);
std::string text(const Opaque& operation, std::string_view name, std::string_view otherwise);
// The attribute `dim`, counted from the front. The default is the last one.
int64_t dimension(const Opaque& operation, size_t rank);
Status check_dimension(const Use& use);
Status check_result(const Use& use, size_t number, const ArrayType& expected);

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

Status check_sort(const Use& use);
Status check_topk(const Use& use);
Status check_fft(const Use& use);
Status check_cholesky(const Use& use);
Status check_solve(const Use& use);
Status check_random(const Use& use);

Status run_sort(const Opaque& operation, const Operands& operands, const Results& results);
Status run_topk(const Opaque& operation, const Operands& operands, const Results& results);
Status run_fft(const Opaque& operation, const Operands& operands, const Results& results);
Status run_cholesky(const Opaque& operation, const Operands& operands, const Results& results);
Status run_solve(const Opaque& operation, const Operands& operands, const Results& results);
Status run_triangular_solve(const Opaque& operation, const Operands& operands, const Results& results);
Status run_random(const Opaque& operation, const Operands& operands, const Results& results);

}  // namespace lightline::loops::opaque
