// lightline graph: the operators of a program, however its source spells them.
#include <fmt/format.h>

#include <memory>

#include "api/program.h"
#include "base/file.h"
#include "cli/cli.h"
#include "graph/text.h"
#include "report/graph_report.h"

namespace lightline::cli {
namespace {

struct GraphOptions {
  std::string file;
  bool hash = false;
  bool json = false;
  std::string output;
};

std::string shown_as_asked(const graph::Graph& graph, const GraphOptions& options) {
  if (options.json) return report::graph_json(graph);
  if (options.hash)
    return fmt::format("content    {}\nstructure  {}\n", graph::content_hash(graph), graph::structure_hash(graph));
  return graph::print(graph);
}

int show_graph(const GraphOptions& options) {
  const auto source = read_source(options.file);
  if (!source.ok()) return report_error(source.error());
  const auto graph = api::canonical_graph(*source, api::ExportForm::training);
  if (!graph.ok()) return report_error(graph.error(), source->text);
  const std::string text = shown_as_asked(*graph, options);
  if (options.output.empty()) {
    print(text);
    return exit_ok;
  }
  const Status written = write_file(options.output, text);
  return written.ok() ? exit_ok : report_error(written.error());
}

}  // namespace

void add_graph(Command& root) {
  auto options = std::make_shared<GraphOptions>();
  Command command = root.add("graph", "Print the operators of a program, in one spelling (docs/graphs.md)");
  command.option("FILE", options->file, help_of_file(Takes::foreign, false)).required().shown_as(" ");
  const Option hash = command.flag("--hash", options->hash,
                                   "Two hashes: of what it computes, and of its structure without sizes and dtypes");
  command.flag("--json", options->json, "Print JSON (schema lightline.graph)").excludes(hash);
  command.option("-o,--output", options->output, "Write to this file instead of standard output").shown_as("FILE");
  command.footer(
      "Examples:\n"
      "  lightline graph examples/exported/transformer_block.json\n"
      "  lightline graph model.json -o model.graph\n"
      "  lightline analyze model.graph\n"
      "  lightline graph model.json --hash");
  command.runs([options] { return show_graph(*options); });
}

}  // namespace lightline::cli
