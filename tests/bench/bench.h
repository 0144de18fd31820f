// What benchmarks share. A benchmark's name is its row in the closing table's arithmetic (see main.cpp).
#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lightline::bench {

// Seconds that have passed, or that this thread has computed: what other programs do then counts less.
enum class Clock : uint8_t { wall, thread };
inline double seconds(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Runs `work` under a benchmark and keeps its best iteration as the counter "best", in seconds: the one that other
// programs disturbed least.
template <class Work>
void run_best(benchmark::State& state, const Work& work, Clock clock = Clock::wall) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double start = seconds(clock);
    work();
    benchmark::ClobberMemory();
    best = std::min(best, seconds(clock) - start);
  }
  state.counters["best"] = best;
}

// Keeps the best iteration of every benchmark, and the bytes that it went through where it says so.
class BestTimes : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      const auto counter = run.counters.find("best");
      if (counter == run.counters.end()) continue;
      const std::string name = run.run_name.function_name;
      const auto known = best_.emplace(name, double(counter->second)).first;
      known->second = std::min(known->second, double(counter->second));
      if (const auto bytes = run.counters.find("bytes"); bytes != run.counters.end()) bytes_[name] = bytes->second;
    }
  }
  std::optional<double> best(const std::string& name) const {  // in seconds
    const auto found = best_.find(name);
    return found == best_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<double> rate(const std::string& name) const {  // in bytes per second
    const auto bytes = bytes_.find(name);
    return bytes == bytes_.end() ? std::nullopt : std::optional(bytes->second / best_.at(name));
  }

 private:
  std::map<std::string, double> best_;
  std::map<std::string, double> bytes_;
};

// Takes the command line, after our defaults: several repetitions, interleaved.
inline bool initialise(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  std::string repetitions = "--benchmark_repetitions=5", interleaved = "--benchmark_enable_random_interleaving=true",
              each = "--benchmark_min_time=0.2";
  arguments.insert(arguments.begin() + 1, {repetitions.data(), interleaved.data(), each.data()});
  int count = int(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  return !benchmark::ReportUnrecognizedArguments(count, arguments.data());
}

void register_emitted();  // code emitted from loop programs, beside memcpy and OpenBLAS
void register_text();     // parsing, verifying and printing

}  // namespace lightline::bench
