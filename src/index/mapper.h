// Maps the points of an affine part by its forms.
#pragma once

#include "index/digits.h"

namespace lightline::index {

// The values that the forms take together: all of them where that can be said, else some.
Region mapped(AffinePart part, Atoms& atoms);

}  // namespace lightline::index
