// What `lightline import` tells of one program or of a corpus.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/load/load.h"
#include "ops/lower/lower.h"

namespace lightline::report {

struct ImportStats {
  int64_t programs = 0;
  int64_t imported = 0;
  int64_t statements = 0;
  std::map<std::string, int64_t> calls;   // operators with a definition
  std::map<std::string, int64_t> opaque;  // operators without one
  std::vector<std::string> failures;      // "name: message"

  void add(const frontend::CorpusEntry& entry, const Result<ops::Lowered>& lowered);
};

std::string to_text(const ImportStats& stats, const std::string& file, const std::string& form);
std::string to_json(const ImportStats& stats, const std::string& file,
                    const std::string& form);  // schema lightline.import_stats

// One JSON line (schema lightline.import) with the entry's other keys carried through; with the loops if asked.
std::string import_line(const frontend::CorpusEntry& entry, const Result<ops::Lowered>& lowered, bool with_loops);

}  // namespace lightline::report
