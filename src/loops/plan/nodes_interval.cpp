// Intervals that hold the values of integer nodes.
#include <algorithm>

#include "base/maths.h"
#include "loops/plan/nodes.h"

namespace lightline::loops::plan {

void Nodes::set_interval(Node& node, std::span<const Term> terms) const {
  const IntegerLimits whole = integer_limits(node.type);
  node.low = whole.least;
  node.high = whole.greatest;
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
        if (!atom.has_interval()) return;
        low += __int128(term.coefficient) * (term.coefficient > 0 ? atom.low : atom.high);
        high += __int128(term.coefficient) * (term.coefficient > 0 ? atom.high : atom.low);
      }
      if (low <= INT64_MIN || high >= INT64_MAX) return;
      node.low = int64_t(low);
      node.high = int64_t(high);
      return;
    }
    case NodeKind::cast: {
      const Node& from = nodes_[node.args[0]];
      const bool whole_number = is_integer(from.type) || from.type == DType::boolean;
      if (is_integer(node.type) && whole_number && from.low >= whole.least && from.high <= whole.greatest) {
        node.low = from.low;
        node.high = from.high;
      }
      return;
    }
    case NodeKind::call:
      if (node.type == DType::i64) set_call_interval(node);
      return;
    default: return;
  }
}

void Nodes::set_call_interval(Node& node) const {
  const auto arg = [&](int i) -> const Node& { return nodes_[node.args[i]]; };
  const Node& a = arg(0);
  switch (node.function) {
    case Function::div:
      if (!a.has_interval() || !is_literal(node.args[1]) || arg(1).low <= 0) return;
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

}  // namespace lightline::loops::plan
