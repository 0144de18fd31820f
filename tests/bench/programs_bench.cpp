// How fast exported programs become loops and bounds: KernelBench from ../shared where it is (else the programs under
// tests/frontend/data), and transformers of a given length. Ends with the figures that matter and their goals.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "bench/bench.h"
#include "bench/exported_model.h"
#include "bound/bound.h"
#include "demand/analysis.h"
#include "frontend/export/torch_export.h"
#include "frontend/load/load.h"
#include "loops/ir/parse.h"
#include "machine/catalogue.h"
#include "ops/lower/lower.h"

namespace lightline::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> sample_programs() {
  const fs::path root = LIGHTLINE_SOURCE_DIR;
  std::vector<std::string> programs;
  for (const char* level : {"level1", "level2"}) {
    const fs::path corpus = root / ".." / "shared" / "data" / "kernelbench" / (std::string(level) + ".jsonl.xz");
    if (!fs::exists(corpus)) continue;
    (void)frontend::for_each_program(corpus.string(), frontend::ExportForm::training, [&](const auto& entry) -> Status {
      programs.push_back(entry.program);
      return Ok{};
    });
  }
  if (!programs.empty()) return programs;
  for (const auto& file : fs::directory_iterator(root / "tests" / "frontend" / "data"))
    if (auto content = read_file(file.path().string()); content.ok()) programs.push_back(std::move(content).value());
  return programs;
}

loops::Program import_program(const std::string& text) {
  auto graph = frontend::parse_graph(text, frontend::ExportForm::training, "program");
  if (!graph.ok()) throw std::runtime_error(graph.error().message);
  auto lowered = ops::lower(*graph);
  if (!lowered.ok()) throw std::runtime_error(lowered.error().message);
  return std::move(lowered->program);
}

// The median over all programs of the best time of each.
void run_import_median(benchmark::State& state, const std::vector<std::string>& programs) {
  std::vector<double> best(programs.size(), std::numeric_limits<double>::infinity());
  for (auto _ : state)
    for (size_t i = 0; i < programs.size(); ++i) {
      const double start = seconds(Clock::thread);
      benchmark::DoNotOptimize(import_program(programs[i]));
      best[i] = std::min(best[i], seconds(Clock::thread) - start);
    }
  std::nth_element(best.begin(), best.begin() + std::ptrdiff_t(best.size() / 2), best.end());
  state.counters["best"] = best[best.size() / 2];
}

void run_json(benchmark::State& state, Metadata metadata) {
  const std::string text = exported_transformer(20000, metadata);
  run_best(
      state, [&] { benchmark::DoNotOptimize(frontend::parse_torch_export(text)); }, Clock::thread);
  state.counters["bytes"] = double(text.size());
}

void analyze_all(const std::vector<std::string>& programs, const std::vector<machine::Machine>& machines) {
  for (const std::string& text : programs) {
    const demand::Analysis analysis = demand::analyze(import_program(text));
    for (const machine::Machine& m : machines) benchmark::DoNotOptimize(bound::bound(analysis, m));
  }
}

// The time of the slowest of all programs, import and bounds, by the best of each.
void run_analyze_slowest(benchmark::State& state, const std::vector<std::string>& programs) {
  std::vector<double> best(programs.size(), std::numeric_limits<double>::infinity());
  const machine::Machine m = *machine::find_machine("H200");
  for (auto _ : state)
    for (size_t i = 0; i < programs.size(); ++i) {
      const double start = seconds(Clock::thread);
      benchmark::DoNotOptimize(bound::bound(demand::analyze(import_program(programs[i])), m));
      best[i] = std::min(best[i], seconds(Clock::thread) - start);
    }
  state.counters["best"] = *std::max_element(best.begin(), best.end());
}

// One of SOL-ExecBench, from ../shared where it is.
std::vector<std::string> execbench_program(std::string_view name) {
  const fs::path corpus = fs::path(LIGHTLINE_SOURCE_DIR) / ".." / "shared" / "data" / "sol-execbench" / "b200.jsonl.xz";
  std::vector<std::string> programs;
  if (!fs::exists(corpus)) return programs;
  (void)frontend::for_each_program(corpus.string(), frontend::ExportForm::training, [&](const auto& entry) -> Status {
    if (entry.name.find(name) != std::string::npos) programs.push_back(entry.program);
    return Ok{};
  });
  return programs;
}

