#include "ops/catalogue/catalogue.h"

#include "ops/library/families.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {

const Registry& all_operators() {
  static const Registry registry = [] {
    Registry r;
    const auto add_family = [&](std::string name, void (*add)(Registry&)) {
      r.family = std::move(name);
      add(r);
    };
    add_family("creation", register_creation);
    add_family("elementwise", register_elementwise);
    add_family("views", register_views);
    add_family("random", register_random);
    add_family("conversion", register_conversion);
    add_family("views", register_splitting);
    add_family("rearranging", register_rearranging);
    add_family("padding", register_padding);
    add_family("rearranging", register_triangles);
    add_family("reduction", register_reduction);
    add_family("reduction", register_cumulative);
    add_family("softmax", register_softmax);
    add_family("normalisation", register_normalisation);
    add_family("pooling", register_pooling);
    add_family("loss", register_loss);
    add_family("torch.nn.functional", register_functional_forms);
    add_family("backward", register_placement_backward);
    add_family("elementwise", register_noise);
    add_family("contraction", register_contraction);
    add_family("convolution", register_convolution);
    add_family("attention", register_attention);
    add_family("recurrent", register_recurrent);
    add_family("quantised", register_quantised);
    add_family("indexing", register_indexing);
    add_family("sorting", register_sorting);
    add_family("interpolation", register_interpolation);
    add_family("spectral", register_fourier);
    add_family("linear algebra", register_linear_algebra);
    add_family("higher-order", register_higher_order);
    add_family("StableHLO", register_stablehlo);
    return r;
  }();
  return registry;
}

}  // namespace lightline::ops
