#include "bound/bound.h"

#include <algorithm>

#include "machine/rates.h"

namespace lightline::bound {
namespace {

// Who is priced: for the floor all units work on a product together, and results may stay in the last-level cache.
enum class Rates : uint8_t { one_unit, all_units };

double matrix_ms(const demand::Work& work, const machine::Machine& machine, const Options& options, Rates rates,
                 std::string& unit) {
  double total = 0, longest = 0;
  for (const auto& [operands, macs] : options.any_algorithm ? work.transformed_macs : work.macs) {
    if (macs <= 0) continue;
    const machine::RateType left = machine::narrow_rate_type(operands.narrow);
    const machine::RateType right = machine::narrow_rate_type(operands.wide);
    const machine::ContractionRate rate = rates == Rates::all_units
                                              ? machine::contraction_rate_all_units(machine, left, right, options.math)
                                          : left != right || operands.wide == DType::boolean
                                              ? machine::contraction_rate_one_unit(machine, left, right, options.math)
                                              : machine::contraction_rate(machine, operands.wide, options.math);
    const double ms = rate.macs_per_second > 0 ? 1e3 * macs / rate.macs_per_second : 0;
    total += ms;
    if (ms > longest) {
      longest = ms;
      unit = rate.unit;
    }
  }
  return total;
}

// Sums may run on the matrix units too, the rest may not: two limits.
double vector_ms(const demand::Work& work, const machine::Machine& machine, const Options& options) {
  std::vector<machine::VectorWork> list;
  for (const auto& [dtype, operations] : work.vector_ops)
    list.push_back({machine::narrow_rate_type(dtype), operations});
  const double others = 1e3 * machine::vector_time(machine, list).seconds();
  double together = 0;
  for (const auto& [dtype, operations] : work.sums)
    if (const double rate = machine::sum_rate(machine, machine::narrow_rate_type(dtype), options.math); rate > 0)
      together += 1e3 * operations / rate;
  for (const auto& [dtype, operations] : work.vector_ops) {
    const double rate = std::max(machine::slot_rate(machine, machine::narrow_rate_type(dtype)),
                                 machine::sum_rate(machine, machine::narrow_rate_type(dtype), options.math));
    if (rate > 0) together += 1e3 * operations / rate;
  }
  return std::max(others, together);
}

double transcendental_ms(const demand::Work& work, const machine::Machine& machine) {
  // The fastest type a transcendental could be computed in
  double rate = 0;
  for (const machine::RateType type : {machine::RateType::f32, machine::RateType::f16})
    rate = std::max(rate, machine::transcendental_rate_with_emulation(machine, type));
  return rate > 0 ? 1e3 * work.transcendental_ops / rate : 0;
}

double memory_ms(double inputs, double outputs, const machine::Machine& machine, Rates rates) {
  const double bandwidth = machine.bandwidth();
  if (bandwidth <= 0) return 0;
  if (rates == Rates::one_unit) return 1e3 * (inputs + outputs) / bandwidth;
  const machine::ResultCache cache = machine::last_level_cache(machine);
  const double kept = std::min(outputs, cache.bytes);
  const double beside = kept > 0 && cache.bytes_per_second > 0 ? kept / cache.bytes_per_second : 0;
  return 1e3 * std::max((inputs + outputs - kept) / bandwidth, beside);
}

Cost cost_of(const demand::Work& work, double inputs, double outputs, const machine::Machine& machine,
             const Options& options, Rates rates) {
  Cost cost;
  std::string unit = "matrix";
  cost.matrix_ms = matrix_ms(work, machine, options, rates, unit);
  cost.vector_ms = vector_ms(work, machine, options);
  cost.transcendental_ms = transcendental_ms(work, machine);
  cost.memory_ms = memory_ms(inputs, outputs, machine, rates);
  cost.bytes = inputs + outputs;
  cost.ms = std::max({cost.matrix_ms, cost.vector_ms, cost.transcendental_ms, cost.memory_ms});
  cost.binding = cost.ms <= 0                ? "nothing"
                 : cost.ms == cost.memory_ms ? "memory"
                 : cost.ms == cost.matrix_ms ? unit
                 : cost.ms == cost.vector_ms ? "vector"
                                             : "transcendental";
  return cost;
}

double macs_per_second(const demand::Work& work, const machine::Machine& machine, const Options& options) {
  DType most = DType::f32;
  double count = 0;
  for (const auto& [operands, macs] : work.macs)
    if (macs > count) {
      count = macs;
      most = operands.wide;
    }
  return machine::contraction_rate(machine, most, options.math).macs_per_second;
}

}  // namespace

Bounds bound(const demand::Analysis& analysis, const machine::Machine& machine, const Options& options) {
  Bounds bounds;
  const double on_chip = options.warm ? machine.on_chip_bytes() : 0;
  const auto warm = [&](double bytes) { return std::max(0.0, bytes - on_chip); };
  bounds.floor = cost_of(analysis.floor.work, warm(analysis.floor.input_bytes), warm(analysis.floor.output_bytes),
                         machine, options, Rates::all_units);
  bounds.fused = cost_of(analysis.fused.work, warm(analysis.fused.input_bytes), warm(analysis.fused.output_bytes),
                         machine, options, Rates::one_unit);
  for (size_t i = 0; i < analysis.groups.size(); ++i) {
    const demand::GroupDemand& group = analysis.groups[i];
    bounds.groups.push_back({i, cost_of(group.work, warm(group.operand_bytes), warm(group.result_bytes), machine,
                                        options, Rates::one_unit)});
    bounds.unfused_bytes += bounds.groups.back().cost.bytes;
    bounds.unfused_ms += bounds.groups.back().cost.ms;
  }
  std::stable_sort(bounds.groups.begin(), bounds.groups.end(),
                   [](const GroupBound& a, const GroupBound& b) { return a.cost.ms > b.cost.ms; });
  if (bounds.fused.bytes > 0) bounds.intensity = analysis.fused.work.total_macs() / bounds.fused.bytes;
  if (machine.bandwidth() > 0)
    bounds.ridge = macs_per_second(analysis.fused.work, machine, options) / machine.bandwidth();
  return bounds;
}

}  // namespace lightline::bound
