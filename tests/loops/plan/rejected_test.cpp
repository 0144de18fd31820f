// Every rejected/*.test is a program, a schedule or plan for it that must be rejected, a line `error`, and the exact
// error in words. `verify` rejects it; but for c_*.test, which verify and which emitted C can not follow.
#include <gtest/gtest.h>

#include <algorithm>

#include "loops/plan/plan_testing.h"
#include "loops/plan/planned.h"

namespace lightline::loops::plan {
namespace {

const std::filesystem::path folder = source_folder / "tests" / "loops" / "plan" / "rejected";

std::vector<std::string> rejected_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".test") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Status check(const Program& program, const std::string& text, bool is_for_c) {
  if (text.starts_with("plan ")) {
    LL_TRY(const Plan plan, parse_plan(program, text, "input"));
    return verify(program, plan);
  }
  LL_TRY(const Schedule schedule, parse_schedule(program, text, "input"));
  const Status verified = verify(program, schedule);
  if (!is_for_c) return verified;
  EXPECT_TRUE(verified.ok()) << to_string(verified.error());
  LL_TRY(const PlannedProgram planned, plan_program(program, schedule));
  return Ok{};
}

class RejectedSchedules : public testing::TestWithParam<std::string> {};

TEST_P(RejectedSchedules, SaysWhatIsWrong) {
  const std::string content = read_text(folder / (GetParam() + ".test"));
  const size_t program_end = content.find("\n}\n") + 3, error = content.rfind("\nerror\n");
  ASSERT_NE(error, std::string::npos);
  const Program program = parsed(content.substr(0, program_end));
  const Status status =
      check(program, content.substr(program_end, error + 1 - program_end), GetParam().starts_with("c_"));
  ASSERT_FALSE(status.ok()) << "it is accepted";
  EXPECT_EQ(to_string(status.error()) + "\n", content.substr(error + 7));
  EXPECT_NE(status.error().code, ErrorCode::internal);
}

INSTANTIATE_TEST_SUITE_P(Reject, RejectedSchedules, testing::ValuesIn(rejected_names()),
                         [](const auto& test) { return test.param; });

TEST(RejectedScheduleCorpus, HoldsManyCases) { EXPECT_GE(rejected_names().size(), 170u); }

}  // namespace
}  // namespace lightline::loops::plan
