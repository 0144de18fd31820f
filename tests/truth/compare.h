// A program's tiers held against its truth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "loops/ir/program.h"
#include "truth/tiers.h"
#include "truth/truth.h"

namespace lightline::truth {

// A program with the values of its inputs.
struct Subject {
  loops::Program program;
  std::vector<Tensor> inputs;
  std::set<loops::ArrayId> known;  // inputs whose values the analysis is given
  bool dense = false;              // no zero, repetition or equality: products and bytes must be reached
};

struct Violation {
  std::string tier;
  std::string resource;  // input_bytes, output_bytes, macs, vector_ops, transcendental_ops, milliseconds
  double claimed = 0;
  double truth = 0;
  bool too_low = false;  // a dense program that is not reached
  bool rates = false;    // every operation counts as one where an instruction does more: no zero or repetition unseen
  double factor() const { return too_low ? truth / claimed : claimed / truth; }
};

struct Verdict {
  Truth truth;                    // for data in general position
  std::vector<Truth> best_cases;  // for data that suit an implementation which looks at them: the floor's
  std::vector<Tier> tiers;
  std::vector<std::string> broken_orders;
  std::vector<Violation> violations;
  bool skipped = false;  // known to be NaN somewhere
};

// Inputs with values of their own: integers that may be subscripts stay below `integer_limit`.
std::vector<Tensor> random_inputs(const loops::Program& program, uint64_t seed, int64_t integer_limit);

Result<Truth> truth_of(const Subject& subject);
Result<Verdict> judge(const Subject& subject);
Result<std::vector<Truth>> best_cases_of(const Subject& subject);  // empty where data decide nothing
std::vector<Violation> compare(const Truth& truth, const Tier& tier, bool dense);

// Whether the graph, evaluated number by number, gives what the interpreter gives; otherwise what differs.
Result<std::optional<std::string>> difference_of_meaning(const Subject& subject);

std::string to_string(const Violation& violation);
std::string to_string(const Verdict& verdict);

}  // namespace lightline::truth
