// What the subcommands share.
//
// Room cli: one thin file per subcommand over api and report. Only this room prints: results to stdout, everything else
// to stderr.
// May use: base, machine, index, loops/ir, graph, ops/build, ops/catalogue, ops/lower, frontend/load, demand, bound,
//   report, api.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/lightline.h"
#include "api/program.h"
#include "base/error.h"
#include "base/nearest.h"
#include "cli/command_line.h"

namespace lightline::cli {

enum ExitCode : int {
  exit_ok = LIGHTLINE_OK,
  exit_negative = LIGHTLINE_NO,          // the command worked, and the answer is no
  exit_bad_input = LIGHTLINE_BAD_INPUT,  // wrong usage, or an input that can not be used
  exit_internal = LIGHTLINE_DEFECT,      // a defect of Lightline
};

// Each registers one subcommand.
void add_check(Command& root);
void add_fmt(Command& root);
void add_run(Command& root);
void add_emit(Command& root);
void add_import(Command& root);
void add_graph(Command& root);
void add_validate(Command& root);
void add_operators(Command& root);
void add_analyze(Command& root);
void add_arch(Command& root);
void add_completion(Command& root, const CommandLine& line);

// ---- terminal.cpp ----
void print(std::string_view text);  // as it is
// For people: what a terminal may obey is escaped.
void print_line(std::string_view line);
void print_lines(std::string_view text);
void note(std::string_view text);  // in one line
void note(const Error& error);
// Prints an error, with the line it points at where `text` is the source it talks about; gives the exit code for it.
int report_error(const Error& error, std::string_view text = "");
// A line on standard error that says how far a long job is; silent unless it is a terminal and a second has passed.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void step(std::string_view state);

 private:
  std::string what_;
  double start_ = 0;
  double shown_ = 0;
};

// ---- source.cpp ----
// A file's text, or that of standard input for "-".
Result<api::Source> read_source(const std::string& path);
// For the help of a command that takes FILE: programs of every front end, and what else it takes.
enum class Takes : uint8_t { foreign, loops };
std::string help_of_file(Takes least, bool corpora);
inline constexpr api::Choice corpus_form{"training|core"};
api::ExportForm form_of(const std::string& name);  // one of these
// The error of a corpus entry, with its place in the corpus.
Error in_corpus(Error error, const std::string& corpus, const api::CorpusEntry& entry);
// An error where the option is given and none of the files has entries in two forms.
Status check_form(const Option& form, const std::vector<std::string>& files);

}  // namespace lightline::cli
