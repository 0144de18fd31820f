// The processes below one, found in /proc. Safe between fork and exec: no allocation, no locks.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace lightline {

enum class ProcessListing : unsigned char {
  children,  // the lists of children that most kernels keep; costs as much as there are descendants
  parents,   // the parent of every process of the machine; works everywhere
};

ProcessListing best_process_listing();

// Fills `found` breadth first and returns how many there are, at most found.size(). Each is sent `signal` (if not 0)
// before its own children are looked for. Processes that come or go meanwhile may be missed.
size_t find_descendants(pid_t root, std::span<pid_t> found, ProcessListing listing, int signal = 0);

bool close_descriptors_above(int last);  // false if there is no /proc

}  // namespace lightline
