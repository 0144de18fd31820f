// What the normalisations share: statistics that are broadcast against the tensor, then a scale and a shift.
#pragma once

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

// (x - mean) * scale * weight + bias, computed in x's compute type and stored as `dtype`; every operand broadcasts
// against x.
struct NormOperands {
  std::optional<SymbolicTensor> mean;
  SymbolicTensor scale;
  std::optional<SymbolicTensor> weight;
  std::optional<SymbolicTensor> bias;
};
SymbolicTensor normalised(Lowering& l, const SymbolicTensor& x, DType dtype, const NormOperands& operands);

// 1 / sqrt(squares / count + eps), elementwise, in the compute type.
SymbolicTensor inverse_deviation(Lowering& l, const SymbolicTensor& squares, double count, double eps);

// A tensor per channel, so that it broadcasts against [N, C, ...] of the given rank.
SymbolicTensor per_channel(Lowering& l, const SymbolicTensor& vector, int64_t rank);
ReducedDims all_but_channel(const Shape& shape);
// The product of two tensors that broadcast, in the compute type: a scale and its weight.
SymbolicTensor scaled(Lowering& l, const SymbolicTensor& scale, const std::optional<SymbolicTensor>& weight);

// Group norm's view of [N, C, ...]: [N, G, C / G, ...].
SymbolicTensor grouped(Lowering& l, const SymbolicTensor& x, int64_t groups);
// [N, G] seen as [N, C, 1, ...].
SymbolicTensor spread_groups(Lowering& l, const SymbolicTensor& statistic, int64_t channels, int64_t rank);

// A statistic as result `i`: in the recorded dtype where there is one, and empty where that is recorded.
void add_statistic(OpCall& c, size_t i, const SymbolicTensor& statistic, const Shape& shape);

// The dimensions that layer norm and RMS norm reduce.
ReducedDims normalised_dims(const OpCall& c, const SymbolicTensor& x);
// The norm over all dimensions but one; -1 as written means over all.
SymbolicTensor norm_except(Lowering& l, const SymbolicTensor& v, double p, int64_t dim);

void register_batch_normalisation(Registry& r);
void register_normalisation_backward(Registry& r);

}  // namespace lightline::ops
