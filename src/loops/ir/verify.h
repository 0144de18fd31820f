// Decides whether a Program means something, and sets the compute type of every expression.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "loops/ir/program.h"

namespace lightline::loops {

// Rejects: ranks, dtypes and extents that do not fit; an index that can leave its array without a fill; a scan
// that reads its own future; reads of arrays defined later. `text` and `file` give errors their place.
Status verify(Program& program, std::string_view text = "", std::string_view file = "");

// The least and greatest value an integer expression can take over its index domains; data-dependent parts
// are unbounded (INT64_MIN, INT64_MAX). `data_dependent` tells whether a read takes part.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;
  bool data_dependent = false;
};
Interval interval_of(const Program& program, ExprId expr);

}  // namespace lightline::loops
