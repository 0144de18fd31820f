#include "report/run_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/report_testing.h"

namespace lightline::report {
namespace {

Tensor tensor(const std::vector<double>& values, DType dtype = DType::f32) {
  Tensor result(dtype, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_float(dtype))
      result.set_f64(int64_t(i), values[i]);
    else
      result.set_i64(int64_t(i), int64_t(values[i]));
  }
  return result;
}

RunReport small_report() {
  RunReport report{.file = "a \"quoted\"\nfile.lir", .program = "p", .backend = "interp", .seed = 7};
  report.inputs = {summarize("x", tensor({1, 2, 3}), "random")};
  report.outputs = {summarize("y", tensor({-1, 0.5, 2})), summarize("count", tensor({12}, DType::i64)),
                    summarize("none", tensor({}))};
  report.times_ms = {0.25};
  return report;
}

TEST(RunReport, SummariesHoldMeanLeastAndGreatest) {
  const TensorSummary s = summarize("x", tensor({4, -2, 1}), "x.npy");
  EXPECT_EQ(s.mean, 1);
  EXPECT_EQ(s.least, -2);
  EXPECT_EQ(s.greatest, 4);
  EXPECT_EQ(s.source, "x.npy");
  EXPECT_EQ(s.checksum.size(), 16);
  EXPECT_EQ(s.checksum.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(RunReport, AChecksumIsOfTheBytesAlone) {
  EXPECT_EQ(summarize("x", tensor({1, 2})).checksum, summarize("y", tensor({1, 2})).checksum);
  EXPECT_NE(summarize("x", tensor({1, 2})).checksum, summarize("x", tensor({2, 1})).checksum);
  EXPECT_NE(summarize("x", tensor({0.0})).checksum, summarize("x", tensor({-0.0})).checksum);
}

TEST(RunReport, ANanShowsInEveryFigureWhereverItStands) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& values : {std::vector{nan, 1.0, 2.0}, {1.0, nan, 2.0}, {1.0, 2.0, nan}}) {
    const TensorSummary s = summarize("x", tensor(values));
    EXPECT_TRUE(std::isnan(s.mean.value()));
    EXPECT_TRUE(std::isnan(s.least.value()));
    EXPECT_TRUE(std::isnan(s.greatest.value()));
  }
}

TEST(RunReport, EmptyAndComplexArraysLackFigures) {
  const TensorSummary empty = summarize("x", tensor({}));
  EXPECT_FALSE(empty.mean || empty.least || empty.greatest);
  Tensor complex(DType::c64, {2});
  complex.set_c128(0, {1, 5});
  complex.set_c128(1, {2, 6});
  const TensorSummary s = summarize("x", complex);
  EXPECT_EQ(s.mean, 1.5);
  EXPECT_FALSE(s.least || s.greatest);
}

TEST(RunReport, Times) {
  EXPECT_EQ(time_text(1234), "1.23 s");
  EXPECT_EQ(time_text(1000), "1 s");
  EXPECT_EQ(time_text(999), "999 ms");
  EXPECT_EQ(time_text(1.5), "1.5 ms");
  EXPECT_EQ(time_text(0.0123456), "12.3 us");
  EXPECT_EQ(time_text(0), "0 us");
}

TEST(RunReport, Table) {
  RunReport report = small_report();
  report.outputs[0].checksum = "0011223344556677";
  report.outputs[1].checksum = "8899aabbccddeeff";
  report.outputs[2].checksum = "0000000000000000";
  EXPECT_EQ(to_table(report),
            "program p, backend interp, seed 7\n"
            "output  type    checksum          mean  min  max\n"
            "y       f32[3]  0011223344556677   0.5   -1    2\n"
            "count   i64[1]  8899aabbccddeeff    12   12   12\n"
            "none    f32[0]  0000000000000000     -    -    -\n"
            "time 250 us\n");
  report.times_ms = {4, 1, 2, 8};
  report.compile_ms = 1500;
  EXPECT_TRUE(to_table(report).ends_with("time 1 ms (best of 4, median 3 ms), compiled in 1.5 s\n"));
  report.times_ms = {4, 1, 2};
  report.from_cache = true;
  EXPECT_TRUE(to_table(report).ends_with("time 1 ms (best of 3, median 2 ms), compiled in 1.5 s (cached)\n"));
}

TEST(RunReport, Json) {
  RunReport report = small_report();
  expect_document(to_json(report), "lightline.run", 1);
  const Json json = parsed(to_json(report));
  EXPECT_EQ(json["file"], "a \"quoted\"\nfile.lir");
  EXPECT_EQ(json["inputs"][0]["source"], "random");
  EXPECT_EQ(json["outputs"][0]["shape"], Json::array({3}));
  EXPECT_EQ(json["outputs"][0]["mean"], 0.5);
  EXPECT_FALSE(json["outputs"][0].contains("source"));
  EXPECT_TRUE(json["outputs"][2]["mean"].is_null());
  EXPECT_EQ(json["time_ms"]["runs"], Json::array({0.25}));
  EXPECT_FALSE(json.contains("compile"));
  report.compile_ms = 3;
  EXPECT_EQ(parsed(to_json(report))["compile"].dump(), R"({"time_ms":3.0,"from_cache":false})");
}

TEST(RunReport, NansAndInfinitiesStayJson) {
  const double inf = std::numeric_limits<double>::infinity();
  RunReport report = small_report();
  report.outputs = {summarize("nan", tensor({std::nan("")})), summarize("inf", tensor({inf, -inf}))};
  const Json json = parsed(to_json(report));
  EXPECT_EQ(json["outputs"][0]["mean"], "nan");
  EXPECT_EQ(json["outputs"][0]["min"], "nan");
  EXPECT_EQ(json["outputs"][1]["mean"], "nan");
  EXPECT_EQ(json["outputs"][1]["min"], "-inf");
  EXPECT_EQ(json["outputs"][1]["max"], "inf");
}

}  // namespace
}  // namespace lightline::report
