#include "report/amount.h"

#include <fmt/format.h>

#include <cmath>

namespace lightline::report {

std::string amount(double value, std::string_view unit) {
  static constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int step = 0;
  while (std::abs(value) >= 1000 && step < 5) {
    value /= 1000;
    ++step;
  }
  if (step == 0 && unit.starts_with(' ')) unit.remove_prefix(1);
  return fmt::format("{:.4g} {}{}", value, prefixes[step], unit);
}

std::string amount(double value) {
  std::string text = amount(value, "");
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace lightline::report
