// One number of a loop program, in the compute type the language gives it, with the language's own arithmetic.
#pragma once

#include <complex>
#include <cstring>
#include <span>

#include "base/dtype.h"
#include "loops/ir/functions.h"
#include "loops/ir/program.h"

namespace lightline::truth {

struct Value {
  DType type = DType::f32;  // a compute type
  alignas(8) std::byte lane[8] = {};

  static Value of(DType type, const loops::Literal& literal);
  static Value of(DType type, double number);
  static Value of_integer(DType type, int64_t number);
  static Value of_complex(std::complex<double> number);
  static Value element(const Tensor& tensor, int64_t offset);

  std::complex<double> number() const;
  double real() const { return number().real(); }
  int64_t integer() const;
  bool is_nan() const;
};

bool is_integral(DType type);  // kept in integer lanes: integers and bool
Value applied(loops::Function function, std::span<const Value> operands);
Value converted(const Value& value, DType target);  // rounded to `target`, held in its compute type
bool close(const Value& a, const Value& b, DType stored);

}  // namespace lightline::truth
