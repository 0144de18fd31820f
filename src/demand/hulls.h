// How far an array is read at all: a box around everything that the outputs reach, by ranges of subscripts alone.
#pragma once

#include <vector>

#include "index/form.h"
#include "loops/ir/program.h"

namespace lightline::demand {

// Everything of an array that is read lies inside: too large, never too small. Needs are the other way round.
struct Hull {
  std::vector<index::Range> ranges;  // one per dimension; empty ones where nothing is read
};

// By array. Those that loops carry are taken whole.
std::vector<Hull> hulls_of(const loops::Program& program);

}  // namespace lightline::demand
