#include "einsum/structure.h"

#include <algorithm>
#include <cmath>

#include "loops/affine.h"

namespace lightline::einsum {

using loops::ArrayId;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Function;
using loops::IndexId;

namespace {

const HalfSpace never{-1, {}};

bool is_everywhere(const std::optional<Outside>& o, Outside::Kind kind) {
  return o && o->kind == kind && std::find(o->cuts.begin(), o->cuts.end(), never) != o->cuts.end();
}

HalfSpace minus(const HalfSpace& a, const HalfSpace& b, int64_t constant = 0) {
  HalfSpace result = a;
  result.constant += constant - b.constant;
  for (const auto& [v, c] : b.terms) {
    const auto found =
        std::find_if(result.terms.begin(), result.terms.end(), [v = v](const auto& t) { return t.first == v; });
    if (found == result.terms.end())
      result.terms.emplace_back(v, -c);
    else
      found->second -= c;
  }
  std::erase_if(result.terms, [](const auto& t) { return t.second == 0; });
  std::sort(result.terms.begin(), result.terms.end());
  return result;
}

std::optional<double> literal_value(const Expr& e) {
  if (e.kind != ExprKind::literal) return std::nullopt;
  return e.literal.kind == loops::Literal::Kind::floating ? e.literal.floating : double(e.literal.integer);
}

bool keeps_zero(Function f) {
  switch (f) {
    case Function::neg:
    case Function::abs:
    case Function::sign:
    case Function::floor:
    case Function::ceil:
    case Function::round:
    case Function::trunc:
    case Function::sqrt:
    case Function::cbrt:
    case Function::expm1:
    case Function::log1p:
    case Function::sin:
    case Function::tan:
    case Function::asin:
    case Function::atan:
    case Function::sinh:
    case Function::tanh:
    case Function::asinh:
    case Function::atanh:
    case Function::silu:
    case Function::erf:
    case Function::gelu:
    case Function::gelu_tanh:
    case Function::conj:
    case Function::real:
    case Function::imag: return true;
    default: return false;
  }
}

std::optional<Outside> joined(const std::optional<Outside>& a, const std::optional<Outside>& b) {
  if (!a) return b;
  if (!b) return a;
  Outside both = *a;
  both.cuts.insert(both.cuts.end(), b->cuts.begin(), b->cuts.end());
  return both;
}

}  // namespace

int Domain::variable_of(IndexId index) const {
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i] == index) return int(i);
  return -1;
}

Domain domain_of(const loops::Compute& compute, const std::vector<IndexId>& counters) {
  Domain domain{compute.loops, compute.loops.size()};
  domain.variables.insert(domain.variables.end(), compute.reduced.begin(), compute.reduced.end());
  domain.variables.insert(domain.variables.end(), counters.begin(), counters.end());
  return domain;
}

Structure::Structure(const loops::Program& program)
    : program_(program),
      outside_(program.arrays.size()),
      free_(program.arrays.size()),
      varies_(program.arrays.size(), false) {
  std::vector<IndexId> counters;
  visit(program.statements, counters);
}

void Structure::visit(const std::vector<loops::Statement>& block, std::vector<IndexId>& counters) {
  for (const loops::Statement& statement : block) {
    if (const auto* compute = std::get_if<loops::Compute>(&statement.node)) visit(*compute, counters);
    if (!counters.empty() && !std::holds_alternative<loops::Compute>(statement.node))
      for (const ArrayId result : loops::results_of(statement)) varies_[result] = true;
    const auto* repeat = std::get_if<loops::Repeat>(&statement.node);
    if (repeat == nullptr) continue;
    for (const loops::Repeat::Carry& carry : repeat->carries) varies_[carry.inner] = true;
    counters.push_back(repeat->counter);
    visit(repeat->body, counters);
    counters.pop_back();
  }
}

void Structure::visit(const loops::Compute& compute, const std::vector<IndexId>& counters) {
  const Domain domain = domain_of(compute, counters);
  const ArrayId result = compute.result;
  const uint64_t used = depends_on(compute.body, domain);
  varies_[result] = reads_varying(compute.body);
  for (size_t i = domain.variables.size() - counters.size(); i < domain.variables.size() && i < 64; ++i)
    if (used >> i & 1) varies_[result] = true;
  const bool scans = std::any_of(compute.loops.begin(), compute.loops.end(),
                                 [&](IndexId i) { return program_.indices[i].kind == loops::IndexKind::scan; });
  if (scans) return;
  free_[result].assign(domain.loops, false);
  for (size_t i = 0; i < domain.loops && i < 64; ++i) free_[result][i] = (used >> i & 1) == 0;
  if (compute.reducer != loops::Reducer::none && compute.reducer != loops::Reducer::sum) return;
  auto value = outside(compute.body, domain);
  if (!value || (compute.reducer == loops::Reducer::sum && value->kind != Outside::Kind::zero)) return;
  // Cuts over the result's own dimensions hold for the array; each alone makes the value zero where it fails.
  std::erase_if(value->cuts, [&](const HalfSpace& cut) {
    return std::any_of(cut.terms.begin(), cut.terms.end(),
                       [&](const auto& t) { return size_t(t.first) >= domain.loops; });
  });
  if (!value->cuts.empty()) outside_[result] = std::move(value);
}

