// Text in messages: whatever it holds, a message is one line of UTF-8 that no terminal obeys.
#include "base/shown.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_string.h"
#include "base/nearest.h"

namespace lightline {
namespace {

TEST(Shown, EscapesControlCharacters) {
  EXPECT_EQ(escaped("a\nb\tc\r\x1B[2J\x7F"), "a\\x0ab\\x09c\\x0d\\x1b[2J\\x7f");
  EXPECT_EQ(escaped("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xC2\xA0");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(escaped(""), "");
}

TEST(Shown, EscapesWhatIsNoText) {
  EXPECT_EQ(escaped("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(escaped("\x80z"), "\\x80z");
  EXPECT_EQ(escaped("\xC3"), "\\xc3");
  EXPECT_EQ(escaped("\xE2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(escaped("\xC0\xAF"), "\\xc0\\xaf");                    // too long for what it says
  EXPECT_EQ(escaped("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above the last character
  EXPECT_EQ(escaped("\xFF\xFE"), "\\xff\\xfe");
}

TEST(Shown, FindsTheEndOfText) {
  EXPECT_EQ(utf8_bytes(""), 0u);
  EXPECT_EQ(utf8_bytes("a\n\xC3\xA4"), 4u);
  EXPECT_EQ(utf8_bytes("a\xC3\xA4\xC3"), 3u);
  EXPECT_EQ(utf8_bytes("\xFF"), 0u);
}

TEST(Shown, CutsBetweenCharacters) {
  EXPECT_EQ(shown("abc", 3), "abc");
  EXPECT_EQ(shown("abcd", 3), "abc...");
  EXPECT_EQ(shown("ab\xC3\xA4z", 3), "ab\xC3\xA4...");
  EXPECT_EQ(shown("\n\n\n", 2), "\\x0a\\x0a...");
}

TEST(Shown, ErrorsAreLinesOfTheirOwn) {
  const Error error{ErrorCode::io, "no 'a\nerror: all is well'", "look\n at \xFF", {"file\nhint: x\xC2\x9B", 3, 4}};
  EXPECT_EQ(to_string(error),
            "file\\x0ahint: x\\xc2\\x9b:3:4: error: no 'a\\x0aerror: all is well'\n  hint: look\\x0a at \\xff");
}

TEST(Shown, JsonStringsAreEscaped) {
  EXPECT_EQ(json_string("a\"b\\c\n\x1F \xC3\xA4"), "\"a\\\"b\\\\c\\u000a\\u001f \xC3\xA4\"");
}

TEST(Nearest, NamesAllThatAreEquallyNear) {
  const std::vector<std::string> names = {"H20", "H200", "B200", "warm", "backward"};
  EXPECT_EQ(did_you_mean("h201", names), "did you mean 'H20' or 'H200'?");
  EXPECT_EQ(did_you_mean("H200", names), "did you mean 'H200'?");
  EXPECT_EQ(did_you_mean("wram", names), "did you mean 'warm'?");
  EXPECT_EQ(did_you_mean("form", names), "");
  EXPECT_EQ(did_you_mean("backwrads", names), "did you mean 'backward'?");
  EXPECT_EQ(did_you_mean("backkwrads", names), "");
}

}  // namespace
}  // namespace lightline
