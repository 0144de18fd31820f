// The driver of the C compiler: its cache, its errors, and tensors that it is handed.
#include "loops/run/compile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/helpers.h"
#include "loops/emit_c/emit_c_testing.h"

namespace lightline::loops {
namespace {

using emit_testing::random_inputs;

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

TEST_F(CompileTest, SaysThatThereIsNoCompiler) {
  options_.compiler = "no-such-compiler";
  const auto compiled = compile({&program_}, options_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
  EXPECT_NE(compiled.error().hint.find("--backend interp"), std::string::npos);
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

}  // namespace
}  // namespace lightline::loops
