// A hardware description: what a device can do per clock, how fast its clocks can run, and what its memories hold.
//
// Every figure errs on the fast side: bounds on time are lower bounds only if no rate here can be beaten. Rates are per
// tick of one core clock, so that a locked clock moves all of them and leaves device memory alone. docs/machines.md
// says what each field means and where the numbers come from.
//
// Room machine: hardware: descriptions (machines/*.toml), rates per unit and dtype with their sources, and a probe of
// this machine. No figure that a bound depends on stands anywhere else.
// May use: base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace lightline::machine {

enum class Kind : uint8_t { gpu, tpu, npu, cpu };
std::string_view name(Kind kind);

// What a rate can be given for. Storage types of one width and kind share an entry: both 8-bit floats are f8, u8 and
// bool are i8. tf32 is a compute type of matrix units only; i4 and b1 (packed booleans) have no storage type.
enum class RateType : uint8_t { f64, f32, tf32, f16, bf16, f8, f4, i64, i32, i16, i8, i4, b1 };
inline constexpr int rate_type_count = 13;
std::string_view name(RateType type);
std::optional<RateType> rate_type_from_name(std::string_view name);
RateType rate_type(DType dtype);  // c64 counts as f32

// How products of f32 operands may be computed (docs/bounds.md).
enum class MathMode : uint8_t {
  strict,  // f32 accuracy: vector units, or the emulations that the machine file lists
  tf32,    // the tf32 matrix rate where there is one, else as strict
  fast16,  // the 16-bit matrix rate
};
std::string_view name(MathMode mode);
MathMode math_mode_from_name(std::string_view name);  // tf32 if there is no such mode

struct SourcedNumber {
  double value = 0;    // 0: not known
  std::string source;  // where it is published, or how it was measured
};

// Matrix units: multiply-accumulates. Vector units: operations, where a fused multiply-add is two. Special-function
// units: results. All dense, for the whole device.
struct Rate {
  RateType type = RateType::f32;
  double per_clock = 0;
  std::string source;
  double datasheet_tera = 0;  // what the vendor states, in 10^12 operations per second (a multiply-accumulate is two)
  double datasheet_hz = 0;    // the clock at which it does
  // Vector units: values that instructions take per clock (a fused multiply-add takes one and does two operations), and
  // how many of them share one issue slot. 0: not known.
  double values_per_clock = 0;
  double values_per_slot = 0;
};

// Types that a unit certainly lacks. What is neither listed nor absent may exist (machine/rates.h).
struct Absent {
  std::vector<RateType> types;
  std::string source;
};

// `products` products of type `with` (and sums) that make one product of type `type` at its full accuracy.
struct Emulation {
  RateType type = RateType::f32;
  RateType with = RateType::tf32;
  double products = 1;
  std::string source;
};

enum class Unit : uint8_t { matrix, vector };
std::string_view name(Unit unit);

// Rates that take turns: what is on different pipes runs at once.
struct Pipe {
  struct Member {
    Unit unit = Unit::matrix;
    std::optional<RateType> type;  // none: every type that no other pipe names
  };
  std::string name;
  std::vector<Member> members;
  std::string source;
};

// How instructions use what the machine can issue. 0: not known.
struct Issue {
  SourcedNumber slots;        // per clock: instructions times the lanes of one
  SourcedNumber max_min;      // operations of one instruction in a chain of maxima or minima: 1, or 2 with three inputs
  SourcedNumber logic;        // likewise of and, or, xor
  SourcedNumber integer_add;  // likewise of integer additions
  SourcedNumber emulated_slots;  // of the vector units for one transcendental by a polynomial
  SourcedNumber lookups;         // values per clock that a table on chip can answer
};

struct MatrixInstruction {
  SourcedNumber least_width;  // columns that one instruction computes at least; 0: not known
  // Matrix types whose products take a scale per block of so many values along the sum, for nothing.
  struct BlockScale {
    RateType type = RateType::f8;
    double block = 0;
  };
  std::vector<BlockScale> block_scales;
  std::string block_scales_source;  // empty: not known
};

