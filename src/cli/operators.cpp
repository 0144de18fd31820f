// lightline operators: what has a definition, and under which names.
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/cli.h"
#include "ops/catalogue/catalogue.h"
#include "report/operators_report.h"

namespace lightline::cli {
namespace {

struct OperatorsOptions {
  std::string conformance;
  std::string target;
  bool markdown = false;
  bool json = false;
};

Result<report::ProvedTypes> read_proved(const std::string& path) {
  if (path.empty()) return report::ProvedTypes{};
  LL_TRY(const std::string text, read_file(path, text_size_limit));
  return report::parse_proved_types(text, path);
}

int operators(const OperatorsOptions& options) {
  if (!options.conformance.empty() && !options.markdown && !options.json)
    return report_error({ErrorCode::usage, "--conformance requires --markdown or --json", "add one of them", {}});
  if (!options.target.empty()) {
    const ops::Registry::Match match = ops::all_operators().find(options.target);
    if (match.op == nullptr) {
      note(fmt::format("'{}' has no definition; it would be opaque", options.target));
      return exit_negative;
    }
    print(fmt::format("{}({}), family {}{}\n", match.op->name, match.op->parameters, match.op->family,
                      match.in_place ? ", in place" : ""));
    return exit_ok;
  }
  const auto proved = read_proved(options.conformance);
  if (!proved.ok()) return report_error(proved.error());
  if (options.markdown)
    print(report::operators_markdown(*proved));
  else if (options.json)
    print(report::operators_json(*proved));
  else
    for (const ops::Operator& op : ops::all_operators().operators())
      print(fmt::format("{}({})\n", op.name, op.parameters));
  return exit_ok;
}

}  // namespace

void add_operators(Command& root) {
  auto options = std::make_shared<OperatorsOptions>();
  Command command = root.add("operators", "List the operators that have a definition");
  const Option target =
      command.option("TARGET", options->target, "Tell which operator this name means, such as aten.relu_.default");
  const Option markdown = command.flag("--markdown", options->markdown, "Print docs/operators.md").excludes(target);
  command.flag("--json", options->json, "Print JSON (schema lightline.operators)").excludes(target).excludes(markdown);
  command
      .option("--conformance", options->conformance,
              "The summary of a conformance run, to tell which dtypes are proved")
      .shown_as("FILE");
  command.footer(
      "Examples:\n"
      "  lightline operators torch.nn.functional.relu\n"
      "  lightline operators --markdown --conformance build/conformance.json > docs/operators.md");
  command.runs([options] { return operators(*options); });
}

}  // namespace lightline::cli
