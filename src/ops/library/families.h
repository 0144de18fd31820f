// The families of operators: each registers its own, under its name in docs/operators.md.
//
// Room ops/library: one folder per family of operators; an operator is defined once, as loops, here.
// May use: base, graph, loops/ir, ops/build.
#pragma once

#include "ops/build/registry.h"

namespace lightline::ops {

void register_creation(Registry& registry);
void register_elementwise(Registry& registry);
void register_views(Registry& registry);
void register_random(Registry& registry);
void register_conversion(Registry& registry);
void register_splitting(Registry& registry);
void register_rearranging(Registry& registry);
void register_padding(Registry& registry);
void register_triangles(Registry& registry);
void register_reduction(Registry& registry);
void register_cumulative(Registry& registry);
void register_softmax(Registry& registry);
void register_normalisation(Registry& registry);
void register_pooling(Registry& registry);
void register_loss(Registry& registry);
void register_functional_forms(Registry& registry);
void register_placement_backward(Registry& registry);
void register_noise(Registry& registry);
void register_contraction(Registry& registry);
void register_convolution(Registry& registry);
void register_attention(Registry& registry);
void register_recurrent(Registry& registry);
void register_quantised(Registry& registry);
void register_indexing(Registry& registry);
void register_sorting(Registry& registry);
void register_interpolation(Registry& registry);
void register_fourier(Registry& registry);
void register_linear_algebra(Registry& registry);
void register_higher_order(Registry& registry);

}  // namespace lightline::ops
