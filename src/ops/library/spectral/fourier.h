// Discrete Fourier transforms, built from the unnormalised transform of complex lines.
#pragma once

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {

enum class Normalisation : uint8_t { none, by_root, by_count };  // as ATen numbers them

// Along `dims`, in any order.
SymbolicTensor complex_transform(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                                 Normalisation norm, bool inverse);
// Of reals: the last of `dims` keeps the half that is not a mirror image, if `onesided`.
SymbolicTensor real_transform(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                              Normalisation norm, bool onesided);
// Back to reals from such a half; the last of `dims` gets `size` elements.
SymbolicTensor transform_to_real(Lowering& l, const SymbolicTensor& x, const std::vector<int64_t>& dims,
                                 Normalisation norm, int64_t size);

SymbolicTensor as_complex(Lowering& l, const SymbolicTensor& x);
// Cut off or filled up with zeros along a dimension.
SymbolicTensor resized(Lowering& l, const SymbolicTensor& x, int64_t dim, int64_t size);

void register_short_time_transforms(Registry& r);

}  // namespace lightline::ops
