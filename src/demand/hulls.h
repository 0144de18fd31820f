// How far an array is read at all: a box around everything that the outputs reach, by ranges of subscripts alone.
#pragma once

#include <vector>

#include "index/form.h"
#include "loops/ir/program.h"

namespace lightline::demand {

// By array, a range per dimension; empty ranges where nothing is read. Arrays that loops carry are taken whole.
std::vector<std::vector<index::Range>> hulls_of(const loops::Program& program);

}  // namespace lightline::demand
