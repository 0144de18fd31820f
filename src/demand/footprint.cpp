#include "demand/footprint.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/maths.h"

namespace lightline::demand {

namespace {

constexpr double max_enumerated = 1 << 14;
constexpr double max_known = 1 << 20;

std::optional<int64_t> positive_literal(const Expr& e) {
  if (e.kind != ExprKind::literal || e.literal.kind != loops::Literal::Kind::integer || e.literal.integer <= 0)
    return std::nullopt;
  return e.literal.integer;
}

// Whether a cut is the form itself or its negative, up to the constant; gives the sign.
int parallel_to(const HalfSpace& cut, const HalfSpace& form) {
  if (cut.terms.size() != form.terms.size()) return 0;
  int sign = 0;
  for (size_t i = 0; i < cut.terms.size(); ++i) {
    if (cut.terms[i].first != form.terms[i].first || std::abs(cut.terms[i].second) != std::abs(form.terms[i].second))
      return 0;
    const int own = cut.terms[i].second == form.terms[i].second ? 1 : -1;
    if (sign != 0 && sign != own) return 0;
    sign = own;
  }
  return sign;
}

std::vector<int> variables_of(const HalfSpace& form) {
  std::vector<int> list;
  for (const auto& term : form.terms) list.push_back(term.first);
  return list;
}

// Steps through the points of a small piece.
template <class Visit>
void for_each_point(const Piece& piece, const Visit& visit) {
  std::vector<int64_t> at;
  for (const Range& range : piece.box) {
    if (range.hi < range.lo) return;
    at.push_back(range.lo);
  }
  for (bool more = true; more;) {
    const bool allowed = std::all_of(piece.cuts.begin(), piece.cuts.end(), [&](const HalfSpace& cut) {
      int64_t value = cut.constant;
      for (const auto& [v, c] : cut.terms) value += c * at[size_t(v)];
      return value >= 0;
    });
    if (allowed) visit(at);
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      at[i] += piece.box[i].step;
      more = at[i] <= piece.box[i].hi;
      if (!more) at[i] = piece.box[i].lo;
    }
  }
}

Range within(Range range, int64_t extent) {
  if (range.lo < 0) range.lo += ceil_div(-range.lo, range.step) * range.step;
  range.hi = std::min(range.hi, extent - 1);
  if (range.hi >= range.lo) range.hi = range.lo + (range.hi - range.lo) / range.step * range.step;
  return range;
}

// Values outside of bounds are moved to them; those that the array does not have are left out.
Range clamped(const Range& range, int64_t low, int64_t high, int64_t extent) {
  const auto moved = [&](int64_t value) { return std::min(high, std::max(low, value)); };
  if (range.hi < range.lo || range.step != 1) {
    const int64_t one = moved(range.lo);
    return within({one, one, 1}, extent);
  }
  return within({moved(range.lo), moved(range.hi), 1}, extent);
}

// The values of a form over a box, when each range fills the gaps of the next larger coefficient.
std::optional<Range> dense_values(const HalfSpace& form, const std::vector<Range>& box) {
  std::vector<std::pair<int64_t, int64_t>> terms;  // |step|, count
  int64_t low = form.constant;
  for (size_t i = 0; i < box.size(); ++i) {
    const int64_t c = form.terms[i].second;
    low += c * (c > 0 ? box[i].lo : box[i].hi);
    if (box[i].count() > 1) terms.emplace_back(std::abs(c * box[i].step), box[i].count());
  }
  if (terms.empty()) return Range{low, low, 1};
  std::sort(terms.begin(), terms.end());
  const int64_t step = terms[0].first;
  int64_t reach = 0;
  for (const auto& [c, n] : terms) {
    if (c % step != 0 || c > reach + step) return std::nullopt;
    reach += c * (n - 1);
  }
  return Range{low, low + reach, step};
}

Range longest_run(const std::vector<int64_t>& sorted) {
  Range best{0, -1, 1};
  for (size_t from = 0; from < sorted.size();) {
    size_t to = from;
    while (to + 1 < sorted.size() && sorted[to + 1] == sorted[to] + 1) ++to;
    if (sorted[to] - sorted[from] + 1 > best.count()) best = {sorted[from], sorted[to], 1};
    from = to + 1;
  }
  return best;
}

}  // namespace

