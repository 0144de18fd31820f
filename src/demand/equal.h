// Statements that compute the same values twice.
#pragma once

#include <vector>

#include "demand/names.h"

namespace lightline::demand {

// For every array the first visible one that an equal statement makes from equal arrays; itself if there is none.
std::vector<ArrayId> equal_statements(const loops::Program& program);

}  // namespace lightline::demand
