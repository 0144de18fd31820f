// Reductions over some dimensions of a tensor, shared by the families that reduce.
#pragma once

#include "ops/build/registry.h"

namespace lightline::ops {

// Which dimensions of a shape are reduced, and how indices of the result and of the reduced box become coordinates.
struct ReducedDims {
  Shape shape;
  std::vector<bool> reduced;  // one per dimension

  Shape extents() const;                                // of the reduced dimensions, in order
  Shape kept(bool keepdim) const;                       // shape of the result
  int64_t count() const { return product(extents()); }  // elements per result
  Indices join(const Indices& index, const Indices& inner, bool keepdim) const;
};

ReducedDims all_dims(const Shape& shape);
ReducedDims reduced_dims(const Shape& shape, const std::vector<int64_t>& dims);  // counted from either end, each once
// From an argument: absent, None and the empty list all mean every dimension.
ReducedDims reduced_dims(const OpCall& c, const Shape& shape, std::string_view name = "dim");
// Trailing dimensions, or all but the leading `keep`.
ReducedDims trailing_dims(const Shape& shape, int64_t keep);

// The value at coordinates of the tensor that is reduced.
using ElementAt = std::function<Scalar(const Indices&)>;

SymbolicTensor reduce_dims(Lowering& l, DType dtype, Reducer reducer, const ReducedDims& dims, bool keepdim,
                           const ElementAt& element);
// The sum divided by the number of elements.
SymbolicTensor mean_dims(Lowering& l, DType dtype, const ReducedDims& dims, bool keepdim, const ElementAt& element);

// Reads a tensor as if it had been converted to `dtype` first: narrow floats round.
Scalar read_converted(Lowering& l, const SymbolicTensor& x, const Indices& at, DType dtype);

// Mean and sum of squared deviations, in the compute type, with reduced extents of 1.
struct Moments {
  SymbolicTensor mean;
  SymbolicTensor squares;
};
Moments moments(Lowering& l, const SymbolicTensor& x, const ReducedDims& dims);

// (sum |x|^p)^(1/p), with the limits for p = 0, inf and -inf.
SymbolicTensor vector_norm(Lowering& l, DType dtype, double p, const ReducedDims& dims, bool keepdim,
                           const ElementAt& element);

// Fails unless the tensor broadcasts to the shape as it is.
void require_broadcasts(const SymbolicTensor& tensor, const Shape& shape, std::string_view what);

// A tensor whose size depends on data, or that has no loop nest: named, with the types that the source recorded.
void add_opaque_results(OpCall& c, const std::string& name, const std::vector<SymbolicTensor>& operands);

}  // namespace lightline::ops
