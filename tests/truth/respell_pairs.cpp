// Cheap programs and the same said wastefully; what moves when a program is respelled.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "loops/interpret/interpret.h"
#include "truth/respell.h"

namespace lightline::truth {
namespace {

Sketch sketch(std::vector<Named> inputs, std::vector<std::string> lines) {
  Sketch result;
  result.inputs = std::move(inputs);
  result.lines = std::move(lines);
  result.outputs = {"y"};
  return result;
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(Tensor::dense_copy(tensor.view()));
  return result;
}

Result<std::optional<std::string>> difference(const Subject& from, const Subject& to) {
  LL_TRY(const auto expected, loops::interpret(from.program, copies(from.inputs)));
  LL_TRY(const auto actual, loops::interpret(to.program, copies(from.inputs)));
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tolerance allowed = tolerance(expected[i].dtype());
    const Comparison comparison = compare(actual[i], expected[i], {8 * allowed.absolute, 8 * allowed.relative});
    if (!comparison.agree) return std::optional(comparison.reason);
  }
  return std::optional<std::string>();
}

std::vector<Tier> tiers(const Subject& subject) {
  std::map<loops::ArrayId, const Tensor*> known;
  for (size_t i = 0; i < subject.inputs.size(); ++i)
    if (subject.known.contains(subject.program.inputs[i])) known[subject.program.inputs[i]] = &subject.inputs[i];
  return tiers_of(subject.program, known);
}

}  // namespace

std::vector<Violation> moved_tiers(const std::vector<Tier>& old_tiers, const std::vector<Tier>& new_tiers) {
  std::vector<Violation> violations;
  for (size_t i = 0; i < old_tiers.size(); ++i) {
    const Tier &a = old_tiers[i], &b = new_tiers[i];
    const auto same = [&](const char* resource, double was, double is) {
      if (std::abs(was - is) > 1e-6 * std::max(was, is) + 1e-11)
        violations.push_back({a.name, resource, is, was, is < was});
    };
    same("input_bytes", a.input_bytes, b.input_bytes);
    same("output_bytes", a.output_bytes, b.output_bytes);
    same("macs", a.total_macs(), b.total_macs());
    same("vector_ops", a.vector_ops, b.vector_ops);
    same("transcendental_ops", a.transcendental_ops, b.transcendental_ops);
    same("milliseconds", a.milliseconds, b.milliseconds);
  }
  return violations;
}

std::vector<Pair> wasteful_pairs(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return int(3 + random() % 5); };
  const int n = size() + 1, m = size(), c = size();
  const Named x{"x", {n, m}}, w{"w", {m, c}}, v{"v", {n, m}};
  const std::string made = fmt::format("[{}, {}]", n, m), product = fmt::format("[{}, {}]", n, c);
  std::vector<Pair> pairs;
  pairs.push_back({"cumulative sum as tril(ones) @ x",
                   sketch({x}, {fmt::format("y: f32{} = for scan i, j: y[i - 1, j | 0] + x[i, j]", made)}),
                   sketch({x}, {fmt::format("t: f32[{0}, {0}] = for i, j: if(j <= i, 1, 0)", n),
                                fmt::format("y: f32{} = for i, j: sum k in {}: t[i, k] * x[k, j]", made, n)})});
  pairs.push_back({"sliding sum as a convolution with ones",
                   sketch({x}, {fmt::format("y: f32[{}, {}] = for i, j: sum r in 3: x[i + r, j]", n - 2, m)}),
                   sketch({x}, {"o: f32[3] = for r: 1",
                                fmt::format("y: f32[{}, {}] = for i, j: sum r in 3: o[r] * x[i + r, j]", n - 2, m)})});
  pairs.push_back(
      {"repeat before the product instead of after",
       sketch({x, w}, {fmt::format("h: f32{} = for i, j: sum k in {}: x[i, k] * w[k, j]", product, m),
                       fmt::format("y: f32[{}, {}] = for i, j: h[i mod {}, j]", 2 * n, c, n)}),
       sketch({x, w}, {fmt::format("h: f32[{}, {}] = for i, j: x[i mod {}, j]", 2 * n, m, n),
                       fmt::format("y: f32[{}, {}] = for i, j: sum k in {}: h[i, k] * w[k, j]", 2 * n, c, m)})});
  pairs.push_back(
      {"blocks as one matrix",
       sketch({x, v, w},
              {fmt::format("a: f32{} = for i, j: sum k in {}: x[i, k] * w[k, j]", product, m),
               fmt::format("b: f32{} = for i, j: sum k in {}: v[i, k] * w[k, j]", product, m),
               fmt::format("y: f32[{}, {}] = for i, j: if(i < {}, a[i, j | 0], b[i - {}, j | 0])", 2 * n, c, n, n)}),
       sketch({x, v, w},
              {fmt::format("d: f32[{}, {}] = for i, j: x[i, j | 0] + v[i - {}, j - {} | 0]", 2 * n, 2 * m, n, m),
               fmt::format("u: f32[{}, {}] = for i, j: w[i mod {}, j]", 2 * m, c, m),
               fmt::format("y: f32[{}, {}] = for i, j: sum k in {}: d[i, k] * u[k, j]", 2 * n, c, 2 * m)})});
  pairs.push_back(
      {"both halves of a symmetric product",
       sketch({x}, {fmt::format("u: f32[{0}, {0}] = for i, j: sum k in {1}: if(i <= j, x[i, k] * x[j, k], 0)", n, m),
                    fmt::format("y: f32[{0}, {0}] = for i, j: if(i <= j, u[i, j], u[j, i])", n)}),
       sketch({x}, {fmt::format("y: f32[{0}, {0}] = for i, j: sum k in {1}: x[i, k] * x[j, k]", n, m)})});
  std::string sum = "x[i, 0] * w[0, j]";
  for (int k = 1; k < m; ++k) sum += fmt::format(" + x[i, {0}] * w[{0}, j]", k);
  pairs.push_back({"a product unrolled",
                   sketch({x, w}, {fmt::format("y: f32{} = for i, j: sum k in {}: x[i, k] * w[k, j]", product, m)}),
                   sketch({x, w}, {fmt::format("y: f32{} = for i, j: {}", product, sum)})});
  return pairs;
}

