#include "demand/algebra.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/maths.h"
#include "demand/numbers.h"

namespace lightline::demand {

using loops::Function;

bool commutes(Function f) {
  return f == Function::eq || f == Function::ne || f == Function::logical_and || f == Function::logical_or ||
         f == Function::min || f == Function::max || f == Function::fmin || f == Function::fmax ||
         f == Function::bitand_ || f == Function::bitor_ || f == Function::bitxor_ || f == Function::hypot;
}

namespace {

constexpr size_t most_parts = 12;  // of a sum or a product

// An order that does not hang on the names of variables more than it must.
bool comes_before(const Value& a, const Value& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == Value::Kind::number) return a.number < b.number;
  if (a.term != b.term) return a.term < b.term;
  if (a.kind == Value::Kind::position) return a.form < b.form;
  return a.at < b.at;
}

}  // namespace

std::optional<Value> as_position(const Value& value) {
  if (value.is_position()) return value;
  if (!value.is_number()) return std::nullopt;
  for (int64_t denominator = 1; denominator <= greatest_denominator; denominator *= 2) {
    const double scaled = value.number * double(denominator);
    if (!(std::abs(scaled) < 1e12)) return std::nullopt;
    if (scaled != std::floor(scaled)) continue;
    Value result;
    result.kind = Value::Kind::position;
    result.form = Form::of(int64_t(scaled));
    result.denominator = denominator;
    return result;
  }
  return std::nullopt;
}

void Algebra::narrow(Cases& value, DType to) {
  for (Case& one : value)
    if (one.value.is_element()) one.value.width = narrower(one.value.width, to);
}

Cases Algebra::cast(const Cases& value, DType from, DType to) {
  Cases into;
  const Value zero = Value::of(0);
  for (const Case& one : value) {
    const Value* args[] = {&one.value, &zero};
    if (to == DType::boolean && from != DType::boolean) {
      call(Function::ne, args, from, to, one.where, into);
    } else if (one.value.is_number()) {
      const double number = one.value.number;
      const bool wraps = is_integer(to) && std::abs(number) < 1e15;
      into.push_back({one.where, Value::of(wraps || is_float(to) ? round_to(to, number) : number)});
    } else if (is_float(from) && is_integer(to)) {
      call(Function::trunc, std::span(args, 1), from, to, one.where, into);
    } else {
      into.push_back(one);
      if (one.value.is_element()) into.back().value.width = narrower(one.value.width, to);
    }
  }
  return into;
}

bool Algebra::reads_data(const Value& value) const {
  if (value.is_position()) return atoms_.has_data(value.form);
  if (!value.is_element()) return false;
  return terms_[value.term].reads_data ||
         std::any_of(value.at.begin(), value.at.end(), [&](const Form& form) { return atoms_.has_data(form); });
}

Value Algebra::moved(const Value& value, std::span<const Form> at) {
  if (value.is_position()) return Value::position(atoms_.compose(value.form, at, box), value.denominator);
  if (!value.is_element()) return value;
  std::vector<Form> places;
  places.reserve(value.at.size());
  for (const Form& form : value.at) places.push_back(atoms_.compose(form, at, box));
  return Value::element(value.term, std::move(places), value.width);
}

namespace {

void prepare(Coordinates& coordinates, const std::vector<const Value*>& values) {
  std::vector<const Form*> forms;
  size_t size = 0;
  for (const Value* value : values) size += 1 + value->at.size();
  forms.reserve(size);
  for (const Value* value : values) {
    if (value->is_position()) forms.push_back(&value->form);
    for (const Form& form : value->at) forms.push_back(&form);
  }
  coordinates.prepare(forms);
}

}  // namespace

Value Algebra::named(const Value& value, Coordinates& coordinates) {
  if (value.is_number()) return value;
  if (value.is_position()) {
    Value result = value;
    result.form = coordinates.name(value.form);
    return result;
  }
  std::vector<Form> at;
  at.reserve(value.at.size());
  for (const Form& form : value.at) at.push_back(coordinates.name(form));
  return Value::element(value.term, std::move(at), value.width);
}

namespace {

// The narrowest type that holds all of them. Numbers are rounded as what they are chosen from.
DType width_of_choice(std::span<const Value* const> values, DType result) {
  DType width = DType::boolean;
  for (const Value* value : values) {
    if (value->is_element()) width = wider(width, value->width);
    if (value->is_position()) width = wider(width, result);
  }
  for (const Value* value : values) {
    if (!value->is_number() || is_float(width) || value->number == 0 || value->number == 1) continue;
    const bool small = value->number == std::floor(value->number) && std::abs(value->number) <= 127;
    width = wider(width, small ? DType::i8 : result);
  }
  return width;
}

}  // namespace

