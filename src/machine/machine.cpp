#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/shown.h"

namespace lightline::machine {
namespace {

constexpr std::array<std::string_view, rate_type_count> rate_type_names = {
    "f64", "f32", "tf32", "f16", "bf16", "f8", "f4", "i64", "i32", "i16", "i8", "i4", "b1"};

using enum RateType;

// The types that hold every value of `type`, so that its operands can be fed to their units unchanged. f4 (e2m1) times
// two is an integer of at most 12; tf32 has the mantissa of f16 and the exponent of f32; integers up to 256 fit bf16,
// and those of four bits fit both 8-bit floats.
std::span<const RateType> carriers(RateType type) {
  static constexpr RateType of_f64[] = {f64}, of_f32[] = {f32, f64}, of_tf32[] = {tf32, f32, f64},
                            of_f16[] = {f16, tf32, f32, f64}, of_bf16[] = {bf16, tf32, f32, f64},
                            of_f8[] = {f8, f16, bf16, tf32, f32, f64},
                            of_f4[] = {f4, f8, i8, f16, bf16, tf32, f32, f64}, of_i64[] = {i64},
                            of_i32[] = {i32, i64, f64}, of_i16[] = {i16, i32, f32, f64},
                            of_i8[] = {i8, i16, i32, f16, bf16, tf32, f32, f64},
                            of_i4[] = {i4, i8, f8, i16, i32, f16, bf16, tf32, f32, f64},
                            of_b1[] = {b1, i4, f4, i8, f8, i16, i32, f16, bf16, tf32, f32, f64};
  switch (type) {
    case f64: return of_f64;
    case f32: return of_f32;
    case tf32: return of_tf32;
    case f16: return of_f16;
    case bf16: return of_bf16;
    case f8: return of_f8;
    case f4: return of_f4;
    case i64: return of_i64;
    case i32: return of_i32;
    case i16: return of_i16;
    case i8: return of_i8;
    case i4: return of_i4;
    case b1: return of_b1;
  }
  return of_f32;
}

// What stands in for a type that no unit has: an operation on the wide type takes at least one on the narrow type.
std::optional<RateType> narrower(RateType type) {
  switch (type) {
    case f64: return f32;
    case i64: return i32;
    case i32: return f32;
    default: return std::nullopt;
  }
}

const Rate* find(const std::vector<Rate>& rates, RateType type) {
  const auto found = std::find_if(rates.begin(), rates.end(), [type](const Rate& rate) { return rate.type == type; });
  return found == rates.end() ? nullptr : &*found;
}

double per_clock(const std::vector<Rate>& rates, RateType type) {
  const Rate* rate = find(rates, type);
  return rate == nullptr ? 0 : rate->per_clock;
}

double best_per_clock(const std::vector<Rate>& rates, RateType type) {
  double best = 0;
  for (const RateType carrier : carriers(type)) best = std::max(best, per_clock(rates, carrier));
  const std::optional<RateType> next = narrower(type);
  return best == 0 && next ? best_per_clock(rates, *next) : best;
}

// The best way found so far to multiply; its name is made only for the winner.
struct Candidate {
  enum class Way : uint8_t { matrix, vector, pieces };
  double macs_per_clock = 0;
  Way way = Way::matrix;
  RateType type = f32;
  double products = 1;

  void offer(const Candidate& other) {
    if (other.macs_per_clock > macs_per_clock) *this = other;
  }
  std::string unit() const {
    if (way == Way::pieces) return fmt::format("{} x {}", products, name(type));
    return fmt::format("{} {}", way == Way::matrix ? "matrix" : "vector", name(type));
  }
};
constexpr auto matrix = Candidate::Way::matrix;
constexpr auto pieces = Candidate::Way::pieces;

void offer_pieces(const Machine& machine, RateType type, Candidate& best) {
  const auto offer = [&](RateType with, double products) {
    best.offer({per_clock(machine.matrix, with) / products, pieces, with, products});
  };
  for (const Emulation& emulation : machine.emulations) {
    if (emulation.type == type) offer(emulation.with, emulation.products);
  }
  if (const double products = digit_products(type); products > 0) offer(i8, products);
}

// A matrix entry speaks for the whole machine; a type without one runs on the vector units, at two operations per
// multiply-accumulate, or in pieces.
void offer_units(const Machine& machine, RateType type, Candidate& best) {
  for (const RateType carrier : carriers(type)) {
    const Rate* rate = find(machine.matrix, carrier);
    best.offer(rate != nullptr ? Candidate{rate->per_clock, matrix, carrier}
                               : Candidate{per_clock(machine.vector, carrier) / 2, Candidate::Way::vector, carrier});
    offer_pieces(machine, carrier, best);
  }
  if (best.macs_per_clock == 0 && narrower(type)) offer_units(machine, *narrower(type), best);
}

void limit_rates(std::vector<Rate>& rates, const std::vector<Rate>& measured, double operations_per_unit,
                 double clock) {
  for (const Rate& ceiling : measured) {
    for (Rate& rate : rates) {
      if (rate.type != ceiling.type) continue;
      rate.per_clock = std::min(rate.per_clock, ceiling.datasheet_tera * 1e12 / operations_per_unit / clock);
      rate.source = ceiling.source;
    }
  }
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::gpu: return "gpu";
    case Kind::tpu: return "tpu";
    case Kind::npu: return "npu";
    case Kind::cpu: return "cpu";
  }
  return "gpu";
}

std::string_view name(Unit unit) { return unit == Unit::matrix ? "matrix" : "vector"; }

std::vector<RateType> exact_carriers(RateType type) {
  const std::span<const RateType> found = carriers(type);
  return {found.begin(), found.end()};
}

// By Karatsuba's scheme
double digit_products(RateType type) {
  switch (type) {
    case i16: return 3;
    case i32: return 9;
    case i64: return 27;
    default: return 0;
  }
}

std::string_view name(RateType type) { return rate_type_names[size_t(type)]; }

std::optional<RateType> rate_type_from_name(std::string_view name) {
  for (size_t i = 0; i < rate_type_names.size(); ++i) {
    if (rate_type_names[i] == name) return RateType(i);
  }
  return std::nullopt;
}

RateType rate_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return f64;
    case DType::f32:
    case DType::c64: return f32;
    case DType::f16: return f16;
    case DType::bf16: return bf16;
    case DType::f8e4m3:
    case DType::f8e5m2: return f8;
    case DType::f4e2m1: return f4;
    case DType::i64: return i64;
    case DType::i32: return i32;
    case DType::i16: return i16;
    case DType::i8:
    case DType::u8:
    case DType::boolean: return i8;
  }
  return f32;
}

