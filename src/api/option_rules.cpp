#include "api/option_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/shown.h"

namespace lightline::api {
namespace {

bool is_among(std::string_view value, std::string_view values) {
  for (size_t start = 0; start <= values.size();) {
    const size_t end = std::min(values.find('|', start), values.size());
    if (values.substr(start, end - start) == value) return true;
    start = end + 1;
  }
  return false;
}

std::string with_commas(std::string_view values) {
  std::string list;
  for (const char c : values) c == '|' ? list += ", " : list += c;
  return list;
}

std::string outside(Number rule, std::string_view value) {
  return fmt::format("{} is not within {} to {}", shown(value), rule.least, rule.greatest);
}

std::string outside(Count rule, std::string_view value) {
  if (rule.greatest == std::numeric_limits<uint64_t>::max()) return fmt::format("{} is too large", shown(value));
  return fmt::format("{} is not within {} to {}", shown(value), rule.least, rule.greatest);
}

// `wanted` in words. A text that has the right form and is too large is outside of every rule.
template <class Value, class Rule>
std::string take_value(Rule rule, std::string_view wanted, std::string& text) {
  if (text.empty()) return complaint(Text{}, text);
  Value value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (at != end || error == std::errc::invalid_argument) return fmt::format("'{}' is not {}", shown(text), wanted);
  if (error != std::errc()) return outside(rule, text);
  text = fmt::format("{}", value);
  return complaint(rule, value);
}

}  // namespace

std::string complaint(Text, std::string_view value) { return value.empty() ? "the value is empty" : ""; }

std::string complaint(Choice rule, std::string_view value) {
  if (value.empty()) return complaint(Text{}, value);
  return is_among(value, rule.values) ? ""
                                      : fmt::format("'{}' is not one of {}", shown(value), with_commas(rule.values));
}

std::string complaint(Number rule, double value) {
  return value >= rule.least && value <= rule.greatest ? "" : outside(rule, fmt::format("{}", value));
}

std::string complaint(Count rule, uint64_t value) {
  return value >= rule.least && value <= rule.greatest ? "" : outside(rule, fmt::format("{}", value));
}

std::string take_text(Text rule, std::string& text) { return complaint(rule, text); }
std::string take_text(Choice rule, std::string& text) { return complaint(rule, text); }
std::string take_text(Number rule, std::string& text) { return take_value<double>(rule, "a number", text); }
std::string take_text(Count rule, std::string& text) {
  return take_value<uint64_t>(rule, "a whole number that is not negative", text);
}

AnalyzeOptions with_words(AnalyzeOptions options, const AnalyzeWords& words) {
  options.bound.math = machine::math_mode_from_name(words.math);
  options.bound.any_algorithm = words.algorithms == "any";
  options.machines.measured_ceilings = words.ceilings == "measured";
  return options;
}

Backend backend_of(const std::string& word) { return word == "c" ? Backend::c : Backend::interpreter; }

}  // namespace lightline::api
