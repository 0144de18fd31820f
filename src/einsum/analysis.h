// What a program must do at the least: the arithmetic and the bytes that its outputs demand. docs/bounds.md says
// what counts; every number here is a lower bound of the true one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "einsum/region.h"
#include "loops/program.h"

namespace lightline::einsum {

struct Work {
  std::map<DType, double> macs;        // multiply-accumulates of contractions, by operand dtype
  std::map<DType, double> vector_ops;  // other scalar operations, by compute type
  double transcendental_ops = 0;

  void add(const Work& other);
  double total_macs() const;
  double total_vector_ops() const;
};

// One operator: the statements of a group, or a statement that belongs to none.
struct Operation {
  std::string name;  // the group's name, or the array a statement defines
  Work work;
  double operand_bytes = 0;  // what it reads that it did not make, each element once
  double result_bytes = 0;   // what it makes that is used elsewhere or returned
  bool opaque = false;       // named, priced by bytes only
};

struct Analysis {
  std::vector<Operation> operations;  // in program order; those that nothing demands are left out
  Work work;                          // of the whole program
  double input_bytes = 0;             // demanded elements of inputs, once
  double output_bytes = 0;            // elements of outputs, once
  double expected_gather_bytes = 0;   // what gathers usually touch beyond the least that is counted
  std::map<std::string, int64_t> opaque;
  std::vector<std::string> assumptions;
  double bytes() const { return input_bytes + output_bytes; }
};

Analysis analyze(const loops::Program& program);

}  // namespace lightline::einsum
