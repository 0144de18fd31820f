#include "truth/work.h"

#include <algorithm>
#include <map>
#include <set>

#include "truth/overlap.h"
#include "truth/univariate.h"

namespace lightline::truth {
namespace {

using loops::Function;

constexpr double booleans_per_slot = 32;
constexpr double joined_per_slot = 2;  // max, min and integer additions

bool is_free(const Node& node) { return node.kind == Kind::cast; }

class Counter {
 public:
  Counter(const ScalarGraph& graph, const Plan& plan, std::span<const NodeId> roots, Overlap overlap)
      : graph_(graph), plan_(plan), overlap_(overlap), order_(plan.users_first(graph, roots)), roots_(roots) {
    uses_.resize(graph.size());
    for (const NodeId root : roots) uses_[root].elsewhere = true;
  }

  Work run() {
    for (const NodeId id : order_) see_uses(id);
    univariate_ = univariate_functions(graph_, plan_, order_, roots_);
    work_.transcendentals = univariate_.transcendentals;
    for (const NodeId id : order_) {
      work_.plain += plain_operations(id);
      work_.plain_transcendentals +=
          graph_[id].kind == Kind::call ? loops::info(graph_[id].function).transcendental_ops : 0;
      if (!univariate_.absorbed.contains(id)) count(id);
    }
    for (const auto& [home, group] : sums_) close(group, true);
    for (const auto& [home, group] : extrema_) close(group, false);
    return work_;
  }

 private:
  struct Uses {
    bool by_sum = false;
    bool elsewhere = false;
  };
  struct Resolved {  // a term of a sum, through scalings and roundings
    double coefficient = 1;
    NodeId node = loops::none;
  };
  struct Sum {
    std::vector<Resolved> terms;
    double count = 0;     // of terms, with the constant
    double absorbed = 0;  // products that the additions do on the way
    double multiplied = 0;
    bool on_matrix = false;
    bool reduction = false;  // not a + of the text
    double half = 0;
  };
  struct Group {
    std::vector<ReducedSet> sets;
    std::vector<Sum> sums;
    DType type = DType::f32;
    double per_slot = 1;
  };

  bool is_sum(const Way& way) const {
    return way.kind == Kind::linear && (way.terms.size() > 1 || !way.offset.field.is_zero());
  }
  bool is_any(const Node& node) const { return node.kind == Kind::logic && node.function == Function::logical_or; }
  bool is_product(NodeId id) const {
    const Node& node = graph_[id];
    if (node.kind == Kind::logic) return node.function == Function::logical_and && node.operands.size() > 1;
    if (node.kind != Kind::product && node.kind != Kind::linear) return false;
    const Way way = plan_.way_of(graph_, id);
    return way.kind == Kind::product && way.terms.size() > 1;
  }

  void see_uses(NodeId id) {
    const Node& node = graph_[id];
    const bool arithmetic = node.kind == Kind::linear || node.kind == Kind::product;
    const Way way = arithmetic ? plan_.way_of(graph_, id) : Way{.kind = node.kind};
    const bool summing = arithmetic ? is_sum(way) : is_any(node);
    const bool passing = is_free(node) || (way.kind == Kind::linear && arithmetic && !summing);
    for (const NodeId operand : plan_.operands(graph_, id)) {
      Uses& uses = uses_[operand];
      if (summing)
        uses.by_sum = true;
      else if (passing)
        uses = {uses.by_sum || uses_[id].by_sum, uses.elsewhere || uses_[id].elsewhere};
      else
        uses.elsewhere = true;
    }
  }

  Resolved resolved(Term term) const {
    Resolved result{term.coefficient.number, term.node};
    while (true) {
      const Node& node = graph_[result.node];
      if (is_free(node)) {
        result.node = node.operands[0];
      } else if (node.kind == Kind::linear && !plan_.ways.contains(result.node) && node.operands.size() == 1 &&
                 node.offset.field.is_zero()) {
        result.coefficient *= node.coefficients[0].number;
        result.node = node.operands[0];
      } else {
        return result;
      }
    }
  }

