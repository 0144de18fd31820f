// All operators there are.
#pragma once

#include "ops/build/registry.h"

namespace lightline::ops {

// The registry of all families; built once.
const Registry& all_operators();

}  // namespace lightline::ops
