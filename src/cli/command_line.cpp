#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/cli.h"

namespace lightline::cli {

// ---- options ----
Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::shown_as(const std::string& text) {
  option_->option_text(text);
  return *this;
}

Option& Option::one_of(api::Choice choice) {
  option_->check([choice](const std::string& text) { return api::complaint(choice, text); });
  option_->option_text(std::string(choice.values));
  return *this;
}

Option& Option::valid_if(std::function<std::string(const std::string&)> complaint) {
  option_->check(std::move(complaint));
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

// ---- commands ----
Command Command::add(const std::string& name, const std::string& help) {
  return {app_->add_subcommand(name, help), chosen_};
}

namespace {

// Every option with a value is made here.
template <class Value, class Rule>
Option add_option(CLI::App& app, const std::string& names, Value& value, Rule rule, const std::string& help) {
  CLI::Option* option = app.add_option(names, value, help);
  option->transform(CLI::Validator([rule](std::string& text) { return api::take_text(rule, text); }, ""));
  return Option(option);
}

}  // namespace

Option Command::option(const std::string& names, std::string& value, const std::string& help) {
  return add_option(*app_, names, value, api::rules::any_text, help);
}

Option Command::option(const std::string& names, std::vector<std::string>& value, const std::string& help) {
  return add_option(*app_, names, value, api::rules::any_text, help);
}

Option Command::option(const std::string& names, int& value, api::Count rule, const std::string& help) {
  return add_option(*app_, names, value, rule, help);
}

Option Command::option(const std::string& names, std::optional<int>& value, api::Count rule, const std::string& help) {
  return add_option(*app_, names, value, rule, help);
}

Option Command::option(const std::string& names, uint64_t& value, api::Count rule, const std::string& help) {
  return add_option(*app_, names, value, rule, help);
}

Option Command::option(const std::string& names, double& value, api::Number rule, const std::string& help) {
  return add_option(*app_, names, value, rule, help);
}

Option Command::option(const std::string& names, std::optional<double>& value, api::Number rule,
                       const std::string& help) {
  return add_option(*app_, names, value, rule, help);
}

Option Command::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help)->disable_flag_override());
}

void Command::needs_subcommand() { app_->require_subcommand(1); }

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::runs(Action action) {
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

// ---- the command line ----
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise) {
  std::string guess = lightline::did_you_mean(word, candidates);
  return guess.empty() ? std::move(otherwise) : guess;
}

// The library's own words for a wrong number of values begin with the name of the option, perhaps without its dashes.
std::string message_of(const CLI::App& command, const CLI::ParseError& error) {
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return what;
  std::string name = what.substr(0, what.find_first_of(": "));
  if (command.get_option_no_throw(name) == nullptr) name.insert(0, name.size() == 1 ? "-" : "--");
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return what;
  if (option->get_items_expected_max() == 0) return name + " takes no value";
  return name + (option->results().size() > 1 ? " is given more than once" : " needs a value");
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string path = "lightline";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  const std::string help = "see " + path + " --help";
  for (const std::string& word : command->remaining()) {
    if (word.empty()) continue;
    const bool is_option = word[0] == '-';
    const std::string message = (is_option ? "unknown option '" : "unexpected argument '") + word + "'";
    const std::string plain = word.substr(0, word.find('='));
    return {ErrorCode::usage, message, is_option ? did_you_mean(plain, option_names(*command), help) : help, {}};
  }
  return {ErrorCode::usage, message_of(*command, error), help, {}};
}

// The words in the order that the library wants, the last one first. "--name=" is an option with an empty value; the
// library would take the next word for it.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool only_arguments = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    only_arguments = only_arguments || word == "--";
    const bool has_nothing = !only_arguments && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (has_nothing) word.pop_back();
    words.push_back(std::move(word));
    if (has_nothing) words.emplace_back();
  }
  std::ranges::reverse(words);
  return words;
}

// "interp|c" as option text is a fixed set of values.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  return text.find('|') == std::string::npos ? std::vector<std::string>() : CLI::detail::split(text, '|');
}

}  // namespace

CommandLine::CommandLine(const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, "lightline")), chosen_(std::make_shared<Action>()) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(36);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return {app_.get(), chosen_}; }

std::string CommandLine::help() const { return app_->help(); }

std::vector<CommandInfo> CommandLine::commands() const {
  std::vector<CommandInfo> commands;
  for (const CLI::App* sub : std::as_const(*app_).get_subcommands({})) {
    CommandInfo command{sub->get_name(), sub->get_description(), {}, {}};
    for (const CLI::Option* option : sub->get_options()) {
      if (option->get_positional()) command.choices = choices_of(*option);
      for (const std::string& name : option->get_lnames()) {
        command.flags.push_back(
            {"--" + name, option->get_description(), choices_of(*option), option->get_items_expected_max() > 0});
      }
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

Result<int> CommandLine::run(int argc, char** argv, const std::function<void(const std::string&)>& print) {
  const std::string first = argv[1];
  const std::vector<std::string> names = command_names(*app_);
  if (first[0] != '-' && std::find(names.begin(), names.end(), first) == names.end())
    return Error{
        ErrorCode::usage, "unknown command '" + first + "'", did_you_mean(first, names, "see lightline --help"), {}};
  try {
    app_->parse(words_of(argc, argv));
  } catch (const CLI::CallForHelp&) {
    print(app_->help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(*app_, error);
  }
  return (*chosen_)();
}

}  // namespace lightline::cli
