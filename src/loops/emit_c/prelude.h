// The fixed C text in front of emitted programs, in parts that are included when they are used.
#pragma once

#include <string_view>

namespace lightline::loops::c {

extern const std::string_view prelude_base;    // types, the host, integer functions
extern const std::string_view prelude_narrow;  // f16, bf16 and the 8- and 4-bit floats
extern const std::string_view prelude_math;    // functions of f32 and f64
extern const std::string_view
    prelude_special;  // erfinv, digamma, lgamma, integer powers, remainders, complex functions
extern const std::string_view prelude_product;  // the packed matrix product, once per type: put it for @T@ and @N@

}  // namespace lightline::loops::c