  bool narrow(NodeId id) const {
    const DType grid = graph_[id].grid;
    return grid == DType::f16 || grid == DType::boolean || grid == DType::f8e4m3 || grid == DType::f8e5m2 ||
           grid == DType::f4e2m1;
  }
  bool narrow_product(NodeId id) const {
    const auto operands = plan_.operands(graph_, id);
    return std::all_of(operands.begin(), operands.end(), [&](NodeId operand) { return narrow(operand); });
  }

  // Every operation one, whatever an instruction could do on the way.
  double plain_operations(NodeId id) const {
    const Node& node = graph_[id];
    switch (node.kind) {
      case Kind::linear:
      case Kind::product: {
        const Way way = plan_.way_of(graph_, id);
        double scalings = 0;
        for (const Term& term : way.terms) scalings += !term.coefficient.field.is_one();
        return double(way.terms.size()) - 1 + (way.offset.field.is_zero() ? 0 : 1) + scalings;
      }
      case Kind::extremum:
      case Kind::logic:
      case Kind::position: return std::max(1.0, double(node.elements.size() + node.operands.size()));
      case Kind::choice: return 1;
      case Kind::call: return loops::info(node.function).vector_ops;
      default: return 0;
    }
  }

  void count(NodeId id) {
    const Node& node = graph_[id];
    if (node.type == DType::f64 || node.type == DType::c64) work_.timed = false;
    switch (node.kind) {
      case Kind::linear:
      case Kind::product: return count_arithmetic(id);
      case Kind::extremum: return count_extremum(id);
      case Kind::logic: return count_logic(id);
      case Kind::choice: return add_slots(1);
      case Kind::position: return add_slots(double(node.operands.size()) - 1);
      case Kind::call: return count_call(id);
      default: return;
    }
  }
  void add_slots(double slots) {
    work_.slots += slots;
    work_.other_slots += slots;
  }

  void count_call(NodeId id) {
    const Node& node = graph_[id];
    switch (node.function) {
      case Function::abs:
      case Function::neg: return;
      case Function::logical_not: return;
      case Function::divide: return add_slots(divisors_.contains(id) ? 0 : 1);
      default: return add_slots(loops::info(node.function).vector_ops);
    }
  }
  void count_arithmetic(NodeId id) {
    const Way way = plan_.way_of(graph_, id);
    if (is_sum(way)) return count_sum(id, way);
    if (way.kind != Kind::product) return;
    const double factors = double(way.terms.size());
    if (uses_[id].elsewhere)
      for (const Term& term : way.terms) divisors_.insert(term.node);
    if (uses_[id].elsewhere) work_.lone_products += factors - 1;
    add_slots(uses_[id].elsewhere ? factors - 1 : factors - 2);
  }

