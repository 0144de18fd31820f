#include "frontend/load/load.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json_string.h"
#include "frontend/export/json_fields.h"
#include "frontend/export/torch_export.h"
#include "frontend/fx/fx_text.h"
#include "frontend/fx/samples.h"
#include "frontend/stablehlo/stablehlo.h"
#include "graph/text.h"

namespace lightline::frontend {
namespace {

std::string_view key_of(ExportForm form) { return form == ExportForm::training ? "training" : "core"; }

std::string stem(std::string_view path) {
  const size_t slash = path.rfind('/');
  std::string name(slash == std::string_view::npos ? path : path.substr(slash + 1));
  return name.substr(0, name.find('.'));
}

// Programs are the members with a graph_module, or StableHLO text.
bool is_program_key(std::string_view key) { return key == "training" || key == "core" || key == "stablehlo"; }

// An entry is called by its problem, else its name, else its id: a string, or an integer.
void name_entry(CorpusEntry& entry, std::string_view key, const JsonElement& value, int& rank) {
  const int own = key == "problem" ? 3 : key == "name" ? 2 : key == "id" ? 1 : 0;
  std::string_view text;
  int64_t number = 0;
  if (own <= rank) return;
  if (value.get(text) == simdjson::SUCCESS)
    entry.name = std::string(text);
  else if (value.get(number) == simdjson::SUCCESS)
    entry.name = fmt::format("{}", number);
  else
    return;
  rank = own;
}

enum class Kind : uint8_t { none, archive, stablehlo, fx_text, graph_text, program_json };

// The one place that tells front ends apart.
Kind kind_of(std::string_view content) {
  if (content.starts_with("PK")) return Kind::archive;
  if (looks_like_stablehlo(content)) return Kind::stablehlo;
  if (graph::is_graph_text(content)) return Kind::graph_text;
  if (is_fx_text(content)) return Kind::fx_text;
  const size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && content[first] == '{' ? Kind::program_json : Kind::none;
}

Result<graph::Graph> parse_as(Kind kind, std::string_view content, std::string_view file) {
  switch (kind) {
    case Kind::archive: return parse_pt2(content, file);
    case Kind::stablehlo: return parse_stablehlo(content, file);
    case Kind::fx_text: return parse_fx_text(content, file);
    case Kind::graph_text: return graph::parse(content, file);
    case Kind::program_json:
    case Kind::none: return parse_torch_export(content, file);  // says what is wrong with other texts
  }
  return Error{};
}

}  // namespace

bool is_corpus(const std::string& path) {
  if (is_folder(path)) return !is_sample_folder(path);
  return is_sample_archive(path) || has_forms(path);
}

bool has_forms(const std::string& path) {
  if (is_folder(path)) return false;
  std::string_view name = path;
  for (const std::string_view suffix : {".xz", ".zst", ".gz"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name.ends_with(".jsonl");
}

Status for_each_program(const std::string& path, ExportForm form,
                        const std::function<Status(const CorpusEntry&)>& entry) {
  if (is_folder(path) || is_sample_archive(path)) {
    int64_t number = 0;
    return for_each_sample(path, [&](const std::string& name, std::string text) {
      return entry({++number, name, std::move(text), ""});
    });
  }
  simdjson::dom::parser parser;
  bool is_empty = true;
  LL_DO(for_each_line(path, [&](int64_t number, std::string_view line) -> Status {
    if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return Ok{};
    is_empty = false;
    CorpusEntry e;
    e.line = number;
    e.name = fmt::format("line {}", number);
    int rank = 0;
    JsonObject o;
    const auto root = parse_json(parser, line);
    if (!root.ok() || root->get(o) != simdjson::SUCCESS) {
      e.program = line;
      return entry(e);
    }
    for (const auto& [key, value] : o) {
      std::string_view text;
      if (key == key_of(form)) e.program = simdjson::minify(value);
      if (key == "stablehlo" && e.program.empty() && value.get(text) == simdjson::SUCCESS) e.program = text;
      if (is_program_key(key)) continue;
      if (!e.carried.empty()) e.carried += ',';
      e.carried += fmt::format("{}:{}", json_string(key), simdjson::minify(value));
      name_entry(e, key, value, rank);
    }
    return entry(e);
  }));
  if (is_empty)
    return Error{
        ErrorCode::parse, "there are no programs inside", "a corpus has a program in each line, as JSON", {path}};
  return Ok{};
}

bool is_foreign(std::string_view content) { return kind_of(content) != Kind::none; }

Result<graph::Graph> parse_graph(std::string_view content, ExportForm form, std::string_view file) {
  if (content.empty())
    return Error{ErrorCode::parse,
                 fmt::format("there is no program in {} form", key_of(form)),
                 "corpus entries hold programs under \"training\" and \"core\", or text under \"stablehlo\"",
                 {std::string(file)}};
  if (content.starts_with(byte_order_mark))
    return Error{ErrorCode::parse,
                 "the text begins with a byte order mark",
                 "save it as UTF-8 without one",
                 {std::string(file), 1, 1}};
  LL_TRY(graph::Graph graph, parse_as(kind_of(content), content, file));
  graph.name = stem(file);
  return graph;
}

}  // namespace lightline::frontend
