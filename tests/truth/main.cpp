// lightline_truth: holds the tiers of random tiny programs, or of given ones, against their truth by enumeration.
//
//   lightline_truth --seed N --count M [--kind K] [--finds FOLDER]
//   lightline_truth --seed N --count M --respell neutral|wasteful
//   lightline_truth --seed N --count M --corpus FOLDER     (files *.lir in other words)
//   lightline_truth --seed N --count M --run normal-form [--finds FOLDER]   (what it means, not what it costs)
//   lightline_truth --file X.lir
//   lightline_truth --program N [--rule RULE]     (one random program as it is or respelled, and in small if it is wrong)
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "demand/meaning.h"
#include "loops/ir/parse.h"
#include "truth/found.h"
#include "truth/known.h"
#include "truth/respell.h"

namespace lightline::truth {
namespace {

struct Arguments {
  FuzzOptions fuzz;
  std::string finds;
  std::string respell;
  std::string corpus;
  std::string run;
  std::optional<uint64_t> program;
  std::string rule;
  std::vector<std::string> files;
  bool wrong = false;
};

Arguments parse_arguments(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (i + 1 == count) {
      arguments.wrong = true;
      break;
    }
    const std::string value = words[++i];
    if (word == "--seed")
      arguments.fuzz.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--count")
      arguments.fuzz.count = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--kind")
      arguments.fuzz.kind = value;
    else if (word == "--finds")
      arguments.finds = value;
    else if (word == "--respell")
      arguments.respell = value;
    else if (word == "--corpus")
      arguments.corpus = value;
    else if (word == "--run")
      arguments.run = value;
    else if (word == "--program")
      arguments.program = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--rule")
      arguments.rule = value;
    else if (word == "--file")
      arguments.files.push_back(value);
    else
      arguments.wrong = true;
  }
  arguments.wrong = arguments.wrong || (!arguments.run.empty() && arguments.run != "normal-form");
  return arguments;
}

void show_violation(const Known& one) {
  fmt::print("violation {} | {} | {} | {}\n", one.sequence, one.seed, one.direction, one.what);
}

int show_file(const std::string& path) {
  auto found = load_found(path);
  if (!found.ok()) {
    fmt::print(stderr, "{}\n", to_string(found.error()));
    return 2;
  }
  const auto verdict = judge(found->subject);
  if (!verdict.ok()) {
    fmt::print(stderr, "{}\n", to_string(verdict.error()));
    return 2;
  }
  fmt::print("{}", to_string(*verdict));
  return verdict->violations.empty() ? 0 : 1;
}

std::string file_name(const std::string& cause) {
  std::string name;
  for (const char letter : cause) {
    if (std::isalnum(uint8_t(letter)))
      name += char(std::tolower(letter));
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name + ".lir";
}

void write_finds(const FuzzReport& report, const std::string& kind, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [cause, find] : report.finds) {
    const Find small = minimised(find, kind, cause);
    std::ofstream(std::filesystem::path(folder) / file_name(cause)) << found_text(small, cause);
  }
}

// A program of the sequences, whose seed a line "violation" names.
int show_program(const Arguments& arguments) {
  const uint64_t seed = *arguments.program;
  Find find{seed, Generator(seed).run(arguments.fuzz.kind), {}};
  if (!arguments.rule.empty()) {
    fmt::print("{}\n", find.sketch.text());
    const auto other = respelled(find.sketch, arguments.rule, seed);
    if (!other) return 2;
    find.sketch = other->sketch;
  }
  const auto subject = subject_of(find.sketch, seed);
  const auto verdict = subject.ok() ? judge(*subject) : Result<Verdict>(subject.error());
  if (!verdict.ok()) {
    fmt::print(stderr, "{}\n", to_string(verdict.error()));
    return 2;
  }
  fmt::print("{}{}", find.sketch.text(), to_string(*verdict));
  if (verdict->violations.empty()) return 0;
  find.violations = verdict->violations;
  if (arguments.rule.empty()) fmt::print("\n{}", found_text(minimised(find, arguments.fuzz.kind, ""), "in small"));
  return 1;
}

int run_fuzz(const Arguments& arguments) {
  const FuzzReport report = fuzz(arguments.fuzz);
  fmt::print("{} programs, {} also run by the interpreter, {} skipped, {} with a violation, {} by more than rates\n",
             report.tried, report.checked_by_interpreter, report.skipped, report.violating, report.beyond_rates);
  for (const auto& [construct, counts] : report.constructs)
    fmt::print("  {:<32} {:>6} of {:>6}\n", construct, counts.first, counts.second);
  for (const auto& [resource, count] : report.resources) fmt::print("  {:<32} {:>6}\n", resource, count);
  for (const Known& one : as_found("fuzz", report.violations)) show_violation(one);
  for (const std::string& broken : report.broken_orders) fmt::print("ORDER {}\n", broken);
  for (const std::string& fault : report.faults) fmt::print("FAULT {}\n", fault);
  if (!arguments.finds.empty()) write_finds(report, arguments.fuzz.kind, arguments.finds);
  return report.faults.empty() ? (report.violating == 0 ? 0 : 1) : 3;
}

// Runs the normal form of every program against the program.
int run_normal_forms(const Arguments& arguments) {
  uint64_t whole = 0, partly_spelled = 0, wrong = 0;
  for (uint64_t seed = arguments.fuzz.seed; seed < arguments.fuzz.seed + arguments.fuzz.count; ++seed) {
    const Sketch sketch = Generator(seed).run(arguments.fuzz.kind);
    const auto subject = subject_of(sketch, seed);
    if (!subject.ok()) continue;  // the other modes say so
    const auto found = demand::testing::meaning_of_normal_form(subject->program, subject->inputs, subject->known);
    whole += found.fault.empty() && found.spelled == 0;
    partly_spelled += found.fault.empty() && found.spelled != 0;
    if (found.fault.empty()) continue;
    ++wrong;
    fmt::print("FAULT {}: {}\n", seed, found.fault);
    if (arguments.finds.empty()) continue;
    std::filesystem::create_directories(arguments.finds);
    std::ofstream(std::filesystem::path(arguments.finds) / fmt::format("{}.lir", seed)) << sketch.text() << found.text;
  }
  fmt::print("{} programs whose normal form gives the same, {} of which some statements stay as spelled, {} wrong\n",
             whole + partly_spelled, partly_spelled, wrong);
  return wrong == 0 ? 0 : 1;
}

int show_respelling(const RespellReport& report) {
  bool moved = false;
  for (const auto& [rule, counts] : report.rules) {
    fmt::print("{:<44} {:>6} of {:>6}\n", rule, counts.first, counts.second);
    moved = moved || counts.first > 0;
  }
  for (const auto& [rule, violations] : report.violations)
    for (const Known& one : as_found(rule, violations)) show_violation(one);
  for (const auto& [rule, example] : report.examples) fmt::print("\n{}:\n{}", rule, example);
  for (const std::string& fault : report.faults) fmt::print("FAULT {}\n", fault);
  return report.faults.empty() ? (moved ? 1 : 0) : 3;
}

int run_corpus(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.corpus))
    if (entry.path().extension() == ".lir") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  const auto report = respell_files(files, arguments.fuzz.seed, arguments.fuzz.count);
  if (report.ok()) return show_respelling(*report);
  fmt::print(stderr, "{}\n", to_string(report.error()));
  return 2;
}

}  // namespace
}  // namespace lightline::truth

int main(int count, char** words) {
  using namespace lightline::truth;
  const Arguments arguments = parse_arguments(count, words);
  if (arguments.wrong) {
    fmt::print(stderr,
               "usage: lightline_truth [--seed N] [--count M] [--kind K] [--finds FOLDER | --respell neutral|wasteful "
               "| --corpus FOLDER | --run normal-form] "
               "| --file X.lir | --program N [--rule RULE]\n");
    return 2;
  }
  if (arguments.program) return show_program(arguments);
  if (!arguments.corpus.empty()) return run_corpus(arguments);
  if (!arguments.respell.empty())
    return show_respelling(respell_all(arguments.fuzz.seed, arguments.fuzz.count, arguments.respell == "wasteful"));
  if (!arguments.run.empty()) return run_normal_forms(arguments);
  int code = 0;
  for (const std::string& file : arguments.files) code = std::max(code, show_file(file));
  return arguments.files.empty() ? run_fuzz(arguments) : code;
}
