// Systems of equations and factors of matrices.
#pragma once

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {

// Matrices [..., n, n]; systems a x = b take b as [..., n, m] with batches that broadcast.
void require_square(const SymbolicTensor& a);
SymbolicTensor identity(Lowering& l, DType dtype, int64_t n);
SymbolicTensor solved(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b);
SymbolicTensor solved_triangular(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, bool upper, bool unit);

// Row exchanges and elimination: P a = L U, with L below the diagonal of `factors` and U on and above it.
struct Eliminated {
  SymbolicTensor factors;
  SymbolicTensor pivots;  // i32 [..., min(m, n)], counted from 1: the row that row k was exchanged with
};
Eliminated eliminated(Lowering& l, const SymbolicTensor& a, bool exchange = true);

// Householder's reflections: the upper factor with the reflections below it, and their scales.
struct Reflections {
  SymbolicTensor factors, scales;
};
bool has_reflections(const SymbolicTensor& a);  // matrices of f32 or f64
Reflections reflections(Lowering& l, const SymbolicTensor& a);
// Their product, from the last to the first, on `columns` columns of the identity.
SymbolicTensor product_of_reflections(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& scales,
                                      int64_t columns);

// Matrices that can not run (complex ones) keep their name.
bool add_opaque_if_complex(OpCall& c);
// The operator by name, on all of its tensors.
void add_named_opaque(OpCall& c, const std::string& name);
// Zeros that say that nothing went wrong, one per matrix.
SymbolicTensor no_errors(Lowering& l, const SymbolicTensor& a);

void register_elimination(Registry& r);
void register_householder(Registry& r);
void register_statistics_of_matrices(Registry& r);

}  // namespace lightline::ops
