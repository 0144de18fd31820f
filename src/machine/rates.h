// Rates as bounds need them: all units that can do a product together, sums on matrix units, issue slots beside pipes,
// transcendentals with everything that can compute them, the cache that results may stay in.
//
// All are functions of the machine's description alone, and all err on the fast side: a fact that the file does not
// state makes a rate higher, never lower. docs/machines.md says field by field what a missing one does.
#pragma once

#include <span>
#include <string>

#include "machine/machine.h"

namespace lightline::machine {

// As rate_type, but booleans are packed bits.
RateType narrow_rate_type(DType dtype);

// The rate of one kind of unit for products of a `left` and a `right`, on whatever it does them best: a type that holds
// both, or pieces. A wide factor against one that fits a piece takes as many products as it has pieces.
ContractionRate contraction_rate_one_unit(const Machine& machine, RateType left, RateType right, MathMode mode);

// The same for all units at once: pipes add up, as far as the machine can issue for them.
ContractionRate contraction_rate_all_units(const Machine& machine, RateType left, RateType right, MathMode mode);
ContractionRate contraction_rate_all_units(const Machine& machine, DType dtype, MathMode mode);

// Additions per second of sums whose coefficients are constant along the free or the summed index: the vector units,
// and the matrix units against ones, of which they compute `least_width` columns for one.
double sum_rate(const Machine& machine, RateType type, MathMode mode);

// Work of the vector units: instructions times the values that each of them takes.
struct VectorWork {
  RateType type = RateType::f32;
  double values = 0;
};
// Two limits on all of it together: what the machine can issue, and what the pipes can take.
struct VectorTime {
  double issue_seconds = 0;
  double pipe_seconds = 0;
  double seconds() const { return issue_seconds > pipe_seconds ? issue_seconds : pipe_seconds; }
};
VectorTime vector_time(const Machine& machine, std::span<const VectorWork> work);

// Values per second of one type alone.
double slot_rate(const Machine& machine, RateType type);

// Operations that one slot does in a chain of them: two where instructions have three inputs.
enum class Chain : uint8_t { max_min, logic, integer_add };
double operations_per_slot(const Machine& machine, Chain chain);

// Results per second of functions of one variable: special-function units, polynomials on the vector units, and for
// arguments of at most 16 bits a table on chip.
double transcendental_rate_with_emulation(const Machine& machine, RateType type);

// The memory that results may still be in when a kernel ends, and the bytes per second that it takes: never less than
// device memory. No bytes where nothing is kept (scratchpads).
struct ResultCache {
  double bytes = 0;
  double bytes_per_second = 0;  // infinite if a level does not state its bandwidth
};
ResultCache last_level_cache(const Machine& machine);

}  // namespace lightline::machine
