// Affine forms, quotients and calls in their simplest form.
#include <algorithm>

#include "base/maths.h"
#include "loops/plan/nodes.h"

namespace lightline::loops::plan {
namespace {

bool is_quotient(const Node& node, Function function) {
  return node.kind == NodeKind::call && node.type == DType::i64 && node.function == function;
}

}  // namespace

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
  if (!nodes_[value].has_interval()) return general(value, divisor);
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
  if (left.has_interval() && floor_div(left.low, divisor) == floor_div(left.high, divisor)) {
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

}  // namespace lightline::loops::plan
