// Loops that do the same linear thing at every step, so that powers of it do several steps at once.
#pragma once

#include "demand/normal_form.h"

namespace lightline::demand {

// The carried arrays after every step are one linear function of those before it, which is the same at all of them.
bool is_linear(const NormalForm& form, const Loop& loop);

}  // namespace lightline::demand