struct MemoryLevel {
  std::string name;
  bool on_chip = true;
  bool usable = false;        // on chip: the last level that a schedule may count on
  bool keeps_results = true;  // on chip: a kernel may end while its results are still here
  std::string keeps_results_source;
  SourcedNumber bytes;
  SourcedNumber bytes_per_second;   // device memory: the datasheet's figure
  SourcedNumber bytes_per_clock;    // on chip, of the core clock; often unknown
  SourcedNumber written_per_clock;  // on chip: bytes written alone, where that is known
  double clock_hz = 0;              // device memory: clock, transfers per tick and bus width, where they are known
  double transfers_per_clock = 0;
  double bus_bits = 0;
  std::string clock_source;

  double by_clocks() const { return clock_hz * transfers_per_clock * bus_bits / 8; }  // bytes per second
};

struct Clocks {
  SourcedNumber base;
  SourcedNumber boost;
  SourcedNumber max;  // the highest that the part can run at
  double locked = 0;  // 0: not locked
};

// Ceilings that `lightline arch probe` reached on one specimen. They can be beaten, so no bound rests on them unless
// asked for by at_measured.
struct Measured {
  SourcedNumber bytes_per_second;
  std::vector<Rate> matrix;  // per_clock is unused: datasheet_tera holds the measured rate
  std::vector<Rate> vector;
  std::vector<Rate> special;
  bool empty() const { return bytes_per_second.value == 0 && matrix.empty() && vector.empty() && special.empty(); }
};

struct Machine {
  std::string name;
  std::string vendor;
  Kind kind = Kind::gpu;
  std::string architecture;
  std::string compute_capability;  // NVIDIA: "9.0"
  std::vector<std::string> aliases;
  std::string notes;
  int year = 0;  // of release; 0: not known
  Clocks clocks;
  std::string unit_name;  // "SM", "CU", "core"
  SourcedNumber units;
  std::vector<Rate> matrix;
  std::vector<Emulation> emulations;
  std::vector<Rate> vector;
  std::vector<Rate> special;
  Absent absent_matrix;
  Absent absent_vector;
  Absent absent_special;
  std::vector<Pipe> pipes;
  Issue issue;
  MatrixInstruction matrix_instruction;
  std::vector<MemoryLevel> memories;  // device memory first, then on-chip levels from far to near
  SourcedNumber tdp_watts;
  SourcedNumber price_usd;  // value 0: none is public
  Measured measured;

  // ---- for bounds ----
  double clock() const;  // the locked clock, or the highest

  // Operations per second of the vector units on elements of `dtype`: the best of its own rate and those of wider types
  // that can carry it. A type that the units lack counts at the rate of the next narrower one.
  double vector_rate(DType dtype) const;

  // Results per second of exp, log, sin, rsqrt and the like: special-function units, and beside them the vector units
  // at `emulated_transcendental_operations` operations each.
  double transcendental_rate(DType dtype) const;

  // Bytes per second of device memory: the larger of the datasheet's figure and what its clocks give.
  double bandwidth() const;

  double on_chip_bytes() const;       // everything: registers, shared memory, all caches
  double usable_cache_bytes() const;  // the last level that a schedule may count on
  double device_bytes() const;

  const Rate* find_matrix(RateType type) const;
  const Rate* find_vector(RateType type) const;
  const MemoryLevel& device_memory() const;
  std::string unit_text(double count) const;  // "132 SM"
};

// The least that a vector unit can spend on one transcendental at 16-bit accuracy or better: four instructions (reduce
// the argument, two steps of a polynomial of degree two, put the exponent back), each in place of a fused multiply-add.
inline constexpr double emulated_transcendental_operations = 8;

// The best rate for products of two operands of `dtype`, and the unit it is reached on ("matrix f16", "3 x tf32",
// "vector f32"). An operand may always travel in a wider type that holds it exactly.
struct ContractionRate {
  double macs_per_second = 0;
  std::string unit;
};
ContractionRate contraction_rate(const Machine& machine, DType dtype, MathMode mode);

// The types that hold every value of `type` exactly, itself first.
std::vector<RateType> exact_carriers(RateType type);

// Products of 8-bit digits that make an integer product modulo 2^bits; 0 for types that need or allow no digits.
double digit_products(RateType type);

// The machine with its core clock locked: every rate that follows the core clock does, device memory does not.
Machine with_clock(Machine machine, double hz);

// The machine at its measured ceilings wherever they are below the nominal ones. Bounds then say what this specimen
// was seen to reach, and are no longer lower bounds for every part of the kind.
Machine at_measured(Machine machine);

// "1.5GHz", "1500 MHz", "1500000000Hz"; case and blanks do not matter.
Result<double> parse_clock(std::string_view text);

}  // namespace lightline::machine
