// Truths in one spelling: comparisons rather than their negations, an element on the left and its place on the right,
// `<=` and `>=` of whole numbers, and one equality rather than two comparisons.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "demand/algebra.h"
#include "demand/numbers.h"

namespace lightline::demand {

using loops::Function;

namespace {

bool is_equality(Function f) { return f == Function::eq || f == Function::ne; }
bool is_order(Function f) { return f == Function::lt || f == Function::le || f == Function::gt || f == Function::ge; }

Function opposite_of(Function f) {
  switch (f) {
    case Function::eq: return Function::ne;
    case Function::ne: return Function::eq;
    case Function::lt: return Function::ge;
    case Function::ge: return Function::lt;
    case Function::le: return Function::gt;
    default: return Function::le;
  }
}

// a ? b as b ? a
Function turned(Function f) {
  switch (f) {
    case Function::lt: return Function::gt;
    case Function::gt: return Function::lt;
    case Function::le: return Function::ge;
    case Function::ge: return Function::le;
    default: return f;
  }
}

bool is_whole_number(double number) { return number == std::floor(number) && std::abs(number) < 0x1p53; }

}  // namespace

bool Algebra::is_whole(const Value& value, int depth) const {
  constexpr int most_depth = 4;
  if (value.is_position()) return value.denominator == 1;
  if (value.is_number()) return is_whole_number(value.number);
  const Term& made = terms_[value.term];
  if (bounds_of(value).whole || (made.kind != TermKind::call && is_integer(made.type))) return true;
  return made.kind == TermKind::sum && is_whole_number(made.number) && depth < most_depth &&
         std::all_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
           return is_whole_number(arg.factor) && is_whole(arg.value, depth + 1);
         });
}

// Of element - place, a whole number, both apart.
std::optional<Algebra::Placed> Algebra::placed(const Value& value) {
  if (!value.is_element() || terms_[value.term].kind != TermKind::sum || !is_whole(value)) return std::nullopt;
  const Term made = terms_[value.term];
  Placed result;
  result.place = Form::of(-int64_t(made.number));
  for (const Argument& arg : made.args) {
    const Value part = moved(arg.value, value.at);
    if (part.is_position()) {
      result.place = atoms_.sum(result.place, part.form, -int64_t(arg.factor));
      continue;
    }
    if (result.factor != 0 || std::abs(arg.factor) != 1) return std::nullopt;
    result.element = part;
    result.factor = int64_t(arg.factor);
  }
  if (result.factor == 0) return std::nullopt;
  return result;
}

Value Algebra::comparison(Function function, Value a, Value b, DType type) {
  if (!a.is_element() && b.is_element()) {
    std::swap(a, b);
    function = turned(function);
  }
  const auto place_of = [](const Value& value) {
    return value.is_number() ? Form::of(int64_t(value.number)) : value.form;
  };
  if (a.is_element() && !b.is_element() && is_whole(a) && is_whole(b)) {
    Form place = place_of(b);
    if (const auto apart = placed(a)) {  // factor * element - own place ? place
      a = apart->element;
      place = atoms_.scaled(atoms_.sum(place, apart->place), apart->factor);
      if (apart->factor < 0) function = turned(function);
    }
    if (function == Function::lt || function == Function::gt) {
      place.constant += function == Function::lt ? -1 : 1;
      function = function == Function::lt ? Function::le : Function::ge;
    }
    // |w| <= 0
    const Term& made = terms_[a.term];
    const bool none = place == Form{} && (function == Function::le || is_equality(function));
    if (none && made.kind == TermKind::call && made.function == Function::abs && is_whole(made.args[0].value))
      return comparison(function == Function::ne ? function : Function::eq, moved(Value(made.args[0].value), a.at),
                        Value::of(0), type);
    b = place.terms.empty() ? Value::of(double(place.constant)) : Value::position(place);
  }
  const Value* args[] = {&a, &b};
  return element_of(function, args, type, DType::boolean);
}

Value Algebra::opposite(const Value& truth) {
  if (truth.is_number()) return Value::of(truth.number == 0);
  const Term made = terms_[truth.term];
  if (made.kind == TermKind::call) {
    std::vector<Value> args;
    for (const Argument& arg : made.args) args.push_back(moved(arg.value, truth.at));
    if (made.function == Function::logical_not && args[0].width == DType::boolean) return args[0];
    const bool whole = is_order(made.function) && is_whole(args[0]) && is_whole(args[1]);
    if (is_equality(made.function) || whole) return comparison(opposite_of(made.function), args[0], args[1], made.type);
  }
  const Value* args[] = {&truth};
  return element_of(Function::logical_not, args, DType::boolean, DType::boolean);
}

