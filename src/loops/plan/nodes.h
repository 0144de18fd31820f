// The expressions of planned code: a pool of shared, simplified nodes over loop variables.
//
// Equal expressions are one node. i64 arithmetic is kept as affine forms, so that subscripts composed through views
// simplify (a reshape of a reshape is one address again). Every i64 node knows an interval that holds its value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loops/ir/program.h"

namespace lightline::loops::plan {

using NodeId = uint32_t;
using VarId = uint32_t;  // a loop variable, 0 <= v < extent

enum class NodeKind : uint8_t {
  literal,   // of `type`
  var,       // args[0]: VarId
  affine,    // constant + sum of coefficient * atom, i64
  load,      // array[operands], or at a flat position (dimension -1); where the guard is false, `literal`
  in_range,  // 0 <= args[0] < constant
  checked,   // the same, and reports `statement`, `array` and `dimension` if it is false
  call,
  cast,  // to `target`, held in its compute type
};

struct Term {
  int64_t coefficient;
  NodeId atom;
  bool operator==(const Term&) const = default;
};

struct Node {
  NodeKind kind = NodeKind::literal;
  Function function = Function::add;
  DType type = DType::f32;
  DType target = DType::f32;
  Literal literal;
  uint32_t args[3] = {none, none, none};
  uint32_t first = 0;  // operands of a load, terms of an affine form
  uint32_t count = 0;
  ArrayId array = none;  // load, checked
  ArrayId statement = none;
  int32_t dimension = 0;
  NodeId guard = none;      // load: a truth value, or none
  int64_t constant = 0;     // affine; the extent of in_range and checked
  int64_t low = INT64_MIN;  // of integers; INT64_MIN and INT64_MAX when not known
  int64_t high = INT64_MAX;
  bool has_checks = false;  // is `checked`, or made of what is
  bool has_interval() const { return low != INT64_MIN && high != INT64_MAX; }
};

// What to put for variables.
using Substitution = std::unordered_map<VarId, NodeId>;

class Nodes {
 public:
  explicit Nodes(const Program& program) : program_(program) {}

  const Program& program() const { return program_; }
  VarId add_var(int64_t extent);
  int64_t extent(VarId var) const { return extents_[var]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  std::span<const NodeId> operands(const Node& load) const { return {operands_.data() + load.first, load.count}; }
  std::span<const Term> terms(const Node& affine) const { return {terms_.data() + affine.first, affine.count}; }

  NodeId literal(DType type, const Literal& value);
  NodeId integer(int64_t value) { return literal(DType::i64, Literal::of(value)); }
  NodeId truth(bool value) { return literal(DType::boolean, Literal::of_bool(value)); }
  NodeId var(VarId var);
  NodeId affine(int64_t constant, std::vector<Term> terms);
  NodeId call(Function function, DType type, NodeId a, NodeId b = none, NodeId c = none);
  NodeId cast(DType target, NodeId value);
  NodeId load(ArrayId array, std::span<const NodeId> subscripts, NodeId guard, const Literal& outside);
  NodeId load_at(ArrayId array, NodeId position, NodeId guard, const Literal& outside);
  NodeId in_range(NodeId value, int64_t extent);
  NodeId checked(NodeId value, int64_t extent, ArrayId statement, ArrayId array, int dimension);
  NodeId both(NodeId a, NodeId b);  // logical and; `none` is true

  // i64 arithmetic, wrapping.
  NodeId add(NodeId a, NodeId b, int64_t scale_of_b = 1);
  NodeId scale(NodeId a, int64_t by);

  // Rebuilds `id` with variables replaced, and every load guarded by `guard` too.
  NodeId substitute(NodeId id, const Substitution& by, NodeId guard = none);
  // Replaces the subscripts of every load by its flat position, with the strides given for its array.
  NodeId flatten(NodeId id, const std::function<std::vector<int64_t>(ArrayId)>& strides_of);

  bool is_literal(NodeId id) const { return nodes_[id].kind == NodeKind::literal; }
  bool is_var(NodeId id, VarId var) const { return nodes_[id].kind == NodeKind::var && nodes_[id].args[0] == var; }
  // Calls `visit(const Node&, NodeId)` once for every node below and including `root`, children first.
  template <class Visit>
  void for_each(NodeId root, Visit visit) const;
  template <class Visit>
  void for_each_child(const Node& node, Visit visit) const;
  // Whether a variable takes part in the value.
  bool depends(NodeId id, VarId var) const;
  // The coefficient of `var` in an i64 value; nothing if the value is not affine in it.
  std::optional<int64_t> coefficient(NodeId id, VarId var) const;
  // The sum of stride * subscript.
  NodeId position(std::span<const NodeId> subscripts, std::span<const int64_t> strides);

 private:
  NodeId intern(Node node, std::span<const NodeId> operands, std::span<const Term> terms);
  bool same(const Node& a, const Node& b, std::span<const NodeId> operands, std::span<const Term> terms) const;
  void set_interval(Node& node, std::span<const Term> terms) const;
  void set_call_interval(Node& node) const;  // of a call that gives an i64
  std::vector<Term> as_terms(NodeId id, int64_t& constant) const;
  void combine_quotients(std::vector<Term>& terms, int64_t& constant) const;
  NodeId divide(NodeId value, int64_t divisor, bool modulo);
  NodeId add_load(Node node, std::span<const NodeId> operands, NodeId guard, const Literal& outside);
  NodeId rebuild(NodeId root, const Substitution& by, NodeId guard,
                 const std::function<std::vector<int64_t>(ArrayId)>& strides_of);
  NodeId fold_call(Function function, NodeId a, NodeId b, NodeId c);

  const Program& program_;
  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<Term> terms_;
  std::vector<int64_t> extents_;
  std::unordered_multimap<uint64_t, NodeId> known_;
};

template <class Visit>
void Nodes::for_each_child(const Node& node, Visit visit) const {
  switch (node.kind) {
    case NodeKind::literal:
    case NodeKind::var: return;
    case NodeKind::affine:
      for (const Term& term : terms(node)) visit(term.atom);
      return;
    case NodeKind::load:
      for (const NodeId operand : operands(node)) visit(operand);
      if (node.guard != none) visit(node.guard);
      return;
    default:
      for (const NodeId arg : node.args)
        if (arg != none) visit(arg);
  }
}

template <class Visit>
void Nodes::for_each(NodeId root, Visit visit) const {
  std::unordered_map<NodeId, bool> done;  // false: children pending
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const auto [entry, fresh] = done.try_emplace(id, false);
    if (fresh) {
      for_each_child(nodes_[id], [&](NodeId child) {
        if (!done.contains(child)) stack.push_back(child);
      });
      continue;
    }
    stack.pop_back();
    if (entry->second) continue;
    entry->second = true;
    visit(nodes_[id], id);
  }
}

}  // namespace lightline::loops::plan
