#include "report/validate_report.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/report_testing.h"

namespace lightline::report {
namespace {

ValidatedOutput agreeing(double absolute, double relative) {
  return {
      "y", DType::f32, {2, 3}, {.agree = true, .worst_absolute = absolute, .worst_relative = relative, .reason = ""}};
}

ValidatedOutput differing() {
  const double inf = std::numeric_limits<double>::infinity();
  return {"z",
          DType::i64,
          {},
          {.agree = false, .worst_absolute = inf, .worst_relative = std::nan(""), .reason = "3, not 4"}};
}

TEST(ValidateReport, AgreesOnlyIfSomethingRanAndAllOfItAgrees) {
  EXPECT_FALSE(ValidateReport{}.agrees()) << "nothing was run";
  EXPECT_FALSE((ValidatedRun{"core", "c", "", {}}.agrees())) << "nothing was compared";
  EXPECT_FALSE((ValidatedRun{"core", "c", "no compiler", {agreeing(0, 0)}}.agrees()));
  EXPECT_FALSE((ValidatedRun{"core", "c", "", {agreeing(0, 0), differing()}}.agrees()));
  EXPECT_TRUE((ValidatedRun{"core", "c", "", {agreeing(0, 0)}}.agrees()));
  const ValidatedRun good{"core", "c", "", {agreeing(0, 0)}}, bad{"core", "c", "no compiler", {}};
  EXPECT_TRUE((ValidateReport{"p", 0, {good, good}}.agrees()));
  EXPECT_FALSE((ValidateReport{"p", 0, {good, bad}}.agrees()));
}

TEST(ValidateReport, Table) {
  const ValidateReport report{
      "model.py",
      3,
      {{"training", "interp", "", {agreeing(1.5e-7, 0.25), differing()}}, {"core", "c", "there is no C compiler", {}}}};
  EXPECT_EQ(to_table(report),
            "model.py: does not agree with the framework (seed 3)\n"
            "form      backend  output  type       worst absolute  worst relative  verdict\n"
            "training  interp   y       f32[2, 3]         1.5e-07            0.25  agrees\n"
            "training  interp   z       i64[]                 inf             nan  differs\n"
            "training form, interp, z: 3, not 4\n"
            "core form, c: there is no C compiler\n");
}

TEST(ValidateReport, Summary) {
  const ValidatedRun good{"core", "interp", "", {agreeing(0, 0)}};
  EXPECT_EQ(to_summary({"model.py", 0, {good}}), "model.py: agrees with the framework (seed 0)");
  EXPECT_EQ(to_summary({"model.py", 3, {good, {"core", "c", "", {agreeing(0, 0), differing()}}}}),
            "model.py: does not agree with the framework (seed 3)\ncore form, c, z: 3, not 4");
}

TEST(ValidateReport, Json) {
  const ValidateReport report{"a\\b\".py", 3, {{"training", "interp", "", {agreeing(0, 0.25), differing()}}}};
  expect_document(to_json(report), "lightline.validate", 1);
  const Json json = parsed(to_json(report));
  EXPECT_EQ(json["program"], "a\\b\".py");
  EXPECT_EQ(json["agrees"], false);
  const Json& outputs = json["runs"][0]["outputs"];
  EXPECT_EQ(outputs[0].dump(),
            R"({"name":"y","type":"f32[2, 3]","agrees":true,"worst_absolute":0.0,"worst_relative":0.25})");
  EXPECT_EQ(
      outputs[1].dump(),
      R"({"name":"z","type":"i64[]","agrees":false,"worst_absolute":"inf","worst_relative":"nan","reason":"3, not 4"})");
}

}  // namespace
}  // namespace lightline::report
