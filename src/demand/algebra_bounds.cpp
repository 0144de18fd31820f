// How far numbers reach, and whether they are whole: types that could hold them.
#include <algorithm>
#include <cmath>

#include "demand/algebra.h"

namespace lightline::demand {

using loops::Function;

// Numbers between the least and the greatest that there are.
Algebra::Bounds Algebra::bounds_of(const Value& value) const {
  if (value.is_number()) return {value.number, value.number, value.number == std::floor(value.number)};
  if (!value.is_element()) return {};
  const Term& term = terms_[value.term];
  auto known = known_bounds_.find(value.term);
  if (known == known_bounds_.end()) known = known_bounds_.emplace(value.term, bounds_of(term)).first;
  Bounds bounds = known->second;
  if (const index::Atoms::Order* order = atoms_.order(value.term)) return {0, double(order->extent) - 1, true};
  if (term.kind == TermKind::product && term.number != 1) return bounds;  // its width is that of what is multiplied
  if (value.width == DType::boolean || is_integer(value.width)) {
    const IntegerLimits limits = value.width == DType::boolean ? IntegerLimits{0, 1} : integer_limits(value.width);
    bounds = {std::max(bounds.least, double(limits.least)), std::min(bounds.greatest, double(limits.greatest)), true};
  }
  return bounds;
}

Algebra::Bounds Algebra::bounds_of(const Term& term) const {
  switch (term.kind) {
    case TermKind::call: return bounds_of(term.function, term.args);
    case TermKind::sum: return is_float(term.type) ? bounds_of_sum(term.args, term.number) : Bounds{};
    case TermKind::product: {
      if (!is_float(term.type)) return {};
      Bounds all{term.number, term.number, term.number == std::floor(term.number)};
      for (const Argument& arg : term.args) {
        const Bounds one = bounds_of(arg.value);
        all.whole = all.whole && one.whole;
        if (!std::isfinite(one.least) || !std::isfinite(one.greatest) || !std::isfinite(all.least)) {
          all.least = -INFINITY;
          all.greatest = INFINITY;
          continue;
        }
        const auto ends = {all.least * one.least, all.least * one.greatest, all.greatest * one.least,
                           all.greatest * one.greatest};
        all.least = std::min(ends);
        all.greatest = std::max(ends);
      }
      return all;
    }
    case TermKind::reduce: {
      if (term.reducer != loops::Reducer::argmax && term.reducer != loops::Reducer::argmin) return {};
      double places = 1;
      for (const Range& range : term.reduced) places *= double(range.count());
      return {0, places - 1, true};
    }
    default: return {};
  }
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

Algebra::Bounds Algebra::bounds_of(Function function, std::span<const Argument> args) const {
  switch (function) {
    case Function::floor:
    case Function::ceil:
    case Function::round:
    case Function::trunc: {
      const Bounds inner = bounds_of(args[0].value);
      const auto rounded = [&](double number) {
        if (function == Function::floor) return std::floor(number);
        if (function == Function::ceil) return std::ceil(number);
        return function == Function::trunc ? std::trunc(number) : std::nearbyint(number);
      };
      return {rounded(inner.least), rounded(inner.greatest), true};
    }
    case Function::sign: return {-1, 1, true};
    case Function::tanh:
    case Function::sin:
    case Function::cos:
    case Function::erf: return {-1, 1, false};
    case Function::copysign: {
      const Bounds size = bounds_of(args[0].value);
      const double most = std::max(std::abs(size.least), std::abs(size.greatest));
      return {-most, most, size.whole};
    }
    case Function::shr:
    case Function::div: {
      const Bounds inner = bounds_of(args[0].value);
      const Value& by = args[1].value;
      const bool shift = function == Function::shr;
      if (!by.is_number() || !inner.whole || by.number < (shift ? 0 : 1) || (shift && by.number > 31)) return {};
      const double size = shift ? std::exp2(by.number) : by.number;
      return {std::floor(inner.least / size), std::floor(inner.greatest / size), true};
    }
    case Function::select: {
      const Bounds a = bounds_of(args[1].value), b = bounds_of(args[2].value);
      return {std::min(a.least, b.least), std::max(a.greatest, b.greatest), a.whole && b.whole};
    }
    case Function::bitand_:  // no bits but those of a number
      for (const Argument& arg : args)
        if (arg.value.is_number() && arg.value.number >= 0) return {0, arg.value.number, true};
      return {};
    case Function::mod:
    case Function::remainder: {
      const Value& by = args[1].value;
      if (!by.is_number() || by.number < 1 || by.number != std::floor(by.number)) return {};
      return bounds_of(args[0].value).whole ? Bounds{0, by.number - 1, true} : Bounds{0, by.number, false};
    }
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax: {
      const Bounds a = bounds_of(args[0].value), b = bounds_of(args[1].value);
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
