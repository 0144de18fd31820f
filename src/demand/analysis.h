// What a program must do at the least: the arithmetic and the bytes that its outputs demand. docs/bounds.md says
// what counts; every number here is a lower bound of the true one.
//
// Room demand: the normal form of a program, what its outputs demand of every term, and the work and bytes of it.
// Whatever is not exact here is too low, never too high.
// May use: base, index, loops/ir.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "demand/given_up.h"
#include "demand/normal_form.h"
#include "demand/term_demand.h"
#include "demand/work.h"
#include "demand/written.h"
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

// One implementation's arithmetic and bytes.
struct Demand {
  Work work;
  double input_bytes = 0;   // demanded elements of inputs, once
  double output_bytes = 0;  // elements of outputs, once
  double bytes() const { return input_bytes + output_bytes; }
};

struct Analysis {
  Demand floor;                     // any implementation, on the data that suit it best
  Demand fused;                     // every term once, data in general position
  Written written;                  // the products that the program spells, and why fewer are needed
  std::vector<GroupDemand> groups;  // operator by operator, in program order; those that nothing demands are left out
  std::map<std::string, int64_t> opaque;
  std::vector<std::string> assumptions;
  std::vector<GivenUp> given_up;  // where a number is lower than it might be
  std::vector<TermDemand> terms;  // of the fused tier, if they were asked for
};

// `known` holds the values of inputs that may be relied on; with `data` the demand of every term is kept.
Analysis analyze(const loops::Program& program, const KnownValues& known = {}, bool data = false);

}  // namespace lightline::demand