// As many statements as asked, each of what the one before gives.
std::string chain_of_operators(int statements) {
  constexpr const char* functions[] = {"exp", "tanh", "sin", "gelu"};
  std::string text = fmt::format("program chain(x0: f32[128, 256]) -> (x{}) {{\n", statements);
  for (int i = 0; i < statements; ++i)
    text += fmt::format("  x{}: f32[128, 256] = for i, j: {}(x{}[i, j])\n", i + 1, functions[i % 4], i);
  return text + "}\n";
}

// Slices of an input, taken one by one and added up.
std::string unrolled_slices(int slices) {
  std::string text = fmt::format("program slices(x: f32[{0}, 1024], w: f32[1024]) -> (y{0}) {{\n", slices);
  text += "  y0: f32[1024] = for j: 0.0\n";
  for (int i = 0; i < slices; ++i)
    text += fmt::format("  s{0}: f32[1024] = view j: x[{0}, j]\n  y{1}: f32[1024] = for j: y{0}[j] + s{0}[j] * w[j]\n",
                        i, i + 1);
  return text + "}\n";
}

// A point and its neighbours, step after step.
std::string stencil(int steps, int64_t extent) {
  return fmt::format(
      "program stencil(x: f32[{0}, {0}]) -> (y) {{\n"
      "  (y: f32[{0}, {0}]) = repeat t in {1} carry (p = x) {{\n"
      "    q: f32[{0}, {0}] = for i, j: 0.25 * (p[i - 1, j | 0] + p[i + 1, j | 0] + p[i, j - 1 | 0] + p[i, j + 1 | "
      "0])\n"
      "    yield (q)\n  }}\n}}\n",
      extent, steps);
}

void run_analyze_text(benchmark::State& state, const std::string& text) {
  const auto program = loops::parse_and_verify(text);
  if (!program.ok()) return state.SkipWithError("the program is refused");
  run_best(
      state, [&] { benchmark::DoNotOptimize(demand::analyze(*program)); }, Clock::thread);
}

// Peak memory of importing a model, in a process of its own, above what the process starts with.
double peak_bytes(int nodes, double& file_bytes) {
  const std::string text = exported_transformer(nodes);
  file_bytes = double(text.size());
  const auto peak = [&](bool import) {
    const pid_t child = fork();
    if (child == 0) {
      if (import) benchmark::DoNotOptimize(import_program(text));
      _exit(0);
    }
    rusage usage{};
    int status = 0;
    wait4(child, &status, 0, &usage);
    return double(usage.ru_maxrss) * 1024;
  };
  return peak(true) - peak(false);
}

