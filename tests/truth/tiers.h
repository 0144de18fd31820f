// What the analysis claims about a program. The only file here that knows the analysis is tiers.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::truth {

struct Tier {
  std::string name;
  bool floor = false;  // holds against every implementation, not only those of the program's own terms
  double input_bytes = 0;
  double output_bytes = 0;
  std::map<DType, double> macs;
  double vector_ops = 0;
  double transcendental_ops = 0;
  double milliseconds = 0;  // on the test machine
  double total_macs() const;
};

// The lower bounds, without the unfused tier. `known` are inputs whose values may be relied on.
std::vector<Tier> tiers_of(const loops::Program& program, const std::map<loops::ArrayId, const Tensor*>& known);

// Where floor <= fused <= unfused does not hold, in bytes or times: fused and unfused with inputs in memory, and by times
// where the memory binds.
std::vector<std::string> broken_orders(const loops::Program& program,
                                       const std::map<loops::ArrayId, const Tensor*>& known);

}  // namespace lightline::truth
