// Subscripts of a read as affine forms, quotients and clamps.
#include <algorithm>
#include <map>

#include "base/maths.h"
#include "demand/footprint.h"
#include "demand/value_runs.h"

namespace lightline::demand {
namespace {

std::optional<int64_t> positive_literal(const Expr& e) {
  if (e.kind != ExprKind::literal || e.literal.kind != loops::Literal::Kind::integer || e.literal.integer <= 0)
    return std::nullopt;
  return e.literal.integer;
}

}  // namespace

bool Footprints::decompose(ExprId id, const Domain& domain, int64_t factor, Subscript& into) const {
  if (const auto form = structure_.affine(id, domain)) {
    int64_t part = 0;
    if (!multiply(factor, form->constant, part)) return false;
    into.affine.constant += part;
    if (!is_kept(into.affine.constant)) return false;
    for (const auto& [v, c] : form->terms) {
      int64_t reach = 0;
      if (!multiply(factor, c, part) ||
          !multiply(part, std::max<int64_t>(1, program_.indices[domain.variables[size_t(v)]].extent), reach))
        return false;
      const auto found = std::find_if(into.affine.terms.begin(), into.affine.terms.end(),
                                      [v = v](const auto& term) { return term.first == v; });
      if (found == into.affine.terms.end())
        into.affine.terms.emplace_back(v, part);
      else
        found->second += part;
    }
    return true;
  }
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::cast) return is_integer(e.target) && decompose(e.args[0], domain, factor, into);
  if (e.kind != ExprKind::call) return false;
  switch (e.function) {
    case Function::add: return decompose(e.args[0], domain, factor, into) && decompose(e.args[1], domain, factor, into);
    case Function::sub:
      return decompose(e.args[0], domain, factor, into) && decompose(e.args[1], domain, -factor, into);
    case Function::neg: return decompose(e.args[0], domain, -factor, into);
    case Function::mul:
      for (const int side : {0, 1})
        if (const auto by = positive_literal(program_.exprs[e.args[side]]))
          return multiply(factor, *by, factor) && decompose(e.args[1 - side], domain, factor, into);
      return false;
    case Function::div:
    case Function::mod: return decompose_quotient(e, domain, factor, into);
    case Function::min:
    case Function::max: return decompose_clamp(e, domain, factor, into);
    default: return false;
  }
}

bool Footprints::decompose_quotient(const Expr& e, const Domain& domain, int64_t factor, Subscript& into) const {
  const auto by = positive_literal(program_.exprs[e.args[1]]);
  Subscript inner;
  if (!by || !is_kept(*by) || !decompose(e.args[0], domain, 1, inner)) return false;
  Quotient quotient{inner.affine};
  const Quotient* only =
      inner.quotients.size() == 1 && inner.quotients[0].first == 1 ? &inner.quotients[0].second : nullptr;
  if (only != nullptr && inner.affine == HalfSpace{} && only->modulo == 0 && only->shift == 0 && !only->clamp.is_used())
    quotient = *only;
  else if (!inner.quotients.empty())
    return false;
  if (e.function == Function::div && !multiply(quotient.divide, *by, quotient.divide)) return false;
  if (e.function == Function::mod) quotient.modulo = *by;
  into.quotients.emplace_back(factor, std::move(quotient));
  return true;
}

// min(x, 7) or max(x, 0)
bool Footprints::read_clamp(const Expr& e, ExprId& inner, Clamp& clamp) const {
  if (e.kind != ExprKind::call || (e.function != Function::min && e.function != Function::max)) return false;
  for (const int side : {0, 1}) {
    const Expr& bound = program_.exprs[e.args[side]];
    if (bound.kind != ExprKind::literal || bound.literal.kind != loops::Literal::Kind::integer ||
        !is_kept(bound.literal.integer))
      continue;
    inner = e.args[1 - side];
    if (e.function == Function::min)
      clamp.high = bound.literal.integer;
    else
      clamp.low = bound.literal.integer;
    return true;
  }
  return false;
}

bool Footprints::decompose_clamp(const Expr& e, const Domain& domain, int64_t factor, Subscript& into) const {
  ExprId argument = 0;
  Clamp clamp;
  Subscript inner;
  if (!read_clamp(e, argument, clamp) || !decompose(argument, domain, 1, inner)) return false;
  Quotient quotient{inner.affine};
  if (inner.quotients.size() == 1 && inner.quotients[0].first == 1 && inner.affine.terms.empty()) {
    quotient = inner.quotients[0].second;
    const int64_t shift = inner.affine.constant;
    quotient.shift += shift;
    if (quotient.clamp.low > -greatest_kept) quotient.clamp.low += shift;
    if (quotient.clamp.high < greatest_kept) quotient.clamp.high += shift;
  } else if (!inner.quotients.empty()) {
    return false;
  }
  // The outer bound holds in the end, whatever the inner one says.
  quotient.clamp.low =
      e.function == Function::max ? std::max(quotient.clamp.low, clamp.low) : std::min(quotient.clamp.low, clamp.high);
  quotient.clamp.high = e.function == Function::min ? std::min(quotient.clamp.high, clamp.high)
                                                    : std::max(quotient.clamp.high, clamp.low);
  if (!is_kept(quotient.shift)) return false;
  into.quotients.emplace_back(factor, std::move(quotient));
  return true;
}

