#include "truth/fuzz.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <tuple>

#include "loops/ir/parse.h"

namespace lightline::truth {
namespace {

// What is wrong in kind comes before what is wrong by rates alone, the fused tier before the floor.
const Violation& strongest(const std::vector<Violation>& violations) {
  const auto weight = [](const Violation& violation) {
    return std::tuple(!violation.rates, violation.tier == "fused", std::min(violation.factor(), 50.0));
  };
  return *std::max_element(violations.begin(), violations.end(),
                           [&](const Violation& a, const Violation& b) { return weight(a) < weight(b); });
}

bool mentions(const std::string& line, const std::string& name) {
  return std::regex_search(line, std::regex("\\b" + name + "\\b"));
}

// What a statement defines, as far as it defines one array.
std::optional<Named> defined_by(const std::string& line) {
  static const std::regex form(R"(^(\w+): (\w+)\[([^\]]*)\] = )");
  std::smatch found;
  if (!std::regex_search(line, found, form)) return std::nullopt;
  Named result{found[1], {}, found[2]};
  const std::string shape = found[3];
  static const std::regex number("[0-9]+");
  for (auto at = std::sregex_iterator(shape.begin(), shape.end(), number); at != std::sregex_iterator(); ++at)
    result.shape.push_back(std::stoi(at->str()));
  return result;
}

std::vector<std::string> names_defined(const std::string& line) {
  if (auto one = defined_by(line)) return {one->name};
  std::vector<std::string> names;
  static const std::regex name(R"((\w+): \w+\[)");
  const std::string head = line.substr(0, line.find(") ="));
  for (auto at = std::sregex_iterator(head.begin(), head.end(), name); at != std::sregex_iterator(); ++at)
    names.push_back((*at)[1]);
  return names;
}

// Without statements and inputs that nothing uses.
Sketch pruned(Sketch sketch) {
  for (size_t i = sketch.lines.size(); i-- > 0;) {
    const auto names = names_defined(sketch.lines[i]);
    const bool used = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      for (const std::string& output : sketch.outputs)
        if (mentions(output, name)) return true;
      for (size_t j = i + 1; j < sketch.lines.size(); ++j)
        if (mentions(sketch.lines[j], name)) return true;
      return false;
    });
    if (!used) sketch.lines.erase(sketch.lines.begin() + int64_t(i));
  }
  std::erase_if(sketch.inputs, [&](const Named& input) {
    const auto uses = [&](const std::string& text) { return mentions(text, input.name); };
    return std::none_of(sketch.lines.begin(), sketch.lines.end(), uses) &&
           std::none_of(sketch.outputs.begin(), sketch.outputs.end(), uses);
  });
  return sketch;
}

std::optional<Violation> same_violation(const Sketch& sketch, uint64_t seed, const Violation& wanted) {
  const auto subject = subject_of(sketch, seed);
  if (!subject.ok()) return std::nullopt;
  const auto verdict = judge(*subject);
  if (!verdict.ok()) return std::nullopt;
  for (const Violation& violation : verdict->violations)
    if (violation.tier == wanted.tier && violation.resource == wanted.resource && violation.too_low == wanted.too_low &&
        violation.rates == wanted.rates &&
        (violation.factor() >= 1 + (wanted.factor() - 1) / 2 || !std::isfinite(violation.factor())))
      return violation;
  return std::nullopt;
}

// `kept` is an array that must still be made.
std::vector<Sketch> smaller(const Sketch& sketch, const std::string& kept) {
  std::vector<Sketch> result;
  for (size_t i = 0; i < sketch.outputs.size() && sketch.outputs.size() > 1; ++i) {
    Sketch fewer = sketch;
    fewer.outputs.erase(fewer.outputs.begin() + int64_t(i));
    result.push_back(pruned(std::move(fewer)));
  }
  for (size_t i = 0; i < sketch.lines.size(); ++i) {
    const auto defined = defined_by(sketch.lines[i]);
    if (!defined || sketch.outputs.front().starts_with(defined->name)) continue;
    Sketch fewer = sketch;
    fewer.lines.erase(fewer.lines.begin() + int64_t(i));
    fewer.inputs.push_back(*defined);
    result.push_back(pruned(std::move(fewer)));
  }
  for (size_t i = 0; i + 1 < sketch.lines.size(); ++i) {
    const auto defined = defined_by(sketch.lines[i]);
    if (!defined) continue;
    Sketch earlier = sketch;
    earlier.outputs = {defined->name};
    result.push_back(pruned(std::move(earlier)));
  }
  std::erase_if(result, [&](const Sketch& candidate) {
    return !kept.empty() && std::none_of(candidate.lines.begin(), candidate.lines.end(), [&](const std::string& line) {
      const auto names = names_defined(line);
      return std::find(names.begin(), names.end(), kept) != names.end();
    });
  });
  return result;
}

}  // namespace

