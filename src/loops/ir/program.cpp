#include "loops/ir/program.h"

#include <bit>
#include <unordered_map>

namespace lightline::loops {

ArrayId Program::add_array(std::string array_name, DType dtype, Shape shape, Position position) {
  arrays.push_back({std::move(array_name), dtype, std::move(shape), position});
  return ArrayId(arrays.size() - 1);
}

IndexId Program::add_index(std::string index_name, int64_t extent, IndexKind kind) {
  indices.push_back({std::move(index_name), extent, kind});
  return IndexId(indices.size() - 1);
}

ExprId Program::literal(Literal value, Position position) {
  Expr& e = exprs.emplace_back();
  e.kind = ExprKind::literal;
  e.literal = value;
  e.position = position;
  return ExprId(exprs.size() - 1);
}

ExprId Program::index(IndexId index_id, Position position) {
  Expr& e = exprs.emplace_back();
  e.kind = ExprKind::index;
  e.type = DType::i64;
  e.args[0] = index_id;
  e.position = position;
  return ExprId(exprs.size() - 1);
}

ExprId Program::call(Function function, ExprId a, ExprId b, ExprId c, Position position) {
  Expr& e = exprs.emplace_back();
  e.kind = ExprKind::call;
  e.function = function;
  e.args[0] = a;
  e.args[1] = b;
  e.args[2] = c;
  e.position = position;
  return ExprId(exprs.size() - 1);
}

ExprId Program::cast(DType target, ExprId value, Position position) {
  Expr& e = exprs.emplace_back();
  e.kind = ExprKind::cast;
  e.target = target;
  e.type = compute_type(target);
  e.args[0] = value;
  e.position = position;
  return ExprId(exprs.size() - 1);
}

ExprId Program::read(ArrayId array, std::span<const ExprId> subscript_ids, std::optional<Literal> fill,
                     Position position) {
  const auto first = uint32_t(subscripts.size());
  subscripts.insert(subscripts.end(), subscript_ids.begin(), subscript_ids.end());
  Expr& e = exprs.emplace_back();
  e.kind = ExprKind::read;
  e.args[0] = array;
  e.args[1] = first;
  e.args[2] = uint32_t(subscript_ids.size());
  e.has_fill = fill.has_value();
  if (fill) e.literal = *fill;
  e.position = position;
  return ExprId(exprs.size() - 1);
}

bool same(const Literal& a, const Literal& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Literal::Kind::floating) return a.integer == b.integer;
  return std::bit_cast<uint64_t>(a.floating) == std::bit_cast<uint64_t>(b.floating) ||
         (a.floating != a.floating && b.floating != b.floating);
}

double point_count(const Program& program, std::span<const IndexId> box) {
  double points = 1;
  for (const IndexId index : box) points *= double(program.indices[index].extent);
  return points;
}

std::vector<ArrayId> results_of(const Statement& statement) {
  return std::visit(
      [](const auto& node) -> std::vector<ArrayId> {
        if constexpr (requires { node.results; }) {
          return node.results;
        } else {
          return {node.result};
        }
      },
      statement.node);
}

namespace {

// Compares two programs while pairing up their ids: array and index numbers may differ, names and places may not.
class Equality {
 public:
  Equality(const Program& a, const Program& b) : a_(a), b_(b) {}

  bool run() {
    if (a_.name != b_.name || a_.inputs.size() != b_.inputs.size() || a_.outputs.size() != b_.outputs.size())
      return false;
    for (size_t i = 0; i < a_.inputs.size(); ++i)
      if (!define(a_.inputs[i], b_.inputs[i])) return false;
    if (!block(a_.statements, b_.statements)) return false;
    for (size_t i = 0; i < a_.outputs.size(); ++i)
      if (!array(a_.outputs[i].array, b_.outputs[i].array) || !array(a_.outputs[i].replaces, b_.outputs[i].replaces))
        return false;
    return true;
  }

