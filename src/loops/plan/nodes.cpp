#include "loops/plan/nodes.h"

#include <algorithm>
#include <bit>

#include "base/maths.h"

namespace lightline::loops::plan {
namespace {

uint64_t hash_of(const Node& node, std::span<const NodeId> operands, std::span<const Term> terms) {
  uint64_t hash = mixed(
      uint64_t(node.kind) | uint64_t(node.function) << 8 | uint64_t(node.type) << 16 | uint64_t(node.target) << 24,
      node.array);
  hash = mixed(hash, uint64_t(node.literal.kind) + uint64_t(node.literal.integer) * 3 +
                         std::bit_cast<uint64_t>(node.literal.floating));
  for (const uint32_t arg : node.args) hash = mixed(hash, arg);
  hash = mixed(hash, uint64_t(node.statement) << 32 | uint32_t(node.dimension));
  hash = mixed(hash, uint64_t(node.constant) ^ uint64_t(node.guard) << 32);
  for (const NodeId operand : operands) hash = mixed(hash, operand);
  for (const Term& term : terms) hash = mixed(mixed(hash, uint64_t(term.coefficient)), term.atom);
  return hash;
}

}  // namespace

bool Nodes::same(const Node& a, const Node& b, std::span<const NodeId> operands,
                 std::span<const Term> new_terms) const {
  return a.kind == b.kind && a.function == b.function && a.type == b.type && a.target == b.target &&
         a.array == b.array && a.literal.kind == b.literal.kind && a.literal.integer == b.literal.integer &&
         std::bit_cast<uint64_t>(a.literal.floating) == std::bit_cast<uint64_t>(b.literal.floating) &&
         std::equal(a.args, a.args + 3, b.args) && a.statement == b.statement && a.dimension == b.dimension &&
         a.guard == b.guard && a.constant == b.constant &&
         (a.kind != NodeKind::load || std::ranges::equal(this->operands(a), operands)) &&
         (a.kind != NodeKind::affine || std::ranges::equal(terms(a), new_terms));
}

NodeId Nodes::intern(Node node, std::span<const NodeId> operands, std::span<const Term> terms) {
  const uint64_t hash = hash_of(node, operands, terms);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (same(nodes_[it->second], node, operands, terms)) return it->second;
  set_interval(node, terms);
  if (node.kind == NodeKind::load) {
    node.first = uint32_t(operands_.size());
    node.count = uint32_t(operands.size());
    operands_.insert(operands_.end(), operands.begin(), operands.end());
  } else if (node.kind == NodeKind::affine) {
    node.first = uint32_t(terms_.size());
    node.count = uint32_t(terms.size());
    terms_.insert(terms_.end(), terms.begin(), terms.end());
  }
  node.has_checks = node.kind == NodeKind::checked;
  for_each_child(node, [&](NodeId child) { node.has_checks |= nodes_[child].has_checks; });
  nodes_.push_back(node);
  known_.emplace(hash, NodeId(nodes_.size() - 1));
  return NodeId(nodes_.size() - 1);
}

VarId Nodes::add_var(int64_t extent) {
  extents_.push_back(extent);
  return VarId(extents_.size() - 1);
}

NodeId Nodes::literal(DType type, const Literal& value) {
  Node node;
  node.type = compute_type(type);
  node.literal = value;
  if (is_integer(node.type)) node.literal = Literal::of(wrap_to(node.type, value.integer));
  return intern(node, {}, {});
}

NodeId Nodes::var(VarId var) {
  Node node;
  node.kind = NodeKind::var;
  node.type = DType::i64;
  node.args[0] = var;
  return intern(node, {}, {});
}

NodeId Nodes::call(Function function, DType type, NodeId a, NodeId b, NodeId c) {
  if (const NodeId folded = fold_call(function, a, b, c); folded != none) return folded;
  Node node;
  node.kind = NodeKind::call;
  node.function = function;
  if (is_integer(nodes_[a].type)) {  // the names that mean the same on integers
    if (function == Function::remainder) node.function = Function::mod;
    if (function == Function::fmin) node.function = Function::min;
    if (function == Function::fmax) node.function = Function::max;
  }
  node.type = type;
  node.args[0] = a;
  node.args[1] = b;
  node.args[2] = c;
  return intern(node, {}, {});
}

NodeId Nodes::cast(DType target, NodeId value) {
  const Node& from = nodes_[value];
  if (from.type == target) return value;
  const bool narrow = compute_type(target) != target;
  if (narrow && from.kind == NodeKind::load && from.guard == none && program_.arrays[from.array].dtype == target)
    return value;
  if (narrow && from.kind == NodeKind::cast && from.target == target) return value;
  Node node;
  node.kind = NodeKind::cast;
  node.type = compute_type(target);
  node.target = target;
  node.args[0] = value;
  return intern(node, {}, {});
}

NodeId Nodes::add_load(Node node, std::span<const NodeId> subscripts, NodeId guard, const Literal& outside) {
  node.kind = NodeKind::load;
  node.type = compute_type(program_.arrays[node.array].dtype);
  if (guard != none && is_literal(guard)) {
    if (nodes_[guard].literal.integer == 0) return literal(node.type, outside);
    guard = none;
  }
  node.guard = guard;
  if (guard != none) node.literal = outside;
  return intern(node, subscripts, {});
}

NodeId Nodes::load(ArrayId array, std::span<const NodeId> subscripts, NodeId guard, const Literal& outside) {
  Node node;
  node.array = array;
  return add_load(node, subscripts, guard, outside);
}

NodeId Nodes::load_at(ArrayId array, NodeId position, NodeId guard, const Literal& outside) {
  Node node;
  node.array = array;
  node.dimension = -1;
  return add_load(node, {&position, 1}, guard, outside);
}

NodeId Nodes::in_range(NodeId value, int64_t extent) {
  const Node& inner = nodes_[value];
  if (inner.low >= 0 && inner.high < extent) return truth(true);
  if (inner.high < 0 || inner.low >= extent) return truth(false);
  Node node;
  node.kind = NodeKind::in_range;
  node.type = DType::boolean;
  node.args[0] = value;
  node.constant = extent;
  return intern(node, {}, {});
}

NodeId Nodes::checked(NodeId value, int64_t extent, ArrayId statement, ArrayId array, int dimension) {
  const Node& inner = nodes_[value];
  if (inner.low >= 0 && inner.high < extent) return truth(true);
  Node node;
  node.kind = NodeKind::checked;
  node.type = DType::boolean;
  node.args[0] = value;
  node.constant = extent;
  node.statement = statement;
  node.array = array;
  node.dimension = dimension;
  return intern(node, {}, {});
}

NodeId Nodes::both(NodeId a, NodeId b) {
  if (a == none) return b;
  if (b == none) return a;
  return call(Function::logical_and, DType::boolean, a, b);
}

NodeId Nodes::substitute(NodeId root, const Substitution& by, NodeId guard) {
  return rebuild(root, by, guard, nullptr);
}

NodeId Nodes::flatten(NodeId root, const std::function<std::vector<int64_t>(ArrayId)>& strides_of) {
  return rebuild(root, {}, none, strides_of);
}

NodeId Nodes::rebuild(NodeId root, const Substitution& by, NodeId guard,
                      const std::function<std::vector<int64_t>(ArrayId)>& strides_of) {
  std::unordered_map<NodeId, NodeId> done;
  std::vector<NodeId> order;
  for_each(root, [&](const Node&, NodeId id) { order.push_back(id); });
  for (const NodeId id : order) {
    const Node node = nodes_[id];
    NodeId result = id;
    switch (node.kind) {
      case NodeKind::literal: break;
      case NodeKind::var:
        if (const auto it = by.find(node.args[0]); it != by.end()) result = it->second;
        break;
      case NodeKind::affine: {
        int64_t constant = node.constant;
        std::vector<Term> sum;
        for (const Term& term : std::vector<Term>(terms(node).begin(), terms(node).end())) {
          int64_t more = 0;
          for (const Term& inner : as_terms(done.at(term.atom), more))
            sum.push_back({wrapping_mul(term.coefficient, inner.coefficient), inner.atom});
          constant = wrapping_add(constant, wrapping_mul(term.coefficient, more));
        }
        result = affine(constant, std::move(sum));
        break;
      }
      case NodeKind::load: {
        const NodeId condition = both(guard, node.guard == none ? none : done.at(node.guard));
        std::vector<NodeId> subscripts;
        for (const NodeId operand : operands(node)) subscripts.push_back(done.at(operand));
        if (node.dimension == -1)
          result = load_at(node.array, subscripts[0], condition, node.literal);
        else if (strides_of)
          result = load_at(node.array, position(subscripts, strides_of(node.array)), condition, node.literal);
        else
          result = load(node.array, subscripts, condition, node.literal);
        break;
      }
      case NodeKind::in_range: result = in_range(done.at(node.args[0]), node.constant); break;
      case NodeKind::checked:
        result = checked(done.at(node.args[0]), node.constant, node.statement, node.array, node.dimension);
        break;
      case NodeKind::cast: result = cast(node.target, done.at(node.args[0])); break;
      case NodeKind::call: {
        const auto arg = [&](int i) { return node.args[i] == none ? none : done.at(node.args[i]); };
        result = call(node.function, node.type, arg(0), arg(1), arg(2));
        break;
      }
    }
    done.emplace(id, result);
  }
  return done.at(root);
}

bool Nodes::depends(NodeId root, VarId var) const {
  bool found = false;
  for_each(root, [&](const Node& node, NodeId) { found |= node.kind == NodeKind::var && node.args[0] == var; });
  return found;
}

std::optional<int64_t> Nodes::coefficient(NodeId id, VarId var) const {
  if (is_var(id, var)) return 1;
  const Node& node = nodes_[id];
  if (node.kind != NodeKind::affine) return depends(id, var) ? std::nullopt : std::optional<int64_t>(0);
  int64_t result = 0;
  for (const Term& term : terms(node)) {
    if (is_var(term.atom, var))
      result = term.coefficient;
    else if (depends(term.atom, var))
      return std::nullopt;
  }
  return result;
}

NodeId Nodes::position(std::span<const NodeId> subscripts, std::span<const int64_t> strides) {
  int64_t constant = 0;
  std::vector<Term> sum;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    int64_t more = 0;
    for (const Term& term : as_terms(subscripts[d], more))
      sum.push_back({wrapping_mul(strides[d], term.coefficient), term.atom});
    constant = wrapping_add(constant, wrapping_mul(strides[d], more));
  }
  return affine(constant, std::move(sum));
}

}  // namespace lightline::loops::plan
