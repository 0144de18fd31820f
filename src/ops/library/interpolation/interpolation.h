// Resampling of the last dimensions of a tensor: every output is a weighted sum of a few inputs along each axis.
#pragma once

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {

// One axis: output o takes input at(o, tap) with weights[o, tap].
struct ResampledAxis {
  size_t dim = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 1;
  std::function<Subscript(const Subscript& o, const Subscript& tap)> at;
  std::optional<SymbolicTensor> weights;  // [out, taps]; none: 1
};

// All axes at once. The result is stored as `dtype`; integers are rounded.
SymbolicTensor resampled(Lowering& l, DType dtype, const SymbolicTensor& x, const std::vector<ResampledAxis>& axes);
// What each input gets back from the outputs that took it.
SymbolicTensor resampled_backward(Lowering& l, DType dtype, const SymbolicTensor& grad,
                                  const std::vector<ResampledAxis>& axes);

enum class Filter : uint8_t { nearest, nearest_exact, linear, cubic, smooth_linear, smooth_cubic, smooth_lanczos };

// An axis to resample; `factor` is how many times larger the source says that it becomes.
struct AxisSize {
  size_t dim = 0;
  int64_t in = 0;
  int64_t out = 0;
  std::optional<double> factor;
};
ResampledAxis resampled_axis(Lowering& l, const AxisSize& size, Filter filter, bool align_corners, DType wide);

// The weight of an input at distance |d| from a sample, for Keys' cubic with parameter a.
Scalar cubic_weight(Scalar distance, double a);

void register_grid_sampling(Registry& r);
void register_folding(Registry& r);
void register_vision(Registry& r);

}  // namespace lightline::ops
