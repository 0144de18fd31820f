// Every program of programs/*.test: verified, printed and parsed again, and run by the interpreter and as emitted C
// against its golden values. golden.py describes the format and writes the values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "demand/meaning.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"
#include "loops/run/compile.h"
#include "support/text_cases.h"

namespace lightline::loops {
namespace {

const std::filesystem::path folder = std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "tests" / "loops" / "programs";
constexpr size_t programs_per_compilation = 40;

// How one input is made: explicit values, or uniform numbers.
struct InputRule {
  std::vector<std::string> values;
  int64_t limit = 10;
  std::optional<std::pair<double, double>> range;
};

struct Expected {
  bool is_digest = false;
  std::vector<std::string> words;
};

struct Case {
  std::string name;
  std::string text;  // of the program
  std::map<std::string, InputRule> rules;
  std::map<std::string, Expected> expected;
  std::optional<Tolerance> tolerance;
  std::string fails;  // the message of the error that ends the run, if one does
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool starts_with(const std::string& text, std::string_view start) { return text.compare(0, start.size(), start) == 0; }

InputRule parse_rule(const std::vector<std::string>& words) {
  InputRule rule;
  if (words[1] == "values") rule.values.assign(words.begin() + 2, words.end());
  if (words[1] == "limit") rule.limit = std::stoll(words[2]);
  if (words[1] == "range") rule.range = {std::stod(words[2]), std::stod(words[3])};
  return rule;
}

Case load_case(const std::filesystem::path& path) {
  Case result;
  result.name = path.stem().string();
  std::ifstream file(path);
  std::string line, section;
  Expected* expected = nullptr;
  while (std::getline(file, line)) {
    if (section == "program") {
      result.text += line + "\n";
      if (line == "}") section.clear();
      continue;
    }
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (starts_with(line, "program ")) {
      section = "program";
      result.text = line + "\n";
    } else if (line == "numpy:" || line == "inputs:") {
      section = line;
    } else if (words[0] == "expect" && section != "numpy:") {
      expected = &result.expected[words[1].substr(0, words[1].size() - 1)];
      expected->is_digest = words.back() == "digest";
    } else if (words[0] == "tolerance" && section != "numpy:") {
      result.tolerance = Tolerance{std::stod(words[1]), std::stod(words[2])};
    } else if (words[0] == "fails" && section.empty()) {
      result.fails = line.substr(words[0].size() + 1);
    } else if (section == "inputs:") {
      result.rules[words[0]] = parse_rule(words);
    } else if (expected != nullptr) {
      expected->words.insert(expected->words.end(), words.begin(), words.end());
    }
  }
  return result;
}

std::vector<std::string> case_names() { return testing_support::case_names(folder); }

Case load_named(const std::string& name) { return load_case(folder / (name + ".test")); }

// ---- values ----

void set_element(Tensor& tensor, int64_t i, const std::string& word) {
  if (tensor.dtype() == DType::c64) {
    const size_t comma = word.find(',');
    tensor.set_c128(i, {std::stod(word), comma == std::string::npos ? 0.0 : std::stod(word.substr(comma + 1))});
  } else if (is_float(tensor.dtype())) {
    tensor.set_f64(i, std::strtod(word.c_str(), nullptr));
  } else if (tensor.dtype() == DType::boolean) {
    tensor.set_i64(i, word == "true");
  } else {
    tensor.set_i64(i, std::stoll(word));
  }
}

Tensor uniform_tensor(const Array& array, uint64_t seed, double low, double high) {
  Tensor tensor(array.dtype, array.shape);
  const auto draw = [&](int64_t i) { return splitmix64((seed << 32) + uint64_t(i)); };
  const auto uniform = [&](int64_t i) { return low + (high - low) * (double(draw(i) >> 40) * 0x1p-24); };
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (array.dtype == DType::c64) {
      tensor.set_c128(i, {uniform(2 * i), uniform(2 * i + 1)});
    } else if (is_float(array.dtype)) {
      tensor.set_f64(i, uniform(i));
    } else {
      tensor.set_i64(i, int64_t(low) + int64_t(draw(i) >> 33) % (int64_t(high) - int64_t(low)));
    }
  }
  return tensor;
}

Tensor make_input(const Array& array, const InputRule& rule, uint64_t seed) {
  if (rule.range) return uniform_tensor(array, seed, rule.range->first, rule.range->second);
  if (rule.values.empty()) return random_tensor(array.dtype, array.shape, seed, rule.limit);
  Tensor tensor(array.dtype, array.shape);
  EXPECT_TRUE(rule.values.size() == 1 || int64_t(rule.values.size()) == tensor.size())
      << "values of '" << array.name << "'";
  for (int64_t i = 0; i < tensor.size(); ++i) set_element(tensor, i, rule.values[size_t(i) % rule.values.size()]);
  return tensor;
}

std::vector<Tensor> make_inputs(const Program& program, const Case& test) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Array& array = program.arrays[program.inputs[i]];
    const auto rule = test.rules.find(array.name);
    inputs.push_back(make_input(array, rule == test.rules.end() ? InputRule{} : rule->second, 1 + i));
  }
  return inputs;
}