void print_figures(const BestTimes& times, size_t programs, double small_ratio, double large_ratio) {
  const auto row = [](std::string_view what, double measured, double goal, bool met) {
    fmt::print("{:58} {:9.2f} {:7.1f}  {}\n", what, measured, goal, met ? "met" : "missed");
  };
  const auto milliseconds = [&](const char* benchmark, std::string_view what, double goal) {
    if (const auto seconds = times.best(benchmark)) row(what, *seconds * 1e3, goal, *seconds * 1e3 <= goal);
  };
  fmt::print("\n{:58} {:>9} {:>7}\n", "figure", "measured", "goal");
  milliseconds("import_kernelbench_median", "import of a KernelBench program, median, ms", 1);
  milliseconds("import_1000_nodes", "import of a model of 1,000 nodes, ms", 20);
  if (const auto rate = times.rate("read_json"))
    row("program JSON into a graph, MB/s", *rate * 1e-6, 200, *rate >= 2e8);
  if (const auto rate = times.rate("read_bare_json"))
    fmt::print("{:58} {:9.2f}\n", "  without its metadata, MB/s", *rate * 1e-6);
  milliseconds("analyze_kernelbench", fmt::format("import and bounds of {} KernelBench programs, ms", programs),
               0.5 * double(programs));
  milliseconds("analyze_all_machines", "import and bounds of a program on all machines, ms", 5);
  milliseconds("analyze_5000_nodes", "bounds of a model of 5,000 nodes, ms", 100);
  milliseconds("analyze_slowest", "import and bounds of the slowest KernelBench program, ms", 100);
  milliseconds("analyze_chain", "bounds of a chain of 5,000 operators, ms", 100);
  milliseconds("analyze_slices", "bounds of 512 unrolled slices, ms", 100);
  milliseconds("analyze_stencil_16", "bounds of 16 steps of a stencil, ms", 1000);
  milliseconds("analyze_stencil_50", "bounds of 50 steps of a stencil, ms", 1000);
  milliseconds("analyze_execbench", "import and bounds of SOL-ExecBench L2__028, ms", 1000);
  row("peak memory / file, 80,000 nodes against 20,000", large_ratio / small_ratio, 1.25,
      large_ratio <= 1.25 * small_ratio);
  fmt::print("{:58} {:9.2f}\n", "peak memory of import / file, 80,000 nodes", large_ratio);
}

void register_programs(const std::vector<std::string>& programs) {
  const auto add = [](const char* name, auto work) {
    benchmark::RegisterBenchmark(name, work)->Unit(benchmark::kMillisecond);
  };
  add("import_kernelbench_median", [&](benchmark::State& state) { run_import_median(state, programs); });
  add("import_1000_nodes", [](benchmark::State& state) {
    const std::string text = exported_transformer(1000);
    run_best(
        state, [&] { benchmark::DoNotOptimize(import_program(text)); }, Clock::thread);
  });
  add("read_json", [](benchmark::State& state) { run_json(state, Metadata::stack_traces); });
  add("read_bare_json", [](benchmark::State& state) { run_json(state, Metadata::none); });
  add("analyze_kernelbench", [&](benchmark::State& state) {
    const std::vector<machine::Machine> one = {*machine::find_machine("H200")};
    run_best(
        state, [&] { analyze_all(programs, one); }, Clock::thread);
  });
  add("analyze_all_machines", [&](benchmark::State& state) {
    const std::vector<machine::Machine> all = *machine::all_machines();
    run_best(
        state, [&] { analyze_all({programs.back()}, all); }, Clock::thread);
  });
  add("analyze_5000_nodes", [](benchmark::State& state) {
    const loops::Program program = import_program(exported_transformer(5000));
    const machine::Machine m = *machine::find_machine("H200");
    run_best(
        state, [&] { benchmark::DoNotOptimize(bound::bound(demand::analyze(program), m)); }, Clock::wall);
  });
  add("analyze_slowest", [&](benchmark::State& state) { run_analyze_slowest(state, programs); });
  add("analyze_chain", [](benchmark::State& state) { run_analyze_text(state, chain_of_operators(5000)); });
  add("analyze_slices", [](benchmark::State& state) { run_analyze_text(state, unrolled_slices(512)); });
  add("analyze_stencil_16", [](benchmark::State& state) { run_analyze_text(state, stencil(16, 4096)); });
  add("analyze_stencil_50", [](benchmark::State& state) { run_analyze_text(state, stencil(50, 4096)); });
  if (const auto found = execbench_program("L2__028"); !found.empty())
    add("analyze_execbench", [program = found[0]](benchmark::State& state) { run_analyze_slowest(state, {program}); });
}

}  // namespace
}  // namespace lightline::bench

int main(int argc, char** argv) {
  using namespace lightline::bench;
  double small_file = 0, large_file = 0;
  const double small_peak = peak_bytes(20000, small_file), large_peak = peak_bytes(80000, large_file);
  if (!initialise(argc, argv)) return 1;
  const std::vector<std::string> programs = sample_programs();
  register_programs(programs);
  BestTimes times;
  benchmark::RunSpecifiedBenchmarks(&times);
  print_figures(times, programs.size(), small_peak / small_file, large_peak / large_file);
  return 0;
}