Footprints::Subscript Footprints::subscript_of(ExprId id, const Domain& domain) const {
  Subscript result;
  // One bound on each side of the whole needs no variable of its own.
  ExprId inner = id;
  for (Clamp outer; result.clamp.low == -greatest_kept || result.clamp.high == greatest_kept; outer = {}) {
    if (!read_clamp(program_.exprs[inner], inner, outer)) break;
    const Clamp known = result.clamp;  // nearer to the outside: it wins
    result.clamp.low = known(std::max(outer.low, known.low));
    result.clamp.high = known(std::min(outer.high, known.high));
    if (outer.low == -greatest_kept) result.clamp.low = known.low;
    if (outer.high == greatest_kept) result.clamp.high = known.high;
  }
  if (!decompose(inner, domain, 1, result)) {
    result = {};
    result.by_data = true;
    return result;
  }
  std::erase_if(result.affine.terms, [](const auto& term) { return term.second == 0; });
  std::sort(result.affine.terms.begin(), result.affine.terms.end());
  for (auto& [factor, quotient] : result.quotients) std::sort(quotient.of.terms.begin(), quotient.of.terms.end());
  return result;
}

// Quotients of one form, as a row-major index taken apart has them, become variables of their own: whole rows of the
// slowest one, the others in full. Where that is not so, the variables of the form are fixed.
void Footprints::name_quotients(std::vector<Subscript>& subscripts, Piece& points) const {
  std::map<HalfSpace, std::vector<Quotient*>> forms;
  std::vector<int> uses(points.box.size(), 0);  // by how many forms and plain terms
  for (Subscript& subscript : subscripts) {
    for (const auto& term : subscript.affine.terms) ++uses[size_t(term.first)];
    for (auto& [factor, quotient] : subscript.quotients) forms[quotient.of].push_back(&quotient);
  }
  for (const auto& [form, quotients] : forms)
    for (const auto& term : form.terms) ++uses[size_t(term.first)];
  for (auto& [form, quotients] : forms) {
    const bool alone = std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      const bool cut = std::any_of(points.cuts.begin(), points.cuts.end(), [&](const HalfSpace& c) {
        return std::any_of(c.terms.begin(), c.terms.end(), [&](const auto& t) { return t.first == term.first; });
      });
      return uses[size_t(term.first)] == 1 && !cut;
    });
    if (!alone)
      for (const auto& term : form.terms) points.fix_variable(size_t(term.first));
    if (points.bounds_empty()) return;
    const Range values = run_of_values(form, points, greatest_kept);
    std::sort(quotients.begin(), quotients.end(),
              [](const Quotient* x, const Quotient* y) { return x->divide > y->divide; });
    const auto ranges = take_apart(quotients, values);
    for (size_t i = 0; i < quotients.size(); ++i) {
      if (i > 0 && quotients[i]->is_same(*quotients[i - 1])) {
        quotients[i]->variable = quotients[i - 1]->variable;
        continue;
      }
      quotients[i]->variable = int(points.box.size());
      Range range = ranges[i];
      if (const Quotient& q = *quotients[i]; range.hi >= range.lo && (q.shift != 0 || q.clamp.is_used()))
        range = {q.clamp(range.lo + q.shift), q.clamp(range.hi + q.shift), 1};
      points.box.push_back(range);
    }
  }
  for (Subscript& subscript : subscripts) {
    for (const auto& [factor, quotient] : subscript.quotients)
      subscript.affine.terms.emplace_back(quotient.variable, factor);
    subscript.quotients.clear();
  }
}

// The values of quotients, slowest first, while their form runs over `values`; independent of each other.
std::vector<Range> Footprints::take_apart(const std::vector<Quotient*>& quotients, Range values) {
  const auto value = [](const Quotient& q, int64_t at) {
    const int64_t divided = floor_div(at, q.divide);
    return q.modulo > 0 ? floor_mod(divided, q.modulo) : divided;
  };
  std::vector<Range> ranges;
  for (const Quotient* q : quotients) ranges.push_back({value(*q, values.lo), value(*q, values.lo), 1});
  if (values.hi < values.lo) {
    ranges[0] = {0, -1, 1};
    return ranges;
  }
  const Quotient& slowest = *quotients[0];
  if (values.step > slowest.divide || slowest.divide % values.step != 0) return ranges;
  // The slowest: every value that a whole row gives, or, alone, every value at all.
  const int64_t row = slowest.divide;
  const bool single = std::all_of(quotients.begin(), quotients.end(), [&](const Quotient* q) {
    return q->divide == slowest.divide && q->modulo == slowest.modulo;
  });
  const int64_t first = single ? floor_div(values.lo, row) : floor_div(values.lo + row - 1, row);
  const int64_t last = single ? floor_div(values.hi, row) : floor_div(values.hi + values.step, row) - 1;
  if (last < first || (!single && values.step != 1)) return ranges;
  const auto wrapped = [](int64_t low, int64_t high, int64_t modulo) {
    if (modulo == 0) return Range{low, high, 1};
    if (high - low + 1 >= modulo) return Range{0, modulo - 1, 1};
    const int64_t from = floor_mod(low, modulo);
    return Range{from, std::min(modulo - 1, from + high - low), 1};
  };
  int64_t inside = row;  // what the slower ones leave
  for (size_t i = 0; i < quotients.size(); ++i) {
    const Quotient& q = *quotients[i];
    if (q.divide == row && q.modulo == slowest.modulo)
      ranges[i] = wrapped(first, last, q.modulo);
    else if (q.modulo > 0 && q.divide * q.modulo <= inside && inside % (q.divide * q.modulo) == 0)
      ranges[i] = {0, q.modulo - 1, 1};
    else
      ranges[i] = {value(q, first * row), value(q, first * row), 1};
    const bool next_is_same = i + 1 < quotients.size() && quotients[i + 1]->divide == q.divide;
    if (!next_is_same) inside = q.divide;
  }
  return ranges;
}

}  // namespace lightline::demand
