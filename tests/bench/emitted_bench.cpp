#include <fmt/format.h>
#include <omp.h>

#include <cstring>
#include <memory>

#include "bench/bench.h"
#include "loops/ir/parse.h"
#include "loops/run/compile.h"
#ifdef LIGHTLINE_HAS_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace lightline::bench {
namespace {

using namespace loops;

constexpr const char* chain_text = R"(program chain(x: f32[4096, 1024]) -> (j) {
  a: f32[4096, 1024] = for r, c: x[r, c] + 1
  b: f32[4096, 1024] = for r, c: a[r, c] * 0.5
  c: f32[4096, 1024] = for r, c: max(b[r, c], 0.25)
  d: f32[4096, 1024] = for r, c: c[r, c] - 0.125
  e: f32[4096, 1024] = for r, c: abs(d[r, c])
  f: f32[4096, 1024] = for r, c: min(e[r, c], 3)
  g: f32[4096, 1024] = for r, c: f[r, c] * f[r, c]
  h: f32[4096, 1024] = for r, c: -g[r, c]
  i: f32[4096, 1024] = for r, c: h[r, c] + 2
  j: f32[4096, 1024] = for r, c: sqrt(i[r, c] * i[r, c])
})";

constexpr const char* softmax_text = R"(program softmax(x: f32[4096, 1024]) -> (y) {
  m: f32[4096] = for i: max k in 1024: x[i, k]
  e: f32[4096, 1024] = for i, k: exp(x[i, k] - m[i])
  s: f32[4096] = for i: sum k in 1024: e[i, k]
  y: f32[4096, 1024] = for i, k: e[i, k] / s[i]
})";

constexpr const char* matmul_text = R"(program matmul(a: f32[1024, 1024], b: f32[1024, 1024]) -> (c) {
  c: f32[1024, 1024] = for i, j: sum k in 1024: a[i, k] * b[k, j]
})";

constexpr const char* convolution_text = R"(program convolution(x: f32[8, 64, 56, 56], w: f32[64, 64, 3, 3]) -> (y) {
  y: f32[8, 64, 56, 56] = for n, k, p, q: sum c in 64, r in 3, s in 3: x[n, c, p + r - 1, q + s - 1 | 0] * w[k, c, r, s]
})";

constexpr const char* convolution_as_matmul_text =
    R"(program convolution_as_matmul(a: f32[64, 576], b: f32[576, 25088]) -> (c) {
  c: f32[64, 25088] = for i, j: sum k in 576: a[i, k] * b[k, j]
})";

// A program, compiled, with inputs and outputs.
struct Loaded {
  explicit Loaded(const char* text) : program(parse_and_verify(text).value()), compiled(compile({&program}).value()) {
    uint64_t seed = 1;
    for (const ArrayId id : program.inputs)
      inputs.push_back(random_tensor(program.arrays[id].dtype, program.arrays[id].shape, seed++));
    for (const Output& output : program.outputs)
      outputs.emplace_back(program.arrays[output.array].dtype, program.arrays[output.array].shape);
    for (const Tensor& tensor : inputs) from.push_back(&tensor);
    for (Tensor& tensor : outputs) to.push_back(&tensor);
  }
  Program program;
  CompiledPrograms compiled;
  std::vector<Tensor> inputs, outputs;
  std::vector<const Tensor*> from;
  std::vector<Tensor*> to;
};

void run_emitted(benchmark::State& state, Loaded& loaded, int threads) {
  omp_set_num_threads(threads);
  run_best(state, [&] {
    if (!loaded.compiled.run_into(0, loaded.from, loaded.to).ok()) state.SkipWithError("the program failed");
  });
}

// memcpy by as many threads as emitted code has, each its part.
void run_copy(benchmark::State& state, Loaded& loaded, int threads) {
  const Tensor& from = loaded.inputs[0];
  Tensor& to = loaded.outputs[0];
  const size_t part = from.byte_count() / size_t(threads);
  run_best(state, [&] {
#pragma omp parallel num_threads(threads)
    std::memcpy(to.data() + size_t(omp_get_thread_num()) * part, from.data() + size_t(omp_get_thread_num()) * part,
                part);
  });
}

#ifdef LIGHTLINE_HAS_OPENBLAS
void run_openblas(benchmark::State& state, Loaded& loaded) {
  openblas_set_num_threads(1);
  const float* a = loaded.inputs[0].as<float>().data();
  const float* b = loaded.inputs[1].as<float>().data();
  float* c = loaded.outputs[0].as<float>().data();
  run_best(state, [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1024, 1024, 1024, 1, a, 1024, b, 1024, 0, c, 1024);
  });
}
#endif

}  // namespace

void register_emitted() {
  const int threads = omp_get_max_threads();
  const auto add = [](const char* name, auto function) {
    benchmark::RegisterBenchmark(name, function)->UseRealTime()->Unit(benchmark::kMillisecond);
  };
  const auto load = [](const char* text) { return std::make_shared<Loaded>(text); };
  const auto chain = load(chain_text), softmax = load(softmax_text), matmul = load(matmul_text),
             convolution = load(convolution_text), as_matmul = load(convolution_as_matmul_text);
  add("copy", [=](benchmark::State& state) { run_copy(state, *chain, threads); });
  add("chain", [=](benchmark::State& state) { run_emitted(state, *chain, threads); });
  add("softmax", [=](benchmark::State& state) { run_emitted(state, *softmax, threads); });
  add("copy_one_thread", [=](benchmark::State& state) { run_copy(state, *chain, 1); });
  add("chain_one_thread", [=](benchmark::State& state) { run_emitted(state, *chain, 1); });
  add("softmax_one_thread", [=](benchmark::State& state) { run_emitted(state, *softmax, 1); });
  add("matmul", [=](benchmark::State& state) { run_emitted(state, *matmul, 1); });
#ifdef LIGHTLINE_HAS_OPENBLAS
  add("openblas", [=](benchmark::State& state) { run_openblas(state, *matmul); });
#endif
  add("convolution", [=](benchmark::State& state) { run_emitted(state, *convolution, 1); });
  add("convolution_as_matmul", [=](benchmark::State& state) { run_emitted(state, *as_matmul, 1); });
}

}  // namespace lightline::bench
