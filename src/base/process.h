// Runs a program without a shell and waits for it, within limits; whatever it started ends with it.
// docs/processes.md says exactly what is promised and what is not: this keeps mistakes in bounds, it is no sandbox.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lightline {

struct ProcessOptions {
  std::string input;                                             // what it reads from its standard input
  std::vector<std::pair<std::string, std::string>> environment;  // variables added to ours, or put in place of ours
  std::string folder;                                            // where it runs; empty: where we run
  std::optional<double> seconds;                                 // from its start to its end
  std::optional<double> cpu_seconds;                             // of each process, rounded up to whole seconds
  std::optional<uint64_t> memory_bytes;                          // address space of each process
  std::optional<uint32_t> descendants;                           // processes below the program at any one time
  uint64_t output_bytes = uint64_t(64) << 20;                    // of each stream
  double grace_seconds = 30;  // for what is to end and does not; then the call returns all the same
  bool cut_output = false;    // more than output_bytes does not end it: the rest is read and dropped
};

// Memory is not among them: allocations fail, and what the program then does is its own affair.
enum class ProcessLimit : uint8_t { none, time, cpu_time, output, descendants };

struct ProcessResult {
  int exit_status = 0;
  int signal = 0;                           // what ended it; 0 if it ended by itself, with exit_status
  ProcessLimit limit = ProcessLimit::none;  // what we ended it for
  std::string output;                       // from its standard output
  std::string errors;                       // from its standard error
  bool output_cut = false;                  // there was more than output_bytes
  bool errors_cut = false;
  double seconds = 0;
  uint64_t peak_bytes = 0;  // resident memory of the largest process

  bool succeeded() const { return limit == ProcessLimit::none && signal == 0 && exit_status == 0; }
};

// A name without a slash is looked up in PATH, the program's own. An io error if the program can not be started.
Result<ProcessResult> run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

std::string signal_name(int signal);  // "SIGKILL"

// For whoever is about to end this process: ends all programs that run, with what they started, and waits for it, two
// seconds at most. Calls of run_process do not return any more.
void end_all_processes();

}  // namespace lightline
