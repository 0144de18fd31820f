#include "loops/ir/words.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace lightline::loops {

bool is_reserved(std::string_view word) {
  static constexpr std::string_view words[] = {
      "program", "for",  "scan",  "view", "scatter", "const", "opaque", "repeat", "carry",  "yield", "stack",
      "in",      "into", "as",    "drop", "if",      "and",   "or",     "not",    "div",    "mod",   "inf",
      "nan",     "true", "false", "sum",  "prod",    "max",   "min",    "argmax", "argmin", "set"};
  // Most names are told apart from all reserved words by their length and first letter.
  static const auto possible = [] {
    std::array<std::array<bool, 256>, 8> table{};
    for (const std::string_view w : words) table[w.size()][uint8_t(w[0])] = true;
    for (int d = 0; d < dtype_count; ++d) table[name(DType(d)).size()][uint8_t(name(DType(d))[0])] = true;
    return table;
  }();
  if (word.empty() || word.size() > 7 || !possible[word.size()][uint8_t(word[0])]) return false;
  return std::find(std::begin(words), std::end(words), word) != std::end(words) || dtype_from_name(word).has_value();
}

}  // namespace lightline::loops