std::string_view name(MathMode mode) {
  switch (mode) {
    case MathMode::strict: return "strict";
    case MathMode::tf32: return "tf32";
    case MathMode::fast16: return "fast16";
  }
  return "tf32";
}

MathMode math_mode_from_name(std::string_view text) {
  for (const MathMode mode : {MathMode::strict, MathMode::fast16})
    if (name(mode) == text) return mode;
  return MathMode::tf32;
}

double Machine::clock() const { return clocks.locked > 0 ? clocks.locked : clocks.max.value; }

double Machine::vector_rate(DType dtype) const { return best_per_clock(vector, rate_type(dtype)) * clock(); }

double Machine::transcendental_rate(DType dtype) const {
  const RateType type = rate_type(dtype);
  // Special-function units answer in f32 or less; f64 results come from f64 arithmetic alone.
  const double special_units =
      type == f64 ? per_clock(special, f64) : best_per_clock(special, type == i64 || type == i32 ? f32 : type);
  return special_units * clock() + vector_rate(dtype) / emulated_transcendental_operations;
}

double Machine::bandwidth() const {
  const MemoryLevel& memory = device_memory();
  return std::max(memory.bytes_per_second.value, memory.by_clocks());
}

double Machine::on_chip_bytes() const {
  double bytes = 0;
  for (const MemoryLevel& memory : memories) bytes += memory.on_chip ? memory.bytes.value : 0;
  return bytes;
}

double Machine::usable_cache_bytes() const {
  double bytes = 0;
  for (const MemoryLevel& memory : memories) bytes += memory.usable ? memory.bytes.value : 0;
  return bytes;
}

double Machine::device_bytes() const { return device_memory().bytes.value; }

const Rate* Machine::find_matrix(RateType type) const { return find(matrix, type); }
const Rate* Machine::find_vector(RateType type) const { return find(vector, type); }

const MemoryLevel& Machine::device_memory() const {
  const auto found =
      std::find_if(memories.begin(), memories.end(), [](const MemoryLevel& memory) { return !memory.on_chip; });
  LL_CHECK(found != memories.end());
  return *found;
}

std::string Machine::unit_text(double count) const { return fmt::format("{} {}", count, unit_name); }

ContractionRate contraction_rate(const Machine& machine, DType dtype, MathMode mode) {
  const RateType type = rate_type(dtype);
  Candidate best;
  offer_units(machine, type, best);
  if (type == f32 && mode != MathMode::strict) offer_units(machine, tf32, best);
  if (type == f32 && mode == MathMode::fast16) {
    for (const RateType half : {bf16, f16}) best.offer({per_clock(machine.matrix, half), matrix, half});
  }
  return {best.macs_per_clock * machine.clock(), best.unit()};
}

Machine with_clock(Machine machine, double hz) {
  machine.clocks.locked = hz;
  return machine;
}

Machine at_measured(Machine machine) {
  const double clock = machine.clock();
  limit_rates(machine.matrix, machine.measured.matrix, 2, clock);
  limit_rates(machine.vector, machine.measured.vector, 1, clock);
  limit_rates(machine.special, machine.measured.special, 1, clock);
  if (const SourcedNumber& measured = machine.measured.bytes_per_second; measured.value > 0) {
    for (MemoryLevel& memory : machine.memories) {
      if (memory.on_chip || std::max(memory.bytes_per_second.value, memory.by_clocks()) <= measured.value) continue;
      memory.bytes_per_second = measured;
      memory.clock_hz = 0;
    }
  }
  return machine;
}

Result<double> parse_clock(std::string_view text) {
  constexpr const char* remedy = "write it as 1.5GHz or 1500MHz";
  std::string plain;
  for (const char c : text) {
    if (c != ' ') plain += char(std::tolower(static_cast<unsigned char>(c)));
  }
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  const std::string_view unit(end, size_t(plain.data() + plain.size() - end));
  const double scale = unit == "ghz" ? 1e9 : unit == "mhz" ? 1e6 : unit == "hz" ? 1 : 0;
  const double hz = value * scale;
  if (error != std::errc() || scale == 0) {
    return Error{ErrorCode::usage, fmt::format("'{}' is not a clock", shown(text)), remedy, {}};
  }
  if (!(hz >= 1e6 && hz <= 1e11)) {
    return Error{ErrorCode::range, fmt::format("a clock of {} is outside 1 MHz to 100 GHz", shown(text)), remedy, {}};
  }
  return hz;
}

}  // namespace lightline::machine
