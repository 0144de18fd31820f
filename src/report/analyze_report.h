// What `lightline analyze` reports of one program on one machine.
#pragma once

#include <optional>
#include <string>

#include "bound/bound.h"
#include "demand/analysis.h"
#include "machine/machine.h"

namespace lightline::report {

struct AnalyzeReport {
  std::string program;
  const loops::Program* loops = nullptr;
  const demand::Analysis* analysis = nullptr;
  const machine::Machine* machine = nullptr;
  bound::Options options;
  bound::Bounds bounds;
  std::optional<double> measured_ms;
  std::vector<std::string> assumptions;
  bool explain = false;  // list where bounds gave up
  bool demand = false;   // list the demand of every term
};

std::string to_text(const AnalyzeReport& report, size_t top);
// One JSON object (schema lightline.analyze, docs/json.md) without a newline; `carried` are further JSON members.
std::string to_json(const AnalyzeReport& report, size_t top, const std::string& carried, bool indented);

}  // namespace lightline::report
