// A tiny program as a graph of scalar operations: every element that the outputs demand, worked out one by one.
#pragma once

#include <set>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "truth/scalar_graph.h"

namespace lightline::truth {

struct UnrolledOutput {
  struct Root {  // where a returned view really lies
    loops::ArrayId array = loops::none;
    int64_t place = 0;
    auto operator<=>(const Root&) const = default;
  };
  loops::Output declared;
  std::vector<NodeId> elements;  // row-major
  std::vector<Root> roots;
};

struct Unrolled {
  ScalarGraph graph;
  std::vector<UnrolledOutput> outputs;
  std::vector<NodeId> index_reads;  // subscripts and targets that data decide
  double uncertain_operations = 0;  // writes of scatters that meet others more or less often, as data decide
  std::set<std::pair<loops::ArrayId, int64_t>> constants_read;  // elements of constants that the text carries
};

struct UnrollOptions {
  size_t limit = 20000;
  // Subscripts that data decide, other than by inputs in `known`, do not take their values from the inputs but are
  // spread as far as they can be: what data in general position touch is at most that.
  bool spread = false;
  std::set<loops::ArrayId> known;
};

// `inputs` in the program's order. An error if the program is too large, reads outside an array by data, or has an
// opaque statement that can not run.
Result<Unrolled> unroll(const loops::Program& program, const std::vector<Tensor>& inputs,
                        const UnrollOptions& options = {});

}  // namespace lightline::truth
