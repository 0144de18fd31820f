// The fixed C text in front of emitted programs, in parts that are included when they are used.
#pragma once

#include <string>
#include <string_view>

#include "loops/plan/target.h"

namespace lightline::loops::c {

extern const std::string_view prelude_base;    // types, the host, integer functions
extern const std::string_view prelude_narrow;  // f16, bf16 and the 8- and 4-bit floats
extern const std::string_view prelude_math;    // functions of f32 and f64
extern const std::string_view
    prelude_special;                           // erfinv, digamma, lgamma, integer powers, remainders, complex functions
extern const std::string_view prelude_hidden;  // a number that the compiler does not know
// The packed matrix product, once per type: its C name and the suffix of its functions.
std::string product_prelude(const plan::ProductBlocking& blocking, std::string_view type, std::string_view suffix);

}  // namespace lightline::loops::c
