// What `lightline arch` reports of machines: all of them in a table, one in full, two side by side.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"

namespace lightline::report {

std::string arch_list_table(const std::vector<machine::Machine>& machines);
std::string arch_list_json(const std::vector<machine::Machine>& machines);  // schema lightline.arch_list

std::string arch_table(const machine::Machine& machine);
std::string arch_json(const machine::Machine& machine);  // schema lightline.arch

// One line per figure that either has; the ratio is the second over the first.
std::string arch_diff_table(const machine::Machine& a, const machine::Machine& b);

}  // namespace lightline::report
