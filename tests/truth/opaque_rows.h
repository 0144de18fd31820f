// What one element of an opaque statement's result depends on: the row, matrix or column of its own batch.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"
#include "truth/value.h"

namespace lightline::truth {

struct OpaqueRow {
  struct Operand {
    loops::ArrayId array = loops::none;
    Shape shape;                  // without the batch
    std::vector<int64_t> places;  // in the array; -1 for what is not read
  };
  std::vector<Operand> operands;
  int64_t place = 0;      // of the element within its row
  uint64_t identity = 0;  // of the function that gives the element from the operands
};

OpaqueRow opaque_row(const loops::Program& program, const loops::Opaque& opaque, size_t result, int64_t place);
// The element's value, by running the statement on the row alone; a number out of a hash if it can not be run.
Result<Value> row_value(const loops::Program& program, const loops::Opaque& opaque, const OpaqueRow& row,
                        const std::vector<Tensor>& operands, size_t result);

}  // namespace lightline::truth
