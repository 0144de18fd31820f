#include "demand/settled.h"

#include <algorithm>
#include <cmath>

#include "demand/numbers.h"

namespace lightline::demand {

using loops::Function;
using loops::Reducer;

namespace {

constexpr size_t most_numbers = 8;
constexpr double drowns_others = -as_good_as_minus_infinity;

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }  // what is chosen to be 0 is nothing

bool is_greatest(Function f) { return f == Function::max || f == Function::fmax; }
bool is_least(Function f) { return f == Function::min || f == Function::fmin; }

// Every number that `visit` gives for one number of each list.
Settled combined(const std::vector<Settled>& lists,
                 const std::function<std::optional<double>(std::span<const double>)>& visit) {
  Settled result;
  size_t ways = 1;
  for (const Settled& list : lists) {
    if (list.none()) return result;
    result.anything |= list.anything;
    ways = std::min<size_t>(ways * std::max<size_t>(1, list.numbers.size()), 1024);
  }
  if (ways > most_numbers * most_numbers) result.anything = true;
  if (result.anything) return result;
  std::vector<double> chosen(lists.size());
  for (size_t way = 0; way < ways; ++way) {
    size_t rest = way;
    for (size_t i = 0; i < lists.size(); ++i) {
      chosen[i] = lists[i].numbers[rest % lists[i].numbers.size()];
      rest /= lists[i].numbers.size();
    }
    if (const auto number = visit(chosen)) result.add(*number);
  }
  return result;
}

}  // namespace

bool Settled::has(double number) const {
  return anything || std::binary_search(numbers.begin(), numbers.end(), number);
}

void Settled::add(double number) {
  if (std::isnan(number) || has(number)) return;
  if (numbers.size() >= most_numbers) {
    anything = true;
    return;
  }
  numbers.insert(std::lower_bound(numbers.begin(), numbers.end(), number), number);
}

void Settled::add(const Settled& other) {
  anything |= other.anything;
  for (const double number : other.numbers) add(number);
}

SettledNumbers::SettledNumbers(const Terms& terms, const std::vector<std::vector<const Cases*>>& others, int rounds)
    : terms_(&terms), by_term_(terms.size()) {
  for (int round = 0; round < rounds; ++round)
    for (TermId id = 0; id < terms.size(); ++id) {
      if (!terms[id].reads_data) continue;
      Settled settled = of(terms[id]);
      for (const Cases* cases : others[id])
        for (const Case& one : *cases) settled.add(of(one.value));
      by_term_[id] = std::move(settled);
    }
}

Settled SettledNumbers::of(const Value& value) const {
  Settled result;
  if (value.is_number()) result.add(value.number);
  if (!value.is_element()) return result;
  result = by_term_[value.term];
  if (value.width == DType::boolean && (*terms_)[value.term].reads_data) {
    result.add(0);
    result.add(1);
  }
  return result;
}

Settled SettledNumbers::of(const Term& term) const {
  Settled result;
  switch (term.kind) {
    case TermKind::sum: return of_sum(term);
    case TermKind::product: return of_product(term);
    case TermKind::call: return of_call(term);
    case TermKind::reduce: return of_reduction(term);
    case TermKind::array:
    case TermKind::carried:
    case TermKind::scatter:
      for (const Case& one : term.body) result.add(of(one.value));
      return result;
    default: return result;
  }
}

// Truths, and sums and products of them: they are no other numbers than those that are known.
bool SettledNumbers::is_of_truths(const Value& value, int most_depth) const {
  if (value.is_number() || (value.is_element() && value.width == DType::boolean)) return true;
  if (!value.is_element() || most_depth == 0) return false;
  const Term& term = (*terms_)[value.term];
  if (term.kind != TermKind::sum && term.kind != TermKind::product) return false;
  return std::all_of(term.args.begin(), term.args.end(),
                     [&](const Argument& arg) { return is_of_truths(arg.value, most_depth - 1); });
}

// Data that are multiplied by something huge.
bool SettledNumbers::is_scaled_up(const Value& value, double factor) const {
  if (!value.is_element() || !(*terms_)[value.term].reads_data || is_of_truths(value, 3)) return false;
  const Term& term = (*terms_)[value.term];
  if (term.kind == TermKind::product) factor *= term.number;
  return std::abs(factor) >= drowns_others;
}

// x - max(x), where x may be a sum: if the maximum is -inf, so is x.
bool SettledNumbers::is_own_greatest(const Term& sum, const Argument& part) const {
  if (!part.value.is_element()) return false;
  const Term& term = (*terms_)[part.value.term];
  if (term.kind == TermKind::product)
    return std::any_of(term.args.begin(), term.args.end(), [&](const Argument& factor) {
      return is_own_greatest(sum, {factor.value, part.factor});
    });
  if (term.kind != TermKind::reduce || term.reducer != (part.factor < 0 ? Reducer::max : Reducer::min)) return false;
  const auto is_part = [&](const Value& value) {
    return value.is_element() && std::any_of(sum.args.begin(), sum.args.end(), [&](const Argument& arg) {
             return arg.value.is_element() && arg.value.term == value.term;
           });
  };
  return std::all_of(term.body.begin(), term.body.end(), [&](const Case& one) {
    if (!one.value.is_element() || is_part(one.value)) return true;
    const Term& inner = (*terms_)[one.value.term];
    return inner.kind == TermKind::sum &&
           std::all_of(inner.args.begin(), inner.args.end(), [&](const Argument& arg) { return is_part(arg.value); });
  });
}

