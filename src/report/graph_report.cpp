#include "report/graph_report.h"

#include <map>

#include "graph/text.h"
#include "report/json.h"

namespace lightline::report {

std::string graph_json(const graph::Graph& graph) {
  Json json = document("lightline.graph", 1);
  std::map<std::string, int64_t> calls;
  for (const graph::Node& node : graph.nodes) ++calls[node.target];
  json["name"] = graph.name;
  json["inputs"] = graph.inputs.size();
  json["nodes"] = graph.nodes.size();
  json["calls"] = Json::object();
  for (const auto& [name, count] : calls) json["calls"][name] = count;
  json["content_hash"] = graph::content_hash(graph);
  json["structure_hash"] = graph::structure_hash(graph);
  json["text"] = graph::print(graph);
  return to_text(json);
}

}  // namespace lightline::report
