#include "truth/truth.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "truth/rewrite.h"
#include "truth/written.h"

namespace lightline::truth {
namespace {

using loops::Function;

class Search {
 public:
  Search(ScalarGraph& graph, std::span<const NodeId> roots, Truth& truth)
      : graph_(graph), roots_(roots), truth_(truth), as_written_(Plan().users_first(graph, roots)) {}

  void run() {
    try_plan("as written", false, {});
    separable_exponentials();
    for (const NodeId id : as_written_)
      for (const NodeId operand : graph_[id].operands) ++uses_[operand];
    const auto used_once = [this](NodeId id) {
      const auto found = uses_.find(id);
      return found != uses_.end() && found->second == 1;
    };
    if (!has_sums()) return;
    try_rewrite("sums flattened", {.flatten = used_once});
    const std::vector<uint32_t> colours = chain_colours(graph_, roots_);
    if (!colours.empty()) chains(colours);
    if (!sums_meet_additions()) return;
    const auto everything = [](NodeId) { return true; };
    auto leading = product_colours();
    if (leading.size() > 4) leading.resize(4);
    try_rewrite("factors across additions", {.flatten = used_once, .order = leading, .across_additions = true});
    std::reverse(leading.begin(), leading.end());
    try_rewrite("factors across additions", {.flatten = used_once, .order = leading, .across_additions = true});
    try_rewrite("factors across additions", {.flatten = everything, .order = leading, .across_additions = true});
  }

