#include "demand/hulls.h"

#include <algorithm>

#include "base/maths.h"
#include "loops/ir/walk.h"

namespace lightline::demand {
namespace {

using index::Range;
using loops::ArrayId;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Function;

class Hulls {
 public:
  explicit Hulls(const loops::Program& program) : program_(program), ranges_(program.indices.size()) {
    for (const loops::Array& array : program.arrays) hulls_.push_back({std::vector<Range>(array.shape.size())});
    for (size_t i = 0; i < ranges_.size(); ++i) ranges_[i] = {0, program.indices[i].extent - 1, 1};
  }

  std::vector<Hull> run() {
    for (const loops::Output& output : program_.outputs) whole(output.array);
    for (size_t i = program_.statements.size(); i-- > 0;)
      std::visit([&](const auto& node) { visit(node); }, program_.statements[i].node);
    return std::move(hulls_);
  }

 private:
  void whole(ArrayId array) {
    for (size_t d = 0; d < hulls_[array].ranges.size(); ++d)
      hulls_[array].ranges[d] = {0, program_.arrays[array].shape[d] - 1, 1};
  }
  bool is_read(ArrayId array) const {
    return std::none_of(hulls_[array].ranges.begin(), hulls_[array].ranges.end(),
                        [](const Range& range) { return range.hi < range.lo; });
  }
  void join(Range& into, const Range& other) {
    if (into.hi < into.lo)
      into = other;
    else
      into = {std::min(into.lo, other.lo), std::max(into.hi, other.hi), 1};
  }

  void visit(const loops::Constant&) {}
  void visit(const loops::Compute& node) {
    if (!is_read(node.result)) return;
    bool scans = false;
    for (size_t d = 0; d < node.loops.size(); ++d) {
      scans |= program_.indices[node.loops[d]].kind == loops::IndexKind::scan;
      ranges_[node.loops[d]] = hulls_[node.result].ranges[d];
    }
    if (scans) {  // earlier elements are read too
      whole(node.result);
      for (size_t d = 0; d < node.loops.size(); ++d) ranges_[node.loops[d]] = hulls_[node.result].ranges[d];
    }
    reads(node.body);
  }
  void visit(const loops::Scatter& node) {
    if (!is_read(node.result)) return;
    for (const ExprId target : node.target) reads(target);
    reads(node.body);
    if (node.init_array != loops::none)
      for (size_t d = 0; d < hulls_[node.result].ranges.size(); ++d)
        join(hulls_[node.init_array].ranges[d], hulls_[node.result].ranges[d]);
  }
  void visit(const loops::Opaque& node) {
    for (const ArrayId result : node.results) whole(result);
    for (const ArrayId operand : node.operands) whole(operand);
  }
  void visit(const loops::Repeat& node) {
    for (const ArrayId result : node.results) whole(result);
    for (const auto& carry : node.carries) {
      whole(carry.init);
      whole(carry.inner);
      whole(carry.next);
    }
    for (const ArrayId stacked : node.stacked) whole(stacked);
    loops::for_each_statement(std::span(node.body), [&](const loops::Statement& inner) {
      for (const ArrayId result : loops::results_of(inner)) whole(result);
    });
    // What the body reads from outside: every index of it runs through its whole range.
    loops::for_each_statement(std::span(node.body), [&](const loops::Statement& inner) {
      if (const auto* compute = std::get_if<loops::Compute>(&inner.node)) reads(compute->body);
      if (const auto* scatter = std::get_if<loops::Scatter>(&inner.node)) visit(*scatter);
      if (const auto* opaque = std::get_if<loops::Opaque>(&inner.node)) visit(*opaque);
      if (const auto* repeat = std::get_if<loops::Repeat>(&inner.node))
        for (const auto& carry : repeat->carries) whole(carry.init);
    });
  }

  void reads(ExprId root) {
    loops::for_each_expr(program_, root, [&](ExprId id) {
      const Expr& e = program_.exprs[id];
      if (e.kind != ExprKind::read) return;
      const Shape& shape = program_.arrays[e.args[0]].shape;
      for (uint32_t d = 0; d < e.args[2]; ++d) {
        Range range = range_of(loops::subscripts_of(program_, e)[d]);
        range.lo = std::max<int64_t>(range.lo, 0);
        range.hi = std::min(range.hi, shape[d] - 1);
        if (range.hi >= range.lo) join(hulls_[e.args[0]].ranges[d], range);
      }
    });
  }

  Range range_of(ExprId id) const {
    const Expr& e = program_.exprs[id];
    const auto kept = [](__int128 value) {
      return int64_t(std::clamp<__int128>(value, -index::greatest_kept, index::greatest_kept));
    };
    if (e.kind == ExprKind::index) return ranges_[e.args[0]];
    if (e.kind == ExprKind::literal && e.literal.kind == loops::Literal::Kind::integer)
      return {e.literal.integer, e.literal.integer, 1};
    if (e.kind != ExprKind::call) return index::anything;
    std::vector<Range> args;
    for (const ExprId operand : loops::operands_of(e)) args.push_back(range_of(operand));
    switch (e.function) {
      case Function::add: return {kept(__int128(args[0].lo) + args[1].lo), kept(__int128(args[0].hi) + args[1].hi), 1};
      case Function::sub: return {kept(__int128(args[0].lo) - args[1].hi), kept(__int128(args[0].hi) - args[1].lo), 1};
      case Function::neg: return {-args[0].hi, -args[0].lo, 1};
      case Function::mul: {
        const __int128 ends[] = {__int128(args[0].lo) * args[1].lo, __int128(args[0].lo) * args[1].hi,
                                 __int128(args[0].hi) * args[1].lo, __int128(args[0].hi) * args[1].hi};
        return {kept(*std::min_element(ends, ends + 4)), kept(*std::max_element(ends, ends + 4)), 1};
      }
      case Function::div:
        if (args[1].lo != args[1].hi || args[1].lo <= 0) return index::anything;
        return {floor_div(args[0].lo, args[1].lo), floor_div(args[0].hi, args[1].lo), 1};
      case Function::mod:
        if (args[1].lo != args[1].hi || args[1].lo <= 0) return index::anything;
        if (floor_div(args[0].lo, args[1].lo) == floor_div(args[0].hi, args[1].lo))
          return {floor_mod(args[0].lo, args[1].lo), floor_mod(args[0].hi, args[1].lo), 1};
        return {0, args[1].lo - 1, 1};
      case Function::min: return {std::min(args[0].lo, args[1].lo), std::min(args[0].hi, args[1].hi), 1};
      case Function::max: return {std::max(args[0].lo, args[1].lo), std::max(args[0].hi, args[1].hi), 1};
      default: return index::anything;
    }
  }

  const loops::Program& program_;
  std::vector<Range> ranges_;  // of indices, in the statement at hand
  std::vector<Hull> hulls_;
};

}  // namespace

std::vector<Hull> hulls_of(const loops::Program& program) { return Hulls(program).run(); }

}  // namespace lightline::demand
