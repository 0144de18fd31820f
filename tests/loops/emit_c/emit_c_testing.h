// Emitted C against the interpreter: every statement kind, dtype, function and reducer, and shapes that take every path
// of the emitter (packed products, fused rows, tiles, threads). Many programs go through one compilation.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/run/compile.h"
#include "support/seed.h"

namespace lightline::loops::emit_testing {

struct Case {
  std::string name;
  std::string text;
  int64_t limit = 10;           // of random integers
  std::vector<Tensor> inputs;   // random if there are none
  Tolerance tolerance{-1, -1};  // the dtype's own if negative
  bool fails = false;           // the run ends in an error
};

inline std::vector<Tensor> random_inputs(const Program& program, int64_t limit) {
  std::vector<Tensor> inputs;
  uint64_t seed = testing_support::seed_of(1);
  for (const ArrayId id : program.inputs)
    inputs.push_back(random_tensor(program.arrays[id].dtype, program.arrays[id].shape, seed++, limit));
  return inputs;
}

inline void check(std::vector<Case> cases) {
  std::vector<Program> programs;
  for (const Case& each : cases) {
    auto program = parse_and_verify(each.text, each.name);
    ASSERT_TRUE(program.ok()) << to_string(program.error()) << "\n" << each.text;
    programs.push_back(std::move(*program));
  }
  std::vector<const Program*> list;
  for (const Program& program : programs) list.push_back(&program);
  auto compiled = compile(list);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(testing_support::seed_text() + "\n" + cases[i].name + "\n" +
                 (cases[i].text.size() < 2000 ? cases[i].text : ""));
    if (cases[i].inputs.empty()) cases[i].inputs = random_inputs(programs[i], cases[i].limit);
    const auto expected = interpret(programs[i], cases[i].inputs);
    const auto actual = compiled->run(i, cases[i].inputs);
    ASSERT_EQ(expected.ok(), !cases[i].fails) << (expected.ok() ? "" : to_string(expected.error()));
    ASSERT_EQ(actual.ok(), !cases[i].fails) << (actual.ok() ? "" : to_string(actual.error()));
    if (cases[i].fails) {
      EXPECT_EQ(to_string(actual.error()), to_string(expected.error()));
      continue;
    }
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t output = 0; output < actual->size(); ++output) {
      const Tensor& want = (*expected)[output];
      const Tolerance allowed = cases[i].tolerance.absolute < 0 ? tolerance(want.dtype()) : cases[i].tolerance;
      const Comparison result = compare((*actual)[output], want, allowed);
      EXPECT_TRUE(result.agree) << "output " << output << ": " << result.reason;
    }
  }
}

inline std::string program(const std::string& inputs, const std::string& outputs, const std::string& body) {
  return fmt::format("program p({}) -> ({}) {{\n{}\n}}", inputs, outputs, body);
}

inline Tensor values(DType dtype, const std::vector<double>& list) {
  Tensor tensor(dtype, {int64_t(list.size())});
  for (size_t i = 0; i < list.size(); ++i) tensor.set_f64(int64_t(i), list[i]);
  return tensor;
}

}  // namespace lightline::loops::emit_testing
