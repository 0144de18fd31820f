// Functions of the language on numbers that are known before the program runs.
#pragma once

#include <optional>
#include <span>

#include "loops/ir/functions.h"

namespace lightline::demand {

// The value in exact arithmetic, or as f64 computes it; truth is 1 or 0. Nothing for bits, complex numbers, and
// integers too large for f64.
std::optional<double> evaluate(loops::Function function, std::span<const double> args, bool integer);

}  // namespace lightline::demand
