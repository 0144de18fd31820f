// The table of scalar functions and reducers (functions.def) as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lightline::loops {

enum class Function : uint8_t {
#define LL_FUNCTION(id, text, arity, signature, vector_ops, transcendental_ops) id,
#include "loops/ir/functions.def"
#undef LL_FUNCTION
};

// Which compute types a function takes and gives. Arguments always share one type, except `choice`.
enum class Signature : uint8_t {
  numeric,       // integers, f32, f64, c64 -> same
  fractional,    // f32, f64, c64 -> same
  floating,      // f32, f64 -> same
  real,          // integers, f32, f64 -> same
  integer,       // integers -> same
  magnitude,     // integers, f32, f64 -> same; c64 -> f32
  power,         // integers, f32, f64 -> same
  bitwise,       // integers, bool -> same
  equality,      // any -> bool
  ordering,      // integers, f32, f64, bool -> bool
  logic,         // bool -> bool
  test,          // f32, f64 -> bool
  choice,        // bool, any, the same -> the same
  make_complex,  // f32 -> c64
  complex_part,  // c64 -> f32
  conjugate,     // c64 -> c64
  to_bits,       // f32 -> i32, f64 -> i64
  from_bits,     // i32 -> f32, i64 -> f64
};

struct FunctionInfo {
  Function function;
  std::string_view text;
  int arity;
  Signature signature;
  int vector_ops;
  int transcendental_ops;
};

const FunctionInfo& info(Function function);
// Functions written as name(args), by name; not the infix operators.
std::optional<Function> function_from_name(std::string_view name);

enum class Reducer : uint8_t {
  none,
  sum,     // empty: 0
  prod,    // empty: 1
  max,     // empty: -inf or the least integer; NaN wins
  min,     // empty: inf or the greatest integer; NaN wins
  all,     // written `and`; empty: true
  any,     // written `or`; empty: false
  argmax,  // the first index of the greatest value, NaN counting as greatest; row-major over several indices; never empty
  argmin,
  set,  // scatter only: the last write wins
};
std::string_view name(Reducer reducer);
std::optional<Reducer> reducer_from_name(std::string_view name);
Function combining_function(Reducer reducer);  // of sum, prod, max, min, all and any: what joins two values

}  // namespace lightline::loops
