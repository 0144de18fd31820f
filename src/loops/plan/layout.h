// Where arrays live while a program runs.
#pragma once

#include <unordered_map>
#include <vector>

#include "loops/plan/steps.h"

namespace lightline::loops::plan {

// How a carried array moves from step to step of its repeat.
struct CarryBuffers {
  bool writes_next = false;  // its yielded array is computed in place in the next buffer
  int64_t extra = -1;        // workspace offset of the second buffer; -1 if none is needed
};

struct Layout {
  Stored stored;
  std::vector<int64_t> offset;  // by array: in the workspace, -1 if it is not there
  int64_t workspace = 0;        // bytes
  std::unordered_map<const Repeat*, std::vector<CarryBuffers>> carries;
  std::vector<bool> assigned;  // by array: its pointer is set at every step of a repeat
  std::unordered_map<const Repeat*, std::vector<bool>> stacks_in_place;  // a stacked array is computed in its slot
};

Layout make_layout(const SteppedProgram& stepped);

}  // namespace lightline::loops::plan
