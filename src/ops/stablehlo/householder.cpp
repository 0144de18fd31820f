// LAPACK's geqrf and orgqr.
#include <algorithm>

#include "ops/build/registry.h"
#include "ops/library/linear_algebra/linear_algebra.h"
#include "ops/library/reduction/reduction.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

// The upper factor with the reflections below it, and their scales.
void define_factors(OpCall& c) {
  Lowering& l = c.lowering();
  const SymbolicTensor a = first_operand(c);
  if (!has_reflections(a)) return add_opaque_results(c, "householder_factors", {a});
  const Reflections found = reflections(l, a);
  c.add_result(found.factors);
  c.add_result(found.scales);
  if (c.recorded(2)) {
    const TensorType type = result_type_of(c, 2);
    c.add_result(l.constant(type.dtype, type.shape, {Literal::of(int64_t(0))}));
  }
}

// The product of the reflections: from the last to the first, on the identity.
void define_product(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() >= 2 && x[1].rank() >= 1, "a product of reflections takes a matrix and scales");
  if (!has_reflections(x[0])) return add_opaque_results(c, "householder_product", x);
  c.add_result(product_of_reflections(c.lowering(), x[0], x[1], x[0].shape.back()));
}

}  // namespace

void register_stablehlo_householder(Registry& r) {
  r.add("stablehlo.custom_call.lapack_sgeqrf_ffi", "a", define_factors,
        {"stablehlo.custom_call.lapack_dgeqrf_ffi", "stablehlo.custom_call.lapack_cgeqrf_ffi",
         "stablehlo.custom_call.lapack_zgeqrf_ffi", "stablehlo.custom_call.cusolver_geqrf_ffi",
         "stablehlo.custom_call.cublas_geqrf_batched_ffi"});
  r.add("stablehlo.custom_call.lapack_sorgqr_ffi", "a, taus", define_product,
        {"stablehlo.custom_call.lapack_dorgqr_ffi", "stablehlo.custom_call.lapack_cungqr_ffi",
         "stablehlo.custom_call.lapack_zungqr_ffi", "stablehlo.custom_call.cusolver_orgqr_ffi",
         "stablehlo.custom_call.ProductOfElementaryHouseholderReflectors"});
  r.add("stablehlo.custom_call.Qr", "a", define_factors);
}

}  // namespace lightline::ops
