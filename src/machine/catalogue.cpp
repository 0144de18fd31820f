#include "machine/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "base/shown.h"
#include "machine/machine_file.h"

namespace lightline::machine {
namespace {

// "H100 SXM", "h100-sxm" and "H100_SXM" are one name.
std::string plain(std::string_view text) {
  std::string result = lower_case(text);
  std::erase_if(result, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return result;
}

bool is_called(const Machine& machine, const std::string& name) {
  if (plain(machine.name) == name) return true;
  return std::any_of(machine.aliases.begin(), machine.aliases.end(),
                     [&](const std::string& alias) { return plain(alias) == name; });
}

// Names and aliases stand before [sources], so a file whose head lacks the name need not be parsed.
bool may_be_called(const BundledFile& bundled, const std::string& name) {
  return plain(bundled.text.substr(0, bundled.text.find("[sources]"))).find(name) != std::string::npos;
}

}  // namespace

Result<std::vector<Machine>> all_machines() {
  std::vector<Machine> machines;
  for (const BundledFile& bundled : bundled_files()) {
    LL_TRY(Machine machine, parse_machine(bundled.text, std::string(bundled.file)));
    machines.push_back(std::move(machine));
  }
  return machines;
}

Result<Machine> find_machine(const std::string& name) {
  if (name.ends_with(".toml")) return load_machine(name);
  const std::string wanted = plain(name);
  for (const BundledFile& bundled : bundled_files()) {
    if (!may_be_called(bundled, wanted)) continue;
    LL_TRY(Machine machine, parse_machine(bundled.text, std::string(bundled.file)));
    if (is_called(machine, wanted)) return machine;
  }
  std::vector<std::string> names;
  LL_TRY(const std::vector<Machine> machines, all_machines());
  for (const Machine& machine : machines) {
    names.push_back(machine.name);
    names.insert(names.end(), machine.aliases.begin(), machine.aliases.end());
  }
  const std::string guess = did_you_mean(name, names);
  return Error{ErrorCode::name,
               fmt::format("there is no machine '{}'", shown(name)),
               guess.empty() ? "lightline arch list names them; a path to a .toml file works too" : guess,
               {}};
}

}  // namespace lightline::machine
