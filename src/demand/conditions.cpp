// What must hold where a condition does: half-spaces, and values that differ from zero in one place only.
#include "demand/structure.h"
#include "demand/structure_parts.h"
#include "loops/ir/walk.h"

namespace lightline::demand {

Cuts Structure::through(const Cuts& cuts, const Expr& read, const Domain& domain) const {
  Cuts seen;
  for (const HalfSpace& cut : cuts) {
    HalfSpace image{cut.constant, {}};
    bool known = true;
    for (const auto& [dimension, coefficient] : cut.terms) {
      const auto subscript = affine(loops::subscripts_of(program_, read)[dimension], domain);
      HalfSpace scaled = subscript.value_or(HalfSpace{});
      known = subscript && multiply(scaled.constant, -coefficient, scaled.constant);
      for (auto& term : scaled.terms) known = known && multiply(term.second, -coefficient, term.second);
      if (!known) break;
      image = difference(image, scaled);
      known = is_kept(image.constant);
    }
    if (known) seen.push_back(std::move(image));
  }
  return seen;
}

Cuts Structure::implied(ExprId id, bool truth, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: return (e.literal.integer != 0) == truth ? Cuts{} : nowhere();
    case ExprKind::index: return {};
    case ExprKind::cast:  // a number as a condition
      if (program_.exprs[e.args[0]].type == DType::boolean) return implied(e.args[0], truth, domain);
      if (!truth) return implied_equal(e.args[0], 0, domain);
      return support(e.args[0], SkippedValue::zero, domain);
    case ExprKind::read:
      if (const Compute* made = formula(e)) {
        ++depth_;
        const auto own = implied(made->body, truth, domain_of(*made, {}));
        --depth_;
        return through(own, e, domain);
      }
      return {};
    case ExprKind::call: return implied_call(e, truth, domain);
  }
  return {};
}

Cuts Structure::implied_call(const Expr& e, bool truth, const Domain& domain) const {
  const auto both = [&] { return joined(implied(e.args[0], truth, domain), implied(e.args[1], truth, domain)); };
  if (e.function == Function::logical_not) return implied(e.args[0], !truth, domain);
  if (e.function == Function::logical_and || e.function == Function::bitand_) {
    if (truth) return both();
    if (implied(e.args[0], true, domain).empty() && !reads_data(e.args[0]) && is_true(e.args[0]))
      return implied(e.args[1], false, domain);
    return is_true(e.args[1]) ? implied(e.args[0], false, domain) : Cuts{};
  }
  if (e.function == Function::logical_or || e.function == Function::bitor_) return truth ? Cuts{} : both();
  if (arity(e) != 2) return {};
  const bool equality = e.function == Function::eq || e.function == Function::ne;
  if (equality)
    for (const int side : {0, 1})
      if (const auto value = literal_value(program_.exprs[e.args[side]])) {
        const ExprId other = e.args[1 - side];
        if (truth == (e.function == Function::eq)) {
          if (auto cuts = implied_equal(other, *value, domain); !cuts.empty()) return cuts;
        } else if (*value == 0) {
          if (auto cuts = support(other, SkippedValue::zero, domain); !cuts.empty()) return cuts;
        }
      }
  if (!is_integer(program_.exprs[e.args[0]].type)) return {};
  const auto a = affine(e.args[0], domain), b = affine(e.args[1], domain);
  if (!a || !b) return {};
  switch (e.function) {
    case Function::le: return {truth ? difference(*b, *a) : difference(*a, *b, -1)};
    case Function::lt: return {truth ? difference(*b, *a, -1) : difference(*a, *b)};
    case Function::ge: return {truth ? difference(*a, *b) : difference(*b, *a, -1)};
    case Function::gt: return {truth ? difference(*a, *b, -1) : difference(*b, *a)};
    case Function::eq: return truth ? std::vector{difference(*a, *b), difference(*b, *a)} : Cuts{};
    case Function::ne: return truth ? Cuts{} : std::vector{difference(*a, *b), difference(*b, *a)};
    default: return {};
  }
}

