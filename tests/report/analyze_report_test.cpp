#include "report/analyze_report.h"

#include <gtest/gtest.h>

#include "bound/tiny_machine.h"
#include "report/report_testing.h"
#include "support/programs.h"

namespace lightline::report {
namespace {

// A program, what it needs and what that takes, together: a report points into them.
struct Analysed {
  loops::Program program;
  demand::Analysis analysis;
  machine::Machine machine = testing_support::tiny_machine();
  AnalyzeReport report;

  explicit Analysed(const std::string& text) {
    program = testing_support::program_of(text);
    analysis = demand::analyze(program);
    report.program = "layer";
    report.loops = &program;
    report.analysis = &analysis;
    report.machine = &machine;
    report.bounds = bound::bound(analysis, machine, report.options);
  }
  Analysed(const Analysed&) = delete;
  Analysed& operator=(const Analysed&) = delete;

  Json json(size_t top = 10, const std::string& carried = "") const {
    return parsed(to_json(report, top, carried, true));
  }
};

constexpr const char* layer =
    "program p(x: f16[100, 300], w: f16[300, 200]) -> (y) {\n"
    "  h: f16[100, 200] = for i, j: sum k in 300: x[i, k] * w[k, j]\n"
    "  y: f16[100, 200] = for i, j: exp(h[i, j]) + 1\n}";

constexpr const char* sorting =
    "program p(x: f32[64]) -> (v, y) {\n"
    "  (v: f32[64], i: i64[64]) = opaque sort(x)\n"
    "  y: f32[64] = for i: x[i] + 1\n}";

TEST(AnalyzeReport, Text) {
  Analysed a(layer);
  a.report.measured_ms = 0.01;
  a.report.assumptions = {"the weather is fine"};
  EXPECT_EQ(
      to_text(a.report, 10),
      "layer: this arithmetic can not run faster than 3.33 us on Tiny: matrix f16 is the limit.\n"
      "Operator by operator it can not run faster than 4.33 us, 1.30 times that: fusion is worth up to that much.\n"
      "No implementation at all, on whatever data suit it best, can beat 2.19 us, the time of its bytes alone.\n"
      "Measured 10 us: 3.00 times the limit, 33.3 % of the speed of light.\n"
      "\n"
      "tier        time   bytes  meaning\n"
      "unfused  4.33 us  300 kB  each operator as a perfect kernel of its own\n"
      "fused    3.33 us  220 kB  one kernel, each input and output moved once\n"
      "floor    3.19 us  220 kB  any implementation, on the data that suit it best\n"
      "\n"
      "work: 6 MMAC, 0 vector operations, 20 k transcendentals; 27.27 MAC per byte (ridge 18); math tf32\n"
      "\n"
      "operator  calls     time   share  limit           MAC   bytes  einsum\n"
      "h             1  3.33 us  76.9 %  matrix f16      6 M  220 kB  AB,BC->AC\n"
      "y             1     1 us  23.1 %  transcendental   0    80 kB  AC->AC\n"
      "assumption: the weather is fine\n");
}

TEST(AnalyzeReport, TextListsTheSlowestOnly) {
  const Analysed a(layer);
  const std::string text = to_text(a.report, 1);
  EXPECT_NE(text.find("\nh "), std::string::npos) << text;
  EXPECT_EQ(text.find("\ny "), std::string::npos) << text;
  EXPECT_NE(text.find("... and 1 more\n"), std::string::npos) << text;
}

TEST(AnalyzeReport, OpaqueOperatorsAreNamedWithTheirShare) {
  const Analysed a(sorting);
  const std::string text = to_text(a.report, 10);
  EXPECT_NE(text.find("opaque operators: 50.0 % of operators, "), std::string::npos) << text;
  EXPECT_NE(text.find("opaque: sort (1 times), priced by bytes only\n"), std::string::npos) << text;
  const Json json = a.json();
  EXPECT_EQ(json["opaque"].dump(), R"({"sort":1})");
  EXPECT_EQ(json["opaque_share"]["ops"], 0.5);
  EXPECT_EQ(json["opaque_share"]["bytes"], 0.5) << "256 in and out for both, and no positions, which nothing takes";
}

TEST(AnalyzeReport, Json) {
  Analysed a(layer);
  a.report.measured_ms = 0.01;
  a.report.assumptions = {"a \"quoted\" one"};
  expect_document(to_json(a.report, 10, "", true), "lightline.analyze", 2);
  const Json json = a.json();
  EXPECT_EQ(json["program"], "layer");
  EXPECT_EQ(json["arch"], "Tiny");
  EXPECT_EQ(json["clock_hz"], 1e9);
  EXPECT_EQ(json["math"], "tf32");
  EXPECT_EQ(json["ops"], 2);
  EXPECT_EQ(json["macs"].dump(), R"({"f16":6000000.0})");
  EXPECT_EQ(json["bytes"]["fused"], 220'000);
  EXPECT_EQ(json["bytes"]["unfused"], 300'000);
  EXPECT_DOUBLE_EQ(json["bounds_ms"]["fused"].get<double>(), 1e3 * 6e6 / 1.8e12);
  EXPECT_DOUBLE_EQ(json["headroom"].get<double>(), 3);
  EXPECT_EQ(json["binding"], "matrix f16");
  EXPECT_EQ(json["operators"].size(), 2);
  EXPECT_EQ(json["operators"][0]["name"], "h");
  EXPECT_EQ(json["operators"][0]["class"], "contraction");
  EXPECT_EQ(json["operators"][0]["einsum"], "AB,BC->AC");
  EXPECT_EQ(json["assumptions"][0], "a \"quoted\" one");
  EXPECT_EQ(a.json(1)["operators"].size(), 1);
}

// Tiers have the same names everywhere, and those that there are not yet have no key.
TEST(AnalyzeReport, NamesOfTiersAndKeysThatDoNotApply) {
  const Analysed a(layer);
  const Json json = a.json();
  for (const char* key : {"bytes", "bounds_ms"}) {
    std::vector<std::string> names;
    for (const auto& [name, value] : json[key].items()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"floor", "fused", "unfused"})) << key;
  }
  for (const char* absent : {"measured_ms", "headroom", "explain", "demand"})
    EXPECT_FALSE(json.contains(absent)) << absent;
}

constexpr const char* first_row =
    "program p(x: f32[10, 30], w: f32[30, 20]) -> (y) {\n"
    "  h: f32[10, 20] = for i, j: sum k in 30: x[i, k] * w[k, j]\n"
    "  y: f32[20] = for j: h[0, j] + 1\n}";

TEST(AnalyzeReport, WrittenAndNeeded) {
  const Analysed a(first_row);
  const std::string text = to_text(a.report, 10);
  EXPECT_NE(
      text.find("products: 6 k written, 600 needed: 5.4 k not used by any output, or hidden by a mask (h, 90 % of "
                "it)\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(a.json()["written"].dump(),
            R"({"macs":6000.0,"needed":600.0,"reasons":[{"reason":"not_used","macs":5400.0,"operators":)"
            R"([{"name":"h","calls":1,"macs":5400.0,"written":6000.0}]}]})");
  EXPECT_EQ(to_text(Analysed(layer).report, 10).find("written"), std::string::npos);
}

TEST(AnalyzeReport, WhereBoundsGaveUp) {
  Analysed exact(layer);
  exact.report.explain = true;
  EXPECT_NE(to_text(exact.report, 10).find("\ngiven up: nothing\n"), std::string::npos);
  EXPECT_EQ(exact.json()["explain"], Json::array());
  Analysed a("program p(x: f32[64], w: f32[8]) -> (y) { y: f32[8] = for p: sum r in 8: x[2 * p + 3 * r] * w[r] }");
  EXPECT_EQ(to_text(a.report, 10).find("given up"), std::string::npos);
  a.report.explain = true;
  const std::string text = to_text(a.report, 10);
  EXPECT_NE(text.find("\ngiven up in  times  at most MAC  at most bytes  what\n"), std::string::npos) << text;
  EXPECT_NE(text.find("by each line alone.\n"), std::string::npos) << text;
  const Json json = a.json();
  ASSERT_FALSE(json["explain"].empty());
  for (const Json& one : json["explain"]) {
    EXPECT_EQ(one["operator"], "y");
    EXPECT_EQ(one["unknown"], false);
    EXPECT_GT(one["bytes_at_most"], 0);
  }
  EXPECT_EQ(json["given_up"], Json::array());
}

TEST(AnalyzeReport, DemandOfEveryTerm) {
  Analysed a(first_row);
  a.analysis = demand::analyze(a.program, {}, true);
  a.report.demand = true;
  const std::string text = to_text(a.report, 10);
  EXPECT_NE(text.find("\nterm  kind    operator  arrays  elements  MAC  "), std::string::npos) << text;
  const Json json = a.json();
  ASSERT_GE(json["demand"].size(), 4);  // x, w, h and y
  for (const Json& term : json["demand"]) {
    if (term["kind"] != "reduce") continue;
    EXPECT_EQ(term["arrays"].dump(), R"(["h"])");
    EXPECT_EQ(term["elements"], 20);
    EXPECT_EQ(term["work"]["macs"].dump(), R"({"f32":600.0})");
    EXPECT_EQ(term["reads"].size(), 2);
  }
}

TEST(AnalyzeReport, ALineIsOneDocumentOnOneLine) {
  Analysed a(layer);
  a.report.program = "two\nlines and \xff";
  const std::string line = to_json(a.report, 10, R"("sol_ms":1.5,"arch":"another")", false);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  expect_document(line, "lightline.analyze", 2);
  EXPECT_EQ(parsed(line)["sol_ms"], 1.5);
  EXPECT_EQ(parsed(line)["arch"], "Tiny") << "what is carried replaces nothing";
}

TEST(AnalyzeReport, WhatIsCarriedAndIsNotJsonIsLeftOut) {
  const Analysed a(layer);
  EXPECT_EQ(a.json(10, "\"cut"), a.json(10));
}

TEST(AnalyzeReport, NothingToDo) {
  Analysed a("program p(x: f32[8]) -> (x) { }");
  const std::string text = to_text(a.report, 10);
  EXPECT_TRUE(text.starts_with("layer: this arithmetic can not run faster than 0 us on Tiny: nothing is the limit.\n"))
      << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  a.report.measured_ms = 1;
  const Json json = a.json();
  EXPECT_EQ(json["bounds_ms"]["fused"], 0);
  EXPECT_EQ(json["bounds_ms"]["unfused"], 0);
  EXPECT_FALSE(json.contains("headroom")) << "there is no ratio to a time of 0";
}

TEST(AnalyzeReport, NansAndInfinitiesStayJson) {
  Analysed a(layer);
  a.report.bounds.fused.ms = std::numeric_limits<double>::infinity();
  a.report.bounds.intensity = std::nan("");
  a.report.measured_ms = 1;
  EXPECT_EQ(a.json()["program"], "layer");
}

}  // namespace
}  // namespace lightline::report