std::pair<double, double> SettledNumbers::reach(const Term& sum, const Argument& part) const {
  if (!is_float(sum.type) || is_own_greatest(sum, part)) return {0, 0};
  const Settled settled = of(part.value);
  if (settled.anything || is_scaled_up(part.value, part.factor)) return {-INFINITY, INFINITY};
  std::pair<double, double> ends{0, 0};
  for (const double number : settled.numbers) {
    ends.first = std::min(ends.first, times(number, part.factor));
    ends.second = std::max(ends.second, times(number, part.factor));
  }
  return ends;
}

bool SettledNumbers::drowns(const Term& sum, const Argument& part) const {
  const auto [least, greatest] = reach(sum, part);
  return least <= -drowns_others || greatest >= drowns_others;
}

Settled SettledNumbers::of_sum(const Term& term) const {
  std::vector<Settled> parts;
  double least = 0, greatest = 0;
  for (const Argument& arg : term.args) {
    parts.push_back(of(arg.value));
    const auto ends = reach(term, arg);
    least = std::min(least, ends.first);
    greatest = std::max(greatest, ends.second);
  }
  Settled result = combined(parts, [&](std::span<const double> numbers) {
    double total = term.number;
    for (size_t i = 0; i < numbers.size(); ++i) total += times(numbers[i], term.args[i].factor);
    return total;
  });
  if (least <= -drowns_others) result.add(-INFINITY);
  if (greatest >= drowns_others) result.add(INFINITY);
  return result;
}

Settled SettledNumbers::of_product(const Term& term) const {
  std::vector<Settled> factors;
  bool vanishes = false;
  for (const Argument& arg : term.args) {
    factors.push_back(of(arg.value));
    vanishes |= factors.back().has(0);
  }
  Settled result = combined(factors, [&](std::span<const double> numbers) {
    double total = term.number;
    for (const double number : numbers) total = times(total, number);
    return total;
  });
  if (vanishes) result.add(0);
  return result;
}

Settled SettledNumbers::of_call(const Term& term) const {
  if (term.function == Function::select) {
    Settled result = of(term.args[1].value);
    result.add(of(term.args[2].value));
    return result;
  }
  std::vector<Settled> args;
  for (const Argument& arg : term.args) args.push_back(of(arg.value));
  Settled result = combined(args, [&](std::span<const double> numbers) {
    return demand::evaluate(term.function, numbers, is_integer(term.type));
  });
  if (!is_greatest(term.function) && !is_least(term.function)) return result;
  const double last = is_greatest(term.function) ? INFINITY : -INFINITY;
  for (const Settled& arg : args)
    if (arg.has(last)) result.add(last);
  return result;
}

namespace {

// Whether all results of a reduction have elements of this case among theirs.
bool holds_everywhere(const Term& term, const Case& one) {
  if (!one.where.is_box()) return false;
  return std::all_of(term.body.begin(), term.body.end(), [&](const Case& other) {
    for (size_t c = 0; c < term.rank; ++c) {
      const Range &own = one.where.box[term.reduced.size() + c], &theirs = other.where.box[term.reduced.size() + c];
      if (own != theirs && (own.step != 1 || own.lo > theirs.lo || own.hi < theirs.hi)) return false;
    }
    return true;
  });
}

}  // namespace

// A maximum is no less than what no choice settles: unless that is one part of several for some results alone, nothing
// but an infinity can be chosen for it.
Settled SettledNumbers::of_reduction(const Term& term) const {
  Settled all;
  bool vanishes = !term.body.empty(), some_vanish = false, settles = true;
  for (const Case& one : term.body) {
    const Settled value = of(one.value);
    all.add(value);
    vanishes = vanishes && value.has(0);
    some_vanish |= value.has(0);
    settles = settles && !value.none();
  }
  Settled result;
  switch (term.reducer) {
    case Reducer::sum:
      if (vanishes) result.add(0);
      for (const double infinite : {-INFINITY, INFINITY})
        if (all.has(infinite)) result.add(infinite);
      result.anything = vanishes && (all.anything || all.numbers.size() > 1);
      return result;
    case Reducer::prod:
      if (some_vanish) result.add(0);
      result.anything = settles && (all.anything || all.numbers.size() > 1);
      return result;
    case Reducer::max:
    case Reducer::min: {
      const double last = term.reducer == Reducer::max ? INFINITY : -INFINITY;
      if (std::none_of(term.body.begin(), term.body.end(), [&](const Case& one) {  //
            return of(one.value).none() && holds_everywhere(term, one);
          }))
        return all;
      if (all.has(last)) result.add(last);
      return result;
    }
    default: return result;
  }
}

}  // namespace lightline::demand
