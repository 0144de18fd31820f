#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/seed.h"
#include "truth/known.h"

namespace lightline::truth {
namespace {

// "fuzz | 2000331 | high | why"
std::vector<Known> listed(const std::set<std::string>& sequences) {
  if (testing_support::seed() != 0 || std::getenv("LIGHTLINE_LONG") != nullptr) return {};
  std::vector<Known> result;
  std::ifstream file(LIGHTLINE_SOURCE_DIR "/tests/truth/known.txt");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> parts;
    for (size_t at = 0; at != std::string::npos;) {
      const size_t end = line.find(" | ", at);
      parts.push_back(line.substr(at, end == std::string::npos ? end : end - at));
      at = end == std::string::npos ? end : end + 3;
    }
    EXPECT_TRUE(parts.size() == 4 && !parts[3].empty())
        << "a line needs sequence, seed, direction and reason: " << line;
    if (parts.size() == 4 && sequences.contains(parts[0]))
      result.push_back({parts[0], std::strtoull(parts[1].c_str(), nullptr, 10), parts[2], ""});
  }
  return result;
}

std::string line_of(const Known& one) {
  return one.sequence + " | " + std::to_string(one.seed) + " | " + one.direction;
}

}  // namespace

bool expect_known(const std::vector<Known>& found, const std::set<std::string>& sequences) {
  const std::vector<Known> named = listed(sequences);
  bool agree = true;
  const auto each_without = [&](const std::vector<Known>& these, const std::vector<Known>& those, const char* what) {
    for (const Known& one : these) {
      if (std::any_of(those.begin(), those.end(), [&](const Known& other) { return one.same_as(other); })) continue;
      agree = false;
      ADD_FAILURE() << what << line_of(one) << (one.what.empty() ? "" : " | ") << one.what;
    }
  };
  each_without(found, named, "priced wrongly and not in known.txt: ");
  each_without(named, found, "in known.txt, but priced rightly now: ");
  return agree;
}

}  // namespace lightline::truth
