#include "report/import_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/print.h"
#include "report/json.h"
#include "report/table.h"

namespace lightline::report {
namespace {

int64_t total(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::vector<std::pair<std::string, int64_t>> most_frequent(const std::map<std::string, int64_t>& counts) {
  std::vector<std::pair<std::string, int64_t>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

std::string counted(const std::map<std::string, int64_t>& counts, std::string_view title, size_t most) {
  if (counts.empty()) return "";
  Table table({{std::string(title), Align::left}, {"calls", Align::right}});
  size_t shown = 0;
  for (const auto& [name, count] : most_frequent(counts)) {
    if (shown++ == most) break;
    table.add_row({name, fmt::format("{}", count)});
  }
  std::string text = "\n" + table.text();
  if (counts.size() > most) text += fmt::format("... and {} more\n", counts.size() - most);
  return text;
}

}  // namespace

void ImportStats::add(const frontend::CorpusEntry& entry, const Imported& one) {
  ++programs;
  if (one.error != nullptr) {
    failures.push_back(fmt::format("{}: {}", entry.name, one.error->message));
    return;
  }
  const ops::Lowered* lowered = one.lowered;
  ++imported;
  statements += int64_t(lowered->program.statements.size());
  for (const auto& [name, count] : lowered->calls) calls[name] += count;
  for (const auto& [name, count] : lowered->not_executable) not_executable[name] += count;
}

std::string to_text(const ImportStats& stats, const std::string& file, const std::string& form) {
  const int64_t defined = total(stats.calls), unknown = total(stats.not_executable);
  const double share = defined + unknown == 0 ? 100.0 : 100.0 * double(defined) / double(defined + unknown);
  std::string text =
      fmt::format("{} ({} form): {} of {} programs imported\n", file, form, stats.imported, stats.programs);
  text += fmt::format("{} operator calls, {} distinct operators, {:.2f} % of the calls defined; {} statements\n",
                      defined + unknown, stats.calls.size() + stats.not_executable.size(), share, stats.statements);
  text += unknown == 0
              ? "all operators can be run\n"
              : fmt::format("{} calls of {} operators that can not be run\n", unknown, stats.not_executable.size());
  text += counted(stats.not_executable, "not executable", 100);
  text += counted(stats.calls, "operator", 40);
  for (const std::string& failure : stats.failures) text += fmt::format("failed: {}\n", failure);
  return text;
}

std::string to_json(const ImportStats& stats, const std::string& file, const std::string& form) {
  Json json = document("lightline.import_stats", 2);
  json["file"] = file;
  json["form"] = form;
  json["programs"] = stats.programs;
  json["imported"] = stats.imported;
  json["statements"] = stats.statements;
  json["calls"] = stats.calls;
  json["not_executable"] = stats.not_executable;
  json["failures"] = stats.failures;
  return to_text(json);
}

std::string import_line(const frontend::CorpusEntry& entry, const Imported& imported, bool with_loops) {
  const ops::Lowered* lowered = imported.lowered;
  Json json = document("lightline.import", 2);
  json["program"] = entry.name;
  json["ok"] = lowered != nullptr;
  if (lowered != nullptr) {
    json["inputs"] = lowered->program.inputs.size();
    json["outputs"] = lowered->program.outputs.size();
    json["statements"] = lowered->program.statements.size();
    json["ops"] = lowered->calls;
    json["not_executable"] = lowered->not_executable;
    json["assumptions"] = lowered->assumptions;
    if (with_loops) json["loops"] = loops::print(lowered->program);
  } else {
    json["error"] = imported.error->message;
  }
  carry_through(json, entry.carried,
                {"error", "inputs", "outputs", "statements", "ops", "not_executable", "assumptions", "loops"});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lightline::report
