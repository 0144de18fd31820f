// Functions at one point of a region: numbers and formulas are computed, comparisons split it, the rest are terms.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/maths.h"
#include "demand/algebra.h"
#include "demand/numbers.h"

namespace lightline::demand {

using loops::Function;

namespace {

bool is_comparison(Function f) {
  return f == Function::eq || f == Function::ne || f == Function::lt || f == Function::le || f == Function::gt ||
         f == Function::ge;
}

// On truths, bits are logic.
Function of_truths(Function f) {
  switch (f) {
    case Function::bitand_:
    case Function::mul:
    case Function::min: return Function::logical_and;
    case Function::bitor_:
    case Function::add:
    case Function::max: return Function::logical_or;
    case Function::bitxor_: return Function::ne;
    case Function::bitnot: return Function::logical_not;
    default: return f;
  }
}

}  // namespace

void Algebra::split(const Form& form, const Region& where, const std::function<void(const Region&, bool)>& visit) {
  Region yes = where, no = where;
  yes.cut(form, atoms_);
  no.cut(atoms_.sum(Form::of(-1), form, -1), atoms_);
  if (!yes.empty) visit(yes, true);
  if (!no.empty) visit(no, false);
}

void Algebra::compare(Function function, const Value& a, const Value& b, const Region& where, Cases& into) {
  // a/p ? b/q is a q - b p ? 0
  const Form difference = atoms_.sum(atoms_.scaled(a.form, b.denominator), b.form, -a.denominator);
  const Form reverse = atoms_.scaled(difference, -1);
  const auto put = [&](const Region& region, bool truth) { into.push_back({region, Value::of(truth)}); };
  switch (function) {
    case Function::ge: return split(difference, where, put);
    case Function::le: return split(reverse, where, put);
    case Function::lt: return split(difference, where, [&](const Region& r, bool truth) { put(r, !truth); });
    case Function::gt: return split(reverse, where, [&](const Region& r, bool truth) { put(r, !truth); });
    default: break;
  }
  const bool wanted = function == Function::eq;
  split(difference, where, [&](const Region& region, bool at_least) {
    if (!at_least) return put(region, !wanted);
    split(reverse, region, [&](const Region& r, bool equal) { put(r, equal == wanted); });
  });
}

bool Algebra::call_on_numbers(Function function, std::span<const Value* const> args, DType type, const Region& where,
                              Cases& into) {
  double numbers[3];
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]->is_number()) return false;
    numbers[i] = args[i]->number;
  }
  const auto value = demand::evaluate(function, std::span(numbers, args.size()), is_integer(type));
  if (!value) return false;
  const bool wraps = is_integer(type) && std::abs(*value) <= 0x1p53;
  into.push_back({where, Value::of(wraps ? double(wrap_to(type, int64_t(*value))) : *value)});
  return true;
}

