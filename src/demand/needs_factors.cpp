// The factors of a product under a sum: powers of sums are several.
#include <algorithm>
#include <bit>

#include "demand/needs.h"

namespace lightline::demand {

// What is added in an exponent, each part as far as its variables are its own; `times` are the factors of all parts.
void Needs::parts_of_exponent(const Value& exponent, std::vector<ExponentPart>& parts, std::vector<Value>& times) {
  if (exponent.is_position()) {
    for (const auto& [atom, coefficient] : exponent.form.terms)
      parts.push_back({Value::position(Form{0, {{atom, coefficient}}}, exponent.denominator)});
    return;
  }
  if (!exponent.is_element()) return;
  const Term& made = term(exponent.term);
  const auto moved = [&](const Argument& arg) { return algebra_.moved(arg.value, exponent.at); };
  if (made.kind == TermKind::sum) {
    for (const Argument& arg : made.args) {
      const Value part = moved(arg);
      if (part.is_position())
        parts_of_exponent(part, parts, times);
      else
        parts.push_back({part, tier_ == Tier::floor && settled_.drowns(made, arg)});
    }
    return;
  }
  if (made.kind == TermKind::product) {
    const auto is_sum = [&](const Argument& arg) {
      return arg.value.is_position() ? arg.value.form.terms.size() > 1
                                     : arg.value.is_element() && term(arg.value.term).kind == TermKind::sum;
    };
    const auto sum =
        made.args.size() == 1 ? made.args.begin() : std::find_if(made.args.begin(), made.args.end(), is_sum);
    if (sum != made.args.end()) {
      for (const Argument& arg : made.args)
        if (&arg != &*sum) times.push_back(moved(arg));
      return parts_of_exponent(moved(*sum), parts, times);
    }
  }
  parts.push_back({exponent});
}

// exp(a[i] + b[j]) is the product of two, and so is g ** (i - j).
std::vector<Needs::Factor> Needs::powers(const Value& value) {
  if (!value.is_element()) return {};
  const Term& made = term(value.term);
  if (made.kind != TermKind::call) return {};
  std::vector<ExponentPart> parts;
  std::vector<Value> times;
  if (made.function == loops::Function::exp || made.function == loops::Function::exp2) {
    parts_of_exponent(algebra_.moved(made.args[0].value, value.at), parts, times);
  } else if (made.function == loops::Function::pow) {
    parts_of_exponent(algebra_.moved(made.args[1].value, value.at), parts, times);
    times.push_back(algebra_.moved(made.args[0].value, value.at));
  }
  std::vector<Factor> factors;
  for (const auto& [part, drowns] : parts) {
    Factor one{part, variables_of(part), !algebra_.reads_data(part), true, {part}};
    if (drowns) one.zero_by = {part};
    for (const Value& other : times) {
      if (std::popcount(variables_of(other)) > std::popcount(variables_of(one.value))) one.value = other;
      one.variables |= variables_of(other);
      one.formula = one.formula && !algebra_.reads_data(other);
      one.needs.push_back(other);
    }
    // What another has the variables of is one with it; the one with the most stands for them.
    for (size_t i = 0; i < factors.size();) {
      const uint64_t both = factors[i].variables | one.variables;
      if (both != factors[i].variables && both != one.variables) {
        ++i;
        continue;
      }
      if (std::popcount(variables_of(factors[i].value)) > std::popcount(variables_of(one.value)))
        one.value = factors[i].value;
      one.variables = both;
      one.formula = one.formula && factors[i].formula;
      one.needs.insert(one.needs.end(), factors[i].needs.begin(), factors[i].needs.end());
      one.zero_by.insert(one.zero_by.end(), factors[i].zero_by.begin(), factors[i].zero_by.end());
      factors.erase(factors.begin() + int64_t(i));
    }
    if (one.variables != 0 || !one.formula) factors.push_back(std::move(one));
  }
  for (Factor& one : factors) one.exponential = !one.formula;
  return factors;
}

void Needs::add_factor(Network& network, const Value& value) {
  if (value.is_number()) return;
  algebra_.box = network.region.box;
  // Two truths of different variables
  if (value.is_element() && term(value.term).kind == TermKind::call && tier_ != Tier::floor &&
      term(value.term).function == loops::Function::logical_and && network.factors.size() + 2 <= most_factors) {
    const Value first = algebra_.moved(term(value.term).args[0].value, value.at);
    const Value second = algebra_.moved(term(value.term).args[1].value, value.at);
    const uint64_t a = variables_of(first), b = variables_of(second);
    if ((a | b) != a && (a | b) != b) {
      add_factor(network, first);
      return add_factor(network, second);
    }
  }
  const std::vector<Factor> parts = powers(value);
  if (parts.size() > 1 && parts.size() + network.factors.size() <= most_factors)
    network.factors.insert(network.factors.end(), parts.begin(), parts.end());
  else
    network.factors.push_back({value, variables_of(value), !algebra_.reads_data(value)});
}

void Needs::need_factors(const Network& network, TermId owner) {
  for (const Factor& factor : network.factors) {
    if (!factor.exponential) {
      const bool was = std::exchange(linear_, true);
      need(factor.value, network.region);
      linear_ = was;
      continue;
    }
    for (const Value& part : factor.needs) need(part, network.region);
    if (!counting_ || tier_ == Tier::floor || factor.formula) continue;
    const auto mapped = index::image(
        network.region, factor.value.is_position() ? std::vector<Form>{factor.value.form} : factor.value.at, atoms_);
    if (!mapped.empty()) work_of(owner).transcendental_ops += count(mapped);
  }
}

}  // namespace lightline::demand
