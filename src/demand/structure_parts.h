// What the parts of Structure share.
#pragma once

#include <algorithm>
#include <optional>

#include "demand/structure.h"

namespace lightline::demand {

inline double value_of(const loops::Literal& literal) {
  return literal.kind == loops::Literal::Kind::floating ? literal.floating : double(literal.integer);
}
inline std::optional<double> literal_value(const Expr& e) {
  return e.kind == ExprKind::literal ? std::optional(value_of(e.literal)) : std::nullopt;
}

// Cuts that hold at no point.
inline Cuts nowhere() { return {HalfSpace{-1, {}}}; }
inline bool is_nowhere(const Cuts& cuts) { return std::ranges::find(cuts, HalfSpace{-1, {}}) != cuts.end(); }

inline Cuts joined(Cuts a, const Cuts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace lightline::demand
