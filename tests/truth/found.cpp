#include "truth/found.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/file.h"
#include "loops/ir/parse.h"

namespace lightline::truth {
namespace {

std::string as_line(const std::map<std::string, double>& limits) {
  std::string line;
  for (const auto& [resource, limit] : limits)
    if (std::isfinite(limit)) line += fmt::format("{}{} {:.9g}", line.empty() ? "" : "; ", resource, limit);
  return line;
}

std::map<std::string, double> from_line(const std::string& line) {
  std::map<std::string, double> limits;
  std::istringstream parts(line);
  std::string resource, number;
  while (parts >> resource >> number) limits[resource] = std::strtod(number.c_str(), nullptr);
  return limits;
}

struct Values {
  uint64_t seed = 0;
  int64_t limit = 2;
  std::vector<std::string> known;
};

Values values_from(const std::string& line) {
  Values values;
  std::istringstream words(line);
  std::string word;
  while (words >> word) {
    if (word == "seed") words >> values.seed;
    if (word == "below") words >> values.limit;
    if (word == "known")
      while (words >> word) values.known.push_back(word);
  }
  return values;
}

}  // namespace

std::map<std::string, double> limits_of(const Truth& truth, bool floor) {
  const Work least = truth.least(floor);
  return {{"macs", least.products + least.lone_products + least.additions},
          {"vector_ops", least.slots},
          {"transcendental_ops", least.transcendentals},
          {"milliseconds", truth.least_milliseconds(floor)}};
}

std::string found_text(const Find& find, const std::string& cause) {
  const auto subject = subject_of(find.sketch, find.seed);
  LL_CHECK(subject.ok());
  const auto truth = truth_of(*subject);
  LL_CHECK(truth.ok());
  std::string text =
      fmt::format("# cause: {}\n# values: seed {} below {}", cause, find.seed, find.sketch.integer_limit);
  if (!find.sketch.known.empty()) text += fmt::format(" known {}", fmt::join(find.sketch.known, " "));
  text += fmt::format("\n# truth: {}\n", as_line({{"input_bytes", truth->input_bytes + truth->constant_bytes},
                                                  {"output_bytes", truth->output_bytes}}));
  text += fmt::format("# floor: {}\n", as_line(limits_of(*truth, true)));
  text += fmt::format("# fused: {}\n", as_line(limits_of(*truth, false)));
  return text + find.sketch.text();
}

Result<FoundCase> load_found(const std::string& path) {
  LL_TRY(const std::string text, read_file(path));
  FoundCase found;
  LL_TRY(found.subject.program, loops::parse_and_verify(text, path));
  std::istringstream lines(text);
  Values values;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(2, colon - 2);
    std::string rest = line.substr(colon + 2);
    if (key == "cause") {
      found.cause = rest;
    } else if (key == "values") {
      values = values_from(rest);
    } else {
      for (char& letter : rest)
        if (letter == ';') letter = ' ';
      found.limits[key] = from_line(rest);
    }
  }
  found.subject.inputs = random_inputs(found.subject.program, values.seed % 1'000'003, values.limit);
  for (const loops::ArrayId input : found.subject.program.inputs)
    for (const std::string& name : values.known)
      if (found.subject.program.arrays[input].name == name) found.subject.known.insert(input);
  return found;
}

}  // namespace lightline::truth
