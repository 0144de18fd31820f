// Sums of products of several factors, as they are priced.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

struct Factor {
  Value value;
  uint64_t variables = 0;
  bool formula = false;
  bool exponential = false;    // exp of this value, and of all that it needs,
  std::vector<Value> needs;    // which are these,
  std::vector<Value> zero_by;  // and of these each can make it 0
  Value whole;                 // the power that it is a part of
};

struct Network {
  Region region;  // of its variables: reduced ones first
  std::vector<Factor> factors;
  uint64_t summed = 0;           // variables that are summed
  DType width = DType::f64;      // of what becomes of the result
  TermId owner = no_term;        // whose sum it is
  std::vector<Form> results;     // its coordinates, if they are not the variables behind those that it reduces
  std::vector<TermId> absorbed;  // sums of products that joined
  int distributed = 0;
  bool one_hot = false;
  std::vector<std::pair<Value, Region>> indices;  // by which one-hot factors picked, and where
  bool apart = false;                             // a trial: nothing is tried inside of it
};

struct Multiplied {
  std::vector<Value> needs;    // what the factor takes,
  std::vector<Value> zero_by;  // and what, each by itself, can make it 0
};

struct ExponentPart {
  Value value;
  bool drowns = false;  // floor: may be so low that the power vanishes
};

// A part of what is summed: a product of factors with a number.
struct Addend {
  std::vector<Value> factors;
  double number = 1;
  Region where;
};

struct PartedFactor {
  size_t factor = 0;
  std::vector<Addend> parts;
};

struct RestSearch {
  int depth = 0;          // terms below that are looked at
  int* visits = nullptr;  // left
  size_t variables = 0;   // in use
};

}  // namespace lightline::demand