// The sum, the sum of absolutes, and the sum with weights (i mod 97) + 1 agree.
void expect_digest(const Tensor& actual, const Expected& expected, Tolerance allowed) {
  ASSERT_EQ(expected.words.size(), 6u);
  double sum = 0, absolute = 0, weighted = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double value = actual.get_f64(i);
    sum += value;
    absolute += std::abs(value);
    weighted += value * double(i % 97 + 1);
  }
  // Errors of single elements are independent: their sum grows with the root of their number.
  const double mean = absolute / double(actual.size());
  const double slack = 4 * std::sqrt(double(actual.size())) * (allowed.absolute + allowed.relative * mean);
  EXPECT_NEAR(sum, std::stod(expected.words[1]), slack);
  EXPECT_NEAR(absolute, std::stod(expected.words[3]), slack);
  EXPECT_NEAR(weighted, std::stod(expected.words[5]), slack * 97);
}

void expect_golden(const Program& program, const Case& test, const Result<std::vector<Tensor>>& result) {
  if (!test.fails.empty()) {
    ASSERT_FALSE(result.ok()) << "expected to fail: " << test.fails;
    EXPECT_EQ(result.error().message, test.fails);
    EXPECT_NE(result.error().code, ErrorCode::internal);
    return;
  }
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  const std::vector<Tensor>& outputs = *result;
  ASSERT_EQ(outputs.size(), program.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Array& array = program.arrays[program.outputs[i].array];
    SCOPED_TRACE("output '" + array.name + "'");
    const auto found = test.expected.find(array.name);
    ASSERT_NE(found, test.expected.end()) << "no golden values; run tests/loops/golden.py";
    const Tolerance allowed = test.tolerance.value_or(tolerance(array.dtype));
    if (found->second.is_digest) {
      expect_digest(outputs[i], found->second, allowed);
      continue;
    }
    Tensor golden(array.dtype, array.shape);
    ASSERT_EQ(int64_t(found->second.words.size()), golden.size());
    for (int64_t e = 0; e < golden.size(); ++e) set_element(golden, e, found->second.words[size_t(e)]);
    const Comparison comparison = compare(outputs[i], golden, allowed);
    EXPECT_TRUE(comparison.agree) << comparison.reason;
  }
}

// ---- emitted C ----

// Compiles the corpus in batches, each when one of its programs is first asked for.
class CompiledCorpus {
 public:
  CompiledCorpus()
      : names_(case_names()),
        programs_(names_.size()),
        batches_((names_.size() + programs_per_compilation - 1) / programs_per_compilation) {
    for (size_t i = 0; i < names_.size(); ++i)
      if (auto program = parse_and_verify(load_named(names_[i]).text)) programs_[i] = std::move(program).value();
  }

  Result<std::vector<Tensor>> run(const std::string& name, const std::vector<Tensor>& inputs) {
    const size_t which = size_t(std::lower_bound(names_.begin(), names_.end(), name) - names_.begin());
    Batch& batch = batches_[which / programs_per_compilation];
    if (!batch.compiled) compile_batch(which / programs_per_compilation);
    const auto place = std::find(batch.members.begin(), batch.members.end(), which);
    if (place == batch.members.end()) return Error{ErrorCode::internal, "the program does not verify", "", {}};
    if (batch.compiled->ok()) return batch.compiled->value().run(size_t(place - batch.members.begin()), inputs);
    // One program spoils its batch; alone, it has an error of its own.
    LL_TRY(const CompiledPrograms alone, compile({&*programs_[which]}));
    return alone.run(0, inputs);
  }

 private:
  struct Batch {
    std::vector<size_t> members;
    std::unique_ptr<Result<CompiledPrograms>> compiled;
  };

  void compile_batch(size_t number) {
    Batch& batch = batches_[number];
    std::vector<const Program*> programs;
    const size_t first = number * programs_per_compilation;
    for (size_t i = first; i < std::min(first + programs_per_compilation, names_.size()); ++i) {
      if (!programs_[i]) continue;
      batch.members.push_back(i);
      programs.push_back(&*programs_[i]);
    }
    batch.compiled = std::make_unique<Result<CompiledPrograms>>(compile(programs));
  }