  bool has_common_factor(const Sum& sum) const {
    if (!std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Resolved& term) { return is_product(term.node); }))
      return false;
    const auto factors = plan_.operands(graph_, sum.terms[0].node);
    return std::any_of(factors.begin(), factors.end(), [&](NodeId factor) {
      return std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Resolved& term) {
        const auto others = plan_.operands(graph_, term.node);
        return std::find(others.begin(), others.end(), factor) != others.end();
      });
    });
  }

  Sum sum_of(const std::vector<Term>& terms, bool has_offset, DType type) {
    Sum sum;
    std::set<double> sizes;
    for (const Term& term : terms)
      sum.terms.push_back(resolved(term)), sizes.insert(std::abs(sum.terms.back().coefficient));
    sum.count = double(terms.size()) + (has_offset ? 1 : 0);
    bool boolean = true;
    for (const Resolved& term : sum.terms) {
      const bool scaled = sizes.size() > 1 && std::abs(term.coefficient) != 1;
      const bool product = is_product(term.node);
      if (!scaled && !product) continue;
      ++sum.multiplied;
      if (scaled || !uses_[term.node].elsewhere) ++sum.absorbed;
      if (product && narrow_product(term.node)) ++sum.half;
      boolean = boolean && product && graph_[term.node].grid == DType::boolean;
    }
    // A factor that all products have leaves the sum: what is added then is no contraction.
    sum.on_matrix = sum.multiplied > 0 && sum.count > 1 && (!is_integral(type) || boolean) && !has_common_factor(sum);
    return sum;
  }

  void count_sum(NodeId id, const Way& way) {
    const DType type = graph_[id].type;
    Group& group = sums_[graph_[id].array];
    group.type = type;
    group.per_slot = is_integral(type) ? joined_per_slot : 1;
    group.sums.push_back(sum_of(way.terms, !way.offset.field.is_zero(), type));
    group.sums.back().reduction = graph_[id].colour >= 500'000;
    ReducedSet set;
    for (const Term& term : way.terms) set.push_back({term.node, term.coefficient.field});
    std::sort(set.begin(), set.end());
    group.sets.push_back(std::move(set));
  }

  void count_extremum(NodeId id) {
    const Node& node = graph_[id];
    Group& group = extrema_[node.array];
    group.per_slot = joined_per_slot;
    ReducedSet set;
    for (const NodeId operand : node.operands)
      if (!graph_.is_constant(operand)) set.push_back({operand});
    Sum sum;
    sum.count = double(set.size());
    group.sums.push_back(sum);
    group.sets.push_back(std::move(set));
  }

  void count_logic(NodeId id) {
    const Node& node = graph_[id];
    const double operations = double(node.operands.size()) - 1;
    if (!is_any(node)) {
      if (uses_[id].elsewhere) add_slots(operations / booleans_per_slot);
      return;
    }
    std::vector<Term> terms;
    for (const NodeId operand : node.operands) terms.push_back({Coefficient::of(1), operand});
    const Sum sum = sum_of(terms, false, DType::boolean);
    work_.slots += operations / booleans_per_slot + sum.absorbed / booleans_per_slot;
    work_.additions += sum.count - sum.multiplied;
    work_.products += sum.multiplied;
    if (sum.on_matrix)
      work_.half_macs += sum.multiplied, work_.other_slots += std::max(0.0, sum.count - sum.multiplied - 1);
    else
      work_.other_slots += operations / booleans_per_slot;
  }

  static double on_vector(const Sum& sum, double per_slot) {
    if (sum.multiplied == 0) return (sum.count - 1) / per_slot;
    return sum.absorbed == sum.count ? sum.count : sum.count - 1;
  }

  // Matrix units do what is summed at length or uses each factor often; a * b + c alone is no work for them.
  bool factors_are_shared(const Group& group) const {
    double products = 0;
    std::set<std::pair<double, NodeId>> factors;
    for (const Sum& sum : group.sums)
      for (const Resolved& term : sum.terms) {
        if (!is_product(term.node)) continue;
        ++products;
        for (const NodeId factor : plan_.operands(graph_, term.node)) factors.insert({1, factor});
      }
    return products > 0 && products >= 2 * double(factors.size());
  }

  struct GroupWork {
    double slots = 0, other = 0, products = 0, additions = 0, macs = 0, half = 0, matrix_sums = 0;
    double short_macs = 0, short_slots = 0;
  };

  GroupWork one_by_one(const Group& group) const {
    GroupWork work;
    const bool matrix_work =
        factors_are_shared(group) ||
        std::any_of(group.sums.begin(), group.sums.end(), [](const Sum& sum) { return sum.multiplied > 2; });
    for (const Sum& sum : group.sums) {
      const double slots = on_vector(sum, group.per_slot);
      work.slots += slots;
      work.products += sum.multiplied;
      if (sum.reduction) work.additions += sum.count - sum.multiplied;
      if (sum.on_matrix && matrix_work) {
        work.macs += sum.multiplied - sum.half, work.half += sum.half;
        ++work.matrix_sums;
        work.other += std::max(0.0, sum.count - sum.multiplied - 1) / group.per_slot;
      } else {
        work.other += slots;
        if (sum.on_matrix) work.short_macs += sum.multiplied, work.short_slots += slots;
      }
    }
    return work;
  }

  // Products once each, then running and sliding sums of them.
  GroupWork overlapping(const Group& group, bool invertible) const {
    double constants = 0;
    std::set<std::pair<double, NodeId>> multiplied, scaled_products;
    for (const Sum& sum : group.sums) {
      if (invertible) constants += sum.count - double(sum.terms.size());
      for (const Resolved& term : sum.terms) {
        const bool product = is_product(term.node) && !uses_[term.node].elsewhere;
        const bool scaled = sum.multiplied > 0 && std::abs(term.coefficient) != 1;
        if (product || scaled) multiplied.insert({product ? 1 : std::abs(term.coefficient), term.node});
        if (product && scaled) scaled_products.insert({std::abs(term.coefficient), term.node});
      }
    }
    const double operations = overlapping_operations(graph_, group.sets, invertible) + constants;
    GroupWork work;
    work.products = double(multiplied.size());
    work.additions = operations;
    work.slots = work.other = operations / group.per_slot + work.products;
    // Vector units scale on the way; for matrix units that is a product.
    work.products += double(scaled_products.size());
    return work;
  }

  // Each sum from one that it contains or nearly so, products added on the way.
  GroupWork chained(const Group& group) const {
    GroupWork work;
    const auto steps = chained_steps(group.sets, true);
    for (size_t i = 0; i < group.sums.size(); ++i) {
      const Sum& sum = group.sums[i];
      const double own = on_vector(sum, 1);
      const bool short_way = steps[i] < double(group.sets[i].size()) && steps[i] < own;
      work.slots += short_way ? steps[i] : own;
      work.products += short_way ? std::min(steps[i], sum.multiplied) : sum.multiplied;
      if (sum.reduction && !short_way) work.additions += sum.count - sum.multiplied;
    }
    work.other = work.slots;
    return work;
  }

  // All sums of one statement: each on its own, or by what their sets share.
  void close(const Group& group, bool invertible) {
    GroupWork work = one_by_one(group);
    if (group.sets.size() > 1 &&
        (overlap_ == Overlap::products || (overlap_ == Overlap::plain && work.products == 0))) {
      const GroupWork running = overlapping(group, invertible);
      if (running.slots < work.slots || (running.slots == work.slots && work.products == 0)) work = running;
    }
    if (overlap_ == Overlap::chains && group.sets.size() > 1 && invertible) {
      const GroupWork chain = chained(group);
      if (chain.slots < work.slots) work = chain;
    }
    work_.slots += work.slots;
    work_.other_slots += work.other;
    work_.products += work.products;
    work_.additions += work.additions;
    work_.macs += work.macs;
    work_.half_macs += work.half;
    work_.short_macs += work.short_macs;
    work_.short_slots += work.short_slots;
    work_.plain -= 2 * (work.macs + work.half) - work.matrix_sums;
  }

  const ScalarGraph& graph_;
  const Plan& plan_;
  Overlap overlap_;
  std::vector<NodeId> order_;
  std::span<const NodeId> roots_;
  std::vector<Uses> uses_;
  Univariate univariate_;
  std::set<NodeId> divisors_;  // inverses that some product takes on the way
  std::map<loops::ArrayId, Group> sums_, extrema_;
  Work work_;
};

}  // namespace

Work work_of(const ScalarGraph& graph, const Plan& plan, std::span<const NodeId> roots, Overlap overlap) {
  return Counter(graph, plan, roots, overlap).run();
}

// Per second 9e11 products, 1.8e12 of 16 bits, 8e10 slots, 1e10 special functions; one of these also takes 8 slots.
double Work::milliseconds() const {
  const auto with = [this](double more_macs, double fewer_slots) {
    const double matrix = (macs + more_macs) / 9e11 + half_macs / 1.8e12;
    const double rest = std::max(0.0, other_slots - fewer_slots);
    const double emulated = std::clamp((8 * transcendentals - rest) / 16, 0.0, transcendentals);
    return 1e3 * std::max({matrix, (rest + 8 * emulated) / 8e10, (transcendentals - emulated) / 1e10});
  };
  if (macs + half_macs == 0) return with(0, 0);
  // A contraction runs on one kind of unit: a product outside of sums may be part of one that runs on matrix units, and
  // so may a short sum, such as what a mask leaves of a long one.
  return std::max(
      {with(0, 0), with(lone_products, lone_products), with(lone_products + short_macs, lone_products + short_slots)});
}

}  // namespace lightline::truth