Range run_of_values(const HalfSpace& form, const Piece& points, int64_t extent) {
  Piece own = project(points, variables_of(form));
  if (own.bounds_empty()) return {0, -1, 1};
  HalfSpace local{form.constant, {}};
  for (size_t i = 0; i < form.terms.size(); ++i) local.terms.emplace_back(int(i), form.terms[i].second);
  // Cuts along the form itself only clip its values.
  int64_t low = 0, high = extent - 1;
  std::erase_if(own.cuts, [&](const HalfSpace& cut) {
    const int sign = parallel_to(cut, local);
    if (sign > 0) low = std::max(low, local.constant - cut.constant);
    if (sign < 0) high = std::min(high, cut.constant + local.constant);
    return sign != 0;
  });
  const auto clip = [&](Range range) {
    if (low > range.lo) range.lo += ceil_div(low - range.lo, range.step) * range.step;
    return within(range, high + 1);
  };
  if (own.cuts.empty())
    if (const auto dense = dense_values(local, own.box)) return clip(*dense);
  double size = 1;
  for (const Range& range : own.box) size *= double(range.count());
  if (size > max_enumerated) {
    // Every variable but the longest at one value that the cuts allow.
    std::vector<int> longest{0};
    for (size_t i = 0; i < own.box.size(); ++i)
      if (own.box[i].count() > own.box[size_t(longest[0])].count()) longest[0] = int(i);
    int64_t constant = local.constant;
    for (size_t i = 0; i < own.box.size(); ++i) {
      if (int(i) == longest[0]) continue;
      own.box[i].hi = own.box[i].lo;
      constant += local.terms[i].second * own.box[i].lo;
    }
    for (HalfSpace cut : std::exchange(own.cuts, {})) {
      for (auto& [v, c] : cut.terms)
        if (v != longest[0]) {
          cut.constant += c * own.box[size_t(v)].lo;
          c = 0;
        }
      own.cut(std::move(cut));
    }
    if (own.bounds_empty()) return {0, -1, 1};
    const Range r = own.box[size_t(longest[0])];
    const int64_t c = local.terms[size_t(longest[0])].second;
    const int64_t a = constant + c * r.lo, b = constant + c * r.hi;
    return clip({std::min(a, b), std::max(a, b), r.count() == 1 ? 1 : std::abs(c) * r.step});
  }
  std::set<int64_t> seen;
  for_each_point(own, [&](const std::vector<int64_t>& at) {
    int64_t value = local.constant;
    for (size_t i = 0; i < at.size(); ++i) value += local.terms[i].second * at[i];
    if (value >= low && value <= high) seen.insert(value);
  });
  return longest_run({seen.begin(), seen.end()});
}

std::vector<Range> runs_of_values(const HalfSpace& form, const Piece& points, int64_t extent) {
  constexpr double max_runs = 160;
  const Range longest = run_of_values(form, points, extent);
  const Piece own = project(points, variables_of(form));
  if (form.terms.size() < 2 || !own.cuts.empty() || own.bounds_empty()) return {longest};
  // By coefficient: those that leave no gap make a run, the others say where runs start.
  std::vector<size_t> order(form.terms.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto step = [&](size_t i) { return std::abs(form.terms[i].second * own.box[i].step); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return step(a) < step(b); });
  HalfSpace starts{form.constant, {}};
  Piece outer;
  int64_t reach = 0;
  double runs = 1;
  bool gap = false;
  for (const size_t i : order) {
    const int64_t count = own.box[i].count(), c = form.terms[i].second;
    gap |= count > 1 && step(i) > reach + 1;
    if (!gap) {
      starts.constant += c * (c > 0 ? own.box[i].lo : own.box[i].hi);
      reach += step(i) * (count - 1);
      continue;
    }
    if (step(i) <= reach) return {longest};  // runs that overlap
    starts.terms.emplace_back(int(outer.box.size()), c);
    outer.box.push_back(own.box[i]);
    runs *= double(count);
    if (runs > max_runs) return {longest};
  }
  if (!gap || reach == 0) return {longest};
  std::vector<Range> list;
  for_each_point(outer, [&](const std::vector<int64_t>& at) {
    int64_t start = starts.constant;
    for (size_t i = 0; i < at.size(); ++i) start += starts.terms[i].second * at[i];
    if (const Range run = within({start, start + reach, 1}, extent); run.hi >= run.lo) list.push_back(run);
  });
  return list.empty() ? std::vector{longest} : list;
}

std::vector<Piece> Footprint::pieces() const {
  if (blocks.empty()) return {piece};
  std::vector<Piece> list;
  for (const Range& block : blocks) {
    list.push_back(piece);
    list.back().box[dimension] = block;
  }
  return list;
}