Value Algebra::element_of(Function function, std::span<const Value* const> args, DType type, DType result) {
  std::vector<const Value*> sorted(args.begin(), args.end());
  if (commutes(function) && comes_before(*sorted[1], *sorted[0])) std::swap(sorted[0], sorted[1]);
  Term term;
  term.kind = TermKind::call;
  term.function = function;
  term.type = type;
  Coordinates coordinates(atoms_, 0);
  prepare(coordinates, sorted);
  for (const Value* arg : sorted) {
    term.args.push_back({named(*arg, coordinates), 1});
    term.reads_data |= reads_data(*arg);
  }
  term.rank = coordinates.rank();
  switch (function) {  // no wider than what they choose from
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax:
    case Function::abs:
    case Function::floor:
    case Function::ceil:
    case Function::round:
    case Function::trunc:
    case Function::sign: {
      term.width = narrower(width_of_choice(sorted, result), result);
      if (const auto whole = whole_numbers(bounds_of(function, term.args))) term.width = narrower(term.width, *whole);
      break;
    }
    case Function::bitand_:
    case Function::mod:
    case Function::remainder:
    case Function::shr:
    case Function::div:
    case Function::copysign:
      term.width = result;
      if (const auto whole = whole_numbers(bounds_of(function, term.args))) term.width = narrower(term.width, *whole);
      break;
    case Function::select: {
      term.width = narrower(width_of_choice(std::span(sorted).subspan(1), result), result);
      break;
    }
    default: term.width = result;
  }
  const DType own = term.width;
  const TermId id = terms_.intern(std::move(term));
  return Value::element(id, coordinates.forms(), own);
}

// Totals over neighbouring ranges are one total.
void Algebra::join_totals(std::vector<Argument>& args) {
  const auto total = [&](const Argument& arg) -> const Term* {
    if (!arg.value.is_element()) return nullptr;
    const Term& term = terms_[arg.value.term];
    const bool plain = term.kind == TermKind::reduce && term.reducer == loops::Reducer::sum && term.body.size() == 1;
    return plain ? &term : nullptr;
  };
  for (size_t i = 0; i < args.size(); ++i)
    for (size_t j = i + 1; j < args.size(); ++j) {
      const Term *a = total(args[i]), *b = total(args[j]);
      if (a == nullptr || b == nullptr || args[i].factor != args[j].factor || args[i].value.at != args[j].value.at)
        continue;
      const auto joined = joined_total(*a, *b);
      if (!joined) continue;
      args[i].value.term = terms_.intern(*joined);
      args.erase(args.begin() + int64_t(j));
      j = i;  // it may join others now
    }
}

std::optional<Term> Algebra::joined_total(const Term& a, const Term& b) {
  if (a.rank != b.rank || a.reduced.size() != b.reduced.size() || a.type != b.type) return std::nullopt;
  const Case &one = a.body[0], &other = b.body[0];
  if (!(one.value == other.value) || one.where.cuts != other.where.cuts) return std::nullopt;
  std::optional<size_t> along;
  for (size_t d = 0; d < one.where.box.size(); ++d) {
    if (one.where.box[d] == other.where.box[d]) continue;
    if (along || d >= a.reduced.size()) return std::nullopt;
    along = d;
  }
  if (!along) return std::nullopt;
  const Range x = one.where.box[*along], y = other.where.box[*along];
  if (x.step != 1 || y.step != 1 || (x.hi + 1 != y.lo && y.hi + 1 != x.lo)) return std::nullopt;
  Term joined = a;
  joined.spelled.clear();
  joined.body[0].where.box[*along] = {std::min(x.lo, y.lo), std::max(x.hi, y.hi), 1};
  joined.reduced[*along] = joined.body[0].where.box[*along];
  return joined;
}

// A part of a sum or product, where that is read. Of a number that is rounded no more is wanted of its parts.
Value Algebra::part_of(const Value& whole, const Value& part) {
  Value value = moved(part, whole.at);
  if (value.is_element() && is_float(value.width) && is_float(whole.width))
    value.width = narrower(value.width, whole.width);
  return value;
}

// An element of a sum or a product, which was also made of terms that it does not refer to.
Value Algebra::flattened(Term term, std::span<const uint64_t> spelled, const Coordinates& coordinates) {
  const DType width = term.width;
  const TermId id = terms_.intern(std::move(term));
  for (const uint64_t inner : spelled) {
    auto& list = terms_.at(id).spelled;
    if (inner != id && std::find(list.begin(), list.end(), inner) == list.end()) list.push_back(inner);
  }
  return Value::element(id, coordinates.forms(), width);
}

// Whether a part of a sum is also one of these.
bool Algebra::has_part_of(const Value& sum, const std::vector<Argument>& args) {
  if (terms_[sum.term].kind != TermKind::sum) return false;
  const std::vector<Argument>& parts = terms_[sum.term].args;
  return std::any_of(parts.begin(), parts.end(), [&](const Argument& part) {
    const Value value = part_of(sum, part.value);
    return std::any_of(args.begin(), args.end(), [&](const Argument& arg) { return arg.value == value; });
  });
}

