// The command line: parses, dispatches to one subcommand, and turns every failure into an exit code.
#include <cstdio>
#include <exception>

#include "cli/cli.h"

namespace lightline::cli {
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
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? std::move(otherwise) : "did you mean '" + guess + "'?";
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
  return {ErrorCode::usage, error.what(), help, {}};
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Lightline: deep-learning programs as affine loops, checked, executed and compiled.", "lightline");
  app.set_version_flag("--version", "lightline " LIGHTLINE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  Action action;
  add_check(app, action);
  add_fmt(app, action);
  add_run(app, action);
  add_emit(app, action);
  add_import(app, action);
  add_validate(app, action);
  add_operators(app, action);
  add_analyze(app, action);
  add_arch(app, action);
  add_completion(app, action);
  app.footer(
      "Examples:\n"
      "  lightline check model.lir\n"
      "  lightline run model.lir --input x=x.npy --backend c -o out.npz\n"
      "  lightline fmt --write examples/loops/*.lir\n"
      "Exit codes: 0 done, 1 the answer is no, 2 wrong usage or bad input, 3 a defect of Lightline.");

  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return exit_bad_input;
  }
  const std::string first = argv[1];
  const std::vector<std::string> commands = command_names(app);
  if (first[0] != '-' && std::find(commands.begin(), commands.end(), first) == commands.end()) {
    return report_error({ErrorCode::usage,
                         "unknown command '" + first + "'",
                         did_you_mean(first, commands, "see lightline --help"),
                         {}});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return exit_ok;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    return report_error(usage_error(app, error));
  }
  return action();
}

}  // namespace
}  // namespace lightline::cli

int main(int argc, char** argv) {
  using namespace lightline;
  int code = cli::exit_internal;
  try {
    code = cli::parse_and_run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      code = cli::report_error({ErrorCode::io, "can not write to standard output", "", {}});
    }
  } catch (const std::exception& error) {
    cli::report_error({ErrorCode::internal,
                       std::string("internal: ") + error.what(),
                       "this is a defect of lightline; please report it",
                       {}});
  }
  return code;
}
