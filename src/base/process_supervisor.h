// The process between us and a program that we run: it starts the program, watches its limits, inherits whatever the
// program leaves behind, and ends all of it. It is a fork of ours, so it allocates nothing and takes no locks.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/process.h"
#include "base/process_tree.h"

namespace lightline {

enum class ProcessStep : uint8_t { none, supervise, limit, enter_folder, start };

// Written by the supervisor and, until it becomes the program, by its child.
struct SupervisorReport {
  bool complete = false;
  ProcessStep failed = ProcessStep::none;
  int error = 0;  // the errno of that step
  int status = 0;
  ProcessLimit limit = ProcessLimit::none;
  double seconds = 0;
  uint64_t peak_bytes = 0;
};

// Lies, with all that it points to, in memory that the supervisor shares with us.
struct SupervisorPlan {
  char* const* programs = nullptr;  // paths to try in turn
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;
  int input = -1;  // descriptors, all of them above 3
  int output = -1;
  int errors = -1;
  int control = -1;  // a socket: its end tells either side that the other is gone or has had enough
  double start = 0;  // when the call began, by process_clock
  double seconds = std::numeric_limits<double>::infinity();
  uint64_t cpu_seconds = RLIM_INFINITY;
  uint64_t memory_bytes = RLIM_INFINITY;
  bool counts_processes = false;
  size_t processes = 0;           // the program and its descendants
  std::span<FoundProcess> found;  // room for more than that
  SupervisorReport report;
};

double process_clock();  // in seconds, the same for all processes

// Runs in a fork of ours that has all signals blocked.
[[noreturn]] void supervise(SupervisorPlan& plan);

}  // namespace lightline
