// Arithmetic, by what it could run on.
#pragma once

#include <compare>
#include <map>

#include "base/dtype.h"

namespace lightline::demand {

// The types that the operands of a product can be taken in.
struct Operands {
  DType narrow, wide;
  Operands(DType type) : narrow(type), wide(type) {}
  Operands(DType left, DType right) : narrow(left), wide(right) {}
  auto operator<=>(const Operands&) const = default;
};

struct Work {
  std::map<Operands, double> macs;              // multiply-accumulates of contractions; of real numbers
  std::map<Operands, double> transformed_macs;  // the same where convolutions may use transform-domain algorithms
  std::map<DType, double> sums;                 // additions of many values, that matrix units could do too
  std::map<DType, double> vector_ops;           // other scalar operations, by compute type
  double transcendental_ops = 0;

  void add(const Work& other);
  bool empty() const { return macs.empty() && sums.empty() && vector_ops.empty() && transcendental_ops == 0; }
  double total_macs() const;
  double total_vector_ops() const;  // with the sums
};

}  // namespace lightline::demand
