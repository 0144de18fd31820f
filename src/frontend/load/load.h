// Programs from files of any kind, told apart by content.
//
// Room frontend/load: told by content which front end a file is for; corpora of programs, entry by entry.
// May use: base, graph, frontend/export, frontend/stablehlo, frontend/fx.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

namespace lightline::frontend {

enum class ExportForm : uint8_t { training, core };  // as traced, or after run_decompositions()

// One line of a corpus: a JSON object with programs under "training" and "core", or the text of one under "stablehlo";
// other keys are carried through.
struct CorpusEntry {
  int64_t line = 0;
  std::string name;     // "problem", "name" or "id" of the entry, else the line number
  std::string program;  // JSON text of the program in the asked form, or StableHLO text; empty if there is neither
  std::string carried;  // the other keys as JSON members, without braces: "problem":"x","sol_ms":1.5
};

// .jsonl, also with .xz, .zst or .gz; a folder of GraphNet samples, or a tar archive of them
bool is_corpus(const std::string& path);
bool has_forms(const std::string& path);  // a corpus whose entries may come in two forms

// Calls `entry` for every line; a line that is not a JSON object is its own `program`, of which parsing says what is wrong.
Status for_each_program(const std::string& path, ExportForm form,
                        const std::function<Status(const CorpusEntry&)>& entry);

// Whether a text is for one of the front ends; the others are loops.
bool is_foreign(std::string_view content);
// A single program: a .pt2 archive, program JSON (also a corpus line), StableHLO text, or the text of a GraphNet
// sample.
Result<graph::Graph> parse_graph(std::string_view content, ExportForm form, std::string_view file);

}  // namespace lightline::frontend
