// How far numbers reach, and whether they are whole: types that could hold them.
#include <algorithm>
#include <cmath>

#include "demand/algebra.h"

namespace lightline::demand {

using loops::Function;

// Numbers between the least and the greatest that there are.
Algebra::Bounds Algebra::bounds_of(const Value& value, int depth) const {
  constexpr int most_depth = 8;
  if (value.is_number()) return {value.number, value.number, value.number == std::floor(value.number)};
  if (!value.is_element()) return {};
  if (value.width == DType::boolean) return {0, 1, true};
  if (is_integer(value.width)) {
    const IntegerLimits limits = integer_limits(value.width);
    return {double(limits.least), double(limits.greatest), true};
  }
  const Term& term = terms_[value.term];
  return term.kind == TermKind::call && depth < most_depth ? bounds_of(term.function, term.args, depth + 1) : Bounds{};
}

Algebra::Bounds Algebra::bounds_of_sum(std::span<const Argument> args, double number) const {
  Bounds all{number, number, number == std::floor(number)};
  for (const Argument& arg : args) {
    const Bounds one = bounds_of(arg.value);
    all.least += arg.factor * (arg.factor < 0 ? one.greatest : one.least);
    all.greatest += arg.factor * (arg.factor < 0 ? one.least : one.greatest);
    all.whole = all.whole && one.whole && arg.factor == std::floor(arg.factor);
  }
  return all;
}

Algebra::Bounds Algebra::bounds_of(Function function, std::span<const Argument> args, int depth) const {
  switch (function) {
    case Function::floor:
    case Function::ceil:
    case Function::round:
    case Function::trunc: {
      const Bounds inner = bounds_of(args[0].value, depth);
      return {std::floor(inner.least), std::ceil(inner.greatest), true};
    }
    case Function::sign: return {-1, 1, true};
    case Function::bitand_:  // no bits but those of a number
      for (const Argument& arg : args)
        if (arg.value.is_number() && arg.value.number >= 0) return {0, arg.value.number, true};
      return {};
    case Function::mod:
    case Function::remainder: {
      const Value& by = args[1].value;
      if (!by.is_number() || by.number < 1 || by.number != std::floor(by.number)) return {};
      return bounds_of(args[0].value, depth).whole ? Bounds{0, by.number - 1, true} : Bounds{0, by.number, false};
    }
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax: {
      const Bounds a = bounds_of(args[0].value, depth), b = bounds_of(args[1].value, depth);
      const bool whole = a.whole && b.whole;
      return function == Function::min || function == Function::fmin
                 ? Bounds{std::min(a.least, b.least), std::min(a.greatest, b.greatest), whole}
                 : Bounds{std::max(a.least, b.least), std::max(a.greatest, b.greatest), whole};
    }
    default: return {};
  }
}

std::optional<DType> Algebra::whole_numbers(const Bounds& bounds) {
  const auto [low, high, whole] = bounds;
  if (!whole) return std::nullopt;
  if (low >= 0 && high <= 1) return DType::boolean;
  if (low >= -4 && high <= 4) return DType::f4e2m1;
  if (low >= -128 && high <= 127) return DType::i8;
  if (low >= 0 && high <= 255) return DType::u8;
  return std::nullopt;
}

}  // namespace lightline::demand
