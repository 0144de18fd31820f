#include "report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "report/json.h"
#include "report/table.h"

namespace lightline::report {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string number_text(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : "-"; }

Json summary_json(const TensorSummary& summary) {
  Json json;
  json["name"] = summary.name;
  json["dtype"] = name(summary.dtype);
  json["shape"] = summary.shape;
  json["checksum"] = summary.checksum;
  if (!summary.source.empty()) json["source"] = summary.source;
  return json;
}

Json optional_number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

}  // namespace

std::string time_text(double milliseconds) {
  if (milliseconds >= 1000) return fmt::format("{:.3g} s", milliseconds / 1000);
  if (milliseconds >= 1) return fmt::format("{:.3g} ms", milliseconds);
  return fmt::format("{:.3g} us", milliseconds * 1000);
}

TensorSummary summarize(std::string name, const Tensor& tensor, std::string source) {
  TensorSummary summary{std::move(name), tensor.dtype(), tensor.shape(), "", {}, {}, {}, std::move(source)};
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.byte_count());
  summary.checksum = content_hash(bytes).substr(0, 16);
  if (tensor.size() == 0) return summary;
  double sum = 0;
  double least = tensor.get_f64(0);
  double greatest = least;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get_f64(i);
    sum += value;
    if (value < least || std::isnan(value)) least = value;
    if (value > greatest || std::isnan(value)) greatest = value;
  }
  summary.mean = sum / double(tensor.size());
  if (tensor.dtype() == DType::c64) return summary;
  summary.least = least;
  summary.greatest = greatest;
  return summary;
}

std::string to_table(const RunReport& report) {
  Table table(
      {{"output"}, {"type"}, {"checksum"}, {"mean", Align::right}, {"min", Align::right}, {"max", Align::right}});
  for (const TensorSummary& output : report.outputs) {
    table.add_row({output.name, to_string(TensorType{output.dtype, output.shape}), output.checksum,
                   number_text(output.mean), number_text(output.least), number_text(output.greatest)});
  }
  std::string text = fmt::format("program {}, backend {}, seed {}\n", report.program, report.backend, report.seed);
  text += table.text();
  text += "time " + time_text(*std::min_element(report.times_ms.begin(), report.times_ms.end()));
  if (report.times_ms.size() > 1) {
    text += fmt::format(" (best of {}, median {})", report.times_ms.size(), time_text(median(report.times_ms)));
  }
  if (report.compile_ms) {
    text += fmt::format(", compiled in {}{}", time_text(*report.compile_ms), report.from_cache ? " (cached)" : "");
  }
  return text + "\n";
}

std::string to_json(const RunReport& report) {
  Json json = document("lightline.run", 1);
  json["file"] = report.file;
  json["program"] = report.program;
  json["backend"] = report.backend;
  json["seed"] = report.seed;
  json["inputs"] = Json::array();
  for (const TensorSummary& input : report.inputs) json["inputs"].push_back(summary_json(input));
  json["outputs"] = Json::array();
  for (const TensorSummary& output : report.outputs) {
    Json entry = summary_json(output);
    entry["mean"] = optional_number(output.mean);
    entry["min"] = optional_number(output.least);
    entry["max"] = optional_number(output.greatest);
    json["outputs"].push_back(std::move(entry));
  }
  Json& time = json["time_ms"];
  time["best"] = *std::min_element(report.times_ms.begin(), report.times_ms.end());
  time["median"] = median(report.times_ms);
  time["runs"] = report.times_ms;
  if (report.compile_ms) {
    json["compile"]["time_ms"] = *report.compile_ms;
    json["compile"]["from_cache"] = report.from_cache;
  }
  return to_text(json);
}

}  // namespace lightline::report
