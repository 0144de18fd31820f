// Larger programs, from files, in other words.
#include <random>

#include "base/file.h"
#include "loops/ir/parse.h"
#include "truth/respell.h"
#include "truth/respell_program.h"

namespace lightline::truth {

Result<RespellReport> respell_files(const std::vector<std::string>& files, uint64_t seed, uint64_t count) {
  RespellReport report;
  std::mt19937_64 random(seed);
  for (uint64_t tried = 0, drawn = 0; tried < count && drawn < 20 * count && !files.empty(); ++drawn) {
    const size_t chosen = random() % files.size();
    const std::string& rule = program_rules()[random() % program_rules().size()];
    const uint64_t own = random();
    LL_TRY(const std::string text, read_file(files[chosen]));
    const auto other = respelled_program(text, rule, own);
    if (!other) continue;
    ++tried;
    LL_TRY(const loops::Program before, loops::parse_and_verify(text, files[chosen]));
    LL_TRY(const loops::Program after, loops::parse_and_verify(*other, files[chosen]));
    auto& [moved, all] = report.rules[rule];
    ++all;
    const auto violations = moved_tiers(tiers_of(before, {}), tiers_of(after, {}));
    if (violations.empty()) continue;
    ++moved;
    report.violations[rule][chosen] = violations;
    std::string what = files[chosen] + "\n";
    for (const Violation& one : violations) what += "  " + to_string(one) + "\n";
    report.examples[rule + " of " + files[chosen]] = what;
  }
  return report;
}

}  // namespace lightline::truth
