// lightline operators: what has a definition, and under which names.
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/cli.h"
#include "ops/catalogue/catalogue.h"
#include "report/json.h"
#include "report/operators_report.h"

namespace lightline::cli {
namespace {

struct Options {
  std::string conformance;
  std::string target;
  bool markdown = false;
  bool json = false;
};

Result<report::ProvedTypes> read_proved(const std::string& path) {
  report::ProvedTypes proved;
  if (path.empty()) return proved;
  LL_TRY(const std::string text, read_file(path));
  const report::Json json = report::Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("families") || !json["families"].is_object())
    return Error{ErrorCode::parse,
                 "not the summary of a conformance run",
                 "run make test first; it writes build/conformance.json",
                 {path}};
  for (const auto& [family, summary] : json["families"].items()) {
    if (!summary.is_object() || !summary.contains("operators") || !summary["operators"].is_object()) continue;
    for (const auto& [name, types] : summary["operators"].items()) {
      // The summary speaks of targets; the registry says which operator that is.
      const ops::Registry::Match match = ops::all_operators().find(name);
      if (match.op == nullptr || !types.is_array()) continue;
      auto& list = proved[match.op->name];
      for (const auto& type : types)
        if (type.is_string() && std::find(list.begin(), list.end(), type.get<std::string>()) == list.end())
          list.push_back(type.get<std::string>());
    }
  }
  return proved;
}

int operators(const Options& options) {
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
  auto options = std::make_shared<Options>();
  Command command = root.add("operators", "List the operators that have a definition");
  command.option("TARGET", options->target, "Tell which operator this name means, such as aten.relu_.default");
  command.flag("--markdown", options->markdown, "Print docs/operators.md");
  command.flag("--json", options->json, "Print JSON (schema lightline.operators)");
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
