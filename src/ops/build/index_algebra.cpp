#include "ops/build/index_algebra.h"

#include <algorithm>
#include <numeric>

#include "base/maths.h"

namespace lightline::ops {
namespace {

int64_t saturate(__int128 value) {
  constexpr int64_t bound = int64_t(1) << 62;
  return value > bound ? bound : value < -bound ? -bound : int64_t(value);
}

int64_t common_divisor(const Sum& sum, int64_t divisor) {
  int64_t g = std::gcd(divisor, sum.constant);
  for (const auto& [atom, coefficient] : sum.terms) g = std::gcd(g, coefficient);
  return g;
}

Sum divided(Sum sum, int64_t by) {
  sum.constant /= by;
  for (auto& term : sum.terms) term.second /= by;
  return sum;
}

}  // namespace

AtomId IndexAlgebra::intern(Atom atom) {
  for (AtomId id = 0; id < atoms_.size(); ++id) {
    const Atom& other = atoms_[id];
    if (other.kind == atom.kind && other.id == atom.id && other.divisor == atom.divisor && other.inner == atom.inner)
      return id;
  }
  atoms_.push_back(std::move(atom));
  return AtomId(atoms_.size() - 1);
}

Sum IndexAlgebra::index(loops::IndexId index, int64_t extent) {
  if (extent == 1) return {0, {}};
  return {0, {{intern({Atom::Kind::index, index, 0, {}, {0, std::max<int64_t>(extent - 1, 0)}}), 1}}};
}

Sum IndexAlgebra::expression(loops::ExprId expr, Interval range) {
  return {0, {{intern({Atom::Kind::expression, expr, 0, {}, range}), 1}}};
}

Sum IndexAlgebra::add_scaled(const Sum& a, const Sum& b, int64_t scale) {
  Sum sum;
  sum.constant = a.constant + scale * b.constant;
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool take_x = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    const bool take_y = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    const AtomId atom = take_x ? x->first : y->first;
    const int64_t coefficient = (take_x ? x->second : 0) + (take_y ? scale * y->second : 0);
    if (coefficient != 0) sum.terms.emplace_back(atom, coefficient);
    x += take_x;
    y += take_y;
  }
  return recombine(std::move(sum));
}

Sum IndexAlgebra::scale(const Sum& a, int64_t factor) {
  if (factor == 0) return {};
  Sum sum = a;
  sum.constant *= factor;
  for (auto& term : sum.terms) term.second *= factor;
  return sum;
}

// k * b * (y div b) + k * (y mod b) is k * y.
Sum IndexAlgebra::recombine(Sum sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const auto [remainder_id, k] = sum.terms[i];
    if (atoms_[remainder_id].kind != Atom::Kind::remainder) continue;
    const Sum inner = atoms_[remainder_id].inner;
    const int64_t divisor = atoms_[remainder_id].divisor;
    const Sum quotient = div(inner, divisor);
    if (quotient.constant != 0 || quotient.terms.size() != 1 || quotient.terms[0].second != 1) continue;
    const auto match =
        std::find(sum.terms.begin(), sum.terms.end(), std::pair<AtomId, int64_t>(quotient.terms[0].first, k * divisor));
    if (match == sum.terms.end()) continue;
    sum.terms.erase(match);
    sum.terms.erase(std::find(sum.terms.begin(), sum.terms.end(), std::pair<AtomId, int64_t>(remainder_id, k)));
    return add_scaled(sum, inner, k);
  }
  return sum;
}

Interval IndexAlgebra::range(const Sum& sum) const {
  __int128 low = sum.constant, high = sum.constant;
  for (const auto& [atom, coefficient] : sum.terms) {
    const Interval r = atoms_[atom].range;
    low += __int128(coefficient) * (coefficient > 0 ? r.low : r.high);
    high += __int128(coefficient) * (coefficient > 0 ? r.high : r.low);
  }
  return {saturate(low), saturate(high)};
}

void IndexAlgebra::split(const Sum& a, int64_t divisor, Sum& quotient, Sum& rest) const {
  quotient.constant = floor_div(a.constant, divisor);
  rest.constant = floor_mod(a.constant, divisor);
  for (const auto& [atom, coefficient] : a.terms) {
    const int64_t exact = floor_div(coefficient, divisor);
    const int64_t left = coefficient % divisor == 0 ? 0 : coefficient;
    if (left == 0) {
      quotient.terms.emplace_back(atom, exact);
    } else {
      rest.terms.emplace_back(atom, left);
    }
  }
}

Sum IndexAlgebra::div(const Sum& a, int64_t divisor) {
  if (divisor == 1) return a;
  Sum quotient, rest;
  split(a, divisor, quotient, rest);
  const Interval r = range(rest);
  if (r.low >= 0 && r.high < divisor) return quotient;
  const int64_t g = common_divisor(rest, divisor);
  if (g > 1) return add(quotient, div(divided(rest, g), divisor / g));
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1 &&
      atoms_[rest.terms[0].first].kind == Atom::Kind::quotient) {
    const Atom inner = atoms_[rest.terms[0].first];
    return add(quotient, div(inner.inner, inner.divisor * divisor));
  }
  const AtomId atom =
      intern({Atom::Kind::quotient, 0, divisor, rest, {floor_div(r.low, divisor), floor_div(r.high, divisor)}});
  Sum result = quotient;
  const Sum tail{0, {{atom, 1}}};
  return add_scaled(result, tail, 1);
}

Sum IndexAlgebra::mod(const Sum& a, int64_t divisor) {
  if (divisor == 1) return {};
  Sum quotient, rest;
  split(a, divisor, quotient, rest);
  const Interval r = range(rest);
  if (r.low >= 0 && r.high < divisor) return rest;
  const int64_t g = common_divisor(rest, divisor);
  if (g > 1) return scale(mod(divided(rest, g), divisor / g), g);
  return {0, {{intern({Atom::Kind::remainder, 0, divisor, rest, {0, divisor - 1}}), 1}}};
}

loops::ExprId IndexAlgebra::emit(loops::Program& program, const Sum& sum) const {
  using loops::Function;
  using loops::Literal;
  loops::ExprId result = loops::none;
  for (const auto& [atom_id, coefficient] : sum.terms) {
    const Atom& atom = atoms_[atom_id];
    loops::ExprId value = loops::none;
    switch (atom.kind) {
      case Atom::Kind::index: value = program.index(atom.id); break;
      case Atom::Kind::expression: value = atom.id; break;
      case Atom::Kind::quotient:
      case Atom::Kind::remainder: {
        const loops::ExprId inner = emit(program, atom.inner);
        value = program.call(atom.kind == Atom::Kind::quotient ? Function::div : Function::mod, inner,
                             program.literal(Literal::of(atom.divisor)));
        break;
      }
    }
    const int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    if (magnitude != 1) value = program.call(Function::mul, program.literal(Literal::of(magnitude)), value);
    if (result == loops::none) {
      result = coefficient < 0 ? program.call(Function::neg, value) : value;
    } else {
      result = program.call(coefficient < 0 ? Function::sub : Function::add, result, value);
    }
  }
  if (result == loops::none) return program.literal(Literal::of(sum.constant));
  if (sum.constant != 0)
    result = program.call(sum.constant < 0 ? Function::sub : Function::add, result,
                          program.literal(Literal::of(sum.constant < 0 ? -sum.constant : sum.constant)));
  return result;
}

}  // namespace lightline::ops
