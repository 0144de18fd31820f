// What goes wrong while emitted code runs, in the words that the interpreter uses too.
#pragma once

#include "base/error.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// A read of `array` in the statement that defines `statement`.
Error read_outside(const Program& program, ArrayId statement, ArrayId array, int dimension, int64_t subscript);
// A write of the scatter that defines `statement`.
Error write_outside(const Program& program, ArrayId statement, int dimension, int64_t subscript);

}  // namespace lightline::loops
