#include "truth/scalar_graph.h"

#include <algorithm>
#include <cmath>

namespace lightline::truth {

using loops::Function;
using loops::none;

NodeId ScalarGraph::intern(Node node) {
  const auto [place, fresh] = index_.try_emplace({node.field.number, node.type}, NodeId(nodes_.size()));
  if (!fresh) return place->second;
  node.colour = node.colour == 0 ? colour : node.colour;
  nodes_.push_back(std::move(node));
  return place->second;
}

// A value whose opposite is there already is that with its sign changed.
NodeId ScalarGraph::signed_intern(Node node) {
  const auto opposite = index_.find({(-node.field).number, node.type});
  if (opposite != index_.end() && !index_.contains({node.field.number, node.type}))
    return scaled(Coefficient::of(-1), opposite->second);
  return intern(std::move(node));
}

NodeId ScalarGraph::constant(const Value& value) {
  Node node;
  node.type = node.grid = value.type;
  node.value = value;
  const auto number = value.number();
  node.shift = std::isfinite(number.real()) ? number.real() : 0;
  node.reach = 0;
  if (number.imag() == 0 && converted(value, DType::f16).number() == number) node.grid = DType::f16;
  node.field = is_integral(value.type) ? Field::of(value.integer()) : Field::of(number.real());
  if (number.imag() != 0) node.field = node.field + Field::hashed(node.field.number, 5) * Field::of(number.imag());
  return intern(std::move(node));
}

NodeId ScalarGraph::leaf(loops::ArrayId array, int64_t place, DType stored, const Value& value) {
  Node node{.kind = Kind::leaf, .type = value.type, .grid = stored};
  node.field = Field::hashed(array + 1, uint64_t(place) + 1);
  node.value = value;
  node.array = array;
  node.place = place;
  node.colour = 1'000'000 + array;
  return intern(std::move(node));
}

NodeId ScalarGraph::oracle(uint64_t identity, std::vector<NodeId> operands, DType stored, const Value& value) {
  Node node{.kind = Kind::oracle, .type = value.type, .grid = stored};
  node.field = Field::hashed(identity, 13);
  for (const NodeId operand : operands) node.field = Field::hashed(node.field.number, nodes_[operand].field.number);
  node.value = value;
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  node.operands = std::move(operands);
  return intern(std::move(node));
}

Term ScalarGraph::unscaled(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.kind == Kind::linear && node.operands.size() == 1 && node.offset.field.is_zero())
    return {node.coefficients[0], node.operands[0]};
  return {Coefficient::of(1), id};
}

bool ScalarGraph::is_far_below(NodeId id, double sign) const {
  return !is_integral(nodes_[id].type) && sign * nodes_[id].shift + nodes_[id].reach <= far_below;
}

bool ScalarGraph::is_boolean(NodeId id) const { return nodes_[id].grid == DType::boolean; }

// Infinities and NaN swallow what is finite.
NodeId ScalarGraph::special_sum(std::span<const Term> terms, Coefficient offset, DType type, bool& special) {
  std::complex<double> total = 0;
  special = false;
  for (const Term& term : terms) {
    if (!is_constant(term.node)) continue;
    const auto number = nodes_[term.node].value.number();
    if (std::isfinite(number.real())) continue;
    special = true;
    total += term.coefficient.number * number;
  }
  if (!std::isfinite(offset.number)) special = true, total += offset.number;
  return special ? number(type, total.real()) : none;
}

NodeId ScalarGraph::linear(std::span<const Term> given, Coefficient offset, DType type) {
  bool special = false;
  if (const NodeId swallowed = special_sum(given, offset, type, special); special) return swallowed;
  std::vector<Term> terms;
  std::unordered_map<NodeId, size_t> place_of;
  for (const Term& term : given) {
    if (is_constant(term.node) && type != DType::c64) {
      const Node& node = nodes_[term.node];
      offset = offset + term.coefficient * Coefficient{node.value.real(), node.field};
      continue;
    }
    Term bare = unscaled(term.node);
    bare.coefficient = bare.coefficient * term.coefficient;
    const auto [at, fresh] = place_of.try_emplace(bare.node, terms.size());
    if (fresh)
      terms.push_back(bare);
    else
      terms[at->second].coefficient = terms[at->second].coefficient + bare.coefficient;
  }
  std::erase_if(terms, [](const Term& term) { return term.coefficient.field.is_zero(); });
  if (terms.empty())
    return is_integral(type) ? constant(Value::of_integer(type, int64_t(offset.number))) : number(type, offset.number);
  if (terms.size() == 1 && offset.field.is_zero()) return scaled(terms[0].coefficient, terms[0].node);
  const Coefficient first = terms[0].coefficient;
  const bool alike =
      std::all_of(terms.begin(), terms.end(), [&](const Term& term) { return term.coefficient.field == first.field; });
  if (alike && !first.is_unit() && offset.field.is_zero()) {
    for (Term& term : terms) term.coefficient = Coefficient::of(1);
    return scaled(first, linear(terms, {}, type));
  }
  Node node{.kind = Kind::linear, .type = type, .grid = type, .offset = offset};
  node.field = offset.field;
  node.shift = offset.number;
  node.reach = 0;
  std::complex<double> value = offset.number;
  for (const Term& term : terms) {
    node.operands.push_back(term.node);
    node.coefficients.push_back(term.coefficient);
    node.field = node.field + term.coefficient.field * nodes_[term.node].field;
    node.shift += term.coefficient.number * nodes_[term.node].shift;
    node.reach += std::abs(term.coefficient.number) * nodes_[term.node].reach;
    value += term.coefficient.number * nodes_[term.node].value.number();
  }
  node.value = type == DType::c64 ? Value::of_complex(value) : Value::of(type, value.real());
  return signed_intern(std::move(node));
}