bool Structure::reads_varying(ExprId id) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::read) {
    if (varies_[e.args[0]]) return true;
    for (uint32_t i = 0; i < e.args[2]; ++i)
      if (reads_varying(loops::subscripts_of(program_, e)[i])) return true;
    return false;
  }
  const int arity = e.kind == ExprKind::cast ? 1 : e.kind == ExprKind::call ? loops::info(e.function).arity : 0;
  for (int i = 0; i < arity; ++i)
    if (reads_varying(e.args[i])) return true;
  return false;
}

std::optional<HalfSpace> Structure::affine(ExprId id, const Domain& domain) const {
  const auto form = loops::affine_of(program_, id);
  if (!form) return std::nullopt;
  HalfSpace result{form->constant, {}};
  for (const auto& [index, coefficient] : form->terms) {
    const int v = domain.variable_of(index);
    if (v < 0) return std::nullopt;
    result.terms.emplace_back(v, coefficient);
  }
  std::sort(result.terms.begin(), result.terms.end());
  return result;
}

uint64_t Structure::depends_on(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: return 0;
    case ExprKind::index: {
      const int v = domain.variable_of(e.args[0]);
      return v >= 0 && v < 64 ? uint64_t(1) << v : 0;
    }
    case ExprKind::cast: return depends_on(e.args[0], domain);
    case ExprKind::call: {
      uint64_t set = 0;
      for (int i = 0; i < loops::info(e.function).arity; ++i) set |= depends_on(e.args[i], domain);
      return set;
    }
    case ExprKind::read: {
      uint64_t set = 0;
      for (uint32_t i = 0; i < e.args[2]; ++i)
        if (e.has_fill || !repeats_along(e.args[0], i)) set |= depends_on(loops::subscripts_of(program_, e)[i], domain);
      return set;
    }
  }
  return 0;
}

std::optional<std::vector<HalfSpace>> Structure::condition(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (e.kind != ExprKind::call) return std::nullopt;
  if (e.function == Function::logical_and) {
    auto a = condition(e.args[0], domain), b = condition(e.args[1], domain);
    if (!a || !b) return std::nullopt;
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  if (e.function == Function::logical_not) return negated(e.args[0], domain);
  if (loops::info(e.function).arity != 2) return std::nullopt;
  const auto a = affine(e.args[0], domain), b = affine(e.args[1], domain);
  if (!a || !b) return std::nullopt;
  switch (e.function) {
    case Function::le: return std::vector<HalfSpace>{minus(*b, *a)};
    case Function::lt: return std::vector<HalfSpace>{minus(*b, *a, -1)};
    case Function::ge: return std::vector<HalfSpace>{minus(*a, *b)};
    case Function::gt: return std::vector<HalfSpace>{minus(*a, *b, -1)};
    case Function::eq: return std::vector<HalfSpace>{minus(*a, *b), minus(*b, *a)};
    default: return std::nullopt;
  }
}

std::optional<std::vector<HalfSpace>> Structure::negated(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  if (e.kind == ExprKind::call && e.function == Function::logical_not) return condition(e.args[0], domain);
  if (e.kind == ExprKind::call && e.function == Function::logical_or) {
    auto a = negated(e.args[0], domain), b = negated(e.args[1], domain);
    if (!a || !b) return std::nullopt;
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  const auto cuts = condition(id, domain);
  if (!cuts || cuts->size() != 1) return std::nullopt;
  HalfSpace flipped{-(*cuts)[0].constant - 1, (*cuts)[0].terms};
  for (auto& term : flipped.terms) term.second = -term.second;
  return std::vector<HalfSpace>{flipped};
}

std::optional<Outside> Structure::outside(ExprId id, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: {
      const auto value = literal_value(e);
      if (e.literal.kind == loops::Literal::Kind::boolean || !value) return std::nullopt;
      if (*value == 0) return Outside{Outside::Kind::zero, {never}};
      if (std::isinf(*value) && *value < 0) return Outside{Outside::Kind::negative_infinity, {never}};
      return std::nullopt;
    }
    case ExprKind::index: return std::nullopt;
    case ExprKind::cast: {
      auto inner = outside(e.args[0], domain);
      const bool ordinary = e.target != DType::boolean;
      return ordinary && (inner && (inner->kind == Outside::Kind::zero || is_float(e.target))) ? inner : std::nullopt;
    }
    case ExprKind::read: return outside_read(e, domain);
    case ExprKind::call: return outside_call(e, domain);
  }
  return std::nullopt;
}

std::optional<Outside> Structure::outside_read(const Expr& e, const Domain& domain) const {
  std::vector<std::optional<HalfSpace>> subscripts;
  for (uint32_t i = 0; i < e.args[2]; ++i) subscripts.push_back(affine(loops::subscripts_of(program_, e)[i], domain));
  std::optional<Outside> result;
  if (const auto& own = outside_[e.args[0]]) {
    Outside mapped{own->kind, {}};
    for (const HalfSpace& cut : own->cuts) {
      HalfSpace image{cut.constant, {}};
      bool known = true;
      for (const auto& [dimension, coefficient] : cut.terms) {
        const auto& subscript = subscripts[size_t(dimension)];
        if (!subscript) {
          known = false;
          break;
        }
        HalfSpace scaled{subscript->constant * -coefficient, subscript->terms};
        for (auto& term : scaled.terms) term.second *= -coefficient;
        image = minus(image, scaled);
      }
      if (known) mapped.cuts.push_back(std::move(image));
    }
    if (!mapped.cuts.empty()) result = std::move(mapped);
  }
  if (!e.has_fill) return result;
  // Outside the array the fill is read.
  const double fill = e.literal.kind == loops::Literal::Kind::floating ? e.literal.floating : double(e.literal.integer);
  if (fill != 0 && !(std::isinf(fill) && fill < 0)) return std::nullopt;
  const auto kind = fill == 0 ? Outside::Kind::zero : Outside::Kind::negative_infinity;
  Outside filled{kind, {}};
  if (result && result->kind == kind) filled.cuts = result->cuts;
  const Shape& shape = program_.arrays[e.args[0]].shape;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    if (!subscripts[i]) continue;
    filled.cuts.push_back(*subscripts[i]);
    filled.cuts.push_back(minus(HalfSpace{shape[i] - 1, {}}, *subscripts[i]));
  }
  return filled.cuts.empty() ? std::nullopt : std::optional(filled);
}