bool Algebra::call_on_positions(Function function, std::span<const Value* const> args, const Region& where,
                                Cases& into) {
  if (args.empty() || args.size() > 2) return false;
  const auto first = as_position(*args[0]);
  const auto second = args.size() > 1 ? as_position(*args[1]) : std::nullopt;
  if (!first || (args.size() > 1 && !second)) return false;
  const Value& a = *first;
  const auto put = [&](const Region& region, Form form, int64_t denominator) {
    // Lowest terms
    int64_t common = std::gcd(denominator, form.constant);
    for (const auto& [atom, coefficient] : form.terms) common = std::gcd(common, coefficient);
    if (common > 1) {
      denominator /= common;
      form.constant /= common;
      for (auto& term : form.terms) term.second /= common;
    }
    into.push_back({region, Value::position(std::move(form), denominator)});
    return true;
  };
  if (args.size() == 1) {
    switch (function) {
      case Function::neg: return put(where, atoms_.scaled(a.form, -1), a.denominator);
      case Function::abs:
        split(a.form, where, [&](const Region& region, bool positive) {
          put(region, positive ? a.form : atoms_.scaled(a.form, -1), a.denominator);
        });
        return true;
      case Function::floor: return put(where, atoms_.quotient(a.form, a.denominator, where.box), 1);
      case Function::ceil:
        return put(where, atoms_.scaled(atoms_.quotient(atoms_.scaled(a.form, -1), a.denominator, where.box), -1), 1);
      case Function::trunc:
        split(a.form, where, [&](const Region& region, bool positive) {
          const Form size = positive ? a.form : atoms_.scaled(a.form, -1);
          const Form whole = atoms_.quotient(size, a.denominator, region.box);
          put(region, positive ? whole : atoms_.scaled(whole, -1), 1);
        });
        return true;
      case Function::round: return a.denominator == 1 && put(where, a.form, 1);
      case Function::sign:
        split(a.form, where, [&](const Region& region, bool at_least) {
          if (!at_least) return into.push_back({region, Value::of(-1)});
          split(atoms_.sum(Form::of(-1), a.form), region, [&](const Region& r, bool above) {
            into.push_back({r, Value::of(above)});
          });
        });
        return true;
      default: return false;
    }
  }
  const Value& b = *second;
  const auto over = [&](int64_t factor) {  // a + factor * b
    return atoms_.sum(atoms_.scaled(a.form, b.denominator), b.form, factor * a.denominator);
  };
  if (a.denominator * b.denominator > greatest_denominator * 16) return false;
  switch (function) {
    case Function::add: return put(where, over(1), a.denominator * b.denominator);
    case Function::sub: return put(where, over(-1), a.denominator * b.denominator);
    case Function::mul:
      if (b.form.is_constant())
        return put(where, atoms_.scaled(a.form, b.form.constant), a.denominator * b.denominator);
      if (a.form.is_constant())
        return put(where, atoms_.scaled(b.form, a.form.constant), a.denominator * b.denominator);
      return false;
    case Function::divide: {
      if (!b.form.is_constant() || b.form.constant == 0 || std::abs(b.form.constant) > greatest_denominator)
        return false;
      const int64_t by = b.form.constant;
      return put(where, atoms_.scaled(a.form, by > 0 ? b.denominator : -b.denominator), a.denominator * std::abs(by));
    }
    case Function::div:
      if (!b.form.is_constant() || b.form.constant <= 0 || a.denominator * b.denominator != 1) return false;
      return put(where, atoms_.quotient(a.form, b.form.constant, where.box), 1);
    case Function::fmod:
      if (atoms_.range(a.form, where.box).lo < 0) return false;
      [[fallthrough]];
    case Function::mod:
    case Function::remainder:
      if (!b.form.is_constant() || b.form.constant <= 0 || a.denominator * b.denominator != 1) return false;
      return put(where, atoms_.remainder(a.form, b.form.constant, where.box), 1);
    case Function::min:
    case Function::max:
    case Function::fmin:
    case Function::fmax: {
      const bool greater = function == Function::max || function == Function::fmax;
      // A bound that never binds is none; otherwise, where both are the same, a number is the simpler one.
      const Range apart = atoms_.range(over(-1), where.box);
      if (greater ? apart.lo >= 0 : apart.hi <= 0) return put(where, a.form, a.denominator);
      if (greater ? apart.hi <= 0 : apart.lo >= 0) return put(where, b.form, b.denominator);
      const Form difference = b.form.is_constant() ? atoms_.sum(over(-1), Form::of(greater ? -1 : 0)) : over(-1);
      split(difference, where, [&](const Region& region, bool first_greater) {
        const Value& chosen = first_greater == greater ? a : b;
        put(region, chosen.form, chosen.denominator);
      });
      return true;
    }
    default:
      if (!is_comparison(function)) return false;
      compare(function, a, b, where, into);
      return true;
  }
}

bool Algebra::call_logic(Function function, std::span<const Value* const> args, const Region& where, Cases& into) {
  if (function != Function::logical_and && function != Function::logical_or) return false;
  const double decides = function == Function::logical_or;
  for (size_t i = 0; i < 2; ++i) {
    if (!args[i]->is_number()) continue;
    into.push_back({where, args[i]->number == decides ? Value::of(decides) : *args[1 - i]});
    return true;
  }
  if (*args[0] == *args[1]) {
    into.push_back({where, *args[0]});
    return true;
  }
  return false;
}

Value Algebra::nothing() {
  Term term;
  term.kind = TermKind::unknown;
  term.type = term.width = DType::boolean;
  return Value::element(terms_.intern(std::move(term)), {}, DType::boolean);
}