bool Algebra::is_other_number(const Value& truth) const {
  if (!truth.is_element()) return false;
  const Term& made = terms_[truth.term];
  if (made.kind != TermKind::call || made.function != Function::ne) return false;
  const Value &a = made.args[0].value, &b = made.args[1].value;
  return a.is_number() != b.is_number() && is_whole(a) && is_whole(b);
}

// e <= p and e >= p
std::optional<Value> Algebra::both(const Value& a, const Value& b) {
  if (!a.is_element() || !b.is_element()) return std::nullopt;
  const Term &one = terms_[a.term], &other = terms_[b.term];
  if (one.kind != TermKind::call || other.kind != TermKind::call || one.args.size() != 2 || other.args.size() != 2)
    return std::nullopt;
  if ((one.function != Function::le || other.function != Function::ge) &&
      (one.function != Function::ge || other.function != Function::le))
    return std::nullopt;
  const DType type = one.type;
  std::array<Value, 2> first, second;
  for (size_t i = 0; i < 2; ++i) first[i] = moved(Value(one.args[i].value), a.at);
  for (size_t i = 0; i < 2; ++i) second[i] = moved(Value(terms_[b.term].args[i].value), b.at);
  if (!(first[0] == second[0]) || !(first[1] == second[1])) return std::nullopt;
  return comparison(Function::eq, first[0], first[1], type);
}

// max(0, 1 - |w|) of a whole number: whether it is 0.
std::optional<Value> Algebra::hat(const Value& value) {
  if (!value.is_element()) return std::nullopt;
  const Term& made = terms_[value.term];
  if (made.kind != TermKind::sum || made.number != 1 || made.args.size() != 1 || made.args[0].factor != -1)
    return std::nullopt;
  const Value inner = moved(Value(made.args[0].value), value.at);
  if (!inner.is_element()) return std::nullopt;
  const Term& size = terms_[inner.term];
  if (size.kind != TermKind::call || size.function != Function::abs || !is_whole(size.args[0].value))
    return std::nullopt;
  const DType type = size.type;
  return comparison(Function::eq, moved(Value(size.args[0].value), inner.at), Value::of(0), type);
}

// What the bounds of whole numbers say of a comparison with a number.
std::optional<bool> Algebra::decided(Function function, const Value& a, const Value& b) const {
  if (a.is_number() && b.is_element() && is_order(function)) return decided(turned(function), b, a);
  if (!a.is_element() || !b.is_number() || !is_order(function)) return std::nullopt;
  const Bounds bounds = bounds_of(a);
  if (!bounds.whole) return std::nullopt;
  const bool strict = function == Function::lt || function == Function::gt;
  const bool below = function == Function::lt || function == Function::le;
  const double least = below ? bounds.least : -bounds.greatest, greatest = below ? bounds.greatest : -bounds.least;
  const double bound = below ? b.number : -b.number;
  if (strict ? greatest < bound : greatest <= bound) return true;
  if (strict ? least >= bound : least > bound) return false;
  return std::nullopt;
}

// Whether it is the truth that an element is at a place.
bool Algebra::tests_place(const Value& truth) const {
  if (!truth.is_element()) return false;
  const Term& test = terms_[truth.term];
  return test.kind == TermKind::call && test.function == Function::eq &&
         std::any_of(test.args.begin(), test.args.end(), [](const Argument& arg) { return arg.value.is_position(); });
}

// Truths times something with fewer variables, or one that leaves one place alone, as a one-hot row of a gate.
std::optional<Algebra::Choice> Algebra::choice_of(const Value& value, DType type) {
  if (!value.is_element() || terms_[value.term].kind != TermKind::product) return std::nullopt;
  const Term made = terms_[value.term];
  Choice choice;
  std::vector<Value> others;
  for (const Argument& arg : made.args) {
    const Value factor = part_of(value, arg.value);
    (factor.is_element() && factor.width == DType::boolean ? choice.truths : others).push_back(factor);
  }
  if (choice.truths.empty()) return std::nullopt;
  choice.of = product(std::move(others), made.number, type);
  if (choice.of.is_number()) return choice;
  if (!choice.of.is_element() || !reads_data(choice.of)) return std::nullopt;
  std::set<index::AtomId> all, own;
  for (const Form& form : value.at) atoms_.for_each_variable(form, [&](index::AtomId v) { all.insert(v); });
  for (const Form& form : choice.of.at) atoms_.for_each_variable(form, [&](index::AtomId v) { own.insert(v); });
  const bool places =
      std::any_of(choice.truths.begin(), choice.truths.end(), [&](const Value& truth) { return tests_place(truth); });
  if (own.size() >= all.size() && !places) return std::nullopt;
  return choice;
}

