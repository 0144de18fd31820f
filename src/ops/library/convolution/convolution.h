// Convolutions of one to three dimensions (or more), as contractions over channels and kernel taps.
//
// Three products cover forward, transposed and backward operators. They join a "wide" tensor [n, C, w...] and a
// "narrow" one [n, O, p...] through a weight [O, C / groups, r...] at the places w = p * stride + r * dilation -
// padding.
#pragma once

#include <vector>

#include "ops/build/op_call.h"

namespace lightline::ops {

struct ConvolutionGeometry {
  std::vector<int64_t> stride, dilation;
  std::vector<int64_t> low, high;  // padding before the first and after the last element
  int64_t groups = 1;
  size_t dims() const { return stride.size(); }
};

// Fails on sizes that make no sense.
void check_geometry(const ConvolutionGeometry& geometry, const Shape& weight);

// Extents of the narrow tensor.
Shape narrow_extents(const ConvolutionGeometry& geometry, const Shape& wide, const Shape& weight);

// narrow[n, o, p] = sum over c, r of wide * weight: the convolution.
SymbolicTensor to_narrow(Lowering& l, DType dtype, const ConvolutionGeometry& geometry, const SymbolicTensor& wide,
                         const SymbolicTensor& weight, const Shape& narrow_spatial);
// wide[n, c, w] = sum over o, p, r of narrow * weight: the transposed convolution.
SymbolicTensor to_wide(Lowering& l, DType dtype, const ConvolutionGeometry& geometry, const SymbolicTensor& narrow,
                       const SymbolicTensor& weight, const Shape& wide_spatial);
// weight[o, c, r] = sum over n, p of narrow * wide: the gradient of the weight.
SymbolicTensor to_weight(Lowering& l, DType dtype, const ConvolutionGeometry& geometry, const SymbolicTensor& narrow,
                         const SymbolicTensor& wide, const Shape& weight);

}  // namespace lightline::ops
