// What `lightline run` reports: the arrays that went in and came out, and the time, as a table or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace lightline::report {

struct TensorSummary {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::string checksum;         // the first 16 hex digits of content_hash over the elements' bytes
  std::optional<double> mean;   // none for an empty array; the mean of real parts for c64
  std::optional<double> least;  // none for an empty array and for c64; NaN if any element is NaN
  std::optional<double> greatest;
  std::string source;  // inputs: "random", or the file it was read from
};
TensorSummary summarize(std::string name, const Tensor& tensor, std::string source = "");

struct RunReport {
  std::string file;
  std::string program;
  std::string backend;
  uint64_t seed = 0;
  std::vector<TensorSummary> inputs;
  std::vector<TensorSummary> outputs;
  std::vector<double> times_ms;      // one per repetition, in order; never empty
  std::optional<double> compile_ms;  // backend c: emitting, compiling and loading
  bool from_cache = false;           // backend c: the compiler did not have to run
};

std::string to_table(const RunReport& report);
std::string to_json(const RunReport& report);  // schema lightline.run, docs/json.md

std::string time_text(double milliseconds);  // "1.23 ms"

}  // namespace lightline::report
