// The generator and the oracle on random programs, and the tiers against all of them.
#include "truth/fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/seed.h"
#include "truth/found.h"
#include "truth/known.h"

namespace lightline::truth {
namespace {

std::vector<std::string> found_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LIGHTLINE_SOURCE_DIR "/tests/truth/found"))
    if (entry.path().extension() == ".lir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(TruthFuzz, MeaningIsTheInterpreters) {
  for (const std::string& kind : Generator::kinds()) {
    SCOPED_TRACE(kind + ", " + testing_support::seed_text());
    const FuzzReport report =
        fuzz({.seed = testing_support::seed_of(1), .count = 20, .kind = kind, .interpret_every = 1});
    EXPECT_EQ(report.checked_by_interpreter, 20u);
    EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  }
}

TEST(TruthFuzz, TiersHold) {
  const bool is_long = std::getenv("LIGHTLINE_LONG") != nullptr;
  SCOPED_TRACE(testing_support::seed_text());
  const FuzzReport report = fuzz({.seed = testing_support::seed_of(2), .count = is_long ? 20000u : 3000u});
  EXPECT_TRUE(report.faults.empty()) << report.faults.front();
  EXPECT_TRUE(report.broken_orders.empty()) << report.broken_orders.front();
  if (expect_known(as_found("fuzz", report.violations), {"fuzz"})) return;
  for (const auto& [construct, find] : report.finds)
    ADD_FAILURE() << construct << "\n" << found_text(minimised(find, "", construct), construct);
}

TEST(TruthFound, HeadersSayTheTruth) {
  EXPECT_GE(found_files().size(), 75u);
  for (const std::string& file : found_files()) {
    SCOPED_TRACE(file);
    const auto found = load_found(file);
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    const auto truth = truth_of(found->subject);
    ASSERT_TRUE(truth.ok()) << to_string(truth.error());
    EXPECT_EQ(found->limits.at("truth").at("input_bytes"), truth->input_bytes + truth->constant_bytes);
    EXPECT_EQ(found->limits.at("truth").at("output_bytes"), truth->output_bytes);
    for (const bool floor : {true, false})
      for (const auto& [resource, limit] : limits_of(*truth, floor)) {
        const auto& said = found->limits.at(floor ? "floor" : "fused");
        if (!said.contains(resource)) continue;
        EXPECT_NEAR(said.at(resource), limit, 1e-6 * limit) << resource;
      }
  }
}

TEST(TruthFound, TiersHold) {
  for (const std::string& file : found_files()) {
    SCOPED_TRACE(file);
    const auto found = load_found(file);
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    const auto verdict = judge(found->subject);
    ASSERT_TRUE(verdict.ok()) << to_string(verdict.error());
    EXPECT_TRUE(verdict->violations.empty()) << to_string(*verdict);
  }
}

}  // namespace
}  // namespace lightline::truth