 private:
  bool has_sums() const {
    return std::any_of(as_written_.begin(), as_written_.end(),
                       [&](NodeId id) { return graph_[id].kind == Kind::linear && graph_[id].operands.size() > 1; });
  }
  // Whether a + of the text takes a sum or a product.
  bool sums_meet_additions() const {
    return std::any_of(as_written_.begin(), as_written_.end(), [&](NodeId id) {
      const Node& node = graph_[id];
      if (node.kind != Kind::linear || node.operands.size() < 2 || node.colour >= 500'000) return false;
      return std::any_of(node.operands.begin(), node.operands.end(), [&](NodeId operand) {
        return graph_[operand].kind == Kind::linear || graph_[operand].kind == Kind::product;
      });
    });
  }
  std::vector<uint32_t> product_colours() const {
    std::unordered_map<uint32_t, size_t> counts;
    for (const NodeId id : as_written_)
      if (graph_[id].kind == Kind::product)
        for (const NodeId factor : graph_[id].operands) ++counts[graph_[factor].colour];
    std::vector<std::pair<size_t, uint32_t>> sorted;
    for (const auto& [colour, count] : counts) sorted.emplace_back(count, colour);
    std::sort(sorted.rbegin(), sorted.rend());
    std::vector<uint32_t> result;
    for (const auto& [count, colour] : sorted) result.push_back(colour);
    return result;
  }

  // Chains of products in every order of the arrays that take part most.
  void chains(std::vector<uint32_t> colours) {
    if (colours.size() > 3) colours.resize(3);
    std::sort(colours.begin(), colours.end());
    std::set<loops::ArrayId> homes;
    for (const NodeId id : as_written_)
      if (graph_[id].kind == Kind::linear && graph_[id].operands.size() > 1) homes.insert(graph_[id].array);
    do {
      try_rewrite("chain in another order", {.flatten = [](NodeId) { return true; }, .order = colours});
      if (homes.size() < 2 || homes.size() > 4) continue;
      for (const loops::ArrayId home : homes)
        try_rewrite("part of a chain in another order",
                    {.flatten = [&, home](NodeId id) { return graph_[id].array == home; }, .order = colours});
    } while (std::next_permutation(colours.begin(), colours.end()));
  }

  void try_rewrite(const std::string& name, const Rewrite& rewrite) {
    if (graph_.size() > 60000) return;
    const Plan plan = rewritten(graph_, roots_, rewrite);
    truth_.plans_hold = truth_.plans_hold && plan.holds(graph_);
    try_plan(name, rewrite.across_additions, plan);
  }
  void try_plan(const std::string& name, bool floor_only, const Plan& plan) {
    if (!plan.is_acyclic(graph_, plan.users_first(graph_, roots_))) return;
    for (const Overlap overlap : {Overlap::plain, Overlap::products, Overlap::chains}) {
      Implementation found{name, floor_only, work_of(graph_, plan, roots_, overlap)};
      const bool known =
          std::any_of(truth_.implementations.begin(), truth_.implementations.end(),
                      [&](const auto& other) { return other.floor_only <= floor_only && other.work == found.work; });
      if (!known) truth_.implementations.push_back(std::move(found));
    }
  }

  // exp(a + b) as exp(a) * exp(b), if there are fewer of those.
  void separable_exponentials() {
    double joint = 0, products = 0, transcendentals = 0;
    std::set<std::pair<uint64_t, NodeId>> parts;
    for (const NodeId id : as_written_) {
      const Node& node = graph_[id];
      if (node.kind != Kind::call) continue;
      transcendentals += loops::info(node.function).transcendental_ops;
      if (node.function != Function::exp) continue;
      const Node& argument = graph_[node.operands[0]];
      if (argument.kind != Kind::linear || argument.operands.size() < 2) continue;
      ++joint;
      products += double(argument.operands.size()) - 1;
      for (size_t i = 0; i < argument.operands.size(); ++i)
        parts.insert({argument.coefficients[i].field.number, argument.operands[i]});
    }
    if (double(parts.size()) >= joint) return;
    Implementation separate = truth_.implementations.front();
    separate.name = "exponentials of sums as products";
    separate.work.transcendentals = transcendentals - joint + double(parts.size());
    separate.work.plain_transcendentals = separate.work.transcendentals;
    separate.work.slots += products;
    separate.work.other_slots += products;
    truth_.implementations.push_back(std::move(separate));
  }

  ScalarGraph& graph_;
  std::span<const NodeId> roots_;
  Truth& truth_;
  std::vector<NodeId> as_written_;
  std::unordered_map<NodeId, int> uses_;
};

}  // namespace

Work Truth::least(bool floor) const {
  Work result;
  result.plain = result.plain_transcendentals = result.products = result.lone_products = result.additions =
      result.slots = result.transcendentals = std::numeric_limits<double>::infinity();
  double possible_macs = std::numeric_limits<double>::infinity();
  for (const Implementation& implementation : implementations) {
    if (implementation.floor_only && !floor) continue;
    const Work& work = implementation.work;
    if (work.products + work.lone_products + work.additions < possible_macs) {
      possible_macs = work.products + work.lone_products + work.additions;
      result.lone_products = work.lone_products;
      result.additions = work.additions;
      result.products = work.products;
    }
    result.slots = std::min(result.slots, work.slots);
    result.plain = std::min(result.plain, work.plain);
    result.plain_transcendentals = std::min(result.plain_transcendentals, work.plain_transcendentals);
    result.transcendentals = std::min(result.transcendentals, work.transcendentals);
  }
  return result;
}

double Truth::least_milliseconds(bool floor) const {
  double result = std::numeric_limits<double>::infinity();
  for (const Implementation& implementation : implementations)
    if ((floor || !implementation.floor_only) && implementation.work.timed)
      result = std::min(result, implementation.work.milliseconds());
  return result;
}

Truth truth_of(const loops::Program& program, Unrolled& unrolled) {
  Truth truth;
  const Written written = written_elements(program, unrolled);
  truth.output_bytes = written.bytes;
  std::vector<NodeId> roots = written.elements;
  roots.insert(roots.end(), unrolled.index_reads.begin(), unrolled.index_reads.end());
  std::unordered_set<NodeId> once;
  std::erase_if(roots, [&](NodeId id) { return !once.insert(id).second; });
  for (const NodeId id : Plan().users_first(unrolled.graph, roots)) {
    const Node& node = unrolled.graph[id];
    if (node.kind == Kind::leaf) truth.input_bytes += bits(program.arrays[node.array].dtype) / 8.0;
    if (node.kind == Kind::constant && node.value.is_nan()) truth.has_nan = true;
  }
  for (const auto& [array, place] : unrolled.constants_read)
    truth.constant_bytes += bits(program.arrays[array].dtype) / 8.0;
  Search(unrolled.graph, roots, truth).run();
  for (Implementation& implementation : truth.implementations) {
    implementation.work.slots += unrolled.uncertain_operations;
    implementation.work.other_slots += unrolled.uncertain_operations;
    implementation.work.additions += unrolled.uncertain_operations;
  }
  return truth;
}

}  // namespace lightline::truth
