// Functions of real and complex numbers.
#pragma once

#include "ops/build/lowering.h"

namespace lightline::ops {

// The function of a real number, or by its formula of a complex one.
Scalar analytic(Function function, const Scalar& x);

Scalar complex_of(const Scalar& re, const Scalar& im);
Scalar times_i(const Scalar& z);
Scalar times_minus_i(const Scalar& z);

}  // namespace lightline::ops
