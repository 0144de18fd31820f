// Strict access to TOML tables: every value is asked for by name, and a key that is never asked for is an error. The
// only header that needs toml++.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lightline::machine {

// A key with its dotted path, as errors name it.
struct TomlTable {
  const toml::table* table = nullptr;
  std::string path;  // "clock.max"; "" for the file itself

  std::string of(std::string_view key) const { return path.empty() ? std::string(key) : path + "." + std::string(key); }
};

class TomlReader {
 public:
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  Error error_at(const toml::source_region& region, ErrorCode code, std::string message, std::string hint = "") const;

  // Every key of the table must be one of `known`.
  Status only(const TomlTable& place, const std::vector<std::string>& known) const;

  Result<TomlTable> table(const TomlTable& place, std::string_view key) const;  // required
  Result<std::optional<TomlTable>> optional_table(const TomlTable& place,
                                                  std::string_view key) const;                 // none if absent
  Result<std::vector<TomlTable>> tables(const TomlTable& place, std::string_view key) const;   // [[key]]; may be absent
  Result<std::string> text(const TomlTable& place, std::string_view key) const;                // required, not empty
  Result<std::string> optional_text(const TomlTable& place, std::string_view key) const;       // "" if absent
  Result<std::vector<std::string>> texts(const TomlTable& place, std::string_view key) const;  // a list; may be absent
  Result<double> positive(const TomlTable& place, std::string_view key) const;                 // required
  Result<double> optional_positive(const TomlTable& place, std::string_view key) const;        // 0 if absent
  Result<bool> flag(const TomlTable& place, std::string_view key) const;                       // false if absent
  // The one of `units` that the table has, times its factor.
  struct Unit {
    std::string key;
    double factor;
  };
  Result<double> quantity(const TomlTable& place, const std::vector<Unit>& units) const;

 private:
  Error missing(const TomlTable& place, std::string_view key) const;
  Error wrong_type(const TomlTable& place, std::string_view key, std::string_view wanted, const toml::node& node) const;

  std::string file_;
};

// " ... did you mean 'x'?" for a mistyped word, or the words there are.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace lightline::machine