  std::vector<std::string> names_;
  std::vector<std::optional<Program>> programs_;
  std::vector<Batch> batches_;
};

CompiledCorpus& compiled_corpus() {
  static CompiledCorpus corpus;
  return corpus;
}

// ---- tests ----

class LoopPrograms : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    test_ = load_named(GetParam());
    auto program = parse_and_verify(test_.text, GetParam());
    ASSERT_TRUE(program.ok()) << to_string(program.error());
    program_ = std::move(program).value();
  }
  Case test_;
  Program program_;
};

TEST_P(LoopPrograms, PrintsAndParsesAgain) {
  const std::string printed = print(program_);
  const auto again = parse_and_verify(printed, "printed");
  ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << printed;
  EXPECT_TRUE(equal(program_, *again)) << printed;
  EXPECT_EQ(print(*again), printed);
}

TEST_P(LoopPrograms, Interprets) { expect_golden(program_, test_, interpret(program_, make_inputs(program_, test_))); }

TEST_P(LoopPrograms, InterpretsAsItsNormalForm) {
  if (!test_.fails.empty()) GTEST_SKIP() << "it has no values";
  if (GetParam() == "dtype_f64_precision") GTEST_SKIP() << "it is about the rounding of one order";
  const auto normalised = demand::testing::normalised(program_);
  ASSERT_EQ(normalised.fault, "");
  EXPECT_EQ(demand::testing::difference_of_meaning(program_, normalised.normal, make_inputs(program_, test_)), "")
      << demand::to_text(normalised.normal, program_);
}

TEST_P(LoopPrograms, RunsAsC) {
  const auto outputs = compiled_corpus().run(GetParam(), make_inputs(program_, test_));
  const bool no_compiler = !outputs.ok() && outputs.error().code == ErrorCode::unsupported &&
                           outputs.error().message.find("no C compiler") != std::string::npos;
  if (no_compiler) GTEST_SKIP() << outputs.error().message;
  expect_golden(program_, test_, outputs);
  // A digest can not see every element; the interpreter can.
  const bool has_digest = std::any_of(test_.expected.begin(), test_.expected.end(),
                                      [](const auto& entry) { return entry.second.is_digest; });
  if (!has_digest || !outputs.ok()) return;
  const auto interpreted = interpret(program_, make_inputs(program_, test_));
  ASSERT_TRUE(interpreted.ok()) << to_string(interpreted.error());
  for (size_t i = 0; i < outputs->size(); ++i) {
    const Comparison comparison =
        compare((*outputs)[i], (*interpreted)[i], test_.tolerance.value_or(tolerance((*outputs)[i].dtype())));
    EXPECT_TRUE(comparison.agree) << program_.arrays[program_.outputs[i].array].name << ": " << comparison.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, LoopPrograms, testing::ValuesIn(case_names()),
                         [](const auto& test) { return test.param; });

TEST(LoopCorpus, HoldsManyPrograms) { EXPECT_GE(case_names().size(), 150u); }

TEST(LoopCorpus, UsesEveryFunctionReducerAndDtype) {
  std::set<Function> functions;
  std::set<Reducer> reducers, scattered;
  std::set<DType> dtypes, casts;
  for (const std::string& name : case_names()) {
    const auto program = parse_and_verify(load_named(name).text, name);
    ASSERT_TRUE(program.ok()) << to_string(program.error());
    for (const Array& array : program->arrays) dtypes.insert(array.dtype);
    for (const Expr& expr : program->exprs) {
      if (expr.kind == ExprKind::call) functions.insert(expr.function);
      if (expr.kind == ExprKind::cast) casts.insert(expr.target);
    }
    for (const Statement& statement : program->statements) {
      if (const auto* compute = std::get_if<Compute>(&statement.node)) reducers.insert(compute->reducer);
      if (const auto* scatter = std::get_if<Scatter>(&statement.node)) scattered.insert(scatter->reducer);
    }
  }
#define LL_FUNCTION(id, text, arity, signature, vector_ops, transcendental_ops) \
  EXPECT_TRUE(functions.count(Function::id)) << text;
#include "loops/ir/functions.def"
#undef LL_FUNCTION
  EXPECT_EQ(reducers.size(), 9u) << "none, and every reducer but set";
  EXPECT_EQ(scattered.size(), 7u) << "every reducer but argmax and argmin";
  EXPECT_EQ(dtypes.size(), size_t(dtype_count));
  EXPECT_EQ(casts.size(), size_t(dtype_count));
}

}  // namespace
}  // namespace lightline::loops
