// Turns a program into terms: what every array is, element by element, however the statements are cut.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "demand/algebra.h"
#include "demand/given_up.h"
#include "loops/ir/walk.h"

namespace lightline::demand {

// Values of inputs, where they are known.
using KnownValues = std::unordered_map<loops::ArrayId, const Tensor*>;

// An operator that is no loop nest: what its results are made of.
struct OpaqueCall {
  const loops::Opaque* node = nullptr;
  std::vector<TermId> results;
  std::vector<Cases> operands;  // over the dimensions of the arrays
};

// A loop whose steps were not written out.
struct Loop {
  int64_t steps = 0;
  uint32_t coordinate = 0;  // of the carried terms, that is the step
  std::vector<TermId> carried;
  TermId first = 0, last = 0;  // terms made of its body: from first up to, not including, last
};

// A scatter to places that data tell. Its body is over the domain, then the places.
struct ScatterParts {
  std::vector<std::vector<Value>> indices;  // by case of the body: the places that data tell
  std::vector<std::vector<Value>> places;   // by case of the body, by dimension: where it goes
  std::vector<bool> by_data;                // by dimension of the result
  Shape extents;
  Cases init;  // over the places; none if it starts from a number
};

// A sum of products as the program spells it; one for each step of a loop that is written out.
struct Spelled {
  uint32_t statement = loops::none;
  uint32_t group = loops::none;
  uint32_t reduced = 0;         // variables before the coordinates of the result
  std::vector<Region> zeros;    // of all variables: where a product is zero,
  std::vector<Region> factors;  // and where it is one of elements
  std::vector<Range> box;
  Cases result;  // over the coordinates
};

struct NormalForm {
  const loops::Program* program = nullptr;
  Terms terms;
  std::vector<Cases> arrays;       // by array: over its dimensions; those inside of loops have a step before them
  std::vector<bool> complete;      // by array: nothing that it is made of was given up, or assumed of data
  std::vector<uint32_t> groups;    // by array: who makes it
  std::vector<OpaqueCall> opaque;  // by Term::array of opaque terms
  std::vector<std::shared_ptr<const loops::Opaque>> ended_by_data;  // what stands for loops that end so
  std::vector<Loop> loops;                                          // by Term::array of carried terms
  std::vector<ScatterParts> scatters;                               // by Term::array of scatter terms
  std::vector<Spelled> spelled;
  Drops given_up;  // of whose results nothing is known
  Drops drops;     // where sets of points became smaller on the way
};

// Where `borders` is set, arrays of other groups are taken as they lie in memory: only where they are numbers or
// formulas of indices, and which of their elements are equal, is known of them.
NormalForm normal_form(const loops::Program& program, const KnownValues& known = {}, bool borders = false);

}  // namespace lightline::demand