std::optional<Outside> Structure::outside_call(const Expr& e, const Domain& domain) const {
  const auto argument = [&](int i) { return outside(e.args[i], domain); };
  const auto zero = [](const std::optional<Outside>& o) { return o && o->kind == Outside::Kind::zero; };
  const auto infinite = [](const std::optional<Outside>& o) {
    return o && o->kind == Outside::Kind::negative_infinity;
  };
  switch (e.function) {
    case Function::mul: {
      const auto a = argument(0), b = argument(1);
      if (zero(a) && zero(b)) return joined(a, b);
      return zero(a) ? a : zero(b) ? b : std::nullopt;
    }
    case Function::divide: {
      const auto a = argument(0);
      return zero(a) ? a : std::nullopt;
    }
    case Function::add:
    case Function::sub: {
      const auto a = argument(0), b = argument(1);
      if (infinite(a)) return a;
      if (e.function == Function::add && infinite(b)) return b;
      if (is_everywhere(b, Outside::Kind::zero)) return a;
      if (zero(a) && zero(b) && a->cuts == b->cuts) return a;
      return std::nullopt;
    }
    case Function::exp:
    case Function::exp2:
    case Function::sigmoid: {
      auto a = argument(0);
      if (!infinite(a)) return std::nullopt;
      a->kind = Outside::Kind::zero;
      return a;
    }
    case Function::max: {
      auto a = argument(0);
      const auto bound = literal_value(program_.exprs[e.args[1]]);
      if (!a || !bound || *bound != 0) return std::nullopt;
      a->kind = Outside::Kind::zero;  // max(0, 0) and max(-inf, 0)
      return a;
    }
    case Function::select: {
      const auto yes = argument(1), no = argument(2);
      for (const auto kind : {Outside::Kind::zero, Outside::Kind::negative_infinity}) {
        const bool no_is = is_everywhere(no, kind), yes_is = is_everywhere(yes, kind);
        if (!no_is && !yes_is) continue;
        if (no_is && yes_is) return no;
        auto cuts = no_is ? condition(e.args[0], domain) : negated(e.args[0], domain);
        const auto& other = no_is ? yes : no;
        Outside result{kind, cuts.value_or(std::vector<HalfSpace>{})};
        if (other && other->kind == kind) result.cuts.insert(result.cuts.end(), other->cuts.begin(), other->cuts.end());
        if (!result.cuts.empty()) return result;
      }
      return std::nullopt;
    }
    default:
      if (keeps_zero(e.function)) {
        const auto a = argument(0);
        if (zero(a)) return a;
      }
      return std::nullopt;
  }
}

}  // namespace lightline::einsum
