#include "truth/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/maths.h"

namespace lightline::truth {
namespace {

struct Monomial {
  Coefficient coefficient = Coefficient::of(1);
  std::vector<NodeId> factors;  // sorted
  uint64_t side = 0;            // of which additions of the text it is which side
};
using Polynomial = std::vector<Monomial>;

bool comes_from_reduction(const Node& node) { return node.colour >= 500'000 && node.colour < 1'000'000; }

class Flattener {
 public:
  Flattener(const ScalarGraph& graph, const Rewrite& rewrite) : graph_(graph), rewrite_(rewrite) {}

  // The sum as a polynomial, or nothing if that is too large.
  std::optional<Polynomial> run(NodeId id) {
    Polynomial result = expanded(id, 0, true);
    if (too_large_) return std::nullopt;
    return combined(std::move(result));
  }

 private:
  Polynomial expanded(NodeId id, uint64_t side, bool root) {
    const Node& node = graph_[id];
    if (too_large_) return {};
    if (node.kind == Kind::linear) {
      const bool scaling = node.operands.size() == 1 && node.offset.field.is_zero();
      if (root || scaling || rewrite_.flatten(id)) return expanded_sum(node, side);
    }
    if (node.kind == Kind::product) return expanded_product(node, side);
    return {Monomial{.factors = {id}, .side = side}};
  }

  Polynomial expanded_sum(const Node& node, uint64_t side) {
    Polynomial result;
    const bool by_text = node.operands.size() > 1 && !comes_from_reduction(node);
    if (!node.offset.field.is_zero()) result.push_back({.coefficient = node.offset, .side = mixed(side, 99)});
    for (size_t i = 0; i < node.operands.size(); ++i) {
      for (Monomial& monomial : expanded(node.operands[i], by_text ? mixed(side, i + 1) : side, false)) {
        monomial.coefficient = monomial.coefficient * node.coefficients[i];
        result.push_back(std::move(monomial));
      }
      if (result.size() > rewrite_.term_limit) too_large_ = true;
    }
    return result;
  }

  Polynomial expanded_product(const Node& node, uint64_t side) {
    Polynomial result{Monomial{.side = side}};
    for (const NodeId factor : node.operands) {
      const Polynomial by = expanded(factor, 0, false);
      if (too_large_ || result.size() * by.size() > rewrite_.term_limit) {
        too_large_ = true;
        return {};
      }
      Polynomial next;
      for (const Monomial& a : result)
        for (const Monomial& b : by) {
          Monomial both{a.coefficient * b.coefficient, a.factors, by.size() == 1 ? a.side : mixed(a.side, b.side)};
          both.factors.insert(both.factors.end(), b.factors.begin(), b.factors.end());
          next.push_back(std::move(both));
        }
      result = std::move(next);
    }
    return result;
  }

  static Polynomial combined(Polynomial given) {
    std::map<std::vector<NodeId>, size_t> places;
    Polynomial result;
    for (Monomial& monomial : given) {
      std::sort(monomial.factors.begin(), monomial.factors.end());
      const auto [place, fresh] = places.try_emplace(monomial.factors, result.size());
      if (fresh)
        result.push_back(std::move(monomial));
      else
        result[place->second].coefficient = result[place->second].coefficient + monomial.coefficient;
    }
    std::erase_if(result, [](const Monomial& monomial) { return monomial.coefficient.field.is_zero(); });
    return result;
  }

  const ScalarGraph& graph_;
  const Rewrite& rewrite_;
  bool too_large_ = false;
};

class Rewriter {
 public:
  Rewriter(ScalarGraph& graph, const Rewrite& rewrite) : graph_(graph), rewrite_(rewrite) {}

  Plan run(std::span<const NodeId> roots) {
    for (const NodeId root : roots) visit(root);
    while (!waiting_.empty()) {
      const NodeId id = waiting_.back();
      waiting_.pop_back();
      if (is_sum(id) && !plan_.ways.contains(id)) rewrite(id);
      for (const NodeId operand : plan_.operands(graph_, id)) visit(operand);
    }
    return std::move(plan_);
  }

 private:
  void visit(NodeId id) {
    if (seen_.insert(id).second) waiting_.push_back(id);
  }
  bool is_sum(NodeId id) const { return graph_[id].kind == Kind::linear && graph_[id].operands.size() > 1; }

  void rewrite(NodeId id) {
    auto polynomial = Flattener(graph_, rewrite_).run(id);
    if (!polynomial || polynomial->size() < 2) return;
    const Way way = way_for(std::move(*polynomial), graph_[id].type, 0);
    for (const Term& term : way.terms)
      if (term.node == id) return;
    plan_.ways[id] = way;
  }

  // A node for the polynomial, computed in the way chosen for it.
  NodeId node_for(Polynomial polynomial, DType type, size_t rank) {
    std::vector<Term> terms;
    Coefficient offset;
    for (const Monomial& monomial : polynomial) {
      if (monomial.factors.empty())
        offset = offset + monomial.coefficient;
      else
        terms.push_back({monomial.coefficient, product_of(monomial.factors, type)});
    }
    const NodeId id = graph_.linear(terms, offset, type);
    const NodeId bare = graph_.unscaled(id).node;
    if (polynomial.size() > 1 && bare == id && is_sum(id) && !plan_.ways.contains(id)) {
      const Way way = way_for(std::move(polynomial), type, rank);
      const bool circular =
          std::any_of(way.terms.begin(), way.terms.end(), [&](const Term& term) { return term.node == id; });
      if (!circular) plan_.ways[id] = way;
    }
    return id;
  }

  NodeId product_of(const std::vector<NodeId>& factors, DType type) {
    if (factors.size() < 3) return graph_.product(factors, type);
    std::vector<NodeId> sorted = factors;
    std::sort(sorted.begin(), sorted.end(), [&](NodeId a, NodeId b) {
      return std::pair(rank_of(graph_[a].colour), a) < std::pair(rank_of(graph_[b].colour), b);
    });
    NodeId result = sorted.back();
    for (size_t i = sorted.size() - 1; i-- > 0;) result = graph_.product(sorted[i], result);
    return result;
  }
  size_t rank_of(uint32_t colour) const {
    return size_t(std::find(rewrite_.order.begin(), rewrite_.order.end(), colour) - rewrite_.order.begin());
  }

  Way way_for(Polynomial polynomial, DType type, size_t rank) {
    const bool one_side = std::all_of(polynomial.begin(), polynomial.end(),
                                      [&](const Monomial& m) { return m.side == polynomial[0].side; });
    if (one_side || rewrite_.across_additions)
      if (auto way = without_common_factor(polynomial, type, rank)) return *way;
    for (; rank < rewrite_.order.size(); ++rank)
      if (auto way = grouped(polynomial, type, rank)) return *way;
    Way way{.kind = Kind::linear};
    for (const Monomial& monomial : polynomial) add(way, monomial.coefficient, monomial.factors, type);
    return way;
  }

  void add(Way& way, Coefficient coefficient, const std::vector<NodeId>& factors, DType type) {
    if (factors.empty()) {
      way.offset = way.offset + coefficient;
      return;
    }
    const Term bare = graph_.unscaled(product_of(factors, type));
    way.terms.push_back({coefficient * bare.coefficient, bare.node});
  }

  std::optional<Way> without_common_factor(const Polynomial& polynomial, DType type, size_t rank) {
    std::vector<NodeId> common = polynomial[0].factors;
    for (const Monomial& monomial : polynomial) {
      std::vector<NodeId> both;
      std::set_intersection(common.begin(), common.end(), monomial.factors.begin(), monomial.factors.end(),
                            std::back_inserter(both));
      common = std::move(both);
    }
    if (common.empty() || polynomial.size() < 2) return std::nullopt;
    Polynomial rest = polynomial;
    for (Monomial& monomial : rest) remove(monomial.factors, common);
    Way way{.kind = Kind::product};
    for (const NodeId factor : common) way.terms.push_back({Coefficient::of(1), factor});
    way.terms.push_back({Coefficient::of(1), node_for(std::move(rest), type, rank)});
    return way;
  }
  static void remove(std::vector<NodeId>& factors, const std::vector<NodeId>& gone) {
    std::vector<NodeId> left;
    std::set_difference(factors.begin(), factors.end(), gone.begin(), gone.end(), std::back_inserter(left));
    factors = std::move(left);
  }

  // Terms with the same factor from the place `rank` stand together; nothing if that brings no terms together.
  std::optional<Way> grouped(const Polynomial& polynomial, DType type, size_t rank) {
    std::map<std::pair<NodeId, uint64_t>, Polynomial> groups;
    Way way{.kind = Kind::linear};
    for (const Monomial& monomial : polynomial) {
      NodeId by = loops::none;
      for (const NodeId factor : monomial.factors)
        if (graph_[factor].colour == rewrite_.order[rank]) by = factor;
      if (by == loops::none)
        add(way, monomial.coefficient, monomial.factors, type);
      else
        groups[{by, rewrite_.across_additions ? 0 : monomial.side}].push_back(monomial);
    }
    size_t grouped_terms = 0;
    for (const auto& [key, group] : groups) grouped_terms += group.size();
    if (groups.empty() || groups.size() == grouped_terms) return std::nullopt;
    for (auto& [key, group] : groups) {
      if (group.size() == 1) {
        add(way, group[0].coefficient, group[0].factors, type);
        continue;
      }
      for (Monomial& monomial : group) remove_one(monomial.factors, key.first);
      const NodeId inner = node_for(std::move(group), type, rank + 1);
      const Term bare = graph_.unscaled(graph_.product(key.first, inner));
      way.terms.push_back(bare);
    }
    return way;
  }
  static void remove_one(std::vector<NodeId>& factors, NodeId gone) {
    factors.erase(std::find(factors.begin(), factors.end(), gone));
  }

  ScalarGraph& graph_;
  const Rewrite& rewrite_;
  Plan plan_;
  std::unordered_set<NodeId> seen_;
  std::vector<NodeId> waiting_;
};

}  // namespace

Plan rewritten(ScalarGraph& graph, std::span<const NodeId> roots, const Rewrite& rewrite) {
  return Rewriter(graph, rewrite).run(roots);
}

std::vector<uint32_t> chain_colours(ScalarGraph& graph, std::span<const NodeId> roots) {
  const Rewrite everything{.flatten = [](NodeId) { return true; }};
  std::map<uint32_t, size_t> counts;
  for (const NodeId id : Plan().users_first(graph, roots)) {
    if (graph[id].kind != Kind::linear || graph[id].operands.size() < 2) continue;
    const auto polynomial = Flattener(graph, everything).run(id);
    if (!polynomial || polynomial->size() < 2) continue;
    for (const Monomial& monomial : *polynomial)
      if (monomial.factors.size() > 2)
        for (const NodeId factor : monomial.factors) ++counts[graph[factor].colour];
  }
  std::vector<std::pair<size_t, uint32_t>> sorted;
  for (const auto& [colour, count] : counts) sorted.emplace_back(count, colour);
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<uint32_t> result;
  for (const auto& [count, colour] : sorted) result.push_back(colour);
  return result;
}

}  // namespace lightline::truth
