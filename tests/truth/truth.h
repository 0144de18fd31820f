// What a tiny program takes at the least, as far as ways to run it are known: every tier must be at or below each.
//
// A number here belongs to an implementation that exists, so it may be larger than the true minimum, never smaller.
#pragma once

#include <string>
#include <vector>

#include "truth/unroll.h"
#include "truth/work.h"

namespace lightline::truth {

struct Implementation {
  std::string name;
  bool floor_only = false;  // by rewrites that only the floor allows for
  Work work;
};

struct Truth {
  std::vector<Implementation> implementations;
  double input_bytes = 0;     // distinct elements of inputs that are read
  double constant_bytes = 0;  // elements of constants in the text that are read: a formula could give them
  double output_bytes = 0;    // elements that must be written
  bool has_nan = false;       // known to be NaN somewhere: such programs prove nothing
  bool plans_hold = true;     // every way gave the values it should

  // The least over all implementations that the tier must not exceed.
  Work least(bool floor) const;
  double least_milliseconds(bool floor) const;  // infinite if it has no time
};

// Adds to the graph.
Truth truth_of(const loops::Program& program, Unrolled& unrolled);

}  // namespace lightline::truth
