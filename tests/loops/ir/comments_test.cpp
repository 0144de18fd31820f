// Comments survive formatting: none is lost, none overtakes another, and canonical text with comments stays as it is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "loops/ir/parse.h"
#include "loops/ir/print.h"

namespace lightline::loops {
namespace {

namespace fs = std::filesystem;

const fs::path root = LIGHTLINE_SOURCE_DIR;

using Lines = std::vector<std::string>;

// The program of a .lir or .test file.
std::string program_text(const fs::path& path) {
  std::ifstream file(path);
  std::string text, line;
  while (std::getline(file, line)) {
    if (text.empty() && line.compare(0, 8, "program ") != 0) continue;
    text += line + "\n";
    if (line == "}") break;
  }
  return text;
}

// Nested blocks, groups (one of them without statements), and every place where a line can end.
const char* const nested = R"(program nested(x: f32[4], h0: f32[4]) -> (h) {
  @ "first"
  a: f32[4] = for i: x[i] + 1
  @ "nothing"
  @ "second"
  (h: f32[4], hs: f32[3, 4]) = repeat t in 3 carry (outer = h0) {
    @ "inner"
    b: f32[4] = for i: outer[i] * a[i]
    c: f32[4] = repeat u in 2 carry (last = b) {
      next: f32[4] = for i: last[i] - 1
      yield (next)
    }
    yield (c, stack b)
  }
  @ "at the end"
}
)";

std::map<std::string, std::string> programs() {
  std::map<std::string, std::string> texts{{"nested", nested}};
  for (const fs::path& folder : {root / "examples/loops", root / "tests/loops/programs"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".lir" || entry.path().extension() == ".test")
        texts[entry.path().filename().string()] = program_text(entry.path());
  return texts;
}

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What stands after each # outside of strings.
Lines comments_of(const std::string& text) {
  Lines comments;
  for (const std::string& line : lines_of(text)) {
    bool in_string = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') in_string = !in_string;
      if (line[i] != '#' || in_string) continue;
      comments.push_back(line.substr(i));
      break;
    }
  }
  return comments;
}

std::string formatted(const std::string& text) {
  const auto program = parse(text, "text");
  EXPECT_TRUE(program.ok()) << to_string(program.error()) << "\n" << text;
  return program.ok() ? print(*program) : "";
}

std::string without_comments(const std::string& text) {
  auto program = parse(text, "text");
  EXPECT_TRUE(program.ok()) << to_string(program.error()) << "\n" << text;
  program->comments.clear();
  return print(*program);
}

void expect_comments_survive(const std::string& text) {
  const std::string once = formatted(text);
  EXPECT_EQ(comments_of(once), comments_of(text)) << text;
  EXPECT_EQ(formatted(once), once);
  EXPECT_EQ(without_comments(once), without_comments(text));
}

std::string indent_of(const std::string& line) {
  const bool closes = line.find_first_not_of(' ') != std::string::npos && line[line.find_first_not_of(' ')] == '}';
  return std::string(line.find_first_not_of(' ') + (closes ? 2 : 0), ' ');
}

TEST(Comments, CanonicalTextStaysAsItIs) {
  for (const auto& [name, text] : programs()) {
    SCOPED_TRACE(name);
    const Lines lines = lines_of(without_comments(text));
    std::string before, after, both;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string number = std::to_string(i);
      const std::string own_line = indent_of(lines[i]) + "# before " + number + "\n" + indent_of(lines[i]) + "#\n";
      before += own_line + lines[i] + "\n";
      after += lines[i] + (i % 3 == 0 ? "  #\n" : "  # after " + number + "\n");
      both += own_line + lines[i] + "  # after " + number + "\n";
    }
    for (const std::string& commented : {before, after, both, both + "# the end\n"}) {
      EXPECT_EQ(formatted(commented), commented);
      EXPECT_EQ(without_comments(commented), without_comments(text));
    }
  }
}

TEST(Comments, AtAnyOneLine) {
  for (const auto& [name, text] : programs()) {
    SCOPED_TRACE(name);
    const Lines lines = lines_of(text);
    for (size_t at = 0; at <= lines.size(); ++at) {
      std::string own_line, trailing;
      for (size_t i = 0; i < lines.size(); ++i) {
        own_line += (i == at ? "# here\n" : "") + lines[i] + "\n";
        trailing += lines[i] + (i == at ? " # here\n" : "\n");
      }
      expect_comments_survive(at == lines.size() ? own_line + "# here" : own_line);
      expect_comments_survive(trailing);
    }
  }
}

TEST(Comments, BetweenAnyTwoWords) {
  for (const auto& [name, text] : programs()) {
    SCOPED_TRACE(name);
    std::string commented = "# start\n";
    bool in_string = false, in_comment = false;
    int number = 0;
    for (const char c : text) {
      if (c == '"' && !in_comment) in_string = !in_string;
      in_comment = c != '\n' && (in_comment || (c == '#' && !in_string));
      commented += c;
      if (c != ' ' || in_string || in_comment) continue;
      commented += "# same line " + std::to_string(number) + "\n# own line " + std::to_string(number) + "\n";
      ++number;
    }
    expect_comments_survive(commented + "# end");
  }
}

TEST(Comments, InsideAStatementMoveBeforeIt) {
  EXPECT_EQ(
      formatted("program p(x: f32[2]) -> (y) {\n  # one\n  y: f32[2] = # two\n    # three\n    for i: x[i] # four\n}"),
      "program p(x: f32[2]) -> (y) {\n  # one\n  # two\n  # three\n  y: f32[2] = for i: x[i]  # four\n}\n");
}

TEST(Comments, OfAGroupWithoutStatementsStay) {
  EXPECT_EQ(formatted("program p(x: f32[]) -> (x) { # a\n# b\n@ \"g\" # c\n# d\n@ # e\n\"h\" # f\n} # g\n# h"),
            "program p(x: f32[]) -> (x) {  # a\n  # b\n  # c\n  # d\n  # e\n  # f\n}  # g\n# h\n");
}

}  // namespace
}  // namespace lightline::loops