Result<Subject> subject_of(const Sketch& sketch, uint64_t seed) {
  Subject subject;
  LL_TRY(subject.program, loops::parse_and_verify(sketch.text(), "sketch"));
  subject.inputs = random_inputs(subject.program, seed % 1'000'003, sketch.integer_limit);
  subject.dense = sketch.dense;
  for (const loops::ArrayId input : subject.program.inputs)
    if (sketch.known.contains(subject.program.arrays[input].name)) subject.known.insert(input);
  return subject;
}

Find minimised(const Find& find, const std::string& kind, const std::string& construct) {
  Find best = find;
  const Violation wanted = strongest(find.violations);
  for (int largest = 2; largest < 7; ++largest) {
    Sketch sketch = pruned(Generator(find.seed, largest).run(kind));
    if (sketch.constructs != find.sketch.constructs || !same_violation(sketch, find.seed, wanted)) continue;
    best.sketch = std::move(sketch);
    break;
  }
  const auto place = best.sketch.places.find(construct);
  const std::string kept = place == best.sketch.places.end() ? "" : place->second;
  for (bool again = true; again;) {
    again = false;
    for (Sketch& sketch : smaller(best.sketch, kept)) {
      if (!same_violation(sketch, find.seed, wanted)) continue;
      best.sketch = std::move(sketch);
      again = true;
      break;
    }
  }
  const auto subject = subject_of(best.sketch, find.seed);
  if (subject.ok())
    if (const auto verdict = judge(*subject); verdict.ok()) best.violations = verdict->violations;
  return best;
}

namespace {

bool is_better(const Find& a, const Find& b) {
  const auto weight = [](const Find& find) {
    const Violation& violation = strongest(find.violations);
    return std::tuple(!violation.rates, -int(find.sketch.constructs.size()), std::min(violation.factor(), 50.0));
  };
  return weight(a) > weight(b);
}

void keep(FuzzReport& report, const Find& find) {
  for (const std::string& construct : find.sketch.constructs) {
    const auto [place, fresh] = report.finds.try_emplace(construct, find);
    if (!fresh && is_better(find, place->second)) place->second = find;
  }
}

}  // namespace

FuzzReport fuzz(const FuzzOptions& options) {
  FuzzReport report;
  for (uint64_t i = 0; i < options.count; ++i) {
    const uint64_t seed = options.seed * 1'000'003 + i;
    const Sketch sketch = Generator(seed).run(options.kind);
    const auto fault = [&](const std::string& what) { report.faults.push_back(what + "\n" + sketch.text()); };
    const auto subject = subject_of(sketch, seed);
    ++report.tried;
    if (!subject.ok()) {
      fault(to_string(subject.error()));
      continue;
    }
    if (options.interpret_every != 0 && i % options.interpret_every == 0) {
      const auto difference = difference_of_meaning(*subject);
      ++report.checked_by_interpreter;
      if (!difference.ok())
        fault(to_string(difference.error()));
      else if (difference->has_value())
        fault(**difference);
    }
    const auto verdict = judge(*subject);
    if (!verdict.ok()) {
      fault(to_string(verdict.error()));
      continue;
    }
    if (!verdict->truth.plans_hold) fault("a way to run it gives other values");
    for (const std::string& broken : verdict->broken_orders)
      report.broken_orders.push_back(fmt::format("{}, seed {}\n{}", broken, seed, sketch.text()));
    report.skipped += verdict->skipped;
    const bool beyond_rates = std::any_of(verdict->violations.begin(), verdict->violations.end(),
                                          [](const Violation& violation) { return !violation.rates; });
    report.violating += !verdict->violations.empty();
    report.beyond_rates += beyond_rates;
    for (const std::string& construct : sketch.constructs) {
      auto& [violating, tried] = report.constructs[construct];
      ++tried;
      violating += beyond_rates;
    }
    for (const Violation& violation : verdict->violations)
      ++report.resources[violation.tier + " " + violation.resource + (violation.too_low ? " too low" : "")];
    if (verdict->violations.empty()) continue;
    keep(report, {seed, sketch, verdict->violations});
    report.violations[seed] = verdict->violations;
  }
  return report;
}

}  // namespace lightline::truth