NodeId ScalarGraph::sum(std::span<const NodeId> operands, DType type) {
  std::vector<Term> terms;
  terms.reserve(operands.size());
  for (const NodeId operand : operands) terms.push_back({Coefficient::of(1), operand});
  return linear(terms, {}, type);
}

NodeId ScalarGraph::scaled(Coefficient coefficient, NodeId id) {
  if (coefficient.field.is_one()) return id;
  const DType type = nodes_[id].type;
  if (coefficient.field.is_zero()) return number(type, 0);
  const Term bare = unscaled(id);
  if (bare.node != id) return scaled(coefficient * bare.coefficient, bare.node);
  if (is_constant(id)) {
    const auto value = coefficient.number * nodes_[id].value.number();
    return type == DType::c64 ? constant(Value::of_complex(value)) : number(type, value.real());
  }
  Node node{.kind = Kind::linear, .type = type, .grid = nodes_[id].grid};
  if (!coefficient.is_unit() || is_integral(node.grid)) node.grid = type;
  node.operands = {id};
  node.coefficients = {coefficient};
  node.field = coefficient.field * nodes_[id].field;
  node.shift = coefficient.number * nodes_[id].shift;
  node.reach = std::abs(coefficient.number) * nodes_[id].reach;
  const auto value = coefficient.number * nodes_[id].value.number();
  node.value = type == DType::c64 ? Value::of_complex(value) : Value::of(type, value.real());
  return intern(std::move(node));
}

NodeId ScalarGraph::product(NodeId a, NodeId b) {
  const NodeId factors[] = {a, b};
  return product(factors, nodes_[a].type);
}

NodeId ScalarGraph::product(std::span<const NodeId> given, DType type) {
  Coefficient coefficient = Coefficient::of(1);
  std::vector<NodeId> factors;
  for (const NodeId id : given) {
    if (is_number(id, 0)) return id;
    if (is_constant(id) && type != DType::c64) {
      coefficient = coefficient * Coefficient{nodes_[id].value.real(), nodes_[id].field};
      continue;
    }
    const Term bare = unscaled(id);
    coefficient = coefficient * bare.coefficient;
    if (is_boolean(bare.node) && std::find(factors.begin(), factors.end(), bare.node) != factors.end()) continue;
    factors.push_back(bare.node);
  }
  if (factors.empty()) return number(type, coefficient.number);
  if (factors.size() == 1) return scaled(coefficient, factors[0]);
  std::sort(factors.begin(), factors.end());
  Node node{.kind = Kind::product, .type = type, .grid = type};
  node.field = Field{1};
  std::complex<double> value = 1;
  bool boolean = true;
  for (const NodeId factor : factors) {
    node.field = node.field * nodes_[factor].field;
    value *= nodes_[factor].value.number();
    boolean = boolean && is_boolean(factor);
    node.reach = std::max(node.reach, nodes_[factor].reach + std::abs(nodes_[factor].shift));
  }
  if (boolean) node.grid = DType::boolean;
  node.operands = std::move(factors);
  if (type == DType::c64)
    node.value = Value::of_complex(value);
  else
    node.value = Value::of(type, value.real());
  return scaled(coefficient, signed_intern(std::move(node)));
}

NodeId ScalarGraph::inverse(NodeId id) {
  const DType type = nodes_[id].type;
  const Term bare = unscaled(id);
  if (bare.node != id)
    return scaled({1 / bare.coefficient.number, bare.coefficient.field.inverse()}, inverse(bare.node));
  Node node{.kind = Kind::call, .function = Function::divide, .type = type, .grid = type};
  node.operands = {id};
  node.field = nodes_[id].field.inverse();
  const auto value = 1.0 / nodes_[id].value.number();
  node.value = type == DType::c64 ? Value::of_complex(value) : Value::of(type, value.real());
  return intern(std::move(node));
}

void ScalarGraph::settle(NodeId id, loops::ArrayId array, int64_t place) {
  Node& node = nodes_[id];
  if (node.array != none) return;
  node.array = array;
  node.place = place;
}

}  // namespace lightline::truth
