#include "report/import_report.h"

#include <gtest/gtest.h>

#include "report/report_testing.h"
#include "support/programs.h"

namespace lightline::report {
namespace {

constexpr const char* text = "program p(x: f32[4]) -> (y) {\n  y: f32[4] = for i: x[i] + 1\n}\n";

ops::Lowered lowered() {
  return {testing_support::program_of(text), {{"custom.op", 1}}, {{"add", 2}, {"relu", 5}}, {"s0 is 4"}, {0}};
}

Error refused() { return {ErrorCode::unsupported, "no \"such\" thing", "", {}}; }

TEST(ImportReport, StatisticsAddUp) {
  ImportStats stats;
  stats.add({1, "one", "", ""}, lowered());
  stats.add({2, "two", "", ""}, refused());
  stats.add({3, "three", "", ""}, lowered());
  EXPECT_EQ(to_text(stats, "corpus.jsonl", "core"),
            "corpus.jsonl (core form): 2 of 3 programs imported\n"
            "16 operator calls, 3 distinct operators, 87.50 % of the calls defined; 2 statements\n"
            "2 calls of 1 operators that can not be run\n"
            "\n"
            "not executable  calls\n"
            "custom.op           2\n"
            "\n"
            "operator  calls\n"
            "relu         10\n"
            "add           4\n"
            "failed: two: no \"such\" thing\n");
  const std::string json = to_json(stats, "corpus.jsonl", "core");
  expect_document(json, "lightline.import_stats", 2);
  EXPECT_EQ(parsed(json)["imported"], 2);
  EXPECT_EQ(parsed(json)["calls"].dump(), R"({"add":4,"relu":10})");
  EXPECT_EQ(parsed(json)["failures"][0], "two: no \"such\" thing");
}

TEST(ImportReport, NoCallsAreAllDefined) {
  EXPECT_EQ(to_text(ImportStats{}, "empty.jsonl", "training"),
            "empty.jsonl (training form): 0 of 0 programs imported\n"
            "0 operator calls, 0 distinct operators, 100.00 % of the calls defined; 0 statements\n"
            "all operators can be run\n");
}

TEST(ImportReport, ALineIsOneDocumentOnOneLine) {
  const std::string line = import_line({1, "one\nmore", "", R"("problem":"x","sol_ms":1.5)"}, lowered(), true);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  expect_document(line, "lightline.import", 2);
  const Json json = parsed(line);
  EXPECT_EQ(json["program"], "one\nmore");
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["loops"], text);
  EXPECT_EQ(json["sol_ms"], 1.5);
  EXPECT_FALSE(parsed(import_line({1, "one", "", ""}, lowered(), false)).contains("loops"));
}

TEST(ImportReport, WhatIsCarriedReplacesNothing) {
  const Json json = parsed(import_line({1, "one", "", R"("ok":true,"program":"other")"}, refused(), true));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["program"], "one");
  EXPECT_EQ(json["error"], "no \"such\" thing");
}

TEST(ImportReport, WhatIsCarriedAndIsNotJsonIsLeftOut) {
  EXPECT_EQ(import_line({1, "one", "", "\"cut"}, lowered(), false), import_line({1, "one", "", ""}, lowered(), false));
}

}  // namespace
}  // namespace lightline::report
