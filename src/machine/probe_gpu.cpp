#include <fmt/format.h>

#include <algorithm>

#include "machine/catalogue.h"
#include "machine/cuda_driver.h"
#include "machine/probe.h"
#include "machine/probe_ptx.h"

namespace lightline::machine {
namespace {

constexpr double gibi = 1024.0 * 1024 * 1024;
constexpr std::string_view program = "lightline arch probe";

// The bundled machine of that name, or one of the same compute capability, whose rates per unit then hold here too.
std::optional<Machine> relative(const std::string& name, const std::string& capability) {
  if (auto same = find_machine(name); same.ok()) return std::move(same).value();
  auto machines = all_machines();
  if (!machines.ok()) return std::nullopt;
  for (Machine& machine : *machines) {
    if (machine.compute_capability == capability) return std::move(machine);
  }
  return std::nullopt;
}

void scale(std::vector<Rate>& rates, double factor) {
  for (Rate& rate : rates) {
    rate.per_clock *= factor;
    if (factor != 1) rate.datasheet_tera = rate.datasheet_hz = 0;  // of another part
  }
}

class GpuProbe {
 public:
  GpuProbe(CudaDevice device, const ProbeOptions& options) : device_(std::move(device)), options_(options) {}

  Result<Probe> run() {
    describe();
    LL_DO(measure_memory());
    for (const RateType type : {RateType::f64, RateType::f32, RateType::f16, RateType::bf16, RateType::i32}) {
      measure("vector", type, vector_kernel(type, capability_), machine_.measured.vector);
    }
    measure("transcendental", RateType::f32, exponential_kernel(), machine_.measured.special);
    for (const RateType type : {RateType::tf32, RateType::f16, RateType::bf16, RateType::f8, RateType::i8}) {
      measure("matrix", type, matrix_kernel(type, capability_), machine_.measured.matrix);
    }
    LL_DO(complete());
    return std::move(probe_);
  }

 private:
  void describe() {
    const int major = device_.attribute(CudaAttribute::capability_major),
              minor = device_.attribute(CudaAttribute::capability_minor);
    capability_ = 10 * major + minor;
    units_ = std::max(1, device_.attribute(CudaAttribute::multiprocessors));
    const std::string name = device_.name(), capability = fmt::format("{}.{}", major, minor),
                      query = "CUDA driver, cuDeviceGetAttribute";
    if (std::optional<Machine> known = relative(name, capability)) {
      machine_ = std::move(*known);
      const double factor = units_ / machine_.units.value;
      scale(machine_.matrix, factor);
      scale(machine_.vector, factor);
      scale(machine_.special, factor);
      for (MemoryLevel& memory : machine_.memories) {
        if (memory.on_chip && !memory.usable) memory.bytes.value *= factor;
      }
      machine_.notes = fmt::format("Written by lightline arch probe; rates per clock are those of {}.", machine_.name);
    } else {
      machine_.memories = {
          {"device memory", false}, {"L2 cache", true, true}, {"L1 cache, shared memory and registers"}};
      machine_.memories[2].bytes = {units_ * 1024.0 * 1024, "at most 1 MiB per multiprocessor"};
      machine_.notes =
          "Written by lightline arch probe; no bundled machine has this compute capability, so rates per clock are "
          "measured ones, rounded up.";
      unknown_ = true;
    }
    machine_.name = name;
    machine_.aliases.clear();
    machine_.vendor = "NVIDIA";
    machine_.compute_capability = capability;
    machine_.unit_name = "SM";
    machine_.units = {double(units_), query};
    const double clock = device_.attribute(CudaAttribute::clock_khz) * 1e3;
    if (clock > machine_.clocks.max.value || unknown_) machine_.clocks.max = {clock, query};
    describe_memory(query);
  }

  void describe_memory(const std::string& query) {
    for (MemoryLevel& memory : machine_.memories) {
      if (memory.usable)
        memory.bytes = {std::max<double>(memory.bytes.value, device_.attribute(CudaAttribute::l2_bytes)), query};
      if (memory.on_chip) continue;
      memory.bytes = {device_.memory_bytes(), query};
      memory.clock_hz = device_.attribute(CudaAttribute::memory_clock_khz) * 1e3;
      memory.bus_bits = device_.attribute(CudaAttribute::memory_bus_bits);
      memory.transfers_per_clock = 2;
      memory.clock_source = query;
      // The datasheet's figure is kept only if it is of the same memory.
      const double by_clocks = memory.by_clocks();
      if (by_clocks > 0 &&
          (memory.bytes_per_second.value < 0.95 * by_clocks || memory.bytes_per_second.value > 1.05 * by_clocks)) {
        memory.bytes_per_second = {by_clocks, query + ": memory clock times bus width, two transfers per clock"};
      }
    }
  }