// ---- subscripts ----

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

// Dimensions are taken to be independent of each other. Where two of them share a variable that no cut can tie, it is
// fixed, so that what is counted is part of what is touched.
void Footprints::separate(const std::vector<Subscript>& subscripts, Piece& points) {
  std::vector<int> uses(points.box.size(), 0);
  for (const Subscript& subscript : subscripts)
    for (const auto& term : subscript.affine.terms) ++uses[size_t(term.first)];
  for (size_t v = 0; v < uses.size(); ++v)
    if (uses[v] > 1) points.fix_variable(v);
}

Footprint Footprints::of(const Shape& extents, const ExprId* expressions, bool may_leave, const Domain& domain,
                         Piece points) const {
  Footprint result;
  std::vector<Subscript> subscripts;
  for (size_t d = 0; d < extents.size(); ++d) {
    subscripts.push_back(subscript_of(expressions[d], domain));
  }
  name_quotients(subscripts, points);
  for (size_t d = 0; d < extents.size(); ++d) {
    if (!may_leave || subscripts[d].by_data || subscripts[d].clamp.is_used()) continue;
    HalfSpace above{extents[d] - 1 - subscripts[d].affine.constant, subscripts[d].affine.terms};
    for (auto& term : above.terms) term.second = -term.second;
    points.cut(subscripts[d].affine);
    points.cut(std::move(above));
  }
  result.piece.box.resize(extents.size(), {0, -1, 1});
  if (points.bounds_empty()) {
    if (extents.empty()) result.piece.box.assign(1, {0, -1, 1});
    return result;
  }
  // Dimensions that follow one variable with step 1 keep the cuts between them; a second one that follows the same
  // variable is tied to the first.
  std::vector<int> plain_dimension(points.box.size(), -1), plain_variables;
  std::vector<bool> done(extents.size(), false);
  for (size_t d = 0; d < extents.size(); ++d) {
    const auto& form = subscripts[d].affine;
    if (subscripts[d].by_data || subscripts[d].clamp.is_used() || form.terms.size() != 1 || form.terms[0].second != 1)
      continue;
    const size_t v = size_t(form.terms[0].first);
    if (plain_dimension[v] < 0) {
      plain_dimension[v] = int(d);
      plain_variables.push_back(int(v));
    } else {
      const int first = plain_dimension[v];
      const int64_t apart = form.constant - subscripts[size_t(first)].affine.constant;
      std::vector<std::pair<int, int64_t>> terms{{first, -1}, {int(d), 1}};
      result.piece.cuts.push_back({-apart, terms});
      for (auto& term : terms) term.second = -term.second;
      result.piece.cuts.push_back({apart, std::move(terms)});
    }
    done[d] = true;
  }
  std::vector<Subscript> others;  // with one plain subscript per variable that is taken
  for (const int v : plain_variables) others.emplace_back().affine.terms.emplace_back(v, 1);
  for (size_t d = 0; d < extents.size(); ++d)
    if (!done[d]) others.push_back(subscripts[d]);
  separate(others, points);
  if (points.bounds_empty()) return result;

  const Piece plain = project(points, plain_variables);
  if (plain.bounds_empty()) return result;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (!done[d]) continue;
    const int v = subscripts[d].affine.terms[0].first;
    const size_t place = size_t(std::find(plain_variables.begin(), plain_variables.end(), v) - plain_variables.begin());
    const int64_t shift = subscripts[d].affine.constant;
    result.piece.box[d] = {plain.box[place].lo + shift, plain.box[place].hi + shift, plain.box[place].step};
  }
  for (HalfSpace cut : plain.cuts) {
    for (auto& term : cut.terms) {
      const int d = plain_dimension[size_t(plain_variables[size_t(term.first)])];
      cut.constant -= term.second * subscripts[size_t(d)].affine.constant;
      term.first = d;
    }
    std::sort(cut.terms.begin(), cut.terms.end());
    result.piece.cuts.push_back(std::move(cut));
  }
  double expected = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (done[d]) continue;
    if (subscripts[d].by_data) {
      result.piece.floating = true;
      const double known = known_values(expressions[d], domain, points);
      result.piece.box[d] = {0, std::min<int64_t>(extents[d], std::max<int64_t>(1, int64_t(known))) - 1, 1};
      std::vector<int> kept;
      const VariableSet used = structure_.depends_on(expressions[d], domain);
      for (size_t v = 0; v < domain.variables.size(); ++v)
        if (used & bit(v)) kept.push_back(int(v));
      const double most = known > 0 ? known : std::min(double(extents[d]), count(project(points, kept)));
      expected *= most / std::max(1.0, double(result.piece.box[d].count()));
    } else {
      const Clamp& clamp = subscripts[d].clamp;
      std::vector<Range> runs = clamp.is_used()
                                    ? std::vector{clamped(run_of_values(subscripts[d].affine, points, greatest_kept),
                                                          clamp.low, clamp.high, extents[d])}
                                    : runs_of_values(subscripts[d].affine, points, extents[d]);
      result.piece.box[d] = runs[0];
      if (runs.size() > 1 && result.blocks.empty()) {
        result.dimension = d;
        result.blocks = std::move(runs);
      }
    }
  }
  result.expected = expected * count(result.piece);
  return result;
}

