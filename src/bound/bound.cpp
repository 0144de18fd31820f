#include "bound/bound.h"

#include <algorithm>

namespace lightline::bound {
namespace {

Cost cost_of(const demand::Work& work, double bytes, const machine::Machine& machine, const Options& options) {
  Cost cost;
  std::string unit = "matrix";
  double longest = 0;
  for (const auto& [dtype, macs] : options.any_algorithm ? work.transformed_macs : work.macs) {
    if (macs <= 0) continue;
    // A complex product takes four real ones, or three with more additions.
    const double real = dtype == DType::c64 ? 3 * macs : macs;
    const machine::ContractionRate rate = machine::contraction_rate(machine, dtype, options.math);
    const double ms = rate.macs_per_second > 0 ? 1e3 * real / rate.macs_per_second : 0;
    cost.matrix_ms += ms;
    if (ms > longest) {
      longest = ms;
      unit = rate.unit;
    }
  }
  for (const auto& [dtype, operations] : work.vector_ops)
    if (const double rate = machine.vector_rate(dtype); rate > 0) cost.vector_ms += 1e3 * operations / rate;
  // The fastest type a transcendental could be computed in
  if (const double rate = std::max(machine.transcendental_rate(DType::f32), machine.transcendental_rate(DType::f16));
      rate > 0)
    cost.transcendental_ms = 1e3 * work.transcendental_ops / rate;
  if (const double bandwidth = machine.bandwidth(); bandwidth > 0) cost.memory_ms = 1e3 * bytes / bandwidth;
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
  for (const auto& [dtype, macs] : work.macs)
    if (macs > count) {
      count = macs;
      most = dtype;
    }
  return machine::contraction_rate(machine, most, options.math).macs_per_second;
}

}  // namespace

Bounds bound(const demand::Analysis& analysis, const machine::Machine& machine, const Options& options) {
  Bounds bounds;
  const double on_chip = options.warm ? machine.on_chip_bytes() : 0;
  bounds.fused_bytes = std::max(0.0, analysis.bytes() - on_chip);
  bounds.whole = cost_of(analysis.work, bounds.fused_bytes, machine, options);
  bounds.fused_ms = bounds.whole.ms;
  bounds.rewritten = cost_of(analysis.algebraic, bounds.fused_bytes, machine, options);
  if (bounds.rewritten.ms >= bounds.fused_ms) bounds.rewritten = bounds.whole;
  bounds.algebraic_ms = bounds.rewritten.ms;
  for (size_t i = 0; i < analysis.groups.size(); ++i) {
    const demand::GroupDemand& group = analysis.groups[i];
    const double bytes = std::max(0.0, group.operand_bytes + group.result_bytes - on_chip);
    bounds.unfused_bytes += bytes;
    bounds.groups.push_back({i, cost_of(group.work, bytes, machine, options)});
    bounds.unfused_ms += bounds.groups.back().cost.ms;
  }
  // The operators one by one move and do at least what all of them together must.
  bounds.unfused_ms = std::max(bounds.unfused_ms, bounds.fused_ms);
  bounds.unfused_bytes = std::max(bounds.unfused_bytes, bounds.fused_bytes);
  std::stable_sort(bounds.groups.begin(), bounds.groups.end(),
                   [](const GroupBound& a, const GroupBound& b) { return a.cost.ms > b.cost.ms; });
  if (bounds.fused_bytes > 0) bounds.intensity = analysis.work.total_macs() / bounds.fused_bytes;
  if (machine.bandwidth() > 0) bounds.ridge = macs_per_second(analysis.work, machine, options) / machine.bandwidth();
  return bounds;
}

}  // namespace lightline::bound
