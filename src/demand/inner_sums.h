// Sums of products inside of the factors of others, for the floor: which of them need not be made.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

struct InnerSum {
  TermId made = no_term;  // who makes its products
  Value value;
  std::vector<Value> beside;  // what it is multiplied by
};

struct InnerSums {
  std::vector<InnerSum> found;
  std::vector<Value> plain;   // what is added to them
  std::vector<Value> beside;  // on the way
  TermId sum = no_term;
  bool cut = false;  // there are more
};

// A sum that reads another, taken without it
struct Without {
  std::set<TermId> inside;     // sums of products that the other one alone reads, and this one would read then
  double inside_products = 0;  // of those
  double products = 0;         // of the sum that reads another, with the factors of that one in its place
  double more = 0;             // than with that one
  bool plain = true;           // something else is added that has as many elements
  bool known = true;
  bool shared = false;  // other sums have factors in common with both
};

using Source = std::pair<TermId, uint64_t>;  // what a term is made of linearly, with the coordinates that it has of it
using Sources = std::vector<Source>;         // sorted, each once

}  // namespace lightline::demand
