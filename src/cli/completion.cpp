// lightline completion: shell completion scripts, written from the commands as they are registered.
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"

namespace lightline::cli {
namespace {

std::string words(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, " ")); }

std::string flag_words(const CommandInfo& command) {
  std::vector<std::string> names;
  for (const FlagInfo& flag : command.flags) names.push_back(flag.name);
  return words(names);
}

std::string command_words(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands) names.push_back(command.name);
  return words(names);
}

std::string bash_script(const std::vector<CommandInfo>& commands) {
  std::string flags, arguments, values;
  for (const CommandInfo& command : commands) {
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", command.name, flag_words(command));
    if (!command.choices.empty())
      arguments += fmt::format("    {}) choices=\"{}\" ;;\n", command.name, words(command.choices));
    for (const FlagInfo& flag : command.flags) {
      if (!flag.choices.empty())
        values += fmt::format("    {}:{}) choices=\"{}\" ;;\n", command.name, flag.name, words(flag.choices));
    }
  }
  return fmt::format(R"(# bash completion for lightline; load it with: source <(lightline completion bash)
_lightline() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}" flags="" choices=""
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case "$command" in
{}  esac
  case "$command" in
{}  esac
  case "$command:$previous" in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _lightline lightline
)",
                     command_words(commands), flags, arguments, values);
}

std::string without(std::string text, std::string_view characters) {
  std::erase_if(text, [&](char c) { return characters.find(c) != std::string_view::npos; });
  return text;
}

std::string zsh_script(const std::vector<CommandInfo>& commands) {
  std::string names, cases;
  for (const CommandInfo& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, without(command.help, "':"));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const FlagInfo& flag : command.flags) {
      const std::string value = !flag.takes_value      ? ""
                                : flag.choices.empty() ? ":value:_files"
                                                       : fmt::format(":value:({})", words(flag.choices));
      cases += fmt::format(" \\\n        '{}[{}]{}'", flag.name, without(flag.help, "':[]"), value);
    }
    const std::string argument = command.choices.empty() ? "_files" : fmt::format("({})", words(command.choices));
    cases += fmt::format(" \\\n        '*:argument:{}'\n      ;;\n", argument);
  }
  return fmt::format(R"(#compdef lightline
# zsh completion for lightline; put it in your fpath as _lightline
_lightline() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="${{words[2]}}"
  shift words
  (( CURRENT-- ))
  case "$command" in
{}  esac
}}
if [[ "${{funcstack[1]}}" == _lightline ]]; then
  _lightline "$@"
else
  compdef _lightline lightline
fi
)",
                     names, cases);
}

std::string fish_script(const std::vector<CommandInfo>& commands) {
  std::string text = "# fish completion for lightline; load it with: lightline completion fish | source\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("complete -c lightline -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                        without(command.help, "'"));
    const std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.choices.empty())
      text += fmt::format("complete -c lightline {} -f -a '{}'\n", condition, words(command.choices));
    for (const FlagInfo& flag : command.flags) {
      const std::string value = !flag.takes_value      ? ""
                                : flag.choices.empty() ? " -r"
                                                       : fmt::format(" -x -a '{}'", words(flag.choices));
      text += fmt::format("complete -c lightline {} -l {}{} -d '{}'\n", condition, flag.name.substr(2), value,
                          without(flag.help, "'"));
    }
  }
  return text;
}

}  // namespace

void add_completion(Command& root, const CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Command command = root.add("completion", "Print a completion script for a shell");
  command.option("SHELL", *shell, "The shell").required().one_of({"bash|zsh|fish"});
  command.footer(
      "Examples:\n"
      "  source <(lightline completion bash)\n"
      "  lightline completion zsh > ~/.zfunc/_lightline\n"
      "  lightline completion fish | source");
  command.runs([shell, &line] {
    const std::vector<CommandInfo> commands = line.commands();
    print(*shell == "bash" ? bash_script(commands) : *shell == "zsh" ? zsh_script(commands) : fish_script(commands));
    return int(exit_ok);
  });
}

}  // namespace lightline::cli
