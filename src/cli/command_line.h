// The commands and their options. Hides the library that parses them, which is slow to compile, behind a few words.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/option_rules.h"
#include "base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lightline::cli {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  Option& shown_as(const std::string& text);  // in the help, instead of the kind of value; "a|b" also completes
  Option& one_of(api::Choice choice);         // shown, and completed
  Option& valid_if(std::function<std::string(const std::string&)> complaint);  // "" where the text is fine
  Option& shows_default();
  Option& one_value_each();  // repeated options take one value at a time
  Option& excludes(const Option& other);
  Option& needs(const Option& other);
  bool given() const;

 private:
  CLI::Option* option_;
};

using Action = std::function<int()>;  // gives the exit code

class Command {
 public:
  Command(CLI::App* app, std::shared_ptr<Action> chosen) : app_(app), chosen_(std::move(chosen)) {}

  Command add(const std::string& name, const std::string& help);
  // `names`: "FILE" is an argument, "-o,--output" an option. The value lives until the command has run. No value may be
  // empty, and numbers have rules.
  Option option(const std::string& names, std::string& value, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& value, const std::string& help);
  Option option(const std::string& names, int& value, api::Count rule, const std::string& help);
  Option option(const std::string& names, std::optional<int>& value, api::Count rule, const std::string& help);
  Option option(const std::string& names, uint64_t& value, api::Count rule, const std::string& help);
  Option option(const std::string& names, double& value, api::Number rule, const std::string& help);
  Option option(const std::string& names, std::optional<double>& value, api::Number rule, const std::string& help);
  Option flag(const std::string& names, bool& value, const std::string& help);
  void needs_subcommand();
  void footer(const std::string& text);
  void runs(Action action);

 private:
  CLI::App* app_;
  std::shared_ptr<Action> chosen_;
};

// What a command takes, for completion scripts.
struct FlagInfo {
  std::string name;  // "--seed"
  std::string help;
  std::vector<std::string> choices;  // its values where they are a fixed set
  bool takes_value = false;
};
struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<FlagInfo> flags;
  std::vector<std::string> choices;  // of its argument; none: files
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& version);
  ~CommandLine();
  Command root();
  std::vector<CommandInfo> commands() const;
  // Parses the arguments and runs the chosen command; the text of --help and --version comes through `print`.
  Result<int> run(int argc, char** argv, const std::function<void(const std::string&)>& print);
  std::string help() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::shared_ptr<Action> chosen_;
};

}  // namespace lightline::cli
