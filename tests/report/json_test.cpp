#include "report/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/report_testing.h"

namespace lightline::report {
namespace {

TEST(ReportJson, ADocumentNamesItsSchemaAndVersionFirst) {
  Json json = document("lightline.test", 3);
  json["a_key_that_sorts_first"] = 1;
  EXPECT_EQ(to_text(json),
            "{\n  \"schema\": \"lightline.test\",\n  \"version\": 3,\n  \"a_key_that_sorts_first\": 1\n}\n");
}

TEST(ReportJson, NumbersThatJsonLacksAreWords) {
  const double inf = std::numeric_limits<double>::infinity();
  Json json = Json::array({number(std::numeric_limits<double>::quiet_NaN()), number(inf), number(-inf), number(1.5),
                           number(-0.0), number(std::numeric_limits<double>::max())});
  EXPECT_EQ(json.dump(), R"(["nan","inf","-inf",1.5,-0.0,1.7976931348623157e+308])");
  EXPECT_EQ(parsed(to_text(json)), json);
}

TEST(ReportJson, TextIsEscaped) {
  Json json;
  json["quote\" and \\"] = "line\nend, tab\t, bell\x07, µ";
  const std::string text = to_text(json);
  EXPECT_EQ(text, "{\n  \"quote\\\" and \\\\\": \"line\\nend, tab\\t, bell\\u0007, µ\"\n}\n");
  EXPECT_EQ(parsed(text), json);
}

TEST(ReportJson, BytesThatAreNotTextAreReplaced) {
  EXPECT_EQ(to_text(Json("a\xff z")), "\"a\xEF\xBF\xBD z\"\n");
  parsed(to_text(Json(std::string("\xC3"))));  // cut in the middle of a character
}

}  // namespace
}  // namespace lightline::report