Value Algebra::logic(Function function, const Value& a, const Value& b) {
  const bool decides = function == Function::logical_or;
  for (const Value* one : {&a, &b})
    if (one->is_number()) return (one->number != 0) == decides ? Value::of(decides) : one == &a ? b : a;
  if (a == b) return a;
  const Value* args[] = {&a, &b};
  if (const auto truth = truth_of(function, args, DType::boolean)) return *truth;
  return element_of(function, args, DType::boolean, DType::boolean);
}

// The size of (e == g) * a is (e == g) times the size of a, and so for all functions that are 0 at 0.
std::optional<Value> Algebra::function_of_choice(Function function, const Value& value, DType type, DType result) {
  std::optional<Choice> choice = choice_of(value, type);
  if (!choice) return std::nullopt;
  const Value* args[] = {&choice->of};
  const Value of = choice->of.is_number()
                       ? Value::of(*demand::evaluate(function, std::span(&choice->of.number, 1), false))
                       : element_of(function, args, type, result);
  choice->truths.push_back(of);
  return product(std::move(choice->truths), 1, result);
}

// (e == g) * a != 0 is e == g and a != 0, and so for other numbers and orders.
std::optional<Value> Algebra::compared_choice(Function function, const Value& value, double number, DType type) {
  if (!std::isfinite(number)) return std::nullopt;
  const std::optional<Choice> choice = choice_of(value, type);
  if (!choice) return none_of_choices(function, value, number, type);
  const double none[] = {0, number};
  const bool otherwise = *demand::evaluate(function, none, false) != 0;
  Value truth;
  const Value bound = Value::of(number);
  if (choice->of.is_number()) {
    const double chosen[] = {choice->of.number, number};
    truth = Value::of(*demand::evaluate(function, chosen, false) != 0);
  } else {
    const Value* args[] = {&choice->of, &bound};
    const std::optional<Value> known = truth_of(function, args, type);
    truth = known ? *known : element_of(function, args, type, DType::boolean);
  }
  if (otherwise) truth = opposite(truth);
  for (const Value& one : choice->truths) truth = logic(Function::logical_and, one, truth);
  return otherwise ? opposite(truth) : truth;
}

// Of choices that are added, none of them negative: the sum is 0 if all are.
std::optional<Value> Algebra::none_of_choices(Function function, const Value& value, double number, DType type) {
  const bool none = function == Function::eq || function == Function::le;
  if (number != 0 || (!none && function != Function::ne && function != Function::gt)) return std::nullopt;
  if (!value.is_element() || terms_[value.term].kind != TermKind::sum || terms_[value.term].number != 0)
    return std::nullopt;
  const Term made = terms_[value.term];
  Value any = Value::of(0);
  for (const Argument& arg : made.args) {
    const Value part = part_of(value, arg.value);
    if (!(arg.factor > 0) || !is_never_negative(part)) return std::nullopt;
    const bool truth = part.is_element() && part.width == DType::boolean;
    const auto seen = truth ? std::optional(part) : compared_choice(Function::ne, part, 0, type);
    if (!seen) return std::nullopt;
    any = logic(Function::logical_or, any, *seen);
  }
  return none ? opposite(any) : any;
}

bool Algebra::is_never_negative(const Value& value, int depth) const {
  constexpr int most_depth = 8;
  if (value.is_number()) return value.number >= 0;
  if (!value.is_element() || depth > most_depth) return false;
  if (value.width == DType::boolean || bounds_of(value).least >= 0) return true;
  const Term& made = terms_[value.term];
  const auto all_args = [&] {
    return std::all_of(made.args.begin(), made.args.end(),
                       [&](const Argument& arg) { return arg.factor >= 0 && is_never_negative(arg.value, depth + 1); });
  };
  switch (made.kind) {
    case TermKind::sum:
    case TermKind::product: return made.number >= 0 && all_args();
    case TermKind::reduce:
      return made.reducer != loops::Reducer::none &&
             std::all_of(made.body.begin(), made.body.end(),
                         [&](const Case& one) { return is_never_negative(one.value, depth + 1); });
    case TermKind::call: break;
    default: return false;
  }
  switch (made.function) {
    case Function::exp:
    case Function::exp2:
    case Function::sigmoid:
    case Function::abs:
    case Function::sqrt:
    case Function::rsqrt: return true;
    case Function::divide:
    case Function::min: return all_args();
    case Function::max:
      return std::any_of(made.args.begin(), made.args.end(),
                         [&](const Argument& arg) { return is_never_negative(arg.value, depth + 1); });
    default: return false;
  }
}

