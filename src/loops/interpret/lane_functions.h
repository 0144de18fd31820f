// The interpreter's vector instructions. A register holds one value of up to `block_lanes` points of the domain:
// double, float, int64_t (all integers and bool) or complex<float>, by compute type. Results never overlap operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "loops/ir/functions.h"
#include "loops/ir/program.h"

namespace lightline::loops::interpreter {

inline constexpr int64_t block_lanes = 128;
inline constexpr int64_t register_bytes = block_lanes * 8;

using LaneFunction = void (*)(std::byte* out, const std::byte* a, const std::byte* b, const std::byte* c,
                              int64_t count);

// `type` is the compute type of the function's last operand.
LaneFunction lane_function(Function function, DType type);
// From a compute type to `target`, rounded to it, held in its compute type; null if that changes nothing.
LaneFunction lane_cast(DType from, DType target);

// Between arrays of one dtype and registers of its compute type. Positions count elements.
struct ElementAccess {
  void (*load)(std::byte* out, const std::byte* data, int64_t start, int64_t stride, int64_t count);
  void (*gather)(std::byte* out, const std::byte* data, const int64_t* positions, int64_t count);
  void (*store)(std::byte* data, int64_t start, const std::byte* lanes, int64_t count);
};
const ElementAccess& element_access(DType dtype);

int64_t lane_bytes(DType compute);
// The literal in every lane.
void broadcast(std::byte* out, DType compute, const Literal& literal);

}  // namespace lightline::loops::interpreter
