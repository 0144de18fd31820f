#include "truth/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loops/interpret/interpret.h"

namespace lightline::truth {
namespace {

constexpr double slack = 1e-6;

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(Tensor::dense_copy(tensor.view()));
  return result;
}

}  // namespace

std::vector<Tensor> random_inputs(const loops::Program& program, uint64_t seed, int64_t integer_limit) {
  std::vector<Tensor> result;
  for (const loops::ArrayId input : program.inputs) {
    const loops::Array& array = program.arrays[input];
    result.push_back(
        random_tensor(array.dtype, array.shape, seed * 100 + result.size(), std::max<int64_t>(integer_limit, 1)));
  }
  return result;
}

Result<Truth> truth_of(const Subject& subject) {
  LL_TRY(Unrolled unrolled, unroll(subject.program, subject.inputs, {.data = Data::spread, .known = subject.known}));
  return truth_of(subject.program, unrolled);
}

Result<std::vector<Truth>> best_cases_of(const Subject& subject) {
  std::vector<Truth> result;
  for (const Data data : {Data::all_true, Data::all_false}) {
    LL_TRY(Unrolled unrolled, unroll(subject.program, subject.inputs, {.data = data, .known = subject.known}));
    if (unrolled.index_reads.empty()) break;
    result.push_back(truth_of(subject.program, unrolled));
  }
  return result;
}

// A tier's macs may be additions on matrix units, its vector operations products on vector units; each must be within
// what some implementation does in all.
std::vector<Violation> compare(const Truth& truth, const Tier& tier, bool dense) {
  std::vector<Violation> result;
  const auto at_most = [&](const char* resource, double claimed, double allowed) {
    if (claimed > allowed * (1 + slack) + 1e-11) result.push_back({tier.name, resource, claimed, allowed});
  };
  const auto at_least = [&](const char* resource, double claimed, double wanted) {
    if (claimed < wanted * (1 - slack)) result.push_back({tier.name, resource, claimed, wanted, true});
  };
  const Work least = truth.least(tier.floor);
  at_most("input_bytes", tier.input_bytes, truth.input_bytes + truth.constant_bytes);
  at_most("output_bytes", tier.output_bytes, truth.output_bytes);
  at_most("macs", tier.total_macs(), least.products + least.lone_products + least.additions);
  const size_t before = result.size();
  at_most("vector_ops", tier.vector_ops, least.slots);
  at_most("transcendental_ops", tier.transcendental_ops, least.transcendentals);
  at_most("milliseconds", tier.milliseconds, truth.least_milliseconds(tier.floor));
  const bool plain = tier.vector_ops <= least.plain && tier.transcendental_ops <= least.plain_transcendentals;
  for (size_t i = before; i < result.size(); ++i) result[i].rates = plain;
  if (!dense || tier.floor) return result;
  at_least("input_bytes", tier.input_bytes, truth.input_bytes);
  at_least("output_bytes", tier.output_bytes, truth.output_bytes);
  at_least("macs", tier.total_macs(), least.products);
  return result;
}

Result<Verdict> judge(const Subject& subject) {
  Verdict verdict;
  LL_TRY(verdict.truth, truth_of(subject));
  LL_TRY(verdict.best_cases, best_cases_of(subject));
  verdict.skipped = verdict.truth.has_nan;
  std::map<loops::ArrayId, const Tensor*> known;
  for (size_t i = 0; i < subject.inputs.size(); ++i)
    if (subject.known.contains(subject.program.inputs[i])) known[subject.program.inputs[i]] = &subject.inputs[i];
  verdict.tiers = tiers_of(subject.program, known);
  verdict.broken_orders = broken_orders(subject.program, known);
  if (verdict.skipped) return verdict;
  for (const Tier& tier : verdict.tiers) {
    auto found = compare(verdict.truth, tier, subject.dense);
    for (const Truth& best : verdict.best_cases)
      if (tier.floor && found.empty()) found = compare(best, tier, false);
    verdict.violations.insert(verdict.violations.end(), found.begin(), found.end());
  }
  return verdict;
}

Result<std::optional<std::string>> difference_of_meaning(const Subject& subject) {
  LL_TRY(const Unrolled unrolled, unroll(subject.program, subject.inputs));
  LL_TRY(const auto expected, loops::interpret(subject.program, copies(subject.inputs)));
  for (size_t i = 0; i < expected.size(); ++i) {
    const UnrolledOutput& output = unrolled.outputs[i];
    for (size_t at = 0; at < output.elements.size(); ++at) {
      const Value& value = unrolled.graph[output.elements[at]].value;
      const Value wanted = Value::element(expected[i], int64_t(at));
      if (close(value, wanted, expected[i].dtype())) continue;
      const std::string& name = subject.program.arrays[output.declared.array].name;
      return std::optional(fmt::format("{}[{}] is {} and not {}", name, at, value.real(), wanted.real()));
    }
  }
  return std::optional<std::string>();
}

std::string to_string(const Violation& violation) {
  return fmt::format("{} {} {:g}, truth {:g} ({}{:.3g}x)", violation.tier, violation.resource, violation.claimed,
                     violation.truth, violation.too_low ? "too low, " : "", violation.factor());
}

std::string to_string(const Verdict& verdict) {
  std::string text =
      fmt::format("truth: input {:g} B (constants {:g} B), output {:g} B{}\n", verdict.truth.input_bytes,
                  verdict.truth.constant_bytes, verdict.truth.output_bytes, verdict.skipped ? " (NaN: skipped)" : "");
  for (const Implementation& way : verdict.truth.implementations)
    text += fmt::format(
        "  {:<34}{} products {:g}, additions {:g}, slots {:g}, beside products {:g}, macs {:g} + {:g} of 16 bits, "
        "transcendental {:g}, {:.3g} ms\n",
        way.name, way.floor_only ? " (floor)" : "", way.work.products, way.work.additions, way.work.slots,
        way.work.other_slots, way.work.macs, way.work.half_macs, way.work.transcendentals, way.work.milliseconds());
  for (const Tier& tier : verdict.tiers)
    text += fmt::format("{}: input {:g} B, output {:g} B, macs {:g}, vector {:g}, transcendental {:g}, {:.3g} ms\n",
                        tier.name, tier.input_bytes, tier.output_bytes, tier.total_macs(), tier.vector_ops,
                        tier.transcendental_ops, tier.milliseconds);
  for (const Violation& violation : verdict.violations) text += "VIOLATION " + to_string(violation) + "\n";
  return text;
}

}  // namespace lightline::truth
