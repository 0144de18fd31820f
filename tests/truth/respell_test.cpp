// Respelled programs mean the same, and their tiers hold.
#include "truth/respell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/seed.h"
#include "truth/known.h"

namespace lightline::truth {
namespace {

void expect_same_meaning(bool wasteful) {
  SCOPED_TRACE(testing_support::seed_text());
  const RespellReport report = respell_all(testing_support::seed_of(3), 100, wasteful);
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  for (const std::string& rule : wasteful ? wasteful_rules() : neutral_rules())
    EXPECT_GE(report.rules.at(rule).second, 10u) << rule;
}

void expect_tiers_hold(bool wasteful) {
  const bool is_long = std::getenv("LIGHTLINE_LONG") != nullptr;
  SCOPED_TRACE(testing_support::seed_text());
  const RespellReport report = respell_all(testing_support::seed_of(4), is_long ? 5000 : 400, wasteful);
  std::vector<Known> found;
  std::set<std::string> sequences;
  for (const auto& [rule, counts] : report.rules) sequences.insert(rule);
  for (const auto& [rule, violations] : report.violations)
    for (const Known& one : as_found(rule, violations)) found.push_back(one);
  if (expect_known(found, sequences)) return;
  for (const auto& [rule, example] : report.examples)
    ADD_FAILURE() << rule << ": " << report.rules.at(rule).first << " of " << report.rules.at(rule).second << "\n"
                  << example;
}

TEST(TruthRespell, NeutralWordsMeanTheSame) { expect_same_meaning(false); }
TEST(TruthRespell, WastefulWordsMeanTheSame) { expect_same_meaning(true); }
TEST(TruthRespell, NeutralWordsMoveNoTier) { expect_tiers_hold(false); }
TEST(TruthRespell, WastefulWordsStayBelowTheCheapTruth) { expect_tiers_hold(true); }

// The programs of the documentation, at their own sizes.
TEST(TruthRespell, ExamplesKeepTheirTiers) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LIGHTLINE_SOURCE_DIR "/examples/loops"))
    if (entry.path().extension() == ".lir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  SCOPED_TRACE(testing_support::seed_text());
  const auto report = respell_files(files, testing_support::seed_of(5), 300);
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  for (const auto& [rule, example] : report->examples) ADD_FAILURE() << rule << "\n" << example;
}

}  // namespace
}  // namespace lightline::truth
