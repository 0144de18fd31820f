// interval_of: ranges of integer expressions, with saturating arithmetic.
#include <algorithm>

#include "base/maths.h"
#include "loops/ir/verify.h"

namespace lightline::loops {
namespace {

int64_t clamp128(__int128 value) {
  if (value < INT64_MIN) return INT64_MIN;
  if (value > INT64_MAX) return INT64_MAX;
  return int64_t(value);
}

Interval unbounded(bool data_dependent) { return {INT64_MIN, INT64_MAX, data_dependent}; }

Interval call_interval(const Program& program, const Expr& e) {
  const int arity = info(e.function).arity;
  Interval a = interval_of(program, e.args[0]);
  Interval b = arity > 1 ? interval_of(program, e.args[1]) : Interval{};
  const bool data = a.data_dependent || b.data_dependent;
  const bool open =
      a.low == INT64_MIN || a.high == INT64_MAX || (arity > 1 && (b.low == INT64_MIN || b.high == INT64_MAX));
  switch (e.function) {
    case Function::add:
      return open ? unbounded(data)
                  : Interval{clamp128(__int128(a.low) + b.low), clamp128(__int128(a.high) + b.high), data};
    case Function::sub:
      return open ? unbounded(data)
                  : Interval{clamp128(__int128(a.low) - b.high), clamp128(__int128(a.high) - b.low), data};
    case Function::neg: return open ? unbounded(data) : Interval{-a.high, -a.low, data};
    case Function::mul: {
      if (open) return unbounded(data);
      const __int128 corners[] = {__int128(a.low) * b.low, __int128(a.low) * b.high, __int128(a.high) * b.low,
                                  __int128(a.high) * b.high};
      return {clamp128(*std::min_element(corners, corners + 4)), clamp128(*std::max_element(corners, corners + 4)),
              data};
    }
    case Function::div:
      if (b.low != b.high || b.low <= 0) return unbounded(data);
      return {floor_div(a.low, b.low), floor_div(a.high, b.low), data};
    case Function::mod:
      if (b.low != b.high || b.low <= 0) return unbounded(data);
      if (a.low >= 0 && a.high < b.low) return {a.low, a.high, data};
      return {0, b.low - 1, data};
    case Function::min:
    case Function::fmin: return {std::min(a.low, b.low), std::min(a.high, b.high), data};
    case Function::max:
    case Function::fmax: return {std::max(a.low, b.low), std::max(a.high, b.high), data};
    case Function::abs:
      if (a.low == INT64_MIN) return {0, INT64_MAX, data};
      if (a.low >= 0) return a;
      return {a.high < 0 ? -a.high : 0, std::max(-a.low, a.high), data};
    case Function::select: {
      const Interval c = interval_of(program, e.args[2]);
      return {std::min(b.low, c.low), std::max(b.high, c.high), data || c.data_dependent};
    }
    case Function::eq:
    case Function::ne:
    case Function::lt:
    case Function::le:
    case Function::gt:
    case Function::ge:
    case Function::logical_and:
    case Function::logical_or:
    case Function::logical_not: return {0, 1, data};
    default: return unbounded(data);
  }
}

}  // namespace

Interval interval_of(const Program& program, ExprId id) {
  const Expr& e = program.exprs[id];
  switch (e.kind) {
    case ExprKind::literal: return {e.literal.integer, e.literal.integer, false};
    case ExprKind::index: return {0, std::max<int64_t>(program.indices[e.args[0]].extent - 1, 0), false};
    case ExprKind::cast: {
      const Interval inner = interval_of(program, e.args[0]);
      const bool from_integer =
          is_integer(program.exprs[e.args[0]].type) || program.exprs[e.args[0]].type == DType::boolean;
      if (!from_integer || !is_integer(e.target)) return unbounded(inner.data_dependent);
      const IntegerLimits limits = integer_limits(e.target);
      if (inner.low >= limits.least && inner.high <= limits.greatest) return inner;
      return {limits.least, limits.greatest, inner.data_dependent};
    }
    case ExprKind::read: {
      const IntegerLimits limits = integer_limits(program.arrays[e.args[0]].dtype);
      return {limits.least, limits.greatest, true};
    }
    case ExprKind::call: return call_interval(program, e);
  }
  return unbounded(true);
}

}  // namespace lightline::loops
