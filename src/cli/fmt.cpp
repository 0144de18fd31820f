// lightline fmt: programs in canonical form.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct FmtOptions {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
};

int format_file(const std::string& path, const FmtOptions& options) {
  if (options.write)
    if (const Status target = check_target(path); !target.ok()) return report_error(target.error());
  const auto source = read_source(path);
  if (!source.ok()) return report_error(source.error());
  const auto formatted = api::formatted(*source);
  if (!formatted.ok()) return report_error(formatted.error(), source->text);
  const std::string& canonical = *formatted;
  if (options.check) {
    if (canonical == source->text) return exit_ok;
    print_line(source->name + ": not in canonical form");
    return exit_negative;
  }
  if (!options.write) {
    print(canonical);
    return exit_ok;
  }
  if (canonical == source->text) return exit_ok;
  std::error_code unknown;
  if (const auto size = std::filesystem::file_size(path, unknown); !unknown && size != source->text.size())
    return report_error({ErrorCode::usage,
                         fmt::format("'{}' is compressed, and would be plain text under the same name", path),
                         "unpack it first",
                         {}});
  const auto written = write_file(path, canonical);
  if (!written.ok()) return report_error(written.error());
  print_line(source->name + ": rewritten");
  return exit_ok;
}

int format_files(const FmtOptions& options) {
  if (options.write && std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    return report_error({ErrorCode::usage, "standard input can not be rewritten", "leave out --write", {}});
  int worst = exit_ok;
  for (const std::string& file : options.files) worst = std::max(worst, format_file(file, options));
  return worst;
}

}  // namespace

void add_fmt(Command& root) {
  auto options = std::make_shared<FmtOptions>();
  Command command = root.add("fmt", "Print programs in canonical form, rewrite them, or check that they have it");
  command.option("FILE", options->files, "Loops to print in canonical form; - is standard input")
      .required()
      .shown_as("...");
  const Option write = command.flag("-w,--write", options->write, "Rewrite the files that differ");
  command.flag("--check", options->check, "Write nothing; exit code 1 if a file differs").excludes(write);
  command.footer(
      "Examples:\n"
      "  lightline fmt model.lir\n"
      "  lightline fmt --write examples/loops/*.lir\n"
      "  lightline fmt --check examples/loops/*.lir");
  command.runs([options] { return format_files(*options); });
}

}  // namespace lightline::cli