std::optional<Value> Algebra::truth_of(Function function, std::span<const Value* const> args, DType type) {
  switch (function) {
    case Function::logical_not:
      return args[0]->is_element() && args[0]->width == DType::boolean ? std::optional(opposite(*args[0]))
                                                                       : std::nullopt;
    case Function::logical_and: return both(*args[0], *args[1]);
    case Function::max:
    case Function::fmax:
      for (size_t i = 0; i < 2; ++i)
        if (args[i]->is_number(0)) return hat(*args[1 - i]);
      return std::nullopt;
    default: break;
  }
  if (!is_order(function) && !is_equality(function)) return std::nullopt;
  // Of a truth and a number: always the same, the truth, or its opposite.
  for (size_t i = 0; i < 2; ++i) {
    if (!args[i]->is_number() || !args[1 - i]->is_element() || args[1 - i]->width != DType::boolean) continue;
    bool found[2];
    for (const double truth : {0.0, 1.0}) {
      const double numbers[] = {i == 0 ? args[0]->number : truth, i == 0 ? truth : args[1]->number};
      found[size_t(truth)] = *demand::evaluate(function, numbers, false) != 0;
    }
    if (found[0] == found[1]) return Value::of(found[0]);
    return found[1] ? *args[1 - i] : opposite(*args[1 - i]);
  }
  if (type == DType::boolean) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (args[i]->is_number())
      if (auto truth = compared_choice(i == 0 ? turned(function) : function, *args[1 - i], args[i]->number, type))
        return truth;
  if (const auto always = decided(function, *args[0], *args[1])) return Value::of(*always);
  return comparison(function, *args[0], *args[1], type);
}

// Whether the program spells an infinity in what a value is made of; what lies behind an operator counts as finite.
bool Algebra::has_infinity(const Value& value, int depth) const {
  if (!terms_.may_be_infinite(value)) return false;
  if (!value.is_element() || depth == 0) return true;
  const Term& term = terms_[value.term];
  if (term.kind == TermKind::opaque) return false;
  if (term.kind != TermKind::call && term.kind != TermKind::product && term.kind != TermKind::sum) return true;
  return !std::isfinite(term.number) || std::any_of(term.args.begin(), term.args.end(), [&](const Argument& arg) {
    return has_infinity(arg.value, depth - 1);
  });
}

// What a sum has beside another value that is one of its parts, or several of them.
std::optional<Value> Algebra::beyond(const Value& whole, const Value& part, DType type) {
  if (!whole.is_element() || !part.is_element() || terms_[whole.term].kind != TermKind::sum) return std::nullopt;
  if (!reads_data(part)) return std::nullopt;
  const auto parts_of = [&](const Value& value) {
    std::vector<Argument> parts = terms_[value.term].args;
    for (Argument& one : parts) one.value = part_of(value, one.value);
    return parts;
  };
  std::vector<Argument> left = parts_of(whole);
  double number = terms_[whole.term].number;
  const auto take = [&](const Argument& one) {
    const auto found = std::find(left.begin(), left.end(), one);
    if (found == left.end()) return false;
    left.erase(found);
    return true;
  };
  if (!take({part, 1})) {
    const Term other = terms_[part.term];
    if (other.kind == TermKind::product && other.args.size() == 1) {
      if (!take({part_of(part, other.args[0].value), other.number})) return std::nullopt;
    } else {
      if (other.kind != TermKind::sum) return std::nullopt;
      const std::vector<Argument> all = parts_of(part);
      if (!std::all_of(all.begin(), all.end(), take)) return std::nullopt;
      number -= other.number;
    }
  }
  const bool data = std::any_of(left.begin(), left.end(), [&](const Argument& one) { return reads_data(one.value); });
  const bool spelled =
      std::any_of(left.begin(), left.end(), [&](const Argument& one) { return has_infinity(one.value); });
  if (!data || spelled) return std::nullopt;
  return sum(std::move(left), number, type);
}

}  // namespace lightline::demand
