#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace lightline {
namespace {

// Edits (insert, delete, change, swap neighbours) that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 64) return "";
  std::string best;
  size_t least = word.size() < 6 ? 1 : 2;  // at more edits it is another word
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance > least) continue;
    if (distance < least) best.clear();
    least = distance;
    best += fmt::format("{}'{}'", best.empty() ? "" : " or ", candidate);
  }
  return best.empty() ? "" : fmt::format("did you mean {}?", best);
}

}  // namespace lightline
