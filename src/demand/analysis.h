// What a program must do at the least: the arithmetic and the bytes that its outputs demand. docs/bounds.md says
// what counts; every number here is a lower bound of the true one.
//
// Room demand: what a program's outputs demand: points of statements, elements of arrays, zeros and repetition, work
// and bytes. Whatever is not exact here is too low, never too high.
// May use: base, loops/ir.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "demand/footprint.h"
#include "demand/names.h"
#include "demand/work.h"
#include "loops/ir/walk.h"

namespace lightline::demand {

// What one group of statements demands; a statement outside any group is a group of its own.
struct GroupDemand {
  std::string name;  // the group's name, or the array a statement defines
  Work work;
  double operand_bytes = 0;                    // what it reads that it did not make, each element once
  double result_bytes = 0;                     // what it makes that is used elsewhere or returned
  bool opaque = false;                         // named, priced by bytes only
  std::vector<loops::StatementId> statements;  // outside of repeats
  double bytes() const { return operand_bytes + result_bytes; }
};

struct Analysis {
  std::vector<GroupDemand> groups;   // in program order; those that nothing demands are left out
  Work work;                         // of the whole program
  Work algebraic;                    // after linear rewrites
  double input_bytes = 0;            // demanded elements of inputs, once
  double output_bytes = 0;           // elements of outputs, once
  double expected_gather_bytes = 0;  // what gathers from inputs usually touch beyond the least that is counted
  std::map<std::string, int64_t> opaque;
  std::vector<std::string> assumptions;
  double bytes() const { return input_bytes + output_bytes; }
};

// `known` holds the values of integer inputs that may be relied on.
Analysis analyze(const loops::Program& program, const KnownValues& known = {});

}  // namespace lightline::demand
