// Whose implementation is priced, and bytes by who moves them.
#pragma once

#include <cstdint>

namespace lightline::demand {

// Whose implementation is priced.
enum class Tier : uint8_t {
  floor,    // any, on the data that suit it best
  fused,    // one that computes every term once, on data in general position
  unfused,  // operator by operator; the normal form has borders
};

// Bytes by who moves them. Without borders there is one group.
struct GroupTraffic {
  double operand_bytes = 0;
  double result_bytes = 0;
};

}  // namespace lightline::demand