// ---- known indices ----

// How many different values a subscript takes, where every array it reads is known; 0 otherwise.
double Footprints::known_values(ExprId id, const Domain& domain, const Piece& points) const {
  if (known_.empty()) return 0;
  std::vector<int> kept;
  const VariableSet used = structure_.depends_on(id, domain);
  for (size_t v = 0; v < domain.variables.size(); ++v)
    if (used & bit(v)) kept.push_back(int(v));
  const Piece own = project(points, kept);
  double size = 1;
  for (const Range& range : own.box) size *= double(range.count());
  if (size > max_known) return 0;
  std::set<int64_t> seen;
  std::vector<int64_t> at(domain.variables.size(), 0);
  bool known = true;
  for_each_point(own, [&](const std::vector<int64_t>& here) {
    for (size_t i = 0; i < kept.size(); ++i) at[size_t(kept[i])] = here[i];
    if (known) seen.insert(evaluate(id, domain, at, known));
  });
  return known ? double(seen.size()) : 0;
}

int64_t Footprints::evaluate(ExprId id, const Domain& domain, const std::vector<int64_t>& at, bool& known) const {
  const Expr& e = program_.exprs[id];
  const auto argument = [&](int i) { return evaluate(e.args[i], domain, at, known); };
  switch (e.kind) {
    case ExprKind::literal: return e.literal.integer;
    case ExprKind::index: {
      const int v = domain.variable_of(e.args[0]);
      return v < 0 ? (known = false, 0) : at[size_t(v)];
    }
    case ExprKind::cast: return argument(0);
    case ExprKind::read: {
      std::vector<int64_t> place;
      for (uint32_t i = 0; i < e.args[2]; ++i)
        place.push_back(evaluate(loops::subscripts_of(program_, e)[i], domain, at, known));
      if (!known) return 0;
      if (const auto found = known_.find(e.args[0]); found != known_.end()) {
        int64_t flat = 0;
        for (size_t d = 0; d < place.size(); ++d) {
          if (place[d] < 0 || place[d] >= found->second->shape()[d]) return known = false, 0;
          flat = flat * found->second->shape()[d] + place[d];
        }
        return found->second->get_i64(flat);
      }
      const Compute* made = structure_.definition(e.args[0]);
      if (made == nullptr || made->reducer != Reducer::none || e.has_fill || made->loops.size() != place.size())
        return known = false, 0;
      return evaluate(made->body, domain_of(*made, {}), place, known);
    }
    case ExprKind::call: break;
  }
  switch (e.function) {
    case Function::add: return argument(0) + argument(1);
    case Function::sub: return argument(0) - argument(1);
    case Function::mul: return argument(0) * argument(1);
    case Function::neg: return -argument(0);
    case Function::min: return std::min(argument(0), argument(1));
    case Function::max: return std::max(argument(0), argument(1));
    case Function::lt: return argument(0) < argument(1);
    case Function::le: return argument(0) <= argument(1);
    case Function::gt: return argument(0) > argument(1);
    case Function::ge: return argument(0) >= argument(1);
    case Function::eq: return argument(0) == argument(1);
    case Function::ne: return argument(0) != argument(1);
    case Function::select: return argument(0) != 0 ? argument(1) : argument(2);
    case Function::div:
    case Function::mod: {
      const int64_t a = argument(0), b = argument(1);
      if (b <= 0) return known = false, 0;
      return e.function == Function::div ? floor_div(a, b) : floor_mod(a, b);
    }
    default: return known = false, 0;
  }
}

}  // namespace lightline::demand
