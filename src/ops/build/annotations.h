// Calls that only check or annotate a program: nothing is computed, and nothing depends on them.
#pragma once

#include <string_view>

namespace lightline::ops {

bool is_typed_annotation(std::string_view target);   // "aten._assert_scalar.default": of any overload
bool is_python_annotation(std::string_view target);  // "torch._dynamo.mark_dynamic"

}  // namespace lightline::ops
