#include "machine/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace lightline::machine {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// Where a file does not say how many operations an instruction chains, or what a polynomial takes at least.
constexpr double most_chained_operations = 2;
constexpr double least_emulated_slots = 2;

double width(RateType type) {
  switch (type) {
    case RateType::f64:
    case RateType::i64: return 64;
    case RateType::f32:
    case RateType::i32: return 32;
    case RateType::tf32: return 19;
    case RateType::f16:
    case RateType::bf16:
    case RateType::i16: return 16;
    case RateType::f8:
    case RateType::i8: return 8;
    case RateType::f4:
    case RateType::i4: return 4;
    case RateType::b1: return 1;
  }
  return 1;
}

bool is_integer_type(RateType type) { return type >= RateType::i64; }

struct UnitRate {
  double per_clock = 0;
  double values = 0;           // per clock
  double values_per_slot = 0;  // unlimited if not known
};

UnitRate as_listed(const Rate& rate, double factor) {
  return {rate.per_clock * factor, (rate.values_per_clock > 0 ? rate.values_per_clock : rate.per_clock) * factor,
          rate.values_per_slot > 0 ? rate.values_per_slot : unlimited};
}

// A type that no unit takes and that nothing carries counts as the next narrower one.
std::optional<RateType> stand_in(RateType type) {
  switch (type) {
    case RateType::f64: return RateType::f32;
    case RateType::i64: return RateType::i32;
    case RateType::i32: return RateType::f32;
    default: return std::nullopt;
  }
}

UnitRate faster(const UnitRate& a, const UnitRate& b) { return a.per_clock >= b.per_clock ? a : b; }

// By the nearest of some listed types: no more than the nearest at most as wide, or as many times more than the nearest
// wider one as `type` is narrower.
template <typename Predicate>
UnitRate by_nearest(const std::vector<Rate>& rates, RateType type, const Predicate& eligible) {
  const Rate* narrower = nullptr;
  const Rate* wider = nullptr;
  for (const Rate& rate : rates) {
    if (!eligible(rate.type)) continue;
    const Rate*& nearest = width(rate.type) <= width(type) ? narrower : wider;
    const double distance = nearest == nullptr ? unlimited : std::abs(width(nearest->type) - width(type));
    const double own = std::abs(width(rate.type) - width(type));
    if (own < distance || (own == distance && rate.per_clock > nearest->per_clock)) nearest = &rate;
  }
  if (narrower != nullptr) return as_listed(*narrower, 1);
  if (wider == nullptr) return {};
  // tf32 is stored in 32 bits, so that a 16-bit type is half of it.
  return as_listed(*wider, (wider->type == RateType::tf32 ? 32 : width(wider->type)) / width(type));
}

UnitRate unit_rate(const std::vector<Rate>& rates, const Absent& absent, RateType type);

// What a unit may do with a type that the file neither lists nor calls absent.
UnitRate assumed(const std::vector<Rate>& rates, const Absent& absent, RateType type) {
  const bool integer = is_integer_type(type);
  UnitRate found = by_nearest(rates, type, [&](RateType other) { return is_integer_type(other) == integer; });
  found = faster(found, by_nearest(rates, type, [&](RateType other) { return width(other) == width(type); }));
  if (found.per_clock == 0) found = by_nearest(rates, type, [](RateType) { return true; });
  if (const std::optional<RateType> next = stand_in(type)) found = faster(found, unit_rate(rates, absent, *next));
  found.values_per_slot = unlimited;
  return found;
}

UnitRate unit_rate(const std::vector<Rate>& rates, const Absent& absent, RateType type) {
  for (const Rate& rate : rates)
    if (rate.type == type) return as_listed(rate, 1);
  if (std::find(absent.types.begin(), absent.types.end(), type) != absent.types.end()) return {};
  return assumed(rates, absent, type);
}

UnitRate matrix_rate(const Machine& machine, RateType type) {
  return unit_rate(machine.matrix, machine.absent_matrix, type);
}
UnitRate vector_unit_rate(const Machine& machine, RateType type) {
  // tf32 is a type of matrix units.
  return type == RateType::tf32 ? UnitRate{} : unit_rate(machine.vector, machine.absent_vector, type);
}

bool is_stated(const std::vector<Rate>& rates, const Absent& absent, RateType type) {
  return std::any_of(rates.begin(), rates.end(), [type](const Rate& rate) { return rate.type == type; }) ||
         std::find(absent.types.begin(), absent.types.end(), type) != absent.types.end();
}

// The next narrower type, where the file does not say what the units do with `type`.
std::optional<RateType> unstated_stand_in(const Machine& machine, RateType type) {
  const bool stated =
      is_stated(machine.matrix, machine.absent_matrix, type) && is_stated(machine.vector, machine.absent_vector, type);
  return stated ? std::nullopt : stand_in(type);
}

