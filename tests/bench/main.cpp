// Runs all benchmarks, several times and interleaved, then prints the ratios that matter with their goals.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace {

// Keeps the best iteration of every benchmark.
class Collector : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      const auto counter = run.counters.find("best");
      if (counter == run.counters.end()) continue;
      const double seconds = counter->second;
      const std::string name = run.run_name.function_name;
      const auto known = best_.find(name);
      best_[name] = known == best_.end() ? seconds : std::min(known->second, seconds);
      if (const auto rate = run.counters.find("bytes"); rate != run.counters.end()) bytes_[name] = rate->second;
    }
  }

  void print_table() const {
    struct Row {
      const char* what;
      const char* of;
      const char* to;
      double goal;
    };
    const Row rows[] = {
        {"ten elementwise operations / memcpy", "chain", "copy", 1.3},
        {"row softmax / memcpy", "softmax", "copy", 1.3},
        {"ten elementwise operations / memcpy, one thread", "chain_one_thread", "copy_one_thread", 1.3},
        {"row softmax / memcpy, one thread", "softmax_one_thread", "copy_one_thread", 1.3},
        {"matrix product 1024^3 / OpenBLAS, one thread", "matmul", "openblas", 3},
        {"3x3 convolution / matrix product of its size, one thread", "convolution", "convolution_as_matmul", 2},
    };
    fmt::print("\n{:58} {:>9} {:>7}\n", "ratio", "measured", "goal");
    for (const Row& row : rows) {
      const auto a = best_.find(row.of), b = best_.find(row.to);
      if (a == best_.end() || b == best_.end()) continue;
      const double ratio = a->second / b->second;
      fmt::print("{:58} {:9.2f} {:7.1f}  {}\n", row.what, ratio, row.goal, ratio <= row.goal ? "met" : "missed");
    }
    if (const auto parse = best_.find("parse"); parse != best_.end()) {
      const double rate = bytes_.at("parse") / parse->second * 1e-6;
      fmt::print("{:58} {:9.1f} {:7.1f}  {}\n", "parsing, MB/s", rate, 100.0, rate >= 100 ? "met" : "missed");
    }
    if (const auto whole = best_.find("parse_verify_print_10000"); whole != best_.end())
      fmt::print("{:58} {:9.3f} {:7.1f}  {}\n", "10,000 statements parsed, verified and printed, s", whole->second, 0.2,
                 whole->second <= 0.2 ? "met" : "missed");
  }

 private:
  std::map<std::string, double> best_;
  std::map<std::string, double> bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  std::string repetitions = "--benchmark_repetitions=5", interleaved = "--benchmark_enable_random_interleaving=true",
              each = "--benchmark_min_time=0.2";
  arguments.insert(arguments.begin() + 1, {repetitions.data(), interleaved.data(), each.data()});
  int count = int(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  lightline::bench::register_emitted();
  lightline::bench::register_text();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  collector.print_table();
  return 0;
}
