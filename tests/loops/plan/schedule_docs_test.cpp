// The schedules and plans of docs/schedules.md are what the program prints for the files of examples/loops.
#include <gtest/gtest.h>

#include <regex>

#include "loops/plan/plan_testing.h"
#include "loops/plan/planned.h"

namespace lightline::loops::plan {
namespace {

TEST(ScheduleDocs, ShowWhatIsPrinted) {
  const std::string text = read_text(source_folder / "docs" / "schedules.md");
  static const std::regex block(
      "`lightline emit examples/loops/(\\w+)\\.lir --(schedule|plan)`[^\n]*\n```\n([^`]*)```\n");
  size_t count = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), block), end; match != end; ++match, ++count) {
    const Program program = parsed(read_text(source_folder / "examples" / "loops" / ((*match)[1].str() + ".lir")));
    const auto planned = plan_program(program);
    ASSERT_TRUE(planned.ok());
    const bool is_plan = (*match)[2] == "plan";
    EXPECT_EQ((*match)[3].str(), is_plan ? print(program, plan_of(*planned)) : print(program, schedule_of(*planned)));
  }
  EXPECT_EQ(count, 4u);
}

}  // namespace
}  // namespace lightline::loops::plan
