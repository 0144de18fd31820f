// Regression cases: loop text whose first comments say what it takes at the least.
//
//   # cause: mask: div
//   # values: seed 12, integers below 2, known x1
//   # truth: input_bytes 96; output_bytes 80
//   # floor: macs 24; vector_ops 24; transcendental_ops 0; milliseconds 2.6e-08
//   # fused: ...
#pragma once

#include <map>
#include <string>

#include "truth/fuzz.h"

namespace lightline::truth {

struct FoundCase {
  Subject subject;
  std::string cause;
  std::map<std::string, std::map<std::string, double>> limits;  // by tier ("truth" for all), by resource
};

std::string found_text(const Find& find, const std::string& cause);
Result<FoundCase> load_found(const std::string& path);
// Limits of a tier by resource, as `found_text` writes them.
std::map<std::string, double> limits_of(const Truth& truth, bool floor);

}  // namespace lightline::truth