Result<RespellVerdict> judge_neutral(const Sketch& from, const Sketch& to, uint64_t seed) {
  LL_TRY(const Subject before, subject_of(from, seed));
  LL_TRY(Subject after, subject_of(to, seed));
  RespellVerdict verdict;
  LL_TRY(verdict.other_meaning, difference(before, after));
  verdict.violations = moved_tiers(tiers(before), tiers(after));
  return verdict;
}

Result<RespellVerdict> judge_wasteful(const Sketch& from, const Sketch& to, uint64_t seed) {
  LL_TRY(const Subject before, subject_of(from, seed));
  LL_TRY(const Subject after, subject_of(to, seed));
  RespellVerdict verdict;
  LL_TRY(verdict.other_meaning, difference(before, after));
  LL_TRY(const Truth truth, truth_of(before));
  if (truth.has_nan) return verdict;
  for (const Tier& tier : tiers(after)) {
    const auto found = compare(truth, tier, false);
    verdict.violations.insert(verdict.violations.end(), found.begin(), found.end());
  }
  return verdict;
}

namespace {

void record(RespellReport& report, const std::string& rule, uint64_t seed, const Sketch& to,
            const Result<RespellVerdict>& verdict) {
  auto& [moved, tried] = report.rules[rule];
  ++tried;
  if (!verdict.ok() || verdict->other_meaning) {
    report.faults.push_back(rule + ": " + (verdict.ok() ? *verdict->other_meaning : to_string(verdict.error())) + "\n" +
                            to.text());
    return;
  }
  if (verdict->violations.empty()) return;
  ++moved;
  report.violations[rule][seed] = verdict->violations;
  const std::string example = to.text() + to_string(verdict->violations.front()) + "\n";
  const auto [kept, fresh] = report.examples.try_emplace(rule, example);
  if (!fresh && example.size() < kept->second.size()) kept->second = example;
}

}  // namespace

RespellReport respell_all(uint64_t seed, uint64_t count, bool wasteful) {
  RespellReport report;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t own = seed * 1'000'003 + i;
    const Sketch from = Generator(own).run();
    for (const std::string& rule : wasteful ? wasteful_rules() : neutral_rules()) {
      const auto to = respelled(from, rule, own);
      if (!to) continue;
      record(report, rule, own, to->sketch,
             wasteful ? judge_wasteful(from, to->sketch, own) : judge_neutral(from, to->sketch, own));
    }
    if (!wasteful || i % 20 != 0) continue;
    for (const Pair& pair : wasteful_pairs(own))
      record(report, pair.name, own, pair.wasteful, judge_wasteful(pair.cheap, pair.wasteful, own));
  }
  return report;
}

}  // namespace lightline::truth
