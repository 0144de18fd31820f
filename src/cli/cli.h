// What the subcommands share. Only this room prints: results to stdout, everything else to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "loops/ir/program.h"

namespace lightline::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_negative = 1,   // the command worked, and the answer is no
  exit_bad_input = 2,  // wrong usage, or an input that can not be used
  exit_internal = 3,   // a defect of Lightline
};

// Each add_* registers one subcommand. Parsing the command line leaves the chosen one in `action`, which runs it
// and gives the exit code.
using Action = std::function<int()>;
void add_check(CLI::App& app, Action& action);
void add_fmt(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_emit(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_operators(CLI::App& app, Action& action);
void add_analyze(CLI::App& app, Action& action);
void add_arch(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);

// ---- terminal.cpp ----
void print(std::string_view text);
void note(std::string_view text);
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
// The nearest of `candidates` to a mistyped `word`, or "" if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// ---- source.cpp ----
struct Source {
  std::string name;  // as errors call it
  std::string text;
};
// A file's text (.xz and .zst undone); "-" is standard input.
Result<Source> read_source(const std::string& path);
struct Loops {
  loops::Program program;
  std::vector<std::optional<Tensor>> known;  // values of program inputs that the artefact carries
  std::vector<std::string> assumptions;      // of the front end
};
Result<Loops> loops_of(const Source& source);
// The loops of a source: Affine Loop IR text, or an exported program (.pt2 or JSON) that is lowered first.
Result<loops::Program> program_of(const Source& source);

// ---- inputs.cpp ----
struct InputOptions {
  std::vector<std::string> named;  // "name=file" or "name=file:key"
  std::string all;                 // a file with an array per input; may be empty
  uint64_t seed = 0;
};
struct Inputs {
  std::vector<Tensor> tensors;       // in the program's order
  std::vector<std::string> sources;  // "random", or the file
};
Result<Inputs> gather_inputs(const loops::Program& program, const InputOptions& options);

}  // namespace lightline::cli