// Where a function of known numbers without a shape is zero, or hides what it is added to, is not seen. Truths of truths
// are tried point by point.
bool Algebra::call_on_shapeless(Function function, std::span<const Value* const> args, DType result,
                                const Region& where, Cases& into) {
  const auto is_shapeless = [&](const Value* arg) {
    return arg->is_element() && terms_[arg->term].zeros > 0 && !is_integer(terms_[arg->term].type);
  };
  if (std::none_of(args.begin(), args.end(), is_shapeless)) return false;
  const bool truths = std::all_of(args.begin(), args.end(), [&](const Value* arg) {
    return !is_shapeless(arg) || terms_[arg->term].type == DType::boolean;
  });
  const bool of_data =
      std::any_of(args.begin(), args.end(), [&](const Value* arg) { return !is_shapeless(arg) && reads_data(*arg); });
  const bool hides = std::any_of(args.begin(), args.end(), [](const Value* arg) {
    return arg->is_number() && arg->number <= as_good_as_minus_infinity;
  });
  bool seen = false;
  if (function == Function::mul || function == Function::logical_and)
    seen = !hides;
  else if (function == Function::select)
    seen = args[2]->is_number(0) || !is_shapeless(args[0]);
  else
    seen = result == DType::boolean ? truths : of_data;
  if (seen) return false;
  given_up.emplace_back(no_shape);
  into.push_back({where, nothing()});
  return true;
}

bool Algebra::call_on_nothing(Function function, std::span<const Value* const> args, const Region& where, Cases& into) {
  if (std::none_of(args.begin(), args.end(), [&](const Value* arg) { return is_nothing(*arg); })) return false;
  const bool chosen = function == Function::select && !is_nothing(*args[0]);
  into.push_back({where, !chosen ? nothing() : is_nothing(*args[1]) ? *args[2] : *args[1]});
  return true;
}

bool Algebra::call_choice(std::span<const Value* const> args, DType result, const Region& where, Cases& into) {
  if (args[0]->is_number()) {
    into.push_back({where, args[0]->number != 0 ? *args[1] : *args[2]});
    return true;
  }
  if (*args[1] == *args[2]) {
    into.push_back({where, *args[1]});
    return true;
  }
  // A choice between something and nothing is a product with a truth.
  if (args[2]->is_number(0)) {
    into.push_back({where, product({*args[0], *args[1]}, 1, result)});
    return true;
  }
  if (args[1]->is_number(0)) {
    into.push_back({where, product({opposite(*args[0]), *args[2]}, 1, result)});
    return true;
  }
  // where(c, x + d, x) is x + c d.
  if (result != DType::boolean && reads_data(*args[0]))
    for (const size_t i : {1, 2}) {
      const std::optional<Value> more = beyond(*args[i], *args[3 - i], result);
      if (!more) continue;
      const Value chosen = product({i == 1 ? *args[0] : opposite(*args[0]), *more}, 1, result);
      into.push_back({where, sum({{*args[3 - i], 1}, {chosen, 1}}, 0, result)});
      return true;
    }
  // One between two numbers is a multiple of a truth, shifted.
  const auto is_moderate = [](const Value& value) {
    return value.is_number() && std::abs(value.number) < -as_good_as_minus_infinity;
  };
  if (is_moderate(*args[1]) && is_moderate(*args[2]) && is_float(result) && reads_data(*args[0])) {
    const double other = args[2]->number;
    into.push_back({where, sum({{*args[0], args[1]->number - other}}, other, result)});
    return true;
  }
  return false;
}