Value Algebra::sum(std::vector<Argument> args, double number, DType type) {
  std::vector<Argument> flat;
  std::vector<uint64_t> spelled;
  flat.reserve(args.size());
  const auto add = [&](Value value, double factor) {
    if (value.is_number()) {
      number += factor * value.number;
      return;
    }
    for (Argument& known : flat)
      if (known.value == value) {
        known.factor += factor;
        return;
      }
    flat.push_back({std::move(value), factor});
  };
  const auto add_parts = [&](const Value& value, double factor) {
    const Term& term = terms_[value.term];
    if (term.kind != TermKind::sum || term.args.size() + flat.size() + args.size() > most_parts) return false;
    number += factor * term.number;
    spelled.push_back(value.term);
    for (const Argument& one : term.args) add(part_of(value, one.value), factor * one.factor);
    return true;
  };
  for (const Argument& arg : args) {
    if (!arg.value.is_element()) {
      add(arg.value, arg.factor);
      continue;
    }
    if (add_parts(arg.value, arg.factor)) continue;
    const Term& term = terms_[arg.value.term];
    if (term.kind != TermKind::product || term.number == 1) {
      add(arg.value, arg.factor);
      continue;
    }
    std::vector<Value> factors;
    const double scale = term.number;
    for (const Argument& one : std::vector<Argument>(term.args)) factors.push_back(part_of(arg.value, one.value));
    const Value scaled = product(std::move(factors), 1, type);
    // u + 3 (c - u) is 3 c - 2 u.
    const bool joins = scaled.is_element() && has_part_of(scaled, args) && add_parts(scaled, arg.factor * scale);
    if (!joins) add(scaled, arg.factor * scale);
  }
  std::erase_if(flat, [](const Argument& arg) { return arg.factor == 0; });
  join_totals(flat);
  if (std::isinf(number) || std::isnan(number)) return Value::of(number);
  if (flat.empty()) return Value::of(number);
  if (flat.size() == 1 && number == 0) return product({flat[0].value}, flat[0].factor, type);
  if (flat.size() == 1 && number == 1 && flat[0].factor == -1 && flat[0].value.is_element() &&
      flat[0].value.width == DType::boolean && terms_[flat[0].value.term].kind == TermKind::call)
    return opposite(flat[0].value);
  std::stable_sort(flat.begin(), flat.end(),
                   [](const Argument& a, const Argument& b) { return comes_before(a.value, b.value); });
  Term term;
  term.kind = TermKind::sum;
  term.type = type;
  term.number = number;
  term.width = type;
  const Bounds bounds = bounds_of_sum(flat, number);
  if (is_float(type) || (is_integer(type) && bounds.least >= double(integer_limits(type).least) &&
                         bounds.greatest <= double(integer_limits(type).greatest)))
    if (const auto whole = whole_numbers(bounds)) term.width = narrower(type, *whole);
  Coordinates coordinates(atoms_, 0);
  std::vector<const Value*> values;
  values.reserve(flat.size());
  term.args.reserve(flat.size());
  for (const Argument& arg : flat) values.push_back(&arg.value);
  prepare(coordinates, values);
  for (const Argument& arg : flat) {
    term.args.push_back({named(arg.value, coordinates), arg.factor});
    term.reads_data |= reads_data(arg.value);
  }
  term.rank = coordinates.rank();
  return flattened(std::move(term), spelled, coordinates);
}

Value Algebra::product(std::vector<Value> factors, double number, DType type) {
  std::vector<Value> flat;
  flat.reserve(factors.size());
  std::vector<uint64_t> spelled;
  DType width = DType::boolean;
  for (const Value& factor : factors) {
    if (factor.is_number()) {
      number *= factor.number;
      continue;
    }
    if (factor.is_element()) {
      const Term& term = terms_[factor.term];
      if (term.kind == TermKind::product && term.args.size() + flat.size() + factors.size() <= most_parts) {
        number *= term.number;
        spelled.push_back(factor.term);
        for (const Argument& one : term.args) {
          Value inner = part_of(factor, one.value);
          if (inner.is_number())
            number *= inner.number;
          else
            flat.push_back(std::move(inner));
        }
        continue;
      }
    }
    flat.push_back(factor);
  }
  if (number == 0 || std::isnan(number)) return Value::of(number);
  if (flat.empty()) return Value::of(number);
  if (flat.size() == 1 && number == 1) return flat[0];
  std::stable_sort(flat.begin(), flat.end(), comes_before);
  Term term;
  term.kind = TermKind::product;
  term.type = type;
  term.number = number;
  Coordinates coordinates(atoms_, 0);
  std::vector<const Value*> values;
  values.reserve(flat.size());
  term.args.reserve(flat.size());
  for (const Value& factor : flat) values.push_back(&factor);
  prepare(coordinates, values);
  for (const Value& factor : flat) {
    if (factor.is_element()) width = wider(width, factor.width);
    term.args.push_back({named(factor, coordinates), 1});
    term.reads_data |= reads_data(factor);
  }
  // A multiple, or a choice by truths, is as wide as what is multiplied.
  size_t wide = 0;
  for (const Value& factor : flat) wide += !factor.is_element() || factor.width != DType::boolean;
  term.width = wide <= 1 ? narrower(width, type) : type;
  term.rank = coordinates.rank();
  return flattened(std::move(term), spelled, coordinates);
}

}  // namespace lightline::demand
