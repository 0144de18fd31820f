// What the tests of reports share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "report/json.h"

namespace lightline::report {

// The document that a text holds; the test fails if the text is not JSON.
inline Json parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

inline void expect_document(std::string_view text, std::string_view schema, int version) {
  const Json json = parsed(text);
  ASSERT_TRUE(json.is_object()) << text;
  EXPECT_EQ(json.begin().key(), "schema") << text;
  EXPECT_EQ(std::next(json.begin()).key(), "version") << text;
  EXPECT_EQ(json["schema"], schema);
  EXPECT_EQ(json["version"], version);
}

}  // namespace lightline::report
