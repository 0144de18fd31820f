// Random programs against their truth, and what is left of a violating one when all that can be left out is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "truth/compare.h"
#include "truth/generator.h"

namespace lightline::truth {

// The program of a sketch with values for its inputs.
Result<Subject> subject_of(const Sketch& sketch, uint64_t seed);

struct Find {
  uint64_t seed = 0;
  Sketch sketch;
  std::vector<Violation> violations;
};

struct FuzzReport {
  uint64_t tried = 0;
  uint64_t checked_by_interpreter = 0;
  uint64_t skipped = 0;  // known to be NaN somewhere
  uint64_t violating = 0;
  uint64_t beyond_rates = 0;                                        // of those, not by rates alone
  std::map<std::string, std::pair<uint64_t, uint64_t>> constructs;  // violating beyond rates, tried
  std::map<std::string, uint64_t> resources;                        // "fused macs": violating
  std::vector<std::string> faults;  // of the generator or the oracle itself: wrong meaning, programs that do not verify
  std::vector<std::string> broken_orders;                 // of the tiers, with the program
  std::map<std::string, Find> finds;                      // one for each construct, the clearest
  std::map<uint64_t, std::vector<Violation>> violations;  // by the seed of the program
};

struct FuzzOptions {
  uint64_t seed = 0;
  uint64_t count = 1000;
  std::string kind;              // of the generator; all if empty
  uint64_t interpret_every = 4;  // one program in so many also runs in the interpreter
};

FuzzReport fuzz(const FuzzOptions& options);

// A smaller sketch that violates the same tier and resource by at least half as much, and still has the construct.
Find minimised(const Find& find, const std::string& kind, const std::string& construct);

}  // namespace lightline::truth
