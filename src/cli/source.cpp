#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/cli.h"

namespace lightline::cli {

namespace {

// Files that are no program, and which commands take them.
struct NoProgram {
  std::string_view ending, what, hint;
};
constexpr std::string_view tensors_hint = "programs take it: lightline run FILE --inputs, or --input NAME=FILE";
constexpr NoProgram no_programs[] = {
    {".toml", "a machine file", "lightline analyze FILE --arch takes it, and lightline arch show"},
    {".py", "Python source", "lightline validate takes it; python -m lightline.capture makes a program of it"},
    {".npy", "tensors", tensors_hint},
    {".npz", "tensors", tensors_hint},
    {".safetensors", "tensors", tensors_hint},
};

Status check_is_program(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return Ok{};  // reading it says what is wrong
  if (api::is_corpus(path))
    return Error{ErrorCode::usage,
                 "this is a corpus, not one program",
                 "lightline import, analyze and check take corpora; import -o writes the loops of each program",
                 {path}};
  for (const NoProgram& one : no_programs)
    if (path.ends_with(one.ending) && !std::filesystem::is_directory(path, unknown))
      return Error{ErrorCode::usage, fmt::format("this is {}, not a program", one.what), std::string(one.hint), {path}};
  return Ok{};
}

}  // namespace

Result<api::Source> read_source(const std::string& path) {
  if (path != "-") LL_DO(check_is_program(path));
  return path == "-" ? api::read_standard_input() : api::read_source(path);
}

std::string help_of_file(Takes least, bool corpora) {
  std::string help = least == Takes::loops ? "Loops, an" : "An";
  help += " exported program (.pt2 or JSON), StableHLO text, ";
  help += corpora ? "a GraphNet sample, or a corpus (.jsonl, a folder of samples, .tar; also .xz, .zst and .gz)"
                  : "or a GraphNet sample";
  return help + "; - is standard input";
}

Status check_form(const Option& form, const std::vector<std::string>& files) {
  if (!form.given() || std::ranges::any_of(files, api::has_forms)) return Ok{};
  return Error{ErrorCode::usage,
               "--form chooses between the forms of a .jsonl corpus; this is none",
               "leave it out",
               {files[0]}};
}

Error in_corpus(Error error, const std::string& corpus, const api::CorpusEntry& entry) {
  if (!api::has_forms(corpus))
    error.where.file = corpus + "/" + entry.name;
  else if (const std::string line = fmt::format("line {}", entry.line); entry.name == line)
    error.where.file = fmt::format("{}, {}", corpus, line);
  else
    error.where.file = fmt::format("{}, {}, {}", corpus, line, entry.name);
  return error;
}

api::ExportForm form_of(const std::string& name) {
  return name == "core" ? api::ExportForm::core : api::ExportForm::training;
}

}  // namespace lightline::cli
