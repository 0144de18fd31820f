#include <fmt/format.h>

#include <string>

#include "bench/bench.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"
#include "loops/ir/verify.h"

namespace lightline::bench {
namespace {

// Blocks of the statements that models are made of: products, elementwise chains, reductions, views.
std::string long_program(int statements) {
  std::string text =
      "program long(x0: f32[128, 256], w: f32[256, 256], b: f32[256]) -> (x" + std::to_string(statements / 5) + ") {\n";
  for (int i = 0; i < statements / 5; ++i)
    text += fmt::format(
        "  h{0}: f32[128, 256] = for i, j: sum k in 256: x{0}[i, k] * w[k, j]\n"
        "  g{0}: f32[128, 256] = for i, j: gelu(h{0}[i, j] + b[j])\n"
        "  m{0}: f32[128] = for i: max k in 256: g{0}[i, k]\n"
        "  v{0}: f32[256, 128] = view j, i: g{0}[i, j]\n"
        "  x{1}: f32[128, 256] = for i, j: if(j <= i, v{0}[j, i] - m{0}[i], x{0}[i, j - 1 | 0] * 0.5)\n",
        i, i + 1);
  return text + "}\n";
}

void run_parse(benchmark::State& state) {
  const std::string text = long_program(50000);
  run_best(state, [&] { benchmark::DoNotOptimize(loops::parse(text)); });
  state.counters["bytes"] = double(text.size());
}

void run_whole(benchmark::State& state) {
  const std::string text = long_program(10000);
  run_best(state, [&] {
    const auto program = loops::parse_and_verify(text);
    if (!program.ok()) return state.SkipWithError("the program is refused");
    benchmark::DoNotOptimize(loops::print(*program));
  });
}

}  // namespace

void register_text() {
  benchmark::RegisterBenchmark("parse", run_parse)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("parse_verify_print_10000", run_whole)->Unit(benchmark::kMillisecond);
}

}  // namespace lightline::bench
