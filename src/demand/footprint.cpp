#include "demand/footprint.h"

#include <algorithm>
#include <set>

#include "base/maths.h"
#include "demand/value_runs.h"

namespace lightline::demand {
namespace {

constexpr double max_known = 1 << 20;

}  // namespace

std::vector<Piece> Footprint::pieces() const {
  if (blocks.empty()) return {piece};
  std::vector<Piece> list;
  for (const Range& block : blocks) {
    list.push_back(piece);
    list.back().box[dimension] = block;
  }
  return list;
}

// Only points whose subscripts stay inside the array.
void Footprints::cut_to_array(const Shape& extents, const std::vector<Subscript>& subscripts, Piece& points) {
  for (size_t d = 0; d < extents.size(); ++d) {
    if (subscripts[d].by_data || subscripts[d].clamp.is_used()) continue;
    HalfSpace above{extents[d] - 1 - subscripts[d].affine.constant, subscripts[d].affine.terms};
    for (auto& term : above.terms) term.second = -term.second;
    points.cut(subscripts[d].affine);
    points.cut(std::move(above));
  }
}

// Dimensions that follow one variable with step 1 keep the cuts between them; a second one that follows the same
// variable is tied to the first.
Footprints::PlainDimensions Footprints::plain_dimensions(const std::vector<Subscript>& subscripts, size_t variables,
                                                         Piece& touched) {
  PlainDimensions plain{std::vector<int>(variables, -1), {}, std::vector<bool>(subscripts.size(), false)};
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const auto& form = subscripts[d].affine;
    if (subscripts[d].by_data || subscripts[d].clamp.is_used() || form.terms.size() != 1 || form.terms[0].second != 1)
      continue;
    plain.is_plain[d] = true;
    const size_t v = size_t(form.terms[0].first);
    if (plain.dimension_of[v] < 0) {
      plain.dimension_of[v] = int(d);
      plain.variables.push_back(int(v));
      continue;
    }
    const int first = plain.dimension_of[v];
    const int64_t apart = form.constant - subscripts[size_t(first)].affine.constant;
    std::vector<std::pair<int, int64_t>> terms{{first, -1}, {int(d), 1}};
    touched.cuts.push_back({-apart, terms});
    for (auto& term : terms) term.second = -term.second;
    touched.cuts.push_back({apart, std::move(terms)});
  }
  return plain;
}

// Dimensions are taken to be independent of each other. Where two of them share a variable that no cut can tie, it is
// fixed, so that what is counted is part of what is touched.
void Footprints::separate(const std::vector<Subscript>& subscripts, const PlainDimensions& plain, Piece& points) {
  std::vector<int> uses(points.box.size(), 0);
  for (const int v : plain.variables) ++uses[size_t(v)];
  for (size_t d = 0; d < subscripts.size(); ++d)
    if (!plain.is_plain[d])
      for (const auto& term : subscripts[d].affine.terms) ++uses[size_t(term.first)];
  for (size_t v = 0; v < uses.size(); ++v)
    if (uses[v] > 1) points.fix_variable(v);
}

// False if no points are left.
bool Footprints::place_plain(const std::vector<Subscript>& subscripts, const PlainDimensions& plain,
                             const Piece& points, Piece& touched) {
  const Piece seen = project(points, plain.variables);
  if (seen.bounds_empty()) return false;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    if (!plain.is_plain[d]) continue;
    const int v = subscripts[d].affine.terms[0].first;
    const auto& order = plain.variables;
    const Range& range = seen.box[size_t(std::find(order.begin(), order.end(), v) - order.begin())];
    const int64_t shift = subscripts[d].affine.constant;
    touched.box[d] = {range.lo + shift, range.hi + shift, range.step};
  }
  for (HalfSpace cut : seen.cuts) {
    for (auto& term : cut.terms) {
      const int d = plain.dimension_of[size_t(plain.variables[size_t(term.first)])];
      cut.constant -= term.second * subscripts[size_t(d)].affine.constant;
      term.first = d;
    }
    std::sort(cut.terms.begin(), cut.terms.end());
    touched.cuts.push_back(std::move(cut));
  }
  return true;
}

// A subscript that depends on data: as few values as there can be. Gives how many times as many are usual.
double Footprints::place_gather(ExprId subscript, int64_t extent, const Domain& domain, const Piece& points,
                                Range& touched) const {
  const double known = known_values(subscript, domain, points);
  touched = {0, std::min<int64_t>(extent, std::max<int64_t>(1, int64_t(known))) - 1, 1};
  const double most =
      known > 0 ? known : std::min(double(extent), count(project(points, variables_of(subscript, domain))));
  return most / std::max(1.0, double(touched.count()));
}

Footprint Footprints::of(const Shape& extents, const ExprId* expressions, bool may_leave, const Domain& domain,
                         Piece points) const {
  Footprint result;
  std::vector<Subscript> subscripts;
  for (size_t d = 0; d < extents.size(); ++d) subscripts.push_back(subscript_of(expressions[d], domain));
  name_quotients(subscripts, points);
  if (may_leave) cut_to_array(extents, subscripts, points);
  result.piece.box.resize(extents.size(), {0, -1, 1});
  if (points.bounds_empty()) {
    if (extents.empty()) result.piece.box.assign(1, {0, -1, 1});
    return result;
  }
  const PlainDimensions plain = plain_dimensions(subscripts, points.box.size(), result.piece);
  separate(subscripts, plain, points);
  if (points.bounds_empty() || !place_plain(subscripts, plain, points, result.piece)) return result;
  double expected = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (plain.is_plain[d]) continue;
    const auto& [form, quotients, clamp, by_data] = subscripts[d];
    if (by_data) {
      result.piece.floating = true;
      expected *= place_gather(expressions[d], extents[d], domain, points, result.piece.box[d]);
      continue;
    }
    std::vector<Range> runs =
        clamp.is_used()
            ? std::vector{clamped(run_of_values(form, points, greatest_kept), clamp.low, clamp.high, extents[d])}
            : runs_of_values(form, points, extents[d]);
    result.piece.box[d] = runs[0];
    if (runs.size() > 1 && result.blocks.empty()) {
      result.dimension = d;
      result.blocks = std::move(runs);
    }
  }
  result.expected = expected * count(result.piece);
  return result;
}

// ---- known indices ----

std::vector<int> Footprints::variables_of(ExprId id, const Domain& domain) const {
  std::vector<int> list;
  const VariableSet used = structure_.depends_on(id, domain);
  for (size_t v = 0; v < domain.variables.size(); ++v)
    if (used & bit(v)) list.push_back(int(v));
  return list;
}

// How many different values a subscript takes, where every array it reads is known; 0 otherwise.
double Footprints::known_values(ExprId id, const Domain& domain, const Piece& points) const {
  if (known_.empty()) return 0;
  const std::vector<int> kept = variables_of(id, domain);
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
