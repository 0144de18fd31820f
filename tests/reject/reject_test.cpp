// Every *.test here is a program that must be rejected: its text, a line `error`, and the exact error in words.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "loops/ir/parse.h"
#include "support/text_cases.h"

namespace lightline::loops {
namespace {

const std::filesystem::path folder = std::filesystem::path(LIGHTLINE_SOURCE_DIR) / "tests" / "reject";

struct Rejected {
  std::string text;
  std::string error;
};

Rejected load_rejected(const std::string& name) {
  std::ifstream file(folder / (name + ".test"), std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::string marker = "error\n";
  size_t at = content.rfind("\n" + marker);
  at = at == std::string::npos ? 0 : at + 1;  // an empty program has no line before the marker
  Rejected rejected{content.substr(0, at), content.substr(std::min(content.size(), at + marker.size()))};
  if (!rejected.error.empty() && rejected.error.back() == '\n') rejected.error.pop_back();
  return rejected;
}

std::vector<std::string> rejected_names() { return testing_support::case_names(folder); }

class RejectedPrograms : public testing::TestWithParam<std::string> {};

TEST_P(RejectedPrograms, SaysWhatIsWrong) {
  const Rejected rejected = load_rejected(GetParam());
  const auto program = parse_and_verify(rejected.text, "input");
  ASSERT_FALSE(program.ok()) << "the program is accepted";
  EXPECT_EQ(to_string(program.error()), rejected.error);
  // The command line ends with 3 for internal errors and with 2 for all others.
  EXPECT_NE(program.error().code, ErrorCode::internal);
}

INSTANTIATE_TEST_SUITE_P(Reject, RejectedPrograms, testing::ValuesIn(rejected_names()),
                         [](const auto& test) { return test.param; });

TEST(RejectedCorpus, HoldsManyPrograms) { EXPECT_GE(rejected_names().size(), 110u); }

}  // namespace
}  // namespace lightline::loops
