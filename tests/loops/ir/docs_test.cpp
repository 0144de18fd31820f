// The worked programs of docs/loop-ir.md are the files of examples/loops: valid, canonical, and executable.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"

namespace lightline::loops {
namespace {

namespace fs = std::filesystem;

const fs::path root = LIGHTLINE_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, std::string> example_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(root / "examples" / "loops")) {
    if (entry.path().extension() == ".lir") files[entry.path().stem().string()] = read(entry.path());
  }
  return files;
}

// Fenced blocks that are programs, by the file that the line before them names.
std::map<std::string, std::string> documented_programs() {
  const std::string text = read(root / "docs" / "loop-ir.md");
  static const std::regex block("\\[`(\\w+)\\.lir`\\]\\([^)\n]*\\)\n```\n(program [^`]*)```\n");
  std::map<std::string, std::string> programs;
  for (std::sregex_iterator match(text.begin(), text.end(), block), end; match != end; ++match) {
    programs[(*match)[1]] = (*match)[2];
  }
  return programs;
}

size_t program_block_count() {
  const std::string text = read(root / "docs" / "loop-ir.md");
  static const std::regex start("\n```\nprogram \\w+\\(");
  return size_t(std::distance(std::sregex_iterator(text.begin(), text.end(), start), std::sregex_iterator()));
}

TEST(Docs, WorkedProgramsEqualTheExampleFiles) {
  const auto programs = documented_programs();
  EXPECT_EQ(programs.size(), 12u);
  EXPECT_EQ(program_block_count(), programs.size()) << "a program block does not name its file";
  EXPECT_EQ(programs, example_files());
}

TEST(Docs, ExamplesAreValidAndCanonical) {
  for (const auto& [name, text] : example_files()) {
    const auto program = parse_and_verify(text, name + ".lir");
    ASSERT_TRUE(program.ok()) << to_string(program.error());
    EXPECT_EQ(print(*program), text);
  }
}

TEST(Docs, ExamplesRun) {
  for (const auto& [name, text] : example_files()) {
    const auto program = parse_and_verify(text, name + ".lir");
    ASSERT_TRUE(program.ok()) << to_string(program.error());
    std::vector<Tensor> inputs;
    for (const ArrayId id : program->inputs) {
      const Array& array = program->arrays[id];
      inputs.push_back(random_tensor(array.dtype, array.shape, inputs.size()));
    }
    const auto outputs = interpret(*program, inputs);
    ASSERT_TRUE(outputs.ok()) << name << ": " << to_string(outputs.error());
    EXPECT_EQ(outputs->size(), program->outputs.size());
  }
}

}  // namespace
}  // namespace lightline::loops
