#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "base/startable_threads.h"
#include "machine/probe.h"
#include "machine/probe_cpu_kernels.h"

namespace lightline::machine {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* probed_by = "lightline arch probe";  // in sources of figures

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "model name : AMD EPYC ..." of /proc/cpuinfo.
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

double memory_bytes(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::strtod(line.c_str() + key.size() + 1, nullptr) * 1024;
  }
  return 0;
}

int usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? count : int(std::max(1U, std::thread::hardware_concurrency()));
}

std::vector<fs::path> cpu_folders() {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator("/sys/devices/system/cpu", failed)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("cpu") && name.find_first_not_of("0123456789", 3) == std::string::npos && name.size() > 3)
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Hardware threads that share a core count once.
int core_count() {
  std::set<std::string> cores;
  for (const fs::path& cpu : cpu_folders()) {
    if (std::string siblings = first_line(cpu / "topology/thread_siblings_list"); !siblings.empty())
      cores.insert(std::move(siblings));
  }
  return cores.empty() ? usable_threads() : std::min(int(cores.size()), usable_threads());
}

struct Cache {
  int level = 0;
  double bytes = 0;  // of all its instances
};

double size_bytes(const std::string& text) {  // "32K", "1024K", "32M"
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return value * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : *end == 'G' ? 1024.0 * 1024 * 1024 : 1);
}

std::vector<Cache> data_caches() {
  std::vector<Cache> caches(5);
  std::set<std::string> seen;
  for (const fs::path& cpu : cpu_folders()) {
    for (int index = 0; index < 8; ++index) {
      const fs::path folder = cpu / fmt::format("cache/index{}", index);
      const std::string type = first_line(folder / "type");
      const size_t level = size_t(std::strtol(first_line(folder / "level").c_str(), nullptr, 10));
      if ((type != "Data" && type != "Unified") || level < 1 || level >= caches.size()) continue;
      if (!seen.insert(fmt::format("{} {} {}", level, type, first_line(folder / "shared_cpu_list"))).second) continue;
      caches[level].level = int(level);
      caches[level].bytes += size_bytes(first_line(folder / "size"));
    }
  }
  std::erase_if(caches, [](const Cache& cache) { return cache.bytes == 0; });
  return caches;
}

double highest_listed_clock() {
  double khz = 0;
  for (const fs::path& cpu : cpu_folders())
    khz = std::max(khz, std::strtod(first_line(cpu / "cpufreq/cpuinfo_max_freq").c_str(), nullptr));
  return khz * 1000;
}

