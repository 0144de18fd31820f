// Arithmetic, by what it could run on.
#pragma once

#include <map>

#include "base/dtype.h"

namespace lightline::demand {

struct Work {
  std::map<DType, double> macs;              // multiply-accumulates of contractions, by the type they can run in
  std::map<DType, double> transformed_macs;  // the same where convolutions may use transform-domain algorithms
  std::map<DType, double> sums;              // additions of many values, that matrix units could do too
  std::map<DType, double> vector_ops;        // other scalar operations, by compute type
  double transcendental_ops = 0;

  void add(const Work& other);
  bool empty() const { return macs.empty() && sums.empty() && vector_ops.empty() && transcendental_ops == 0; }
  double total_macs() const;
  double total_vector_ops() const;  // with the sums
};

}  // namespace lightline::demand
