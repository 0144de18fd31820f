// .pt2 archives: a zip with the program as JSON and the weights beside it.
#include <fmt/format.h>

#include <unordered_map>

#include "base/zip.h"
#include "frontend/export/json_fields.h"
#include "frontend/export/torch_export.h"

namespace lightline::frontend {
namespace {

constexpr size_t max_known_bytes = size_t(64) << 20;  // of one tensor

struct Payload {
  std::string path;
  bool pickled = false;
};

// fqn -> where its bytes lie, from a weights or constants config.
std::unordered_map<std::string, Payload> read_config(const std::string& text) {
  std::unordered_map<std::string, Payload> result;
  simdjson::dom::parser parser;
  const auto root = parse_json(parser, text);
  JsonObject config;
  if (!root.ok() || (*root)["config"].get(config) != simdjson::SUCCESS) return result;
  for (const auto& [name, entry] : config) {
    std::string_view path;
    bool pickled = false;
    if (entry["path_name"].get(path) != simdjson::SUCCESS) continue;
    if (entry["use_pickle"].get(pickled) != simdjson::SUCCESS) pickled = false;
    result.emplace(name, Payload{std::string(path), pickled});
  }
  return result;
}

void attach(graph::Graph& graph, const ZipReader& zip, const std::string& folder,
            const std::unordered_map<std::string, Payload>& payloads, bool constants) {
  for (graph::Input& input : graph.inputs) {
    const auto found = payloads.find(input.source);
    if (input.source.empty() || found == payloads.end() || input.known) continue;
    // Buffers that are not saved with the weights lie among the constants.
    const bool fits = constants ? input.kind != graph::InputKind::parameter : input.kind != graph::InputKind::constant;
    if (!fits) continue;
    const std::string name = folder + found->second.path;
    // Parameters with one payload are one storage: tied weights.
    if (!constants) input.source = name;
    const auto& type = graph.values[input.value].type;
    if (!type || found->second.pickled || input.kind == graph::InputKind::parameter) continue;
    const size_t size = size_t(*element_count(type->shape)) * size_t(byte_size(type->dtype));
    if (size > max_known_bytes) {
      graph.assumptions.push_back(fmt::format("the values of '{}' ({} bytes) are not known: one tensor has at most {}",
                                              graph.values[input.value].name, size, max_known_bytes));
      continue;
    }
    auto bytes = zip.read(name, size);
    if (!bytes.ok() || bytes->size() != size) continue;
    Tensor known(type->dtype, type->shape);
    std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(known.data()));
    input.known = std::move(known);
  }
}

}  // namespace

Result<graph::Graph> parse_pt2(std::string_view archive, std::string_view file) {
  const auto located = [&](Error error) {
    if (error.where.file.empty()) error.where.file = std::string(file);
    return error;
  };
  auto zip = ZipReader::open(archive);
  if (!zip.ok()) return located(std::move(zip).error());
  std::string program, weights, constants;
  for (const ZipEntry& entry : zip->entries()) {
    const std::string_view name = entry.name;
    const bool model = name.find("models/") != std::string_view::npos && name.ends_with(".json");
    if (program.empty() && (model || name.ends_with("serialized_exported_program.json"))) program = entry.name;
    if (name.ends_with("_weights_config.json")) weights = entry.name;
    if (name.ends_with("_constants_config.json")) constants = entry.name;
  }
  if (program.empty())
    return located({ErrorCode::parse,
                    "the archive holds no exported program",
                    "expected models/*.json as torch.export.save writes; AOTInductor packages hold no graph",
                    {}});
  auto json = zip->read(program, max_json_text);
  if (!json.ok()) return located(std::move(json).error());
  LL_TRY(graph::Graph graph, parse_torch_export(*json, file));
  for (const bool is_constants : {false, true}) {
    const std::string& config = is_constants ? constants : weights;
    if (config.empty()) continue;
    auto text = zip->read(config, max_json_text);
    if (!text.ok()) return located(std::move(text).error());
    attach(graph, *zip, config.substr(0, config.rfind('/') + 1), read_config(*text), is_constants);
  }
  return graph;
}

}  // namespace lightline::frontend
