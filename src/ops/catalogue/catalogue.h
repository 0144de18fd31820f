// All operators there are.
//
// Room ops/catalogue: all operators there are, found by any name a source has for them.
// May use: base, graph, loops/ir, ops/build, ops/library, ops/stablehlo.
#pragma once

#include "ops/build/registry.h"

namespace lightline::ops {

// The registry of all families; built once.
const Registry& all_operators();

}  // namespace lightline::ops
