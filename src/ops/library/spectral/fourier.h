// Discrete Fourier transforms, built from the unnormalised transform of complex lines.
#pragma once

#include "ops/library/indexing/indexing.h"

namespace lightline::ops {

enum class Normalisation : uint8_t { none, by_root, by_count };  // as ATen numbers them

// Along `dims`, in any order.
Tensor complex_transform(Lowering& l, const Tensor& x, const std::vector<int64_t>& dims, Normalisation norm,
                         bool inverse);
// Of reals: the last of `dims` keeps the half that is not a mirror image, if `onesided`.
Tensor real_transform(Lowering& l, const Tensor& x, const std::vector<int64_t>& dims, Normalisation norm,
                      bool onesided);
// Back to reals from such a half; the last of `dims` gets `size` elements.
Tensor transform_to_real(Lowering& l, const Tensor& x, const std::vector<int64_t>& dims, Normalisation norm,
                         int64_t size);

Tensor as_complex(Lowering& l, const Tensor& x);
// Cut off or filled up with zeros along a dimension.
Tensor resized(Lowering& l, const Tensor& x, int64_t dim, int64_t size);

void register_short_time_transforms(Registry& r);

}  // namespace lightline::ops
