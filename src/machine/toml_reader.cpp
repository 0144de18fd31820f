#include "machine/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "base/shown.h"

namespace lightline::machine {
namespace {

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer:
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date";
  }
}

std::string place_name(const TomlTable& place) { return place.path.empty() ? "the file" : "'" + place.path + "'"; }

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string guess = did_you_mean(word, known);
  return guess.empty() ? fmt::format("one of: {}", fmt::join(known, ", ")) : guess;
}

Error TomlReader::error_at(const toml::source_region& region, ErrorCode code, std::string message,
                           std::string hint) const {
  return {code, std::move(message), std::move(hint), {file_, int(region.begin.line), int(region.begin.column)}};
}

Error TomlReader::missing(const TomlTable& place, std::string_view key) const {
  return error_at(place.table->source(), ErrorCode::parse, fmt::format("{} lacks '{}'", place_name(place), key));
}

Error TomlReader::wrong_type(const TomlTable& place, std::string_view key, std::string_view wanted,
                             const toml::node& node) const {
  return error_at(node.source(), ErrorCode::type,
                  fmt::format("'{}' must be {}, not {}", place.of(key), wanted, type_name(node)));
}

Status TomlReader::only(const TomlTable& place, const std::vector<std::string>& known) const {
  for (const auto& [key, node] : *place.table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    return error_at(key.source(), ErrorCode::name,
                    fmt::format("unknown key '{}' in {}", shown(key.str()), place_name(place)),
                    suggestion(key.str(), known));
  }
  return Ok{};
}

Result<TomlTable> TomlReader::table(const TomlTable& place, std::string_view key) const {
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return missing(place, key);
  if (!node->is_table()) return wrong_type(place, key, "a table", *node);
  return TomlTable{node->as_table(), place.of(key)};
}

Result<std::optional<TomlTable>> TomlReader::optional_table(const TomlTable& place, std::string_view key) const {
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return std::optional<TomlTable>();
  if (!node->is_table()) return wrong_type(place, key, "a table", *node);
  return std::optional<TomlTable>({node->as_table(), place.of(key)});
}

Result<std::vector<TomlTable>> TomlReader::tables(const TomlTable& place, std::string_view key) const {
  std::vector<TomlTable> found;
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return found;
  const toml::array* list = node->as_array();
  if (list == nullptr) return wrong_type(place, key, "a list of tables", *node);
  for (const toml::node& item : *list) {
    const std::string item_key = fmt::format("{}[{}]", key, found.size());
    if (!item.is_table()) return wrong_type(place, item_key, "a table", item);
    found.push_back({item.as_table(), place.of(item_key)});
  }
  return found;
}

Result<std::string> TomlReader::text(const TomlTable& place, std::string_view key) const {
  if (place.table->get(key) == nullptr) return missing(place, key);
  LL_TRY(std::string value, optional_text(place, key));
  if (!value.empty()) return value;
  return error_at(place.table->get(key)->source(), ErrorCode::parse, fmt::format("'{}' is empty", place.of(key)));
}

Result<std::string> TomlReader::optional_text(const TomlTable& place, std::string_view key) const {
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return std::string();
  if (!node->is_string()) return wrong_type(place, key, "a string", *node);
  return node->as_string()->get();
}

Result<std::vector<std::string>> TomlReader::texts(const TomlTable& place, std::string_view key) const {
  std::vector<std::string> found;
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return found;
  if (!node->is_array()) return wrong_type(place, key, "a list of strings", *node);
  for (const toml::node& item : *node->as_array()) {
    if (!item.is_string()) return wrong_type(place, key, "a list of strings", item);
    found.push_back(item.as_string()->get());
  }
  return found;
}

Result<double> TomlReader::positive(const TomlTable& place, std::string_view key) const {
  if (place.table->get(key) == nullptr) return missing(place, key);
  return optional_positive(place, key);
}

Result<double> TomlReader::optional_positive(const TomlTable& place, std::string_view key) const {
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return 0.0;
  if (!node->is_number()) return wrong_type(place, key, "a positive number", *node);
  const double value = *node->value<double>();
  constexpr double least = 1e-9, most = 1e30;
  if (value >= least && value < most) return value;
  const std::string wanted = value > 0 && value < least ? fmt::format("at least {}", least) : "a positive number";
  return error_at(node->source(), ErrorCode::range,
                  fmt::format("'{}' must be {}, not {}", place.of(key), wanted, value));
}

Result<bool> TomlReader::flag(const TomlTable& place, std::string_view key) const {
  const toml::node* node = place.table->get(key);
  if (node == nullptr) return false;
  if (!node->is_boolean()) return wrong_type(place, key, "true or false", *node);
  return node->as_boolean()->get();
}

Result<double> TomlReader::quantity(const TomlTable& place, const std::vector<Unit>& units) const {
  std::vector<std::string> names;
  const Unit* found = nullptr;
  for (const Unit& unit : units) {
    names.push_back(unit.key);
    if (place.table->get(unit.key) == nullptr) continue;
    if (found != nullptr) {
      const std::string message = fmt::format("'{}' has both '{}' and '{}'", place.path, found->key, unit.key);
      return error_at(place.table->source(), ErrorCode::parse, message, "give one of them");
    }
    found = &unit;
  }
  if (found == nullptr) {
    return error_at(place.table->source(), ErrorCode::parse, fmt::format("'{}' lacks its number", place.path),
                    fmt::format("one of: {}", fmt::join(names, ", ")));
  }
  LL_TRY(const double value, positive(place, found->key));
  return value * found->factor;
}

}  // namespace lightline::machine
