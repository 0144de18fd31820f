// Runs a program here and in its framework, on the same random inputs, and compares what comes out.
#pragma once

#include <cstdint>
#include <string>

#include "api/run.h"
#include "report/validate_report.h"

namespace lightline::api {

struct ValidateOptions {
  std::string form = "both";     // of a PyTorch program: training, core or both
  std::string backend = "both";  // interp, c or both
  double scale = 1;              // of the sizes at the top of a model.py
  uint64_t seed = 0;
  int workload = 0;  // of a definition.json
  bool backward = false;
};

// `file`: a file of PyTorch or JAX, module:function, a definition.json, or the folder of a GraphNet sample. The
// framework runs in the Python that LIGHTLINE_PYTHON names, in that of the clone this library was built in, or python3.
Result<report::ValidateReport> validate(const std::string& file, const ValidateOptions& options, const Note& note);

}  // namespace lightline::api
