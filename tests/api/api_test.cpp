// The library as C++ code uses it: handles that own, errors instead of exceptions, notes instead of prints.
#include <gmock/gmock.h>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <filesystem>
#include <stdexcept>

#include "api/analyze.h"
#include "api/guard.h"
#include "api/run.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/tensor_io.h"

namespace lightline::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* scale = "program scale(x: f32[2, 3]) -> (y) {\n  y: f32[2, 3] = for i, j: x[i, j] * 2.0\n}\n";
constexpr const char* embed =
    "program embed(table: f32[1000, 4], at: i64[3]) -> (y) {\n  y: f32[3, 4] = for i, j: table[at[i], j]\n}\n";

std::string example(const std::string& name) { return std::string(LIGHTLINE_SOURCE_DIR "/examples/") + name; }

Program loaded(const std::string& text) {
  auto program = load({"test.lir", text});
  EXPECT_TRUE(program.ok()) << to_string(program.error());
  return *program;
}

machine::Machine h200() {
  const auto machines = find_machines({});
  EXPECT_TRUE(machines.ok() && machines->size() == 1);
  return (*machines)[0];
}

TEST(Api, WhatIsThrownBecomesAnError) {
  const auto logic = guarded([]() -> Status { throw std::logic_error("a broken promise"); });
  ASSERT_FALSE(logic.ok());
  EXPECT_EQ(logic.error().code, ErrorCode::internal);
  EXPECT_THAT(logic.error().message, HasSubstr("a broken promise"));
  const auto number = guarded([]() -> Result<int> { throw 42; });
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().code, ErrorCode::internal);
  const auto memory = guarded([]() -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, ErrorCode::limit);
}

TEST(Api, LoadsLoopsAndForeignProgramsByContent) {
  EXPECT_EQ(loaded(scale).loops().name, "scale");
  const auto source = read_source(example("exported/transformer_block.json"));
  ASSERT_TRUE(source.ok());
  const auto block = load(*source);
  ASSERT_TRUE(block.ok()) << to_string(block.error());
  EXPECT_FALSE(block->lowered().calls.empty());
  EXPECT_EQ(block->source_names().size(), block->loops().inputs.size());
  const auto jax =
      load({"f.mlir",
            "module @f {\n  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
            "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n"});
  ASSERT_TRUE(jax.ok()) << to_string(jax.error());
  EXPECT_EQ(jax->loops().statements.size(), 1u);
  const auto missing = read_source(example("nothing.json"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
}

// Recursion is as deep as a program is long, and the caller's stack may be small.
TEST(Api, LongProgramsNeedNoLargeStack) {
  std::string text = "program p(x: f32[2]) -> (a50000) {\n  a0: f32[2] = for i: x[i] * x[1 - i]\n";
  for (int i = 1; i <= 50000; ++i)
    text += fmt::format("  a{}: f32[2] = for i: exp(a{}[i]{})\n", i, i - 1, i % 2 == 0 ? " * x[1 - i]" : "");
  text += "}\n";
  bool done = false;
  const auto work = [&] {
    const Program program = loaded(text);
    const auto analysis = analyze(program, {});
    done = analysis.ok();
  };
  using Work = decltype(work);
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t(256) << 10), 0);
  pthread_t thread{};
  const auto run = [](void* what) -> void* {
    (*static_cast<const Work*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, run, const_cast<void*>(static_cast<const void*>(&work))), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  EXPECT_TRUE(done);
}

// Whatever the caller has set for itself.
TEST(Api, CallsHaveTheirOwnModesOfArithmetic) {
  std::fesetround(FE_UPWARD);
  int inside = -1;
  const Status done = guarded([&]() -> Status {
    inside = std::fegetround();
    return Ok{};
  });
  const int outside = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(inside, FE_TONEAREST);
  EXPECT_EQ(outside, FE_UPWARD);
}

// A caller that is cancelled while it waits: the call ends first.
TEST(Api, CallsAreNoPointsOfCancellation) {
  static std::atomic<int> state;
  state = 0;
  pthread_t thread{};
  const auto call = [](void*) -> void* {
    const Status done = guarded([]() -> Status {
      state = 1;
      usleep(200000);
      state = 2;
      return Ok{};
    });
    pthread_testcancel();
    state = done.ok() ? 3 : 4;
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, call, nullptr), 0);
  while (state == 0) usleep(1000);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(state, 2);
}

TEST(Api, AnAnalysisOutlivesTheProgramItCameFrom) {
  const auto analysis = [] { return analyze(loaded(scale)); }();
  ASSERT_TRUE(analysis.ok()) << to_string(analysis.error());
  const auto json = analysis->json(h200(), "", false);
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr("\"program\":\"test.lir\""));
  EXPECT_EQ(analysis->demand().fused.bytes(), 2 * 6 * 4);
}