// 1 / (a[i] b[j]), or the root of it, is a product of two functions of fewer elements.
std::optional<Value> Algebra::call_on_factors(Function function, const Value& arg, DType type, DType result) {
  if (!arg.is_element() || !is_float(type)) return std::nullopt;
  const Term& term = terms_[arg.term];
  if (term.kind != TermKind::product || !term.reads_data || !(term.number > 0)) return std::nullopt;
  struct Group {
    std::set<index::AtomId> coordinates;
    std::vector<Value> factors;
  };
  std::vector<Group> groups;
  for (const Argument& factor : term.args) {
    Group own{{}, {moved(factor.value, arg.at)}};
    const auto see = [&](index::AtomId variable) { own.coordinates.insert(variable); };
    if (factor.value.is_position()) atoms_.for_each_variable(factor.value.form, see);
    for (const Form& form : factor.value.at) atoms_.for_each_variable(form, see);
    // One that has the coordinates of another takes it along.
    for (size_t i = 0; i < groups.size();) {
      std::set<index::AtomId> both = own.coordinates;
      both.insert(groups[i].coordinates.begin(), groups[i].coordinates.end());
      if (both.size() > std::max(own.coordinates.size(), groups[i].coordinates.size())) {
        ++i;
        continue;
      }
      own.coordinates = std::move(both);
      own.factors.insert(own.factors.end(), groups[i].factors.begin(), groups[i].factors.end());
      groups.erase(groups.begin() + int64_t(i));
    }
    groups.push_back(std::move(own));
  }
  const auto values_of = [&](uint32_t c) { return double(atoms_.range(arg.at[c], box).count()); };
  double all = 1, apart = 0;
  for (uint32_t c = 0; c < arg.at.size(); ++c) all *= values_of(c);
  for (const Group& group : groups) {
    double own = 1;
    for (const index::AtomId c : group.coordinates) own *= values_of(c);
    apart += own;
  }
  if (groups.size() < 2 || !(apart < all)) return std::nullopt;
  const double number = function == Function::divide ? 1 / term.number
                        : function == Function::sqrt ? std::sqrt(term.number)
                                                     : 1 / std::sqrt(term.number);
  std::vector<Value> results;
  const Value one = Value::of(1);
  for (Group& group : groups) {
    const Value inner = product(std::move(group.factors), 1, type);
    const Value* args[] = {&one, &inner};
    const auto own = function == Function::divide ? std::span<const Value* const>(args) : std::span(args).subspan(1);
    results.push_back(element_of(function, own, type, result));
  }
  return product(std::move(results), number, type);
}

// A formula of indices beside data: apart where it is zero, and two numbers where it hides what it is added to.
bool Algebra::call_on_formula(Function function, std::span<const Value* const> args, DType type, DType result,
                              const Region& where, Cases& into) {
  const bool multiplies = function == Function::mul;
  if (!multiplies && function != Function::add && function != Function::sub) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (!args[i]->is_position() || args[i]->form.is_constant() || atoms_.has_data(args[i]->form) ||
        !reads_data(*args[1 - i]))
      continue;
    const Value formula = *args[i], other = *args[1 - i];
    const Range values = atoms_.range(formula.form, where.box);
    int64_t step = 0;
    for (const auto& [atom, coefficient] : formula.form.terms) step = std::gcd(step, coefficient);
    const bool two = values.hi - values.lo == step;
    const double greatest = double(std::max(std::abs(values.lo), std::abs(values.hi))) / double(formula.denominator);
    if (multiplies ? values.lo > 0 || values.hi < 0 : !two || greatest < -as_good_as_minus_infinity) continue;
    const auto number = [&](int64_t of) { return Value::of(double(of) / double(formula.denominator)); };
    const auto above = [&](const Form& form, int64_t least_value, const Region& region, const auto& visit) {
      split(atoms_.sum(Form::of(-least_value), form), region, visit);
    };
    if (two) {
      above(formula.form, values.hi, where, [&](const Region& region, bool high) {
        const Value own = number(high ? values.hi : values.lo);
        const Value* both[] = {i == 0 ? &own : &other, i == 0 ? &other : &own};
        call(function, both, type, result, region, into);
      });
      return true;
    }
    const auto put = [&](const Region& region, bool zero) {
      box = region.box;
      into.push_back({region, zero ? Value::of(0) : product({formula, other}, 1, type)});
    };
    above(formula.form, 0, where, [&](const Region& region, bool at_least) {
      if (!at_least) return put(region, false);
      above(formula.form, 1, region, [&](const Region& r, bool greater) { put(r, !greater); });
    });
    return true;
  }
  return false;
}

bool Algebra::is_hidden(const Value& value) const {
  if (!value.is_element()) return false;
  const Term& term = terms_[value.term];
  return term.kind == TermKind::sum && term.number <= as_good_as_minus_infinity;
}

bool Algebra::call_exponential(Function function, const Value& arg, const Region& where, Cases& into) {
  if (function != Function::exp && function != Function::exp2) return false;
  if (!is_hidden(arg)) return false;
  into.push_back({where, Value::of(0)});
  return true;
}

