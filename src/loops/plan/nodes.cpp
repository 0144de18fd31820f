#include "loops/plan/nodes.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/maths.h"

namespace lightline::loops::plan {
namespace {

bool known(const Node& node) { return node.low != INT64_MIN && node.high != INT64_MAX; }
bool is_quotient(const Node& node, Function function) {
  return node.kind == NodeKind::call && node.type == DType::i64 && node.function == function;
}

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
  nodes_.push_back(node);
  known_.emplace(hash, NodeId(nodes_.size() - 1));
  return NodeId(nodes_.size() - 1);
}

void Nodes::set_interval(Node& node, std::span<const Term> terms) const {
  const IntegerLimits whole = integer_limits(node.type);
  node.low = whole.least;
  node.high = whole.greatest;
  const auto arg = [&](int i) -> const Node& { return nodes_[node.args[i]]; };
  switch (node.kind) {
    case NodeKind::literal:
      if (is_integer(node.type) || node.type == DType::boolean) node.low = node.high = node.literal.integer;
      return;
    case NodeKind::var:
      node.low = 0;
      node.high = std::max<int64_t>(extents_[node.args[0]] - 1, 0);
      return;
    case NodeKind::affine: {
      __int128 low = node.constant, high = node.constant;
      for (const Term& term : terms) {
        const Node& atom = nodes_[term.atom];
        if (!known(atom)) return;
        low += __int128(term.coefficient) * (term.coefficient > 0 ? atom.low : atom.high);
        high += __int128(term.coefficient) * (term.coefficient > 0 ? atom.high : atom.low);
      }
      if (low <= INT64_MIN || high >= INT64_MAX) return;
      node.low = int64_t(low);
      node.high = int64_t(high);
      return;
    }
    case NodeKind::cast: {
      const Node& from = arg(0);
      const bool whole_number = is_integer(from.type) || from.type == DType::boolean;
      if (is_integer(node.type) && whole_number && from.low >= whole.least && from.high <= whole.greatest) {
        node.low = from.low;
        node.high = from.high;
      }
      return;
    }
    case NodeKind::call: break;
    default: return;
  }
  if (node.type != DType::i64) return;
  const Node& a = arg(0);
  switch (node.function) {
    case Function::div:
      if (!known(a) || !is_literal(node.args[1]) || arg(1).low <= 0) return;
      node.low = floor_div(a.low, arg(1).low);
      node.high = floor_div(a.high, arg(1).low);
      return;
    case Function::mod:
      if (!is_literal(node.args[1]) || arg(1).low <= 0) return;
      node.low = 0;
      node.high = arg(1).low - 1;
      return;
    case Function::min:
      node.low = std::min(a.low, arg(1).low);
      node.high = std::min(a.high, arg(1).high);
      return;
    case Function::max:
      node.low = std::max(a.low, arg(1).low);
      node.high = std::max(a.high, arg(1).high);
      return;
    case Function::select:
      node.low = std::min(arg(1).low, arg(2).low);
      node.high = std::max(arg(1).high, arg(2).high);
      return;
    default: return;
  }
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

std::vector<Term> Nodes::as_terms(NodeId id, int64_t& constant) const {
  const Node& node = nodes_[id];
  if (node.kind == NodeKind::literal) {
    constant = node.literal.integer;
    return {};
  }
  constant = 0;
  if (node.kind != NodeKind::affine) return {{1, id}};
  constant = node.constant;
  const auto list = terms(node);
  return {list.begin(), list.end()};
}

// q * (e mod d) + q * d * (e div d) is q * e; e may itself be a quotient u div c, then u div (c * d) is its e div d.
void Nodes::combine_quotients(std::vector<Term>& terms, int64_t& constant) const {
  for (size_t i = 0; i < terms.size(); ++i) {
    const Node& rest = nodes_[terms[i].atom];
    if (!is_quotient(rest, Function::mod) || !is_literal(rest.args[1])) continue;
    const int64_t divisor = nodes_[rest.args[1]].literal.integer;
    const Node& inner = nodes_[rest.args[0]];
    const bool nested = is_quotient(inner, Function::div) && is_literal(inner.args[1]);
    const NodeId base = nested ? inner.args[0] : rest.args[0];
    const int64_t whole = nested ? wrapping_mul(divisor, nodes_[inner.args[1]].literal.integer) : divisor;
    for (size_t j = 0; j < terms.size(); ++j) {
      const Node& quotient = nodes_[terms[j].atom];
      if (!is_quotient(quotient, Function::div) || quotient.args[0] != base || !is_literal(quotient.args[1]) ||
          nodes_[quotient.args[1]].literal.integer != whole ||
          terms[j].coefficient != wrapping_mul(terms[i].coefficient, divisor))
        continue;
      const int64_t factor = terms[i].coefficient;
      int64_t more = 0;
      const std::vector<Term> value = as_terms(rest.args[0], more);
      terms.erase(terms.begin() + ptrdiff_t(std::max(i, j)));
      terms.erase(terms.begin() + ptrdiff_t(std::min(i, j)));
      constant = wrapping_add(constant, wrapping_mul(factor, more));
      for (const Term& term : value) terms.push_back({wrapping_mul(factor, term.coefficient), term.atom});
      return combine_quotients(terms, constant);
    }
  }
}

NodeId Nodes::affine(int64_t constant, std::vector<Term> terms) {
  combine_quotients(terms, constant);
  std::ranges::sort(terms, {}, &Term::atom);
  std::vector<Term> merged;
  for (const Term& term : terms) {
    if (!merged.empty() && merged.back().atom == term.atom)
      merged.back().coefficient = wrapping_add(merged.back().coefficient, term.coefficient);
    else
      merged.push_back(term);
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  if (merged.empty()) return integer(constant);
  if (merged.size() == 1 && constant == 0 && merged[0].coefficient == 1) return merged[0].atom;
  Node node;
  node.kind = NodeKind::affine;
  node.type = DType::i64;
  node.constant = constant;
  return intern(node, {}, merged);
}

NodeId Nodes::add(NodeId a, NodeId b, int64_t scale_of_b) {
  int64_t left = 0, right = 0;
  std::vector<Term> terms = as_terms(a, left);
  for (const Term& term : as_terms(b, right)) terms.push_back({wrapping_mul(term.coefficient, scale_of_b), term.atom});
  return affine(wrapping_add(left, wrapping_mul(right, scale_of_b)), std::move(terms));
}

NodeId Nodes::scale(NodeId a, int64_t by) { return add(integer(0), a, by); }

// Splits the value into divisor * whole + rest. If the rest stays inside one multiple, nothing is left to divide.
NodeId Nodes::divide(NodeId value, int64_t divisor, bool modulo) {
  Node call;
  call.kind = NodeKind::call;
  call.type = DType::i64;
  call.function = modulo ? Function::mod : Function::div;
  const auto general = [&](NodeId operand, int64_t by) {
    call.args[0] = operand;
    call.args[1] = integer(by);
    return intern(call, {}, {});
  };
  if (divisor == 1) return modulo ? integer(0) : value;
  if (!known(nodes_[value])) return general(value, divisor);
  int64_t constant = 0;
  std::vector<Term> whole, rest;
  for (const Term& term : as_terms(value, constant)) {
    if (term.coefficient % divisor == 0)
      whole.push_back({term.coefficient / divisor, term.atom});
    else
      rest.push_back(term);
  }
  const int64_t whole_constant = floor_div(constant, divisor);
  const NodeId remaining = affine(constant - whole_constant * divisor, rest);
  const NodeId quotient = affine(whole_constant, whole);
  const Node left = nodes_[remaining];
  if (known(left) && floor_div(left.low, divisor) == floor_div(left.high, divisor)) {
    const int64_t multiple = floor_div(left.low, divisor);
    return modulo ? add(remaining, integer(-multiple * divisor)) : add(quotient, integer(multiple));
  }
  if (left.kind == NodeKind::call && is_literal(left.args[1])) {
    const int64_t inner = nodes_[left.args[1]].literal.integer;
    if (is_quotient(left, Function::div) && !modulo && inner < (int64_t(1) << 31) && divisor < (int64_t(1) << 31))
      return add(quotient, general(left.args[0], inner * divisor));
    if (is_quotient(left, Function::mod) && inner % divisor == 0) {
      if (modulo) return divide(left.args[0], divisor, true);
      return add(quotient, divide(divide(left.args[0], divisor, false), inner / divisor, true));
    }
  }
  return modulo ? general(remaining, divisor) : add(quotient, general(remaining, divisor));
}

NodeId Nodes::fold_call(Function function, NodeId a, NodeId b, NodeId c) {
  const Node& x = nodes_[a];
  const Node* y = b == none ? nullptr : &nodes_[b];
  const auto decide = [&](bool yes, bool no) { return yes ? truth(true) : no ? truth(false) : none; };
  if (x.type == DType::i64 && function != Function::select) {
    switch (function) {
      case Function::add: return add(a, b);
      case Function::sub: return add(a, b, -1);
      case Function::neg: return scale(a, -1);
      case Function::mul:
        if (y->kind == NodeKind::literal) return scale(a, y->literal.integer);
        if (x.kind == NodeKind::literal) return scale(b, x.literal.integer);
        return none;
      case Function::div:
      case Function::mod:
      case Function::remainder:
        if (y->kind != NodeKind::literal || y->literal.integer <= 0) return none;
        return divide(a, y->literal.integer, function != Function::div);
      case Function::min:
      case Function::fmin: return x.high <= y->low ? a : y->high <= x.low ? b : none;
      case Function::max:
      case Function::fmax: return x.low >= y->high ? a : y->low >= x.high ? b : none;
      case Function::lt: return decide(x.high < y->low, x.low >= y->high);
      case Function::le: return decide(x.high <= y->low, x.low > y->high);
      case Function::gt: return decide(x.low > y->high, x.high <= y->low);
      case Function::ge: return decide(x.low >= y->high, x.high < y->low);
      case Function::eq: return decide(a == b, x.high < y->low || x.low > y->high);
      case Function::ne: return decide(x.high < y->low || x.low > y->high, a == b);
      default: return none;
    }
  }
  switch (function) {
    case Function::select:
      if (x.kind == NodeKind::literal) return x.literal.integer != 0 ? b : c;
      return b == c ? b : none;
    case Function::logical_and:
      if (x.kind == NodeKind::literal) return x.literal.integer != 0 ? b : a;
      if (y->kind == NodeKind::literal) return y->literal.integer != 0 ? a : b;
      return a == b ? a : none;
    case Function::logical_or:
      if (x.kind == NodeKind::literal) return x.literal.integer != 0 ? a : b;
      if (y->kind == NodeKind::literal) return y->literal.integer != 0 ? b : a;
      return a == b ? a : none;
    case Function::logical_not: return x.kind == NodeKind::literal ? truth(x.literal.integer == 0) : none;
    default: return none;
  }
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
