// Schedules run as emitted C, against the interpreter.
#pragma once

#include <string>
#include <vector>

#include "loops/interpret/interpret.h"
#include "loops/plan/plan_testing.h"
#include "loops/plan/planned.h"
#include "loops/run/compile.h"

namespace lightline::loops::plan {

inline Schedule decided(const Program& program) {
  const auto planned = plan_program(program);
  EXPECT_TRUE(planned.ok()) << to_string(planned.error());
  return schedule_of(*planned);
}

struct Scheduled {
  std::string name;
  Program program;
  Schedule schedule;
};

// Compiled in one go, every output is what the interpreter says.
inline void expect_values(const std::vector<Scheduled>& list) {
  std::vector<const Program*> programs;
  CompileOptions options;
  for (const Scheduled& each : list) {
    programs.push_back(&each.program);
    options.schedules.push_back(&each.schedule);
  }
  const auto compiled = compile(programs, options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  for (size_t i = 0; i < list.size(); ++i) {
    const Program& program = list[i].program;
    SCOPED_TRACE(list[i].name + "\n" + print(program, list[i].schedule));
    std::vector<Tensor> inputs;
    for (const ArrayId id : program.inputs)
      inputs.push_back(random_tensor(program.arrays[id].dtype, program.arrays[id].shape, 1 + inputs.size(), 3));
    const auto expected = interpret(program, inputs), actual = compiled->run(i, inputs);
    ASSERT_EQ(expected.ok(), actual.ok()) << to_string(expected.ok() ? actual.error() : expected.error());
    if (!expected.ok()) continue;
    for (size_t output = 0; output < actual->size(); ++output) {
      const Tensor& want = (*expected)[output];
      const Tolerance own = tolerance(want.dtype());
      const Comparison result = compare((*actual)[output], want, {10 * own.absolute, 10 * own.relative});
      EXPECT_TRUE(result.agree) << program.arrays[program.outputs[output].array].name << ": " << result.reason;
    }
  }
}

}  // namespace lightline::loops::plan