// The pipe of a rate: one that names its type, else one that names its unit, else a pipe of its own.
size_t pipe_of(const Machine& machine, Unit unit, RateType type) {
  std::optional<size_t> of_unit;
  for (size_t i = 0; i < machine.pipes.size(); ++i) {
    for (const Pipe::Member& member : machine.pipes[i].members) {
      if (member.unit != unit) continue;
      if (member.type == type) return i;
      if (!member.type) of_unit = i;
    }
  }
  return of_unit.value_or(machine.pipes.size() + size_t(unit) * rate_type_count + size_t(type));
}

// One way to do a thing, and what a clock gives if nothing else is done.
struct Way {
  Unit unit = Unit::matrix;
  RateType type = RateType::f32;
  double products = 1;
  double per_clock = 0;
  double per_slot = unlimited;  // matrix instructions leave the slots to others

  std::string text() const {
    if (products > 1) return fmt::format("{} x {}", products, name(type));
    return fmt::format("{} {}", name(unit), name(type));
  }
};

struct PipeUse {
  Way best;
  double per_slot = 0;  // the most of all ways on this pipe
};

// Everything at once: each pipe at its best, those first that need the fewest slots.
ContractionRate all_at_once(const Machine& machine, const std::vector<Way>& ways) {
  std::map<size_t, PipeUse> pipes;
  for (const Way& way : ways) {
    PipeUse& use = pipes[pipe_of(machine, way.unit, way.type)];
    if (way.per_clock > use.best.per_clock) use.best = way;
    if (way.per_clock > 0) use.per_slot = std::max(use.per_slot, way.per_slot);
  }
  std::vector<PipeUse> order;
  for (const auto& [index, use] : pipes)
    if (use.best.per_clock > 0) order.push_back(use);
  std::stable_sort(order.begin(), order.end(), [](const PipeUse& a, const PipeUse& b) {
    return a.per_slot != b.per_slot ? a.per_slot > b.per_slot : a.best.per_clock > b.best.per_clock;
  });
  double slots = machine.issue.slots.value > 0 ? machine.issue.slots.value : unlimited;
  double per_clock = 0;
  std::vector<std::string> units;
  for (const PipeUse& use : order) {
    const double taken =
        use.per_slot == unlimited ? use.best.per_clock : std::min(use.best.per_clock, use.per_slot * slots);
    if (!(taken > 0)) continue;
    per_clock += taken;
    slots -= use.per_slot == unlimited ? 0 : taken / use.per_slot;
    units.push_back(use.best.text());
  }
  return {per_clock * machine.clock(), fmt::format("{}", fmt::join(units, " + "))};
}

ContractionRate best_alone(const Machine& machine, const std::vector<Way>& ways) {
  Way best;
  for (const Way& way : ways)
    if (way.per_clock > best.per_clock) best = way;
  return {best.per_clock * machine.clock(), best.text()};
}

// The types that a factor may be put in at no cost.
std::vector<RateType> operand_types(RateType type, MathMode mode) {
  std::vector<RateType> types = exact_carriers(type);
  if (type == RateType::f32 && mode != MathMode::strict) types.push_back(RateType::tf32);
  if (type == RateType::f32 && mode == MathMode::fast16) types.insert(types.end(), {RateType::bf16, RateType::f16});
  return types;
}

