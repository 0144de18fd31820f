// Reducers over register lanes: one value per segment of consecutive points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "loops/ir/functions.h"

namespace lightline::loops::interpreter {

class SegmentReducer {
 public:
  virtual ~SegmentReducer() = default;
  virtual void begin() = 0;
  // The next `count` values of the segment, from lane `first` on; at most one register at a time.
  virtual void add(const std::byte* lanes, int64_t first, int64_t count) = 0;
  // Writes the segment's value to a lane of a register of type `reduced_type`.
  virtual void finish(std::byte* out, int64_t lane) = 0;
};

// `accumulator` is what partial results are rounded to; lanes come in its compute type. `result` gives the empty
// maximum and minimum of integers.
std::unique_ptr<SegmentReducer> make_reducer(Reducer reducer, DType accumulator, DType result);
// The compute type of the reducer's value: i64 for argmax and argmin, else the accumulator's.
DType reduced_type(Reducer reducer, DType accumulator);

}  // namespace lightline::loops::interpreter
