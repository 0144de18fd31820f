// Contractions: sums of products of two tensors. Each is one statement whose body is a product of two reads, so that
// what comes later recognises it as matrix work.
#pragma once

#include <vector>

#include "ops/build/op_call.h"

namespace lightline::ops {

// A tensor whose dimensions carry labels, as in einsum. Dimensions with equal labels run together (a diagonal if in
// one tensor), and an extent of 1 stands for any.
struct Labelled {
  SymbolicTensor tensor;
  std::vector<int> labels;
};

// The sum of left * right over every label that `out` does not name. Labels of one operand alone are summed first.
SymbolicTensor contract(Lowering& l, DType dtype, const Labelled& left, const Labelled& right,
                        const std::vector<int>& out);

// torch.matmul: vectors, matrices and broadcast batches of matrices. The result is stored as `dtype`.
SymbolicTensor matrix_product(Lowering& l, DType dtype, const SymbolicTensor& a, const SymbolicTensor& b);

// x[..., k] * weight[n, k] summed over k, plus bias[n].
SymbolicTensor linear(Lowering& l, const SymbolicTensor& x, const SymbolicTensor& weight,
                      const std::optional<SymbolicTensor>& bias);

// Adds `bias` along dimension `dim` and rounds to `dtype`. Without a bias it only converts, where that is needed.
SymbolicTensor with_bias(Lowering& l, DType dtype, const SymbolicTensor& product,
                         const std::optional<SymbolicTensor>& bias, int64_t dim);

// The sum over some dimensions.
SymbolicTensor sum_over(Lowering& l, DType dtype, const SymbolicTensor& x, const std::vector<int64_t>& dims);

// The dtype that two operands share; fails when they differ.
DType common_dtype(const SymbolicTensor& a, const SymbolicTensor& b);

Scalar conjugate(Scalar value);  // the value itself unless it is complex

class Registry;
void register_einsum(Registry& r);
void register_distances(Registry& r);
void register_scaled_products(Registry& r);

}  // namespace lightline::ops