// Runs `work(thread)` on all threads at once, again and again; gives the shortest time of a round.
double best_round(int threads, double seconds, const std::function<void(int)>& work) {
  double best = INFINITY;
  std::atomic<bool> stop = false;
  Clock::time_point start,
      end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  bool first = true;
  std::barrier rounds(threads, [&]() noexcept {
    if (!first) best = std::min(best, seconds_since(start));
    if (!first && Clock::now() > end) stop = true;
    first = false;
    start = Clock::now();
  });
  std::vector<std::thread> pool;
  for (int thread = 0; thread < threads; ++thread) {
    pool.emplace_back([&, thread] {
      rounds.arrive_and_wait();
      while (!stop) {
        work(thread);
        rounds.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  return best;
}

// Operations per second on all threads together.
double peak(const CpuKernel& kernel, int threads, double seconds) {
  int64_t iterations = 1024;
  for (double elapsed = 0; elapsed < 0.002; iterations *= 2) {  // a round of some milliseconds
    const auto start = Clock::now();
    kernel.run(iterations);
    elapsed = seconds_since(start);
  }
  const double round = best_round(threads, seconds, [&](int) { kernel.run(iterations); });
  return kernel.operations_per_iteration * double(iterations) * threads / round;
}

struct Stream {
  double read = 0, copy = 0, triad = 0;  // bytes per second
};

Stream stream(int threads, double seconds, double array_bytes) {
  const size_t part = size_t(array_bytes / sizeof(float) / threads) / 64 * 64;
  using Buffer = std::unique_ptr<float[], void (*)(float*)>;
  const auto make = [part] {
    return Buffer(static_cast<float*>(std::aligned_alloc(4096, (part * sizeof(float) + 4095) / 4096 * 4096)),
                  [](float* data) { std::free(data); });
  };
  std::vector<std::vector<Buffer>> parts;
  parts.resize(size_t(threads));
  bool complete = true;
  for (auto& buffers : parts) {
    for (int i = 0; i < 3; ++i) {
      buffers.push_back(make());
      complete = complete && buffers.back() != nullptr;
    }
  }
  if (!complete) return {};
  // Each thread touches its own part first, so that it lies in its own memory.
  best_round(threads, 0, [&](int thread) {
    for (Buffer& buffer : parts[size_t(thread)]) std::fill_n(buffer.get(), part, 1.0F);
  });
  const double bytes = double(part) * sizeof(float) * threads;
  const auto array = [&](int thread, int i) { return parts[size_t(thread)][size_t(i)].get(); };
  Stream result;
  result.read = bytes / best_round(threads, seconds, [&](int t) { stream_read(array(t, 0), part); });
  result.copy = 2 * bytes / best_round(threads, seconds, [&](int t) { stream_copy(array(t, 0), array(t, 1), part); });
  result.triad = 3 * bytes / best_round(threads, seconds, [&](int t) {
                   stream_triad(array(t, 0), array(t, 1), array(t, 2), part);
                 });
  return result;
}

// A core does a power of two (or three of them: two multiply-adds beside two additions) per clock; clocks vary a
// little.
double nominal_per_core(double measured) {
  double nominal = 1;
  while (nominal < measured * 0.97) nominal *= 2;
  return nominal * 0.75 >= measured * 0.97 ? nominal * 0.75 : nominal;
}

void add_rate(std::vector<Rate>& list, const Rate& rate, double better) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Rate& other) { return other.type == rate.type; });
  if (found == list.end())
    list.push_back(rate);
  else if (better > found->datasheet_tera)
    *found = rate;
}

void describe_memory(Machine& machine, const std::string& system) {
  MemoryLevel device{"memory", false};
  device.bytes = {memory_bytes("MemTotal"), "/proc/meminfo, MemTotal"};
  machine.memories.push_back(device);
  std::vector<Cache> caches = data_caches();
  std::reverse(caches.begin(), caches.end());
  for (const Cache& cache : caches) {
    MemoryLevel level{fmt::format("L{} cache", cache.level)};
    level.usable = machine.memories.size() == 1;
    level.bytes = {cache.bytes, system};
    machine.memories.push_back(level);
  }
  MemoryLevel registers{"registers"};
  registers.usable = caches.empty();
  registers.bytes = {32.0 * 1024 * machine.units.value, "at most 32 KiB of vector and matrix registers per core"};
  machine.memories.push_back(registers);
}

void name_processor(Machine& machine, int threads, const std::string& system) {
  const std::string model = cpuinfo("model name"), vendor = cpuinfo("vendor_id");
  machine.name = model.empty() ? "this-cpu" : model;
  machine.vendor = vendor == "AuthenticAMD"   ? "AMD"
                   : vendor == "GenuineIntel" ? "Intel"
                   : vendor.empty()           ? "unknown"
                                              : vendor;
  machine.kind = Kind::cpu;
  machine.architecture = fmt::format("{} hardware threads seen", threads);
  machine.unit_name = "core";
  machine.units = {double(core_count()), system};
}

// Gives the clock that a chain of operations shows, else the one that is listed.
Result<double> measure_clock(Machine& machine, double seconds, const std::string& system) {
  const double clock = measured_clock(seconds), listed = highest_listed_clock();
  if (clock == 0 && listed == 0)
    return Error{ErrorCode::unsupported, "the clock of this processor is neither listed nor measurable", "", {}};
  const std::string how = std::string(probed_by) + ": chain of dependent multiplications";
  machine.clocks.max =
      listed >= clock ? SourcedNumber{listed, system + "/cpu*/cpufreq/cpuinfo_max_freq"} : SourcedNumber{clock, how};
  if (clock > 0) machine.clocks.boost = {std::min(clock, machine.clocks.max.value), how};
  return clock > 0 ? clock : listed;
}

void measure_rates(Probe& probe, int threads, double seconds, double clock) {
  Machine& machine = probe.machine;
  for (const CpuKernel& kernel : cpu_kernels()) {
    if (!kernel.supported()) {
      probe.skipped.push_back(fmt::format("{} {}: this processor lacks it", kernel.name, name(kernel.type)));
      continue;
    }
    const double measured = peak(kernel, threads, seconds);
    const double operations = kernel.matrix ? 2 : 1;
    // One thread alone says what a core does per clock, whatever the clock is when all are busy.
    const double one = peak(kernel, 1, seconds / 4) / operations / clock;
    const std::string how = fmt::format("{}: {} on {} threads", probed_by, kernel.name, threads);
    Rate ceiling{kernel.type, 0, how, measured / 1e12, 0};
    add_rate(kernel.matrix ? machine.measured.matrix : machine.measured.vector, ceiling, ceiling.datasheet_tera);
    Rate nominal{kernel.type, nominal_per_core(one) * machine.units.value,
                 how + ", rounded up to what a core does per clock", 0, 0};
    std::vector<Rate>& rates = kernel.matrix ? machine.matrix : machine.vector;
    const auto found =
        std::find_if(rates.begin(), rates.end(), [&](const Rate& rate) { return rate.type == nominal.type; });
    if (found == rates.end())
      rates.push_back(nominal);
    else if (nominal.per_clock > found->per_clock)
      *found = nominal;
  }
  const auto by_type = [](const Rate& a, const Rate& b) { return a.type < b.type; };
  for (auto* list : {&machine.matrix, &machine.vector, &machine.measured.matrix, &machine.measured.vector})
    std::sort(list->begin(), list->end(), by_type);
}

Status measure_memory(Machine& machine, int threads, double seconds) {
  double cache_bytes = 0;
  for (const Cache& cache : data_caches()) cache_bytes = std::max(cache_bytes, cache.bytes);
  const double array_bytes = std::min(std::max(4 * cache_bytes, 64.0 * 1024 * 1024), memory_bytes("MemAvailable") / 8);
  const Stream speeds = stream(threads, seconds, array_bytes);
  const double best = std::max({speeds.read, speeds.copy, speeds.triad});
  if (best == 0) return Error{ErrorCode::limit, "too little memory to measure its bandwidth", "", {}};
  const std::string how = fmt::format("{}: best of reading {:.4g}, copying {:.4g} and triad {:.4g} GB/s on {} threads",
                                      probed_by, speeds.read / 1e9, speeds.copy / 1e9, speeds.triad / 1e9, threads);
  machine.measured.bytes_per_second = {best, how};
  machine.memories.front().bytes_per_second = {best, how + "; the nominal figure is not known to the system"};
  return Ok{};
}

}  // namespace

Result<Probe> probe_cpu(const ProbeOptions& options) {
  const int threads = usable_threads();
  if (const int startable = startable_threads(threads); startable < threads)
    return Error{ErrorCode::limit,
                 fmt::format("the processor runs {} threads at once, but only {} can be started", threads, startable),
                 "raise the limits of processes and of memory (ulimit -u, ulimit -v)",
                 {}};
  const std::string system = "/sys/devices/system/cpu";
  Probe probe;
  Machine& machine = probe.machine;
  name_processor(machine, threads, system);
  LL_TRY(const double clock, measure_clock(machine, options.seconds, system));
  measure_rates(probe, threads, options.seconds, clock);
  describe_memory(machine, system);
  LL_DO(measure_memory(machine, threads, options.seconds));
  machine.notes =
      "Written by lightline arch probe. The bandwidth of memory is the measured one: put the nominal figure in its "
      "place for bounds that hold.";
  return probe;
}

}  // namespace lightline::machine
