// What reductions combine, kept until all of them are known.
#pragma once

#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

// What is combined of one term, by all reductions with one reducer.
struct Total {
  std::vector<Region> values;
  AtLeast points, results;
  AtMost most_results;
  double each = 1;               // values of one result, at most
  DType width = DType::boolean;  // of the values
  TermId owner = no_term;
};

}  // namespace lightline::demand
