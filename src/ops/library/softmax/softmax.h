// Shifted exponentials along one dimension, as softmax and the losses need them.
#pragma once

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

// A tensor with one dimension singled out. A scalar counts as a vector of one.
struct SoftmaxDim {
  SymbolicTensor x;
  ReducedDims dims;  // the one dimension
};
SoftmaxDim softmax_dim(Lowering& l, const SymbolicTensor& x, int64_t dim);

// log(sum(exp(x))) along the dimension, with an extent of 1 in its place, as `shift + log_sum`: the largest element and
// the logarithm of the sum of exp(x - shift). In the compute type.
struct LogSum {
  SymbolicTensor shift;
  SymbolicTensor log_sum;
};
LogSum log_sum_exp(Lowering& l, const SoftmaxDim& s);

SymbolicTensor softmax(Lowering& l, const SymbolicTensor& x, int64_t dim, DType dtype);
SymbolicTensor log_softmax(Lowering& l, const SymbolicTensor& x, int64_t dim, DType dtype);

}  // namespace lightline::ops
