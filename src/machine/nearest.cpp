#include "machine/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace lightline::machine {
namespace {

// Insertions, deletions and changes that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 64) return "";
  std::string best;
  size_t least = word.size() < 4 ? 2 : 3;  // at this many edits it is another word
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace lightline::machine
