// The C interface, called as a C program calls it; tests/api/c_program.c shows that the header is C.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/lightline.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/tensor_io.h"

namespace {

constexpr const char* scale = "program scale(x: f32[2, 3]) -> (y) {\n  y: f32[2, 3] = for i, j: x[i, j] * 2.0\n}\n";

struct Text {
  char* text = nullptr;
  ~Text() { lightline_free_text(text); }
  std::string str() const { return text == nullptr ? "" : text; }
};

struct Program {
  lightline_program* program = nullptr;
  explicit Program(const std::string& text) {
    Text error;
    EXPECT_EQ(lightline_parse("test.lir", text.c_str(), text.size(), &program, &error.text), LIGHTLINE_OK)
        << error.str();
  }
  ~Program() { lightline_free_program(program); }
};

TEST(CInterface, SaysItsVersion) {
  EXPECT_EQ(lightline_abi_version(), LIGHTLINE_ABI_VERSION);
  EXPECT_STREQ(lightline_version(), LIGHTLINE_VERSION);
}

TEST(CInterface, PrintsLoopsAndC) {
  const Program program(scale);
  Text loops, code;
  ASSERT_EQ(lightline_loop_text(program.program, &loops.text, nullptr), LIGHTLINE_OK);
  EXPECT_EQ(loops.str(), scale);
  ASSERT_EQ(lightline_c_text(program.program, &code.text, nullptr), LIGHTLINE_OK);
  EXPECT_THAT(code.str(), testing::HasSubstr("int lightline_main("));
}

TEST(CInterface, RunsOnBothBackends) {
  const Program program(scale);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3};
  const lightline_tensor x{"x", "f32", 2, shape, values.data(), values.size() * sizeof(float)};
  for (const char* options : {"", R"({"backend": "interp"})", R"({"backend": "c", "threads": 1})"}) {
    lightline_outputs* outputs = nullptr;
    Text error;
    ASSERT_EQ(lightline_run(program.program, options, &x, 1, &outputs, &error.text), LIGHTLINE_OK) << error.str();
    ASSERT_EQ(lightline_output_count(outputs), 1u);
    const lightline_tensor* y = lightline_output(outputs, 0);
    EXPECT_STREQ(y->name, "y");
    EXPECT_STREQ(y->dtype, "f32");
    ASSERT_EQ(y->bytes, sizeof(float) * 6);
    std::vector<float> result(6);
    std::memcpy(result.data(), y->data, y->bytes);
    EXPECT_THAT(result, testing::ElementsAre(2, 4, 6, 8, 10, 12));
    EXPECT_EQ(lightline_output(outputs, 1), nullptr);
    lightline_free_outputs(outputs);
  }
}

TEST(CInterface, RunsAProgramThatCarriesItsConstants) {
  std::string elements;
  for (int i = 0; i < 299; ++i) elements += "00002040";  // 2.5
  elements += "00008040";                                // 4
  const Program program(
      "module @jit_f {\n"
      "  func.func public @main(%arg0: tensor<300xf32>) -> (tensor<300xf32>) {\n"
      "    %c = stablehlo.constant dense<\"0x" +
      elements +
      "\"> : tensor<300xf32>\n"
      "    %0 = stablehlo.add %arg0, %c : tensor<300xf32>\n"
      "    return %0 : tensor<300xf32>\n"
      "  }\n"
      "}\n");
  std::vector<float> values(300, 1);
  std::vector<lightline_tensor> given;
  size_t carried = 0;
  for (size_t i = 0; i < lightline_input_count(program.program); ++i) {
    const lightline_tensor* input = lightline_input(program.program, i);
    if (input->data == nullptr) {
      EXPECT_EQ(input->bytes, 0u);
      given.push_back(*input);
      given.back().data = values.data();
      given.back().bytes = values.size() * sizeof(float);
      continue;
    }
    ++carried;
    ASSERT_EQ(input->bytes, values.size() * sizeof(float));
    EXPECT_EQ(static_cast<const float*>(input->data)[299], 4.0f);
  }
  EXPECT_EQ(carried, 1u);
  lightline_outputs* outputs = nullptr;
  Text error;
  ASSERT_EQ(lightline_run(program.program, nullptr, given.data(), given.size(), &outputs, &error.text), LIGHTLINE_OK)
      << error.str();
  EXPECT_EQ(static_cast<const float*>(lightline_output(outputs, 0)->data)[299], 5.0f);
  lightline_free_outputs(outputs);
}

