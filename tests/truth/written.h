// Which elements of a program's outputs must be written.
#pragma once

#include "truth/unroll.h"

namespace lightline::truth {

struct Written {
  std::vector<NodeId> elements;  // what must be known to write them
  double bytes = 0;
};

Written written_elements(const loops::Program& program, const Unrolled& unrolled);

}  // namespace lightline::truth
