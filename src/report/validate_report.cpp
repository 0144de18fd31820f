#include "report/validate_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/json.h"
#include "report/run_report.h"
#include "report/table.h"

namespace lightline::report {

bool ValidatedRun::agrees() const {
  return error.empty() && !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(), [](const ValidatedOutput& o) { return o.comparison.agree; });
}

bool ValidateReport::agrees() const {
  return !runs.empty() && std::all_of(runs.begin(), runs.end(), [](const ValidatedRun& run) { return run.agrees(); });
}

namespace {

std::string verdict(const ValidateReport& report) {
  return fmt::format("{}: {} with the framework (seed {})\n", report.program,
                     report.agrees() ? "agrees" : "does not agree", report.seed);
}

std::string problems(const ValidateReport& report) {
  std::string lines;
  for (const ValidatedRun& run : report.runs) {
    if (!run.error.empty()) {
      lines += fmt::format("{} form, {}: {}\n", run.form, run.backend, run.error);
      continue;
    }
    for (const ValidatedOutput& output : run.outputs)
      if (!output.comparison.agree)
        lines += fmt::format("{} form, {}, {}: {}\n", run.form, run.backend, output.name, output.comparison.reason);
  }
  return lines;
}

}  // namespace

std::string to_table(const ValidateReport& report) {
  Table table({{"form", Align::left},
               {"backend", Align::left},
               {"output", Align::left},
               {"type", Align::left},
               {"worst absolute", Align::right},
               {"worst relative", Align::right},
               {"verdict", Align::left}});
  for (const ValidatedRun& run : report.runs) {
    if (!run.error.empty()) continue;
    for (const ValidatedOutput& output : run.outputs) {
      const Comparison& c = output.comparison;
      table.add_row({run.form, run.backend, output.name, to_string(TensorType{output.dtype, output.shape}),
                     fmt::format("{:.3g}", c.worst_absolute), fmt::format("{:.3g}", c.worst_relative),
                     c.agree ? "agrees" : "differs"});
    }
  }
  return verdict(report) + table.text() + problems(report);
}

std::string to_summary(const ValidateReport& report) {
  std::string text = verdict(report) + problems(report);
  text.pop_back();
  return text;
}

std::string to_json(const ValidateReport& report) {
  Json json = document("lightline.validate", 1);
  json["program"] = report.program;
  json["seed"] = report.seed;
  json["agrees"] = report.agrees();
  json["runs"] = Json::array();
  for (const ValidatedRun& run : report.runs) {
    Json entry;
    entry["form"] = run.form;
    entry["backend"] = run.backend;
    entry["agrees"] = run.agrees();
    if (!run.error.empty()) entry["error"] = run.error;
    entry["outputs"] = Json::array();
    for (const ValidatedOutput& output : run.outputs) {
      const Comparison& c = output.comparison;
      Json o;
      o["name"] = output.name;
      o["type"] = to_string(TensorType{output.dtype, output.shape});
      o["agrees"] = c.agree;
      o["worst_absolute"] = number(c.worst_absolute);
      o["worst_relative"] = number(c.worst_relative);
      if (!c.agree) o["reason"] = c.reason;
      entry["outputs"].push_back(o);
    }
    json["runs"].push_back(entry);
  }
  return to_text(json);
}

}  // namespace lightline::report