bool holds(const std::vector<RateType>& types, RateType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// n pieces a side take n (n + 1) / 2 products, those below the accuracy of the result left out.
double pieces_of(double products) { return std::ceil((std::sqrt(8 * products + 1) - 1) / 2 - 1e-9); }

double digits_of(RateType type, double digit_bits) {
  return is_integer_type(type) ? std::max(1.0, width(type) / digit_bits) : 0;
}

class Products {
 public:
  Products(const Machine& machine, RateType left, RateType right, MathMode mode)
      : machine_(machine),
        left_(left),
        right_(right),
        left_types_(operand_types(left, mode)),
        right_types_(operand_types(right, mode)) {}

  // `columns` is how many columns a matrix unit computes for one that is needed.
  std::vector<Way> matrix_ways(double columns) {
    ways_.clear();
    for (const RateType type : left_types_)
      if (holds(right_types_, type)) offer_matrix(type, 1, columns);
    for (const Emulation& emulation : machine_.emulations) offer_emulation(emulation, columns);
    offer_digits(columns);
    offer_bit_planes(columns);
    return ways_;
  }

  std::vector<Way> all_ways() {
    std::vector<Way> ways = matrix_ways(1);
    for (const RateType type : left_types_) {
      if (!holds(right_types_, type) || matrix_speaks_for(type)) continue;
      const UnitRate rate = vector_unit_rate(machine_, type);
      ways.push_back({Unit::vector, type, 1, rate.per_clock / 2, rate.values_per_slot});
    }
    return ways;
  }

 private:
  // Vector rates may count additions that no product comes with; a matrix rate of the same pipe is the better figure.
  bool matrix_speaks_for(RateType type) const {
    return machine_.find_matrix(type) != nullptr &&
           pipe_of(machine_, Unit::matrix, type) == pipe_of(machine_, Unit::vector, type);
  }

  void offer_matrix(RateType type, double products, double columns) {
    const double per_clock = matrix_rate(machine_, type).per_clock;
    if (per_clock > 0) ways_.push_back({Unit::matrix, type, products, per_clock / products / columns});
  }

  void offer_emulation(const Emulation& emulation, double columns) {
    const double pieces = pieces_of(emulation.products);
    const auto count = [&](const std::vector<RateType>& types) {
      return holds(types, emulation.with) ? 1 : holds(types, emulation.type) ? pieces : 0;
    };
    const double left = count(left_types_), right = count(right_types_);
    if (left == 0 || right == 0) return;
    const bool both = left > 1 && right > 1;
    offer_matrix(emulation.with, both ? emulation.products : std::max(left, right), columns);
  }

  // Integers in 8-bit digits: blocks of the shorter factor's length, each by Karatsuba's scheme.
  void offer_digits(double columns) {
    const double left = digits_of(left_, 8), right = digits_of(right_, 8);
    if (left == 0 || right == 0 || left * right == 1) return;
    const RateType shorter = left < right ? left_ : right_;
    const double products =
        std::max(1.0, digit_products(shorter)) * std::ceil(std::max(left, right) / std::min(left, right));
    offer_matrix(RateType::i8, products, columns);
  }

  void offer_bit_planes(double columns) {
    const double left = digits_of(left_, 1), right = digits_of(right_, 1);
    if (left * right > 1) offer_matrix(RateType::b1, left * right, columns);
  }

  const Machine& machine_;
  RateType left_;
  RateType right_;
  std::vector<RateType> left_types_;
  std::vector<RateType> right_types_;
  std::vector<Way> ways_;
};

// Beside the ways of a type those of its stand-in, where there is no way or the file may have forgotten one.
std::vector<Way> product_ways(const Machine& machine, RateType left, RateType right, MathMode mode) {
  std::vector<Way> ways = Products(machine, left, right, mode).all_ways();
  const bool possible = std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.per_clock > 0; });
  const auto next = [&](RateType type) { return possible ? unstated_stand_in(machine, type) : stand_in(type); };
  const std::optional<RateType> next_left = next(left), next_right = next(right);
  if (!next_left && !next_right) return ways;
  const std::vector<Way> more = product_ways(machine, next_left.value_or(left), next_right.value_or(right), mode);
  ways.insert(ways.end(), more.begin(), more.end());
  return ways;
}

std::vector<Way> sum_ways(const Machine& machine, RateType type, MathMode mode) {
  const double stated = machine.matrix_instruction.least_width.value;
  std::vector<Way> ways = Products(machine, type, RateType::b1, mode).matrix_ways(stated > 0 ? stated : 1);
  const double chained = is_integer_type(type) ? operations_per_slot(machine, Chain::integer_add) : 1;
  for (const RateType carrier : exact_carriers(type)) {
    const UnitRate rate = vector_unit_rate(machine, carrier);
    ways.push_back({Unit::vector, carrier, 1, rate.values * chained, rate.values_per_slot * chained});
  }
  const bool possible = std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.per_clock > 0; });
  const std::optional<RateType> next = possible ? unstated_stand_in(machine, type) : stand_in(type);
  if (!next) return ways;
  const std::vector<Way> more = sum_ways(machine, *next, mode);
  ways.insert(ways.end(), more.begin(), more.end());
  return ways;
}

// ---- vector work ----

// Where a type can run: the pipes that take it or a type that carries it, and what each takes per clock.
struct Places {
  std::map<size_t, double> values;
  double values_per_slot = 0;

  double together() const {
    double sum = 0;
    for (const auto& [pipe, rate] : values) sum += rate;
    return sum;
  }
  double best() const {
    double most = 0;
    for (const auto& [pipe, rate] : values) most = std::max(most, rate);
    return most;
  }
  bool within(const Places& other) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const auto& place) { return other.values.contains(place.first); });
  }
};

Places places_of(const Machine& machine, RateType type) {
  Places places;
  const auto add = [&](size_t pipe, double rate) {
    double& values = places.values[pipe];
    values = std::max(values, rate);
  };
  for (const RateType carrier : exact_carriers(type)) {
    const UnitRate rate = vector_unit_rate(machine, carrier);
    if (rate.values == 0) continue;
    add(pipe_of(machine, Unit::vector, carrier), rate.values);
    places.values_per_slot = std::max(places.values_per_slot, rate.values_per_slot);
  }
  const std::optional<RateType> next = places.values.empty() ? stand_in(type) : unstated_stand_in(machine, type);
  if (!next) return places;
  const Places more = places_of(machine, *next);
  for (const auto& [pipe, rate] : more.values) add(pipe, rate);
  places.values_per_slot = std::max(places.values_per_slot, more.values_per_slot);
  return places;
}

