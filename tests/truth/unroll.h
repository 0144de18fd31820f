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

// What subscripts and conditions that only data decide are taken to be.
enum class Data : uint8_t {
  given,      // as the inputs say
  spread,     // subscripts as far apart as can be: data in general position touch at most that
  all_true,   // as suits an implementation that looks at the data: one row, and every flag that is an input true
  all_false,  // or false
};

struct UnrollOptions {
  size_t limit = 20000;
  Data data = Data::given;  // for what is not in `known`
  std::set<loops::ArrayId> known;
};

// `inputs` in the program's order. An error if the program is too large, reads outside an array by data, or has an
// opaque statement that can not run.
Result<Unrolled> unroll(const loops::Program& program, const std::vector<Tensor>& inputs,
                        const UnrollOptions& options = {});

}  // namespace lightline::truth
