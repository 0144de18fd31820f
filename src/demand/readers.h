// Which statements read which arrays.
#pragma once

#include <set>
#include <vector>

#include "loops/ir/program.h"

namespace lightline::demand {

// What a statement reads itself: of a repeat what it starts from, what it yields and what it stacks, not what its
// statements read.
std::set<loops::ArrayId> arrays_read(const loops::Program& program, const loops::Statement& statement);

// By array, the statements that read it.
std::vector<std::vector<const loops::Statement*>> readers_of(const loops::Program& program);

}  // namespace lightline::demand