TEST(CInterface, SaysWhatAProgramTakes) {
  const Program program(scale);
  ASSERT_EQ(lightline_input_count(program.program), 1u);
  const lightline_tensor* x = lightline_input(program.program, 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_STREQ(x->dtype, "f32");
  EXPECT_EQ(std::vector<int64_t>(x->shape, x->shape + x->rank), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(x->data, nullptr);
  EXPECT_EQ(lightline_input(program.program, 1), nullptr);
  EXPECT_EQ(lightline_input(nullptr, 0), nullptr);
}

TEST(CInterface, AnalysesOnSeveralMachines) {
  const Program program(scale);
  Text json, error;
  ASSERT_EQ(lightline_analyze(program.program, R"({"arch": "H200,B200", "math": "strict", "top": 1})", &json.text,
                              &error.text),
            LIGHTLINE_OK)
      << error.str();
  EXPECT_THAT(json.str(), testing::StartsWith("[{\"schema\":\"lightline.analyze\""));
  EXPECT_THAT(json.str(), testing::HasSubstr("},\n{\"schema\":\"lightline.analyze\""));
  EXPECT_THAT(json.str(), testing::EndsWith("}]\n"));
  Text plain;
  ASSERT_EQ(lightline_analyze(program.program, nullptr, &plain.text, nullptr), LIGHTLINE_OK);
  EXPECT_THAT(plain.str(), testing::HasSubstr("\"math\":\"tf32\""));
}

TEST(CInterface, MistakesComeWithTheirWords) {
  const auto parse_error = [](const std::string& text) {
    lightline_program* program = nullptr;
    Text error;
    EXPECT_EQ(lightline_parse("bad.lir", text.data(), text.size(), &program, &error.text), LIGHTLINE_BAD_INPUT);
    EXPECT_EQ(program, nullptr);
    return error.str();
  };
  EXPECT_THAT(parse_error("program p() -> (y) {\n  y: f32[2] = for i: z[i]\n}\n"), testing::StartsWith("bad.lir:2:"));
  const Program program(scale);
  const auto analyze_error = [&](const char* options) {
    Text json, error;
    EXPECT_EQ(lightline_analyze(program.program, options, &json.text, &error.text), LIGHTLINE_BAD_INPUT);
    EXPECT_EQ(json.text, nullptr);
    return error.str();
  };
  EXPECT_THAT(analyze_error("[]"), testing::HasSubstr("the options are not a JSON object"));
  EXPECT_THAT(analyze_error("{\"math\": \"f32\"}"),
              testing::HasSubstr("option 'math': 'f32' is not one of strict, tf32, fast16"));
  EXPECT_THAT(analyze_error("{\"arhc\": \"H200\"}"), testing::HasSubstr("did you mean 'arch'?"));
  EXPECT_THAT(analyze_error("{\"warm\": 1}"), testing::HasSubstr("option 'warm' is not true or false"));
  EXPECT_THAT(analyze_error("{\"top\": -1}"), testing::HasSubstr("option 'top' is not a whole number"));
  EXPECT_THAT(analyze_error("{\"top\": 1000001}"),
              testing::HasSubstr("option 'top': 1000001 is not within 0 to 1000000"));
  EXPECT_THAT(analyze_error("{\"measured\": 0}"),
              testing::HasSubstr("option 'measured': 0 is not within 1e-09 to 1000000000000"));
  EXPECT_THAT(analyze_error("{\"measured\": 1e308}"), testing::HasSubstr("option 'measured': 1e+308 is not within"));
  EXPECT_THAT(analyze_error("{\"clock\": \"\"}"), testing::HasSubstr("option 'clock': the value is empty"));
  EXPECT_THAT(analyze_error("{\"arch\": \"H2000000\"}"), testing::HasSubstr("H2000000"));
  EXPECT_THAT(analyze_error("{\"retype\": \"f32\"}"), testing::HasSubstr("does not name two float types"));
  EXPECT_THAT(analyze_error("{\"measured\": }"), testing::HasSubstr("the options are not a JSON object, see byte 14"));
  EXPECT_THAT(analyze_error("{\"measured\": 1e400}"),
              testing::HasSubstr("the options hold a number that is too large: '1e400'"));
  EXPECT_THAT(analyze_error("{\"arch\": \"H200\xff\"}"),
              testing::HasSubstr("the options are not UTF-8 text, see byte 15"));
  EXPECT_THAT(analyze_error("{\"arch\": \"H200\\u0000\"}"), testing::HasSubstr("option 'arch' holds a zero character"));
  EXPECT_THAT(analyze_error("{\"top\": 3, \"warm\": true, \"top\": 3}"),
              testing::HasSubstr("option 'top' is given twice"));
  EXPECT_THAT(analyze_error("{\"arch\\u0000\": \"H200\"}"),
              testing::HasSubstr("the name of an option holds a zero character"));
}

TEST(CInterface, StringsAreUtf8) {
  const std::string text = "program p(x: f32[2]) -> (y) {\n  @ \"a\xFF\"\n  y: f32[2] = for i: x[i]\n}\n";
  lightline_program* program = nullptr;
  Text error;
  EXPECT_EQ(lightline_parse("a\x9B.lir", text.data(), text.size(), &program, &error.text), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(error.str(), "a\\x9b.lir:2:7: error: the text is not UTF-8\n  hint: save it as UTF-8");
}

TEST(CInterface, MistakesNameOptionsThatAreNear) {
  const Program program(scale);
  const auto hint = [&](const char* options) {
    Text json, error;
    EXPECT_EQ(lightline_analyze(program.program, options, &json.text, &error.text), LIGHTLINE_BAD_INPUT);
    return error.str().substr(std::min(error.str().find('\n'), error.str().size()));
  };
  EXPECT_THAT(hint("{\"form\": \"core\"}"), testing::StartsWith("\n  hint: there are algorithms, arch, "));
  EXPECT_EQ(hint("{\"retype\": \"f32=f32\"}"), "\n  hint: write f32=bf16, for example");
}

TEST(CInterface, RefusesInputsThatDoNotFit) {
  const Program program(scale);
  const float value = 1;
  const int64_t shape[] = {2, 3}, wrong[] = {3, 2}, negative[] = {-1, 3};
  const auto error_of = [&](const lightline_tensor& tensor, const char* options = nullptr) {
    lightline_outputs* outputs = nullptr;
    Text error;
    EXPECT_EQ(lightline_run(program.program, options, &tensor, 1, &outputs, &error.text), LIGHTLINE_BAD_INPUT);
    EXPECT_EQ(outputs, nullptr);
    return error.str();
  };
  EXPECT_THAT(error_of({"z", "f32", 2, shape, &value, 24}), testing::HasSubstr("the program has no input 'z'"));
  EXPECT_THAT(error_of({"x", "f33", 2, shape, &value, 24}), testing::HasSubstr("'f33' is not a dtype"));
  EXPECT_THAT(error_of({"x", "f32", 2, shape, &value, 4}), testing::HasSubstr("has 4 bytes, not 24"));
  EXPECT_THAT(error_of({"x", "f32", 2, shape, nullptr, 24}), testing::HasSubstr("NULL"));
  EXPECT_THAT(error_of({"x", "f32", 2, nullptr, &value, 24}), testing::HasSubstr("NULL"));
  for (const int32_t rank : {-1, 1, 3, INT32_MAX})  // `shape` has two extents: more must not be read
    EXPECT_THAT(error_of({"x", "f32", rank, shape, &value, 24}),
                testing::HasSubstr("the rank of 'x' is " + std::to_string(rank) + ", not 2"));
  EXPECT_THAT(error_of({"x", "f32", 2, negative, &value, 24}), testing::Not(testing::IsEmpty()));
  const std::vector<float> six(6);
  EXPECT_THAT(error_of({"x", "f32", 2, wrong, six.data(), 24}), testing::HasSubstr("[3, 2]"));
  EXPECT_THAT(error_of({"x", "f32", 2, shape, six.data(), 24}, R"({"backend": "cuda"})"),
              testing::HasSubstr("option 'backend': 'cuda' is not one of interp, c"));
  lightline_outputs* outputs = nullptr;
  Text missing, twice;
  EXPECT_EQ(lightline_run(program.program, nullptr, nullptr, 0, &outputs, &missing.text), LIGHTLINE_BAD_INPUT);
  EXPECT_THAT(missing.str(), testing::HasSubstr("there is no value for the input 'x'"));
  const lightline_tensor both[] = {{"x", "f32", 2, shape, six.data(), 24}, {"x", "f32", 2, shape, six.data(), 24}};
  EXPECT_EQ(lightline_run(program.program, nullptr, both, 2, &outputs, &twice.text), LIGHTLINE_BAD_INPUT);
  EXPECT_THAT(twice.str(), testing::HasSubstr("the input 'x' is given twice"));
}

TEST(CInterface, NullArgumentsAreErrors) {
  Text error;
  EXPECT_EQ(lightline_load(nullptr, nullptr, &error.text), LIGHTLINE_BAD_INPUT);
  EXPECT_THAT(error.str(), testing::HasSubstr("NULL"));
  EXPECT_EQ(lightline_loop_text(nullptr, nullptr, nullptr), LIGHTLINE_BAD_INPUT);
  char* text = reinterpret_cast<char*>(8);
  EXPECT_EQ(lightline_c_text(nullptr, &text, nullptr), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(lightline_analyze(nullptr, nullptr, nullptr, nullptr), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(lightline_run(nullptr, nullptr, nullptr, 0, nullptr, nullptr), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(lightline_validate(nullptr, nullptr, nullptr, nullptr), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(lightline_output_count(nullptr), 0u);
  EXPECT_EQ(lightline_output(nullptr, 0), nullptr);
  lightline_free_program(nullptr);
  lightline_free_outputs(nullptr);
  lightline_free_text(nullptr);
}

// Sets a variable of the environment until its end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A framework that adds 4 numbers to themselves and says that this came out.
std::string framework(const std::string& folder, double result) {
  lightline::NamedTensors tensors;
  tensors.emplace_back("in.arg0", lightline::Tensor(lightline::DType::f32, {4}));
  tensors.emplace_back("out.0", lightline::Tensor(lightline::DType::f32, {4}));
  for (int64_t i = 0; i < 4; ++i) tensors[0].second.set_f64(i, 1);
  for (int64_t i = 0; i < 4; ++i) tensors[1].second.set_f64(i, result);
  EXPECT_TRUE(lightline::write_tensors(folder + "/tensors.safetensors", tensors).ok());
  const std::string program =
      "module @f {\n  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
      "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n";
  EXPECT_TRUE(lightline::write_file(folder + "/program_stablehlo.mlir", program).ok());
  const std::string script = "#!/bin/sh\nfor last; do :; done\ncp " + folder +
                             "/*.* \"$last\"\n";  // -m lightline.validate [OPTIONS] -- FILE FOLDER
  EXPECT_TRUE(lightline::write_file(folder + "/python", script).ok());
  EXPECT_EQ(chmod((folder + "/python").c_str(), 0700), 0);
  return folder + "/python";
}

TEST(CInterface, ValidationSaysYesOrNoAndWhy) {
  const auto folder = lightline::TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string file = folder->path() + "/f.py";
  ASSERT_TRUE(lightline::write_file(file, "").ok());
  const auto validate = [&](double result, Text& json, Text& error) {
    const Variable python("LIGHTLINE_PYTHON", framework(folder->path(), result));
    return lightline_validate(file.c_str(), R"({"backend": "interp"})", &json.text, &error.text);
  };
  Text agreed, nothing, differs, why;
  EXPECT_EQ(validate(2, agreed, nothing), LIGHTLINE_OK) << nothing.str();
  EXPECT_THAT(agreed.str(), testing::HasSubstr("\"agrees\": true"));
  EXPECT_EQ(nothing.text, nullptr);
  EXPECT_EQ(validate(3, differs, why), LIGHTLINE_NO);
  EXPECT_THAT(differs.str(), testing::HasSubstr("\"agrees\": false"));
  EXPECT_THAT(why.str(),
              testing::StartsWith(file + ": does not agree with the framework (seed 0)\nstablehlo form, interp, "));
  EXPECT_THAT(why.str(), testing::Not(testing::EndsWith("\n")));
}

TEST(CInterface, SizesBeyondMemoryAreErrors) {
  lightline_program* program = nullptr;
  Text error;
  EXPECT_EQ(lightline_parse("test.lir", scale, SIZE_MAX, &program, &error.text), LIGHTLINE_BAD_INPUT);
  EXPECT_EQ(error.str(), "error: a size is larger than memory can be");
}

TEST(CInterface, ErrorsDoNotQuoteAllOfALongInput) {
  const std::string text =
      "program p(x: f32[4]) -> (y) {\n  y: f32[4] = for i: " + std::string(3000000, 'q') + "[i]\n}\n";
  lightline_program* program = nullptr;
  Text error;
  EXPECT_EQ(lightline_parse("test.lir", text.c_str(), text.size(), &program, &error.text), LIGHTLINE_BAD_INPUT);
  EXPECT_THAT(error.str(), testing::StartsWith("test.lir:2:"));
  EXPECT_THAT(error.str(), testing::HasSubstr("qqq [... "));
  EXPECT_LT(error.str().size(), 5000u);
}

// A cache that is empty: every thread finds nothing and compiles.
TEST(CInterface, ThreadsCompileSideBySide) {
  const auto folder = lightline::TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const Variable cache("LIGHTLINE_CACHE", folder->path());
  const Program program(scale);
  const std::vector<float> values(6, 1);
  const int64_t shape[] = {2, 3};
  const lightline_tensor x{"x", "f32", 2, shape, values.data(), 24};
  std::vector<std::string> errors(6);
  std::vector<std::thread> threads;
  for (std::string& error : errors)
    threads.emplace_back([&] {
      lightline_outputs* outputs = nullptr;
      Text text;
      lightline_run(program.program, R"({"backend": "c"})", &x, 1, &outputs, &text.text);
      error = text.str();
      lightline_free_outputs(outputs);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(""));
}

TEST(CInterface, HandlesServeManyThreads) {
  const Program program(scale);
  Text first;
  ASSERT_EQ(lightline_analyze(program.program, nullptr, &first.text, nullptr), LIGHTLINE_OK);
  std::vector<std::thread> threads;
  std::vector<int> same(8, 0);
  for (size_t i = 0; i < same.size(); ++i)
    threads.emplace_back([&, i] {
      Text json;
      if (lightline_analyze(program.program, nullptr, &json.text, nullptr) == LIGHTLINE_OK)
        same[i] = json.str() == first.str() ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, testing::Each(1));
}

}  // namespace