  Status measure_memory() {
    const double bytes = std::min(2 * gibi, std::max(64 * 1024.0 * 1024, device_.free_bytes() / 4));
    const double words = double(uint64_t(bytes / 16) / 65536 * 65536);
    LL_TRY(buffer_a_, device_.allocate(words * 16));
    LL_TRY(buffer_b_, device_.allocate(words * 16));
    double best = 0;
    std::vector<std::string> parts;
    for (const auto& [kernel, passes] :
         {std::pair{read_kernel(), 1}, std::pair{write_kernel(), 1}, std::pair{copy_kernel(), 2}}) {
      LL_TRY(void* function, device_.load(kernel.text, kernel.name));
      const CudaDevice::Launch launch{function, uint32_t(units_ * kernel.blocks_per_unit), uint32_t(kernel.threads)};
      // Each turn of a kernel takes four words per thread; the count keeps the last turn inside the buffer.
      const double turn = double(launch.blocks) * launch.threads * 4;
      const double count = std::floor(words / turn) * turn;
      LL_TRY(const double seconds,
             device_.best_time(launch, {buffer_a_, buffer_b_, uint64_t(count)}, options_.seconds));
      const double speed = count * 16 * passes / seconds;
      parts.push_back(fmt::format("{} {:.4g}", kernel.name, speed / 1e9));
      best = std::max(best, speed);
    }
    machine_.measured.bytes_per_second = {
        best, fmt::format("{}: best of {} GB/s over {:.3g} GB", program, fmt::join(parts, ", "), words * 16 / 1e9)};
    return Ok{};
  }

  void measure(std::string_view unit, RateType type, const std::optional<PtxKernel>& kernel, std::vector<Rate>& list) {
    if (!kernel) {
      probe_.skipped.push_back(fmt::format("{} {}: this probe has no kernel for it at compute capability {}", unit,
                                           name(type), machine_.compute_capability));
      return;
    }
    const Result<double> tera = rate(*kernel);
    if (!tera.ok()) {
      probe_.skipped.push_back(fmt::format("{} {}: {}", unit, name(type), tera.error().message));
      return;
    }
    list.push_back({type, 0, fmt::format("{}: {}", program, kernel->description), *tera, 0});
  }

  Result<double> rate(const PtxKernel& kernel) {
    LL_TRY(void* function, device_.load(kernel.text, kernel.name, uint32_t(kernel.shared_bytes)));
    const CudaDevice::Launch launch{function, uint32_t(units_ * kernel.blocks_per_unit), uint32_t(kernel.threads),
                                    uint32_t(kernel.shared_bytes)};
    // As many turns as make a launch of some milliseconds.
    uint64_t turns = 64;
    double seconds = 0;
    while (seconds < 2e-3 && turns < (uint64_t(1) << 40)) {
      turns *= seconds > 0 && seconds < 2e-4 ? 8 : 2;
      LL_TRY(seconds, device_.best_time(launch, {buffer_a_, buffer_b_, turns}, 0));
    }
    LL_TRY(seconds, device_.best_time(launch, {buffer_a_, buffer_b_, turns}, options_.seconds));
    return kernel.operations_per_block * launch.blocks * double(turns) / seconds / 1e12;
  }

  // A GPU that no file describes: what was measured, rounded up, stands for what it can do.
  Status complete() {
    if (!unknown_) return Ok{};
    machine_.kind = Kind::gpu;
    machine_.architecture = "compute capability " + machine_.compute_capability;
    const auto round_up = [&](const std::vector<Rate>& measured, std::vector<Rate>& rates, double operations) {
      for (const Rate& rate : measured) {
        double per_unit = 1;
        while (per_unit < rate.datasheet_tera * 1e12 / operations / machine_.clock() / units_ * 0.97) per_unit *= 2;
        rates.push_back({rate.type, per_unit * units_, rate.source + ", rounded up to a power of two per SM", 0, 0});
      }
    };
    round_up(machine_.measured.matrix, machine_.matrix, 2);
    round_up(machine_.measured.vector, machine_.vector, 1);
    round_up(machine_.measured.special, machine_.special, 1);
    if (machine_.find_vector(RateType::f32) == nullptr)
      return Error{ErrorCode::unsupported, "no arithmetic kernel ran on this GPU", "", {}};
    return Ok{};
  }

  CudaDevice device_;
  ProbeOptions options_;
  Probe probe_;
  Machine& machine_ = probe_.machine;
  int capability_ = 0;
  int units_ = 1;
  bool unknown_ = false;
  uint64_t buffer_a_ = 0, buffer_b_ = 0;
};

}  // namespace

Result<Probe> probe_gpu(const ProbeOptions& options) {
  LL_TRY(CudaDevice device, CudaDevice::open(options.device));
  return GpuProbe(std::move(device), options).run();
}

int gpu_count() { return CudaDevice::count(); }

}  // namespace lightline::machine
