// Where values are zero or -inf by construction.
#include "demand/structure.h"
#include "demand/structure_parts.h"

namespace lightline::demand {
namespace {

// exp of this and of anything below is zero in every type, as masks by -1e4 or the least finite number mean it.
constexpr double vanishing = -1e4;

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

}  // namespace

Cuts Structure::support(ExprId id, SkippedValue kind, const Domain& domain) const {
  const Expr& e = program_.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: {
      const auto value = literal_value(e);
      if (e.literal.kind == loops::Literal::Kind::boolean || !value) return {};
      return (kind == SkippedValue::zero ? *value == 0 : *value <= vanishing) ? nowhere() : Cuts{};
    }
    case ExprKind::index: return {};
    case ExprKind::cast:
      if (program_.exprs[e.args[0]].type == DType::boolean)
        return kind == SkippedValue::zero ? implied(e.args[0], true, domain) : Cuts{};
      if (e.target == DType::boolean || (kind != SkippedValue::zero && !is_float(e.target))) return {};
      return support(e.args[0], kind, domain);
    case ExprKind::read: return support_of_read(e, kind, domain);
    case ExprKind::call: return support_of_call(e, kind, domain);
  }
  return {};
}

Cuts Structure::support_of_read(const Expr& e, SkippedValue kind, const Domain& domain) const {
  Cuts cuts = through(support_[size_t(kind)][e.args[0]], e, domain);
  if (!e.has_fill) return cuts;
  // Outside the array the fill is read.
  const double fill = value_of(e.literal);
  if (kind == SkippedValue::zero ? fill != 0 : !(fill <= vanishing)) return {};
  const Shape& shape = program_.arrays[e.args[0]].shape;
  for (uint32_t i = 0; i < e.args[2]; ++i) {
    const auto subscript = affine(loops::subscripts_of(program_, e)[i], domain);
    if (!subscript) continue;
    cuts.push_back(*subscript);
    cuts.push_back(difference(HalfSpace{shape[i] - 1, {}}, *subscript));
  }
  return cuts;
}

Cuts Structure::support_of_select(const Expr& e, SkippedValue kind, const Domain& domain) const {
  const Cuts yes = support(e.args[1], kind, domain), no = support(e.args[2], kind, domain);
  const bool no_is = is_nowhere(no), yes_is = is_nowhere(yes);
  if (no_is && yes_is) return no;
  if (!no_is && !yes_is) return {};
  return joined(implied(e.args[0], no_is, domain), no_is ? yes : no);
}

Cuts Structure::support_of_call(const Expr& e, SkippedValue kind, const Domain& domain) const {
  const auto argument = [&](int i, SkippedValue of) { return support(e.args[i], of, domain); };
  const bool zero = kind == SkippedValue::zero;
  switch (e.function) {
    case Function::mul:
      if (zero) return joined(argument(0, kind), argument(1, kind));
      // a mask times a number so low that it stands for -inf: (1 - allowed) * -1e9
      for (const int side : {0, 1})
        if (const auto low = literal_value(program_.exprs[e.args[side]]); low && *low <= vanishing)
          return implied_equal(e.args[1 - side], 0, domain);
      for (const int side : {0, 1})  // scaled by a positive number
        if (const auto by = literal_value(program_.exprs[e.args[side]]); by && *by > 0) return argument(1 - side, kind);
      return {};
    case Function::divide: {
      const auto by = literal_value(program_.exprs[e.args[1]]);
      return zero || (by && *by > 0) ? argument(0, kind) : Cuts{};
    }
    case Function::add:
    case Function::sub: {
      if (!zero) return e.function == Function::add ? joined(argument(0, kind), argument(1, kind)) : argument(0, kind);
      const Cuts a = argument(0, kind), b = argument(1, kind);
      if (is_nowhere(b)) return a;
      if (is_nowhere(a)) return b;
      return a == b ? a : Cuts{};
    }
    case Function::exp:
    case Function::exp2:
    case Function::sigmoid: return zero ? argument(0, SkippedValue::negative_infinity) : Cuts{};
    case Function::max: {
      const auto bound = literal_value(program_.exprs[e.args[1]]);
      if (!zero || !bound || *bound != 0) return {};
      const Cuts cuts = argument(0, SkippedValue::zero);  // max(0, 0) and max(-inf, 0)
      return cuts.empty() ? argument(0, SkippedValue::negative_infinity) : cuts;
    }
    case Function::select: return support_of_select(e, kind, domain);
    default: return zero && keeps_zero(e.function) ? argument(0, kind) : Cuts{};
  }
}

}  // namespace lightline::demand
