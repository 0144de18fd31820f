// Runs a program and waits for it, without a shell.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace lightline::loops {

struct ProcessResult {
  int status = 0;      // the exit status; 128 + the signal if one ended it
  std::string output;  // what it wrote to stdout and stderr
};

// An io error if the program can not be started. `arguments[0]` is looked up in PATH.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments);

}  // namespace lightline::loops
