#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"

namespace lightline::cli {

Result<api::Source> read_source(const std::string& path) {
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
