// Programs for tests of schedules and plans: the examples, and the cases of tests/loops/programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "loops/ir/parse.h"
#include "loops/plan/schedule_check.h"

namespace lightline::loops::plan {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline const std::filesystem::path source_folder = LIGHTLINE_SOURCE_DIR;

// By name; a case's program runs from its head to the closing brace at the start of a line.
inline std::map<std::string, std::string> program_texts() {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "examples" / "loops"))
    if (entry.path().extension() == ".lir") texts["example_" + entry.path().stem().string()] = read_text(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests" / "loops" / "programs")) {
    if (entry.path().extension() != ".test") continue;
    const std::string text = "\n" + read_text(entry.path());
    const size_t from = text.find("\nprogram "), to = text.find("\n}\n", from);
    texts[entry.path().stem().string()] = text.substr(from + 1, to + 3 - from - 1);
  }
  return texts;
}

inline Program parsed(const std::string& text) {
  auto program = parse_and_verify(text, "program");
  EXPECT_TRUE(program.ok()) << to_string(program.error()) << "\n" << text;
  return program.ok() ? std::move(program).value() : Program{};
}

// Every live statement a kernel of its own, with the loops of its text, a scan outermost; nothing is folded.
inline Schedule unfused_schedule(const Program& program) {
  const StatementTable table(program);
  const ArrayUses uses = find_uses(program);
  Schedule schedule;
  for (StatementId id = 0; id < table.size(); ++id) {
    if (is_dead(table, uses, id) || needs_no_kernel(program, table, id)) continue;
    ScheduledKernel& kernel = schedule.kernels.emplace_back();
    kernel.inside = table.repeat_of(id);
    if (std::holds_alternative<Repeat>(table[id].node)) kernel.kind = KernelKind::repeat;
    ScheduledStatement& each = kernel.statements.emplace_back();
    each.statement = id;
    const std::vector<OwnIndex> indices = table.own_indices(id);
    for (const uint32_t index : looping_indices(table, id, false)) each.loops.push_back({.index = index});
    std::ranges::stable_partition(each.loops,
                                  [&](const Loop& loop) { return indices[loop.index].kind == IndexKind::scan; });
  }
  return schedule;
}

// For what does damage at random.
class Draws {
 protected:
  explicit Draws(std::mt19937_64& random) : random_(random) {}
  size_t draw(size_t below) { return below == 0 ? 0 : size_t(random_() % below); }
  template <class T>
  T& any(std::vector<T>& list) {
    return list[draw(list.size())];
  }

 private:
  std::mt19937_64& random_;
};

}  // namespace lightline::loops::plan
