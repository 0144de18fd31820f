// Functions of analysis that more than one family of operators is made of.
#pragma once

#include "ops/build/registry.h"

namespace lightline::ops {

// Hurwitz's zeta, the sum over k of (k + q)^-x.
Scalar hurwitz_zeta(const Scalar& x, const Scalar& q);
// Derivative number `order` (1 or more) of digamma.
Scalar polygamma_of(int64_t order, const Scalar& x);

void register_bessel_functions(Registry& r);
void register_normal_distribution(Registry& r);

}  // namespace lightline::ops
