// What `lightline import` reports of one program or of a corpus.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/load/load.h"
#include "ops/lower/lower.h"

namespace lightline::report {

// What became of one program: one of the two is there.
struct Imported {
  Imported(const ops::Lowered& program) : lowered(&program) {}
  Imported(const Error& reason) : error(&reason) {}
  const ops::Lowered* lowered = nullptr;
  const Error* error = nullptr;
};

struct ImportStats {
  int64_t programs = 0;
  int64_t imported = 0;
  int64_t statements = 0;
  std::map<std::string, int64_t> calls;           // operators with a definition
  std::map<std::string, int64_t> not_executable;  // operators that can not be run
  std::vector<std::string> failures;              // "name: message"

  void add(const frontend::CorpusEntry& entry, const Imported& one);
};

std::string to_text(const ImportStats& stats, const std::string& file, const std::string& form);
std::string to_json(const ImportStats& stats, const std::string& file,
                    const std::string& form);  // schema lightline.import_stats

// One JSON line (schema lightline.import) with the entry's other keys carried through; with the loops if asked.
std::string import_line(const frontend::CorpusEntry& entry, const Imported& imported, bool with_loops);

}  // namespace lightline::report
