// Runs all benchmarks, several times and interleaved, then prints the ratios that matter with their goals.
#include <fmt/format.h>

#include "bench/bench.h"

namespace {

void print_table(const lightline::bench::BestTimes& times) {
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
    const auto a = times.best(row.of), b = times.best(row.to);
    if (!a || !b) continue;
    const double ratio = *a / *b;
    fmt::print("{:58} {:9.2f} {:7.1f}  {}\n", row.what, ratio, row.goal, ratio <= row.goal ? "met" : "missed");
  }
  if (const auto rate = times.rate("parse"))
    fmt::print("{:58} {:9.1f} {:7.1f}  {}\n", "parsing, MB/s", *rate * 1e-6, 100.0, *rate >= 1e8 ? "met" : "missed");
  if (const auto whole = times.best("parse_verify_print_10000"))
    fmt::print("{:58} {:9.3f} {:7.1f}  {}\n", "10,000 statements parsed, verified and printed, s", *whole, 0.2,
               *whole <= 0.2 ? "met" : "missed");
}

}  // namespace

int main(int argc, char** argv) {
  if (!lightline::bench::initialise(argc, argv)) return 1;
  lightline::bench::register_emitted();
  lightline::bench::register_text();
  lightline::bench::BestTimes times;
  benchmark::RunSpecifiedBenchmarks(&times);
  print_table(times);
  return 0;
}