// What must hold where the expression has this value, for masks made of numbers: if(j <= i, 1, 0), 1 - mask, ...
Cuts Structure::implied_equal(ExprId id, double value, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (const auto literal = literal_value(e)) return *literal == value ? Cuts{} : nowhere();
  if (e.kind == ExprKind::read) {
    const Compute* made = formula(e);
    if (made == nullptr) return {};
    ++depth_;
    const auto own = implied_equal(made->body, value, domain_of(*made, {}));
    --depth_;
    return through(own, e, domain);
  }
  if (e.type == DType::boolean && e.kind == ExprKind::call && e.function != Function::select)
    return implied(id, value != 0, domain);
  if (e.kind == ExprKind::cast) {
    if (program_.exprs[e.args[0]].type == DType::boolean) return implied(e.args[0], value != 0, domain);
    return is_float(e.target) ? implied_equal(e.args[0], value, domain) : Cuts{};
  }
  if (e.kind != ExprKind::call) return {};
  const auto first = literal_value(program_.exprs[e.args[0]]);
  const auto second = arity(e) > 1 ? literal_value(program_.exprs[e.args[1]]) : std::nullopt;
  switch (e.function) {
    case Function::sub:
      if (first) return implied_equal(e.args[1], *first - value, domain);
      return second ? implied_equal(e.args[0], value + *second, domain) : Cuts{};
    case Function::add:
      if (first) return implied_equal(e.args[1], value - *first, domain);
      return second ? implied_equal(e.args[0], value - *second, domain) : Cuts{};
    case Function::mul:
      if (first && *first != 0) return implied_equal(e.args[1], value / *first, domain);
      return second && *second != 0 ? implied_equal(e.args[0], value / *second, domain) : Cuts{};
    case Function::neg: return implied_equal(e.args[0], -value, domain);
    case Function::select: {
      auto yes = implied_equal(e.args[1], value, domain), no = implied_equal(e.args[2], value, domain);
      if (is_nowhere(yes) && is_nowhere(no)) return nowhere();
      if (!is_nowhere(yes) && !is_nowhere(no)) return {};
      return joined(implied(e.args[0], is_nowhere(no), domain), is_nowhere(no) ? yes : no);
    }
    default: return {};
  }
}

bool Structure::is_true(ExprId id) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::literal) return e.literal.integer != 0;
  if (e.kind == ExprKind::cast) return is_true(e.args[0]);
  if (e.kind != ExprKind::read) return false;
  const Compute* made = formula(e);
  return made != nullptr && program_.exprs[made->body].kind == ExprKind::literal && is_true(made->body);
}

VariableSet Structure::one_hot_variables(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::cast) return one_hot_variables(e.args[0], domain);
  if (e.kind == ExprKind::read) {
    const auto& hot = one_hot_[e.args[0]];
    VariableSet set = 0;
    for (size_t d = 0; d < hot.size() && !e.has_fill; ++d) {
      if (!hot[d]) continue;
      // the one-hot dimension follows a variable that no other dimension follows
      const auto subscript = affine(loops::subscripts_of(program_, e)[d], domain);
      if (!subscript || subscript->terms.size() != 1) continue;
      const size_t v = size_t(subscript->terms[0].first);
      bool alone = true;
      for (size_t other = 0; other < hot.size(); ++other)
        if (other != d && (depends_on(loops::subscripts_of(program_, e)[other], domain) & bit(v))) alone = false;
      if (alone) set |= bit(v);
    }
    return set;
  }
  if (e.kind != ExprKind::call) return 0;
  if (e.function == Function::mul || e.function == Function::logical_and)
    return one_hot_variables(e.args[0], domain) | one_hot_variables(e.args[1], domain);
  if (e.function == Function::select) {
    const auto no = literal_value(program_.exprs[e.args[2]]);
    return no && *no == 0 ? one_hot_variables(e.args[0], domain) : 0;
  }
  if (e.function != Function::eq) return 0;
  VariableSet set = 0;
  for (const int side : {0, 1}) {
    const auto index = affine(e.args[side], domain);
    if (!index || index->terms.size() != 1) continue;
    const size_t v = size_t(index->terms[0].first);
    const bool by_data = reads_data(e.args[1 - side]);  // else it is a cut
    if (by_data && !(depends_on(e.args[1 - side], domain) & bit(v)) && v < domain.first_counter()) set |= bit(v);
  }
  return set;
}

}  // namespace lightline::demand
