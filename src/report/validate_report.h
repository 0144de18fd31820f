// What `lightline validate` reports: how far our results are from the framework's, per form, backend and output.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"

namespace lightline::report {

struct ValidatedOutput {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Comparison comparison;
};

struct ValidatedRun {
  std::string form;
  std::string backend;
  std::string error;  // why it could not be run; empty if it ran
  std::vector<ValidatedOutput> outputs;
  bool agrees() const;
};

struct ValidateReport {
  std::string program;
  uint64_t seed = 0;
  std::vector<ValidatedRun> runs;
  bool agrees() const;
};

std::string to_table(const ValidateReport& report);
std::string to_summary(const ValidateReport& report);  // the verdict and what does not agree, without a line's end
std::string to_json(const ValidateReport& report);     // schema lightline.validate, docs/json.md

}  // namespace lightline::report
