// Reading and writing at positions that tensors hold, shared by the families that index.
#pragma once

#include "ops/library/reduction/reduction.h"

namespace lightline::ops {

// A scalar counts as a vector of one.
SymbolicTensor as_vector(Lowering& l, const SymbolicTensor& x);

// A value of an index tensor as a subscript of an extent; `wrapped` counts negative ones from the end.
Subscript position(Lowering& l, Scalar index, int64_t extent);
Subscript wrapped_position(Lowering& l, Scalar index, int64_t extent);
// The nearest position inside.
Subscript clamped_position(Lowering& l, Scalar index, int64_t extent);
Subscript clamped_position(Lowering& l, const Subscript& index, int64_t extent);

// How many elements of a mask are true up to and with each one, in row-major order; has the mask's shape.
SymbolicTensor running_count(Lowering& l, const SymbolicTensor& mask);

// What a scatter writes, and where.
struct Update {
  Shape domain;
  std::function<Indices(const Indices&)> target;
  ElementAt value;
};
// target[index[i]] along `dim`, at the same other coordinates; the index has the update's shape.
Update update_along(Lowering& l, const SymbolicTensor& target, int64_t dim, const SymbolicTensor& index,
                    ElementAt value);
// Whole slices: position i of `dim` goes to index[i].
Update update_slices(Lowering& l, const SymbolicTensor& target, int64_t dim, const SymbolicTensor& index,
                     ElementAt value, bool wraps = false);

SymbolicTensor set_at(Lowering& l, const SymbolicTensor& base, const Update& update);
// Sums the update into the base; bool tensors take `or`.
SymbolicTensor added_at(Lowering& l, const SymbolicTensor& base, const Update& update);
// By the names of scatter_reduce: sum, prod, mean, amax, amin. Without the base, elements that are written do not count
// the base.
SymbolicTensor reduced_at(Lowering& l, const SymbolicTensor& base, const Update& update, std::string_view how,
                          bool include_base);

void register_scatters(Registry& r);
void register_embeddings(Registry& r);
void register_counting(Registry& r);

}  // namespace lightline::ops