TEST(Api, RetypingChangesACopy) {
  const Program program = loaded(scale);
  const auto half = analyze(program, {.retype = "f32=bf16"});
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->demand().fused.bytes(), 2 * 6 * 2);
  EXPECT_EQ(program.loops().arrays[program.loops().inputs[0]].dtype, DType::f32);
  EXPECT_FALSE(analyze(program, {.retype = "f32=i64"}).ok());
}

TEST(Api, MachinesByNameFileAndClock) {
  const auto several = find_machines({.arch = "H200,B200"});
  ASSERT_TRUE(several.ok());
  EXPECT_EQ(several->size(), 2u);
  EXPECT_GT(find_machines({.arch = "all"})->size(), 20u);
  EXPECT_FALSE(find_machines({.arch = "H200,"}).ok());
  EXPECT_FALSE(find_machines({.arch = "H200", .clock = "fast"}).ok());
  EXPECT_THAT(find_machines({.arch = "H200", .measured_ceilings = true}).error().message, HasSubstr("no measured"));
  EXPECT_FALSE(find_machine("H200,B200", "").ok());
}

TEST(Api, RandomInputsStayWithinWhatTheyIndex) {
  const Program program = loaded(embed);
  const auto inputs = gather_inputs(program, {.seed = 3}, [](const std::string&) { FAIL(); });
  ASSERT_TRUE(inputs.ok());
  EXPECT_THAT(inputs->sources, ElementsAre("random", "random"));
  for (const Backend backend : {Backend::interpreter, Backend::c}) {
    const auto result = run(program, inputs->tensors, {.backend = backend, .repeat = 2});
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(result->times_ms.size(), 2u);
    EXPECT_EQ(result->compile_ms.has_value(), backend == Backend::c);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(result->outputs[0].get_f64(4 * i), inputs->tensors[0].get_f64(4 * inputs->tensors[1].get_i64(i)));
  }
}

TEST(Api, InputsFromFilesAndWhatIsNotedOfThem) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string file = folder->path() + "/in.npz";
  Tensor x(DType::f32, {2, 3}), other(DType::f32, {1});
  x.set_f64(0, 7);
  NamedTensors tensors;
  tensors.emplace_back("x", std::move(x));
  tensors.emplace_back("other", std::move(other));
  ASSERT_TRUE(write_tensors(file, tensors).ok());
  std::vector<std::string> notes;
  const auto inputs =
      gather_inputs(loaded(scale), {.all = file}, [&](const std::string& text) { notes.push_back(text); });
  ASSERT_TRUE(inputs.ok()) << to_string(inputs.error());
  EXPECT_EQ(inputs->tensors[0].get_f64(0), 7);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("'other' is not an input of the program")));
}

TEST(Api, OutputFilesAreCheckedBeforeARun) {
  const Program program = loaded(scale);
  EXPECT_TRUE(check_output_file("out.npy", program).ok());
  EXPECT_THAT(check_output_file("out.txt", program).error().message, HasSubstr("is not a tensor file"));
  EXPECT_THAT(check_output_file("out.npz.bak", program).error().message, HasSubstr("is not a tensor file"));
  EXPECT_THAT(check_output_file("a.safetensors.d/out", program).error().message, HasSubstr("is not a tensor file"));
  const Program two =
      loaded("program p(x: f32[2]) -> (y, z) {\n  y: f32[2] = for i: x[i]\n  z: f32[2] = for i: -x[i]\n}\n");
  EXPECT_THAT(check_output_file("out.npy", two).error().message, HasSubstr("has 2 outputs"));
}

TEST(Api, CorporaAreVisitedEntryByEntry) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string file = folder->path() + "/corpus.jsonl";
  ASSERT_TRUE(write_file(file, "{\"name\": \"a\", \"x\": 1}\nnot json\n").ok());
  ASSERT_TRUE(is_corpus(file));
  std::vector<std::string> names;
  const Status done = api::for_each_program(file, ExportForm::training, [&](const CorpusEntry& entry) -> Status {
    names.push_back(entry.name);
    const auto program = import({entry.name, entry.program}, ExportForm::training);
    EXPECT_FALSE(program.ok());
    return Ok{};
  });
  EXPECT_TRUE(done.ok());
  EXPECT_THAT(names, ElementsAre("a", "line 2"));
}

TEST(Api, TextsOfAProgram) {
  const Program program = loaded(scale);
  EXPECT_EQ(*text_of(program), scale);
  EXPECT_THAT(*c_text_of(program), HasSubstr("lightline_main"));
  EXPECT_EQ(*formatted({"x", "program   scale(x: f32[2, 3]) -> (y) { y: f32[2, 3] = for i, j: x[i, j]*2.0 }"}), scale);
  EXPECT_FALSE(formatted({"x", "program"}).ok());
}

}  // namespace
}  // namespace lightline::api
