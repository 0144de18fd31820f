// The driver of the C compiler: its cache, its errors, and tensors that it is handed.
#include "loops/run/compile.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/helpers.h"
#include "loops/emit_c/emit_c_testing.h"
#include "support/fork.h"

namespace lightline::loops {
namespace {

using emit_testing::random_inputs, testing_support::in_a_fork, testing_support::limit_threads;

class CompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    program_ = *parse_and_verify("program p(x: f32[4]) -> (y) { y: f32[4] = for i: x[i] + 1 }");
    options_.cache_directory = folder_ / "cache";
  }
  std::string library() const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.cache_directory))
      if (entry.path().extension() == ".so") return entry.path();
    return "";
  }
  std::string library_content() const {
    std::ifstream file(library(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string script(const std::string& text) const {
    const std::string path = folder_ / "compiler";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }
  base_test::TemporaryDirectory folder_;
  Program program_;
  CompileOptions options_;
};

TEST_F(CompileTest, KeepsWhatItCompiled) {
  const auto first = compile({&program_}, options_);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_FALSE(first->from_cache());
  EXPECT_TRUE(compile({&program_}, options_)->from_cache());
  CompileOptions other = options_;
  other.openmp = false;
  EXPECT_FALSE(compile({&program_}, other)->from_cache());
}

TEST_F(CompileTest, DamagedLibrariesAreMadeAgain) {
  ASSERT_TRUE(compile({&program_}, options_).ok());
  const std::string whole = library_content();
  for (const size_t length : {size_t(0), size_t(100), whole.size() / 2, whole.size() - 1}) {
    std::ofstream(library(), std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(compile({&program_}, options_)->from_cache()) << length;
    EXPECT_EQ(library_content().size(), whole.size());
  }
  for (const size_t place : {size_t(1), whole.size() / 3, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[place] ^= 4;
    std::ofstream(library(), std::ios::binary) << damaged;
    EXPECT_FALSE(compile({&program_}, options_)->from_cache()) << place;
  }
  EXPECT_TRUE(compile({&program_}, options_)->from_cache());
}

TEST_F(CompileTest, SweepsWhatIsLeftOfThoseWhoWereKilled) {
  ASSERT_TRUE(compile({&program_}, options_).ok());
  const std::filesystem::path folder = options_.cache_directory;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& [name, hours] : {std::pair{"key.7.0.c", 25}, {"key.7.0.so", 25}, {"key.8.0.c", 1}, {"key.c", 25}}) {
    std::ofstream(folder / name) << "x";
    std::filesystem::last_write_time(folder / name, now - std::chrono::hours(hours));
  }
  options_.openmp = false;  // another library
  ASSERT_TRUE(compile({&program_}, options_).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "key.7.0.c"));
  EXPECT_FALSE(std::filesystem::exists(folder / "key.7.0.so"));
  EXPECT_TRUE(std::filesystem::exists(folder / "key.8.0.c"));  // somebody may be at it
  EXPECT_TRUE(std::filesystem::exists(folder / "key.c"));
}

TEST_F(CompileTest, DistrustsForeignFiles) {
  ASSERT_TRUE(compile({&program_}, options_).ok());
  ASSERT_EQ(chmod(library().c_str(), 0777), 0);
  EXPECT_FALSE(compile({&program_}, options_)->from_cache());
  EXPECT_TRUE(compile({&program_}, options_)->from_cache());
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(library().c_str(), 12345, 12345), 0);
  EXPECT_FALSE(compile({&program_}, options_)->from_cache());
}

TEST_F(CompileTest, WorksWithoutACache) {
  std::ofstream(folder_ / "file") << "in the way";
  options_.cache_directory = folder_ / "file/cache";
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const auto inputs = random_inputs(program_, 10);
  EXPECT_TRUE(compare((*compiled->run(0, inputs))[0], (*interpret(program_, inputs))[0]).agree);
}

TEST_F(CompileTest, WorksWhereAFolderIsInThePlaceOfALibrary) {
  ASSERT_TRUE(compile({&program_}, options_).ok());
  const std::string path = library();
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/folder");
  for (int times = 0; times < 2; ++times) {
    const auto compiled = compile({&program_}, options_);
    ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
    EXPECT_FALSE(compiled->from_cache());
    const auto inputs = random_inputs(program_, 10);
    EXPECT_TRUE(compare((*compiled->run(0, inputs))[0], (*interpret(program_, inputs))[0]).agree);
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/folder"));
  const std::filesystem::directory_iterator entries(options_.cache_directory);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);  // the folder and the text of before
}

TEST_F(CompileTest, SaysThatThereIsNoCompiler) {
  options_.compiler = "no-such-compiler";
  const auto compiled = compile({&program_}, options_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
  EXPECT_NE(compiled.error().hint.find("--backend interp"), std::string::npos);
  EXPECT_EQ(compiled.error().message,
            "there is no C compiler: 'no-such-compiler' can not be started: No such file or directory");
}

TEST_F(CompileTest, ACompilerThatHangsIsThere) {
  options_.compiler = script("echo busy; sleep 60");
  options_.compiler_seconds = 0.2;
  const auto compiled = compile({&program_}, options_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(name(compiled.error().code), name(ErrorCode::limit));
  EXPECT_NE(compiled.error().message.find("was ended after 0.2 s"), std::string::npos) << compiled.error().message;
}

TEST_F(CompileTest, AFailureLeavesNothingBehind) {
  options_.compiler = script("case \"$*\" in *--version|*/dev/null) exit;; esac; echo bad luck >&2; exit 1");
  const auto compiled = compile({&program_}, options_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(name(compiled.error().code), name(ErrorCode::internal));
  EXPECT_NE(compiled.error().message.find("refused the emitted code: bad luck"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(options_.cache_directory));
}

// Only code that a working compiler refuses with reasons is a defect of ours.
TEST_F(CompileTest, ACompilerThatDoesNotWorkIsNoDefect) {
  const std::pair<const char*, const char*> cases[] = {
      {"exit 1", "' ended with exit status 1 and said nothing"},
      {"kill -9 $$", "' was ended by signal SIGKILL and said nothing"},
      {"[ $1 = --version ] && exit; echo bad luck >&2; exit 7",
       "' ended with exit status 7, also for an empty file: bad luck"},
      {"exit 0", "' reported success but wrote no library"},
      {"while [ $# -gt 0 ]; do [ $1 = -o ] && mkdir -p $2; shift; done", "' reported success but wrote no library"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    options_.compiler = script(text);
    const auto compiled = compile({&program_}, options_);
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(name(compiled.error().code), name(ErrorCode::unsupported));
    EXPECT_EQ(compiled.error().message, "the C compiler '" + options_.compiler + message);
    EXPECT_NE(compiled.error().hint.find("--backend interp"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(options_.cache_directory));
  }
}

TEST_F(CompileTest, WhatCanNotBeLoadedIsNotKept) {
  for (const char* content : {"echo garbage > $2", "echo 'int x;' | cc -shared -x c - -o $2"}) {
    SCOPED_TRACE(content);
    CompileOptions options = options_;
    options.compiler =
        script(std::string("while [ $# -gt 0 ]; do [ $1 = -o ] && ") + content + "; shift; done; exit 0");
    const auto compiled = compile({&program_}, options);
    ASSERT_FALSE(compiled.ok());
    EXPECT_NE(compiled.error().message.find("compiled code can not be loaded"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(options_.cache_directory));
  }
  ASSERT_TRUE(compile({&program_}, options_).ok());
  std::ofstream(library()) << "damaged meanwhile";
  const auto again = compile({&program_}, options_);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_FALSE(again->from_cache());
}

TEST_F(CompileTest, ChecksTensors) {
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok());
  std::vector<Tensor> none_given, wrong_shape;
  wrong_shape.emplace_back(DType::f32, Shape{5});
  EXPECT_EQ(to_string(compiled->run(0, none_given).error()), to_string(interpret(program_, none_given).error()));
  EXPECT_EQ(to_string(compiled->run(0, wrong_shape).error()), to_string(interpret(program_, wrong_shape).error()));
}

// An output may take the storage of the input it replaces, and any other output that of any input.
TEST_F(CompileTest, RunsInPlace) {
  auto parsed = parse_and_verify(
      "program p(x: f32[4], n: i64[2], y: f32[4]) -> (a as x, b) {\n"
      "a: f32[4] = scatter sum i in 2 into x: [n[i]] <- 10\nb: f32[4] = for i: y[3 - i] + 1\n}");
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  const auto compiled = compile({&*parsed}, options_);
  ASSERT_TRUE(compiled.ok());
  auto inputs = random_inputs(*parsed, 4);
  const auto expected = interpret(*parsed, inputs).value();
  ASSERT_TRUE(compiled->run_into(0, {&inputs[0], &inputs[1], &inputs[2]}, {&inputs[0], &inputs[2]}).ok());
  EXPECT_TRUE(compare(inputs[0], expected[0]).agree);
  EXPECT_TRUE(compare(inputs[2], expected[1]).agree);
}

// The number of threads is the calling thread's, for whatever else it does with OpenMP.
TEST_F(CompileTest, LeavesTheCallersThreadsAlone) {
  program_ = *parse_and_verify("program p(x: f32[1000000]) -> (y) { y: f32[1000000] = for i: exp(x[i]) }");
  options_.threads = 3;
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  void* runtime = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (runtime == nullptr) GTEST_SKIP() << "the compiler has no OpenMP, or another one";
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(runtime, "omp_set_num_threads"));
  const auto most_threads = reinterpret_cast<int (*)()>(dlsym(runtime, "omp_get_max_threads"));
  const int before = most_threads();
  set_threads(2);
  EXPECT_TRUE(compiled->run(0, random_inputs(program_, 10)).ok());
  EXPECT_EQ(most_threads(), 2);
  set_threads(before);
  dlclose(runtime);
}

TEST_F(CompileTest, StartsNoThreadsForLoopsThatShareNone) {
  options_.threads = 4;
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const auto inputs = random_inputs(program_, 10);
  const auto count = [] {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads));
  };
  std::thread([&] {
    const auto before = count();
    EXPECT_TRUE(compiled->run(0, inputs).ok());
    EXPECT_EQ(count(), before);
  }).join();
}

// Where no thread can be started, the thread that calls does all: OpenMP would end the process. A thread of its own, for
// which OpenMP has none yet, also in the fork.
TEST_F(CompileTest, RunsWhereNoThreadCanBeStarted) {
  program_ = *parse_and_verify(
      "program p(x: f32[300, 400], w: f32[400, 500], t: i64[300]) -> (y, s, h) {\n"
      "y: f32[300, 500] = for i, j: sum k in 400: x[i, k] * w[k, j]\n"
      "s: f32[] = sum i in 300, k in 400: exp(x[i, k])\n"
      "h: f32[100000] = scatter sum i in 300 into 0: [t[i] | drop] <- 1.0\n}");
  const auto inputs = random_inputs(program_, 10);
  const auto expected = interpret(program_, inputs);
  options_.threads = 4;
  const auto compiled = compile({&program_}, options_);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  std::thread([&] {
    EXPECT_EQ(in_a_fork([&] {
                if (!limit_threads(0)) return 2;
                for (int times = 0; times < 2; ++times) {
                  const auto outputs = compiled->run(0, inputs);
                  if (!outputs.ok()) return 3;
                  for (size_t i = 0; i < outputs->size(); ++i)
                    if (!compare((*outputs)[i], (*expected)[i]).agree) return int(4 + i);
                }
                return 0;
              }),
              0);
  }).join();
}

// Sizes that are well-formed but beyond any memory, of results and of what lies between.
TEST_F(CompileTest, SizesAreCheckedBeforeMemoryIsTaken) {
  for (const char* text : {"program p(x: f32[4]) -> (y) { y: f32[1000000, 1000000, 1000] = for i, j, k: x[0] }",
                           "program p(x: f32[4]) -> (y) {\n"
                           "t: f32[1000000, 1000000, 1000] = scatter sum i in 4 into 0: [i, i, i] <- x[i]\n"
                           "y: f32[4] = for i: t[i, i, i]\n}"}) {
    program_ = *parse_and_verify(text);
    const auto inputs = random_inputs(program_, 10);
    const auto interpreted = interpret(program_, inputs);
    ASSERT_FALSE(interpreted.ok());
    EXPECT_EQ(name(interpreted.error().code), name(ErrorCode::limit)) << to_string(interpreted.error());
    const auto compiled = compile({&program_}, options_);
    ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
    const auto run = compiled->run(0, inputs);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(name(run.error().code), name(ErrorCode::limit)) << to_string(run.error());
  }
}

}  // namespace
}  // namespace lightline::loops
