#include "truth/tiers.h"

#include <fmt/format.h>

#include "bound/bound.h"
#include "demand/analysis.h"
#include "machine/machine_file.h"

namespace lightline::truth {
namespace {

// The machine of tests/bound/tiny_machine.h with a memory that never binds: per second 9e11 products of tf32, 1.8e12 of
// f16, 8e10 vector operations, 2e10 transcendentals, of which half on the vector units at eight operations each.
constexpr std::string_view machine_text = R"(
name = "Truth"
vendor = "nobody"
kind = "gpu"
[sources]
test = "made for tests"
[clock]
max = { mhz = 1000, source = "test" }
[units]
name = "core"
count = 1
source = "test"
[matrix]
tf32 = { per_unit = 900, source = "test" }
f16 = { per_unit = 1800, source = "test" }
[vector]
f32 = { per_unit = 80, source = "test" }
[transcendental]
f32 = { per_unit = 10, source = "test" }
[[memory]]
name = "DRAM"
kind = "device"
size = { gb = 1, source = "test" }
bandwidth = { gb_per_s = 1000000000, source = "test" }
[[memory]]
name = "cache"
kind = "on_chip"
usable = true
size = { bytes = 1024, source = "test" }
)";

const machine::Machine& test_machine() {
  static const machine::Machine parsed = [] {
    auto result = machine::parse_machine(machine_text, "truth.toml");
    LL_CHECK(result.ok());
    return std::move(*result);
  }();
  return parsed;
}

Tier tier(const std::string& name, const demand::Demand& demand, double milliseconds) {
  Tier result{.name = name};
  result.input_bytes = demand.input_bytes;
  result.output_bytes = demand.output_bytes;
  for (const auto& [operands, macs] : demand.work.macs) result.macs[operands.wide] += macs;
  result.vector_ops = demand.work.total_vector_ops();
  result.transcendental_ops = demand.work.transcendental_ops;
  result.milliseconds = milliseconds;
  return result;
}

}  // namespace

double Tier::total_macs() const {
  double total = 0;
  for (const auto& [dtype, count] : macs) total += count;
  return total;
}

std::vector<Tier> tiers_of(const loops::Program& program, const std::map<loops::ArrayId, const Tensor*>& known) {
  const demand::Analysis analysis = demand::analyze(program, demand::KnownValues(known.begin(), known.end()));
  const bound::Bounds bounds = bound::bound(analysis, test_machine());
  Tier floor = tier("floor", analysis.floor, bounds.floor.ms);
  floor.floor = true;
  return {std::move(floor), tier("fused", analysis.fused, bounds.fused.ms)};
}

std::vector<std::string> broken_orders(const loops::Program& program,
                                       const std::map<loops::ArrayId, const Tensor*>& known) {
  static const machine::Machine slow = [] {
    std::string text(machine_text);
    const std::string fast = "gb_per_s = 1000000000,";
    auto result = machine::parse_machine(text.replace(text.find(fast), fast.size(), "gb_per_s = 10,"), "slow.toml");
    LL_CHECK(result.ok());
    return std::move(*result);
  }();
  const demand::Analysis analysis = demand::analyze(program, demand::KnownValues(known.begin(), known.end()));
  std::vector<std::string> broken;
  const auto hold = [&](const std::string& what, double low, double high) {
    if (low > high * (1 + 1e-9)) broken.push_back(fmt::format("{}: {} against {}", what, low, high));
  };
  for (const auto* machine : {&test_machine(), &slow})
    for (const bool warm : {false, true}) {
      const bound::Bounds bounds = bound::bound(analysis, *machine, {.warm = warm});
      const std::string how = warm ? ", warm" : "";
      hold("floor over fused, ms" + how, bounds.floor.ms, bounds.fused.ms);
      hold("floor over fused, bytes" + how, bounds.floor.bytes, bounds.fused.bytes);
      if (warm) continue;  // every operator finds as much on chip as the whole program does
      hold("fused over unfused, bytes", bounds.fused.bytes, bounds.unfused_bytes);
      if (machine == &slow) hold("fused over unfused, ms", bounds.fused.ms, bounds.unfused_ms);
    }
  return broken;
}

}  // namespace lightline::truth
