// Machine files: TOML text in and out. Reading is strict: an unknown key, a number without a source or a rate that
// contradicts the datasheet figure beside it is an error with file, line and column.
#pragma once

#include <string>
#include <string_view>

#include "machine/machine.h"

namespace lightline::machine {

// A rate may differ from its datasheet figure by this much, which is rounding; a factor of two is a wrong unit.
inline constexpr double datasheet_tolerance = 0.02;

Result<Machine> parse_machine(std::string_view text, std::string file);
Result<Machine> load_machine(const std::string& path);

// Reads back as the same machine.
std::string to_toml(const Machine& machine);

}  // namespace lightline::machine
