// Shape arithmetic of views, shared with the operators that rearrange.
#pragma once

#include "ops/build/op_call.h"

namespace lightline::ops {

// The bounds of a slice as Python reads them: None is the end, negative counts from the end, and all are clamped.
struct SliceBounds {
  int64_t start = 0;
  int64_t length = 0;
  int64_t step = 1;
};
SliceBounds slice_bounds(OpCall& c, int64_t extent);

// A shape in which one extent may be -1: what is left of `count` elements.
Shape completed(Shape shape, int64_t count);

SymbolicTensor diagonal(Lowering& l, const SymbolicTensor& x, int64_t offset, int64_t dim1, int64_t dim2);
// What as_strided's arguments say of the memory that `x` lies in.
SymbolicTensor strided(OpCall& c, const SymbolicTensor& x);
// contiguous(): the tensor itself if its elements are in order already, else a copy.
SymbolicTensor contiguous(OpCall& c, const SymbolicTensor& x);
SymbolicTensor flipped(Lowering& l, const SymbolicTensor& x, int64_t dim);
// At least `rank` dimensions, as atleast_1d, 2d and 3d add them.
SymbolicTensor at_least(Lowering& l, const SymbolicTensor& x, int64_t rank);

}  // namespace lightline::ops