void Algebra::call(Function function, std::span<const Value* const> args, DType type, DType result, const Region& where,
                   Cases& into) {
  box = where.box;
  if (type == DType::boolean) function = of_truths(function);
  if (call_on_nothing(function, args, where, into) || call_on_shapeless(function, args, result, where, into)) return;
  if (function == Function::select) {
    if (is_other_number(*args[0])) {  // where(e != n, a, b) is where(e == n, b, a)
      const Value same = opposite(*args[0]);
      const Value* const turned[] = {&same, args[2], args[1]};
      return call(function, turned, type, result, where, into);
    }
    if (call_choice(args, result, where, into)) return;
  } else if (call_on_numbers(function, args, type, where, into)) {
    return;
  } else if (call_on_positions(function, args, where, into)) {
    return;
  } else if (call_logic(function, args, where, into) || call_on_formula(function, args, type, result, where, into)) {
    return;
  } else if (args.size() == 1 && call_exponential(function, *args[0], where, into)) {
    return;
  }
  const auto put = [&](Value value) { into.push_back({where, std::move(value)}); };
  switch (function) {
    case Function::eq:
    case Function::ne:  // is it hidden?
      for (size_t i = 0; i < 2; ++i) {
        if (!args[i]->is_number() || !std::isinf(args[i]->number)) continue;
        if (args[i]->number < 0 && is_hidden(*args[1 - i])) return put(Value::of(function == Function::eq));
        if (!terms_.may_be_infinite(*args[1 - i])) return put(Value::of(function == Function::ne));
      }
      break;
    case Function::isinf:
      if (!terms_.may_be_infinite(*args[0])) return put(Value::of(0));
      break;
    case Function::add: return put(sum({{*args[0], 1}, {*args[1], 1}}, 0, type));
    case Function::sub: return put(sum({{*args[0], 1}, {*args[1], -1}}, 0, type));
    case Function::neg: return put(product({*args[0]}, -1, type));
    case Function::mul: return put(product({*args[0], *args[1]}, 1, type));
    case Function::divide: {
      if (args[1]->is_number()) return put(product({*args[0]}, 1 / args[1]->number, type));
      if (args[0]->is_number(0)) return put(Value::of(0));
      if (const auto apart = call_on_factors(function, *args[1], type, result))
        return put(product({*args[0], *apart}, 1, type));
      const Value one = Value::of(1);
      const Value* reciprocal[] = {&one, args[1]};
      Value inverse = element_of(Function::divide, reciprocal, type, result);
      return put(product({*args[0], std::move(inverse)}, 1, type));
    }
    case Function::silu:  // x * sigmoid(x), however it is spelled
      return put(product({*args[0], element_of(Function::sigmoid, args, type, result)}, 1, type));
    case Function::sqrt:
    case Function::rsqrt:
      if (const auto apart = call_on_factors(function, *args[0], type, result)) return put(*apart);
      break;
    case Function::max:
    case Function::fmax:
    case Function::min:
    case Function::fmin: {
      const double nothing = (function == Function::max || function == Function::fmax) ? -INFINITY : INFINITY;
      for (size_t i = 0; i < 2; ++i)
        if (args[i]->is_number(nothing)) return put(*args[1 - i]);
      if (*args[0] == *args[1]) return put(*args[0]);
      for (size_t i = 0; i < 2; ++i) {  // max(max(a, b), b)
        const Value& other = *args[1 - i];
        if (!other.is_element() || terms_[other.term].kind != TermKind::call || terms_[other.term].function != function)
          continue;
        for (const Argument& arg : std::vector<Argument>(terms_[other.term].args))
          if (part_of(other, arg.value) == *args[i]) return put(other);
      }
      break;
    }
    case Function::pow:
      if (args[1]->is_number(1)) return put(*args[0]);
      if (args[1]->is_number(2)) return put(product({*args[0], *args[0]}, 1, type));
      break;
    case Function::abs:
    case Function::sign:
    case Function::trunc:
    case Function::floor:
    case Function::ceil:
    case Function::round:
      if (const auto chosen = function_of_choice(function, *args[0], type, result)) return put(*chosen);
      break;
    case Function::complex_:  // a real number is one
      if (args[1]->is_number(0)) return put(*args[0]);
      break;
    case Function::real:
    case Function::conj:
      if (args[0]->is_element() && args[0]->width != DType::c64) return put(*args[0]);
      break;
    case Function::imag:
      if (args[0]->is_element() && args[0]->width != DType::c64) return put(Value::of(0));
      break;
    default: break;
  }
  const auto truth = truth_of(function, args, type);
  if (truth && !truth->is_element()) return put(*truth);
  Value value = truth ? *truth : element_of(function, args, type, result);
  if (result == DType::boolean && !terms_[value.term].reads_data && enumerate(value, where, into)) return;
  put(std::move(value));
}

}  // namespace lightline::demand