 private:
  bool define(ArrayId x, ArrayId y) {
    const Array &p = a_.arrays[x], &q = b_.arrays[y];
    arrays_[x] = y;
    return p.name == q.name && p.dtype == q.dtype && p.shape == q.shape;
  }
  bool array(ArrayId x, ArrayId y) {
    if (x == none || y == none) return x == y;
    const auto found = arrays_.find(x);
    return found != arrays_.end() && found->second == y;
  }
  bool bind(IndexId x, IndexId y) {
    const Index &p = a_.indices[x], &q = b_.indices[y];
    indices_[x] = y;
    return p.name == q.name && p.extent == q.extent && p.kind == q.kind;
  }
  bool bind(const std::vector<IndexId>& x, const std::vector<IndexId>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!bind(x[i], y[i])) return false;
    return true;
  }
  bool expr(ExprId x, ExprId y) {
    if (x == none || y == none) return x == y;
    const Expr &p = a_.exprs[x], &q = b_.exprs[y];
    if (p.kind != q.kind) return false;
    switch (p.kind) {
      case ExprKind::literal: return same(p.literal, q.literal);
      case ExprKind::index: {
        const auto found = indices_.find(p.args[0]);
        return found != indices_.end() && found->second == q.args[0];
      }
      case ExprKind::cast: return p.target == q.target && expr(p.args[0], q.args[0]);
      case ExprKind::call:
        if (p.function != q.function) return false;
        for (int i = 0; i < info(p.function).arity; ++i)
          if (!expr(p.args[i], q.args[i])) return false;
        return true;
      case ExprKind::read:
        if (!array(p.args[0], q.args[0]) || p.args[2] != q.args[2] || p.has_fill != q.has_fill) return false;
        if (p.has_fill && !same(p.literal, q.literal)) return false;
        for (uint32_t i = 0; i < p.args[2]; ++i)
          if (!expr(subscripts_of(a_, p)[i], subscripts_of(b_, q)[i])) return false;
        return true;
    }
    return false;
  }
  bool block(const std::vector<Statement>& x, const std::vector<Statement>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto starts_group = [i](const std::vector<Statement>& s) {
        return s[i].group != (i == 0 ? none : s[i - 1].group);
      };
      if (starts_group(x) != starts_group(y) || group_name(a_, x[i]) != group_name(b_, y[i]) || !statement(x[i], y[i]))
        return false;
    }
    return true;
  }
  static std::string_view group_name(const Program& program, const Statement& statement) {
    return statement.group == none ? std::string_view() : program.groups[statement.group];
  }
  bool statement(const Statement& x, const Statement& y) {
    if (x.node.index() != y.node.index()) return false;
    const bool defines_last = std::holds_alternative<Repeat>(x.node) || std::holds_alternative<Scatter>(x.node);
    const auto p = results_of(x), q = results_of(y);
    if (p.size() != q.size()) return false;
    const auto define_all = [&] {
      for (size_t i = 0; i < p.size(); ++i)
        if (!define(p[i], q[i])) return false;
      return true;
    };
    if (!defines_last && !define_all()) return false;
    const bool alike = std::visit(
        [&](const auto& node) { return node_equal(node, std::get<std::decay_t<decltype(node)>>(y.node)); }, x.node);
    return alike && (!defines_last || define_all());
  }
  bool node_equal(const Compute& x, const Compute& y) {
    return x.is_view == y.is_view && bind(x.loops, y.loops) && x.reducer == y.reducer &&
           x.has_accumulator == y.has_accumulator && (!x.has_accumulator || x.accumulator == y.accumulator) &&
           bind(x.reduced, y.reduced) && expr(x.body, y.body);
  }
  bool node_equal(const Scatter& x, const Scatter& y) {
    if (x.reducer != y.reducer || x.drop_outside != y.drop_outside || x.target.size() != y.target.size()) return false;
    if (!array(x.init_array, y.init_array) || !bind(x.domain, y.domain)) return false;
    if (x.init_array == none && !expr(x.init_literal, y.init_literal)) return false;
    for (size_t i = 0; i < x.target.size(); ++i)
      if (!expr(x.target[i], y.target[i])) return false;
    return expr(x.body, y.body);
  }
  bool node_equal(const Constant& x, const Constant& y) {
    if (x.values.size() != y.values.size()) return false;
    for (size_t i = 0; i < x.values.size(); ++i)
      if (!same(x.values[i], y.values[i])) return false;
    return true;
  }
  bool node_equal(const Opaque& x, const Opaque& y) {
    if (x.name != y.name || x.operands.size() != y.operands.size() || x.attributes != y.attributes) return false;
    for (size_t i = 0; i < x.operands.size(); ++i)
      if (!array(x.operands[i], y.operands[i])) return false;
    return true;
  }
  bool node_equal(const Repeat& x, const Repeat& y) {
    if (!bind(x.counter, y.counter) || x.carries.size() != y.carries.size() || x.stacked.size() != y.stacked.size())
      return false;
    for (size_t i = 0; i < x.carries.size(); ++i)
      if (!array(x.carries[i].init, y.carries[i].init) || !define(x.carries[i].inner, y.carries[i].inner)) return false;
    if (!array(x.condition, y.condition) || !block(x.body, y.body)) return false;
    for (size_t i = 0; i < x.carries.size(); ++i)
      if (!array(x.carries[i].next, y.carries[i].next)) return false;
    for (size_t i = 0; i < x.stacked.size(); ++i)
      if (!array(x.stacked[i], y.stacked[i])) return false;
    return true;
  }

  const Program& a_;
  const Program& b_;
  std::unordered_map<ArrayId, ArrayId> arrays_;
  std::unordered_map<IndexId, IndexId> indices_;
};

}  // namespace

bool equal(const Program& a, const Program& b) { return Equality(a, b).run(); }

}  // namespace lightline::loops
