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

void print_figures(const BestTimes& times, double small_ratio, double large_ratio) {
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
  milliseconds("analyze_kernelbench", "import and bounds of 200 KernelBench programs, ms", 400);
  milliseconds("analyze_all_machines", "import and bounds of a program on all machines, ms", 5);
  milliseconds("analyze_5000_nodes", "bounds of a model of 5,000 nodes, ms", 100);
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
        state, [&] { benchmark::DoNotOptimize(bound::bound(demand::analyze(program), m)); }, Clock::thread);
  });
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
  print_figures(times, small_peak / small_file, large_peak / large_file);
  return 0;
}
