// What benchmarks share. A benchmark's name is its row in the closing table's arithmetic (see main.cpp).
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace lightline::bench {

// Runs `work` under a benchmark and keeps its best iteration as the counter "best", in seconds: the one that other
// programs disturbed least.
template <class Work>
void run_best(benchmark::State& state, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    work();
    benchmark::ClobberMemory();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["best"] = best;
}

void register_emitted();  // code emitted from loop programs, beside memcpy and OpenBLAS
void register_text();     // parsing, verifying and printing

}  // namespace lightline::bench
