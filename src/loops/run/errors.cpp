#include "loops/run/errors.h"

#include <fmt/format.h>

namespace lightline::loops {

Error read_outside(const Program& program, ArrayId statement, ArrayId array, int dimension, int64_t subscript) {
  const Array& read = program.arrays[array];
  return {ErrorCode::range,
          fmt::format("in '{}': subscript {} of '{}' is {}, but its extent is {}", program.arrays[statement].name,
                      dimension, read.name, subscript, read.shape[size_t(dimension)]),
          fmt::format("say what is read outside with a fill: {}[... | 0]", read.name),
          {}};
}

Error write_outside(const Program& program, ArrayId statement, int dimension, int64_t subscript) {
  const Array& written = program.arrays[statement];
  return {ErrorCode::range,
          fmt::format("in '{}': subscript {} of the target is {}, but its extent is {}", written.name, dimension,
                      subscript, written.shape[size_t(dimension)]),
          "drop writes outside the array with [... | drop]",
          {}};
}

}  // namespace lightline::loops