double special_rate(const Machine& machine, RateType type) {
  // Special-function units answer in f32 or less; f64 results come from f64 arithmetic alone.
  const auto of = [&](RateType carrier) {
    return unit_rate(machine.special, machine.absent_special, carrier).per_clock;
  };
  if (type == RateType::f64) {
    const bool listed = std::any_of(machine.special.begin(), machine.special.end(),
                                    [](const Rate& rate) { return rate.type == RateType::f64; });
    return listed ? of(RateType::f64) : 0;
  }
  double best = 0;
  for (const RateType carrier : exact_carriers(is_integer_type(type) && width(type) > 16 ? RateType::f32 : type))
    if (carrier != RateType::f64 && carrier != RateType::tf32 && !is_integer_type(carrier))
      best = std::max(best, of(carrier));
  return best;
}

}  // namespace

RateType narrow_rate_type(DType dtype) { return dtype == DType::boolean ? RateType::b1 : rate_type(dtype); }

ContractionRate contraction_rate_one_unit(const Machine& machine, RateType left, RateType right, MathMode mode) {
  return best_alone(machine, product_ways(machine, left, right, mode));
}

ContractionRate contraction_rate_all_units(const Machine& machine, RateType left, RateType right, MathMode mode) {
  return all_at_once(machine, product_ways(machine, left, right, mode));
}

ContractionRate contraction_rate_all_units(const Machine& machine, DType dtype, MathMode mode) {
  const RateType type = narrow_rate_type(dtype);
  return contraction_rate_all_units(machine, type, type, mode);
}

double sum_rate(const Machine& machine, RateType type, MathMode mode) {
  return all_at_once(machine, sum_ways(machine, type, mode)).macs_per_second;
}

VectorTime vector_time(const Machine& machine, std::span<const VectorWork> work) {
  std::vector<Places> places;
  for (const VectorWork& part : work) places.push_back(places_of(machine, part.type));
  VectorTime time;
  for (size_t i = 0; i < work.size(); ++i) {
    if (places[i].values.empty()) continue;
    if (machine.issue.slots.value > 0)
      time.issue_seconds += work[i].values / places[i].values_per_slot / machine.issue.slots.value / machine.clock();
    // What can run nowhere else than on these pipes takes turns on them.
    double turns = 0;
    for (size_t j = 0; j < work.size(); ++j)
      if (!places[j].values.empty() && places[j].within(places[i])) turns += work[j].values / places[j].best();
    const double alone = work[i].values / places[i].together();
    const double shared = turns / double(places[i].values.size());
    time.pipe_seconds = std::max({time.pipe_seconds, alone / machine.clock(), shared / machine.clock()});
  }
  return time;
}

double slot_rate(const Machine& machine, RateType type) {
  const VectorWork one[] = {{type, 1}};
  return 1 / vector_time(machine, one).seconds();
}

double operations_per_slot(const Machine& machine, Chain chain) {
  const double stated = chain == Chain::max_min ? machine.issue.max_min.value
                        : chain == Chain::logic ? machine.issue.logic.value
                                                : machine.issue.integer_add.value;
  return stated > 0 ? stated : most_chained_operations;
}

double transcendental_rate_with_emulation(const Machine& machine, RateType type) {
  const double stated = machine.issue.emulated_slots.value;
  const double emulated = slot_rate(machine, type) / (stated > 0 ? stated : least_emulated_slots);
  const double lookups = machine.issue.lookups.value > 0 ? machine.issue.lookups.value : unlimited;
  // One look-up serves as many arguments as fit its 16 bits.
  const double arguments = std::floor(16 / width(type));
  const double tables = arguments >= 1 ? lookups * arguments * machine.clock() : 0;
  return special_rate(machine, type) * machine.clock() + emulated + tables;
}

ResultCache last_level_cache(const Machine& machine) {
  ResultCache cache{0, machine.bandwidth()};
  for (const MemoryLevel& memory : machine.memories) {
    if (!memory.on_chip || !memory.keeps_results) continue;
    const double stated =
        memory.written_per_clock.value > 0 ? memory.written_per_clock.value : memory.bytes_per_clock.value;
    cache.bytes += memory.bytes.value;
    cache.bytes_per_second = std::max(cache.bytes_per_second, stated > 0 ? stated * machine.clock() : unlimited);
  }
  return cache;
}

}  // namespace lightline::machine
