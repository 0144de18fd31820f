#include "loops/ir/affine.h"

namespace lightline::loops {
namespace {

// a + scale * b, or nothing on overflow.
std::optional<Affine> add_scaled(const Affine& a, const Affine& b, int64_t scale) {
  Affine sum;
  int64_t scaled = 0;
  if (__builtin_mul_overflow(b.constant, scale, &scaled) || __builtin_add_overflow(a.constant, scaled, &sum.constant))
    return std::nullopt;
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool take_x = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    const bool take_y = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    const IndexId index = take_x ? x->first : y->first;
    int64_t coefficient = 0;
    if (take_y && __builtin_mul_overflow(y->second, scale, &coefficient)) return std::nullopt;
    if (take_x && __builtin_add_overflow(coefficient, x->second, &coefficient)) return std::nullopt;
    if (coefficient != 0) sum.terms.emplace_back(index, coefficient);
    x += take_x;
    y += take_y;
  }
  return sum;
}

}  // namespace

int64_t Affine::coefficient(IndexId index) const {
  for (const auto& [term, value] : terms)
    if (term == index) return value;
  return 0;
}

std::optional<Affine> affine_of(const Program& program, ExprId id) {
  const Expr& expr = program.exprs[id];
  switch (expr.kind) {
    case ExprKind::literal:
      if (expr.literal.kind != Literal::Kind::integer) return std::nullopt;
      return Affine{expr.literal.integer, {}};
    case ExprKind::index: return Affine{0, {{expr.args[0], 1}}};
    case ExprKind::call: break;
    default: return std::nullopt;
  }
  const Function f = expr.function;
  if (f != Function::add && f != Function::sub && f != Function::mul && f != Function::neg) return std::nullopt;
  const auto a = affine_of(program, expr.args[0]);
  if (!a) return std::nullopt;
  if (f == Function::neg) return add_scaled({}, *a, -1);
  const auto b = affine_of(program, expr.args[1]);
  if (!b) return std::nullopt;
  if (f == Function::add) return add_scaled(*a, *b, 1);
  if (f == Function::sub) return add_scaled(*a, *b, -1);
  if (b->terms.empty()) return add_scaled({}, *a, b->constant);
  if (a->terms.empty()) return add_scaled({}, *b, a->constant);
  return std::nullopt;
}

}  // namespace lightline::loops
