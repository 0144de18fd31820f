#include "cli/cli.h"

namespace lightline::cli {

Result<api::Source> read_source(const std::string& path) {
  return path == "-" ? api::read_standard_input() : api::read_source(path);
}

api::ExportForm form_of(const std::string& name) {
  return name == "core" ? api::ExportForm::core : api::ExportForm::training;
}

}  // namespace lightline::cli
