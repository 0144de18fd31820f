// The factors of a product under a sum: powers of sums are several.
#include <algorithm>
#include <bit>
#include <iterator>

#include "demand/needs.h"

namespace lightline::demand {

uint64_t Needs::variables_of(const Value& value) const {
  uint64_t set = 0;
  const auto see = [&](index::AtomId variable) { set |= bit(variable); };
  if (value.is_position()) atoms_.for_each_variable(value.form, see);
  for (const Form& form : value.at) atoms_.for_each_variable(form, see);
  return set;
}

namespace {

std::vector<Form> forms_of(const Value& value) {
  return value.is_position() ? std::vector<Form>{value.form} : value.at;
}

}  // namespace

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
      const bool drowns = tier_ == Tier::floor && settled_.drowns(made, arg);
      if (part.is_position())
        parts_of_exponent(part, parts, times);
      else if (drowns || !part.is_element() || !split_running_sum(part, parts))
        parts.push_back({part, drowns});
    }
    return;
  }
  if (made.kind == TermKind::product) {
    const auto is_sum = [&](const Argument& arg) {
      const Value value = moved(arg);  // i - j may be one coordinate
      return value.is_position() ? value.form.terms.size() > 1
                                 : value.is_element() && term(value.term).kind == TermKind::sum;
    };
    const auto sum =
        made.args.size() == 1 ? made.args.begin() : std::find_if(made.args.begin(), made.args.end(), is_sum);
    if (sum != made.args.end()) {
      for (const Argument& arg : made.args)
        if (&arg != &*sum) times.push_back(moved(arg));
      return parts_of_exponent(moved(*sum), parts, times);
    }
  }
  if (!split_running_sum(exponent, parts)) parts.push_back({exponent});
}

// A sum of g[k] for j < k <= i is the difference of two running sums, one for each end. The elements at the ends stand
// for those: where they are the same, so are the running sums.
bool Needs::split_running_sum(const Value& sum, std::vector<ExponentPart>& parts) {
  const Term& made = term(sum.term);
  if (made.kind != TermKind::reduce || made.reducer != loops::Reducer::sum) return false;
  if (made.reduced.size() != 1 || made.body.size() != 1 || !made.body[0].value.is_element()) return false;
  std::vector<Form> images{Form()};
  images.insert(images.end(), sum.at.begin(), sum.at.end());
  std::vector<Value> ends[2];
  for (const Form& cut : made.body[0].where.cuts) {
    const int64_t own = cut.coefficient(0);
    if (own == 0) continue;
    if (std::abs(own) != 1 || atoms_.has_compound(cut)) return false;
    const Form end = atoms_.scaled(atoms_.sum(cut, Form::variable(0), -own), -own);
    images[0] = atoms_.compose(end, images, algebra_.box);
    ends[own > 0 ? 0 : 1].push_back(algebra_.moved(made.body[0].value, images));
  }
  if (ends[0].size() != 1 || ends[1].size() != 1) return false;
  for (const auto& end : ends) parts.push_back({end[0]});
  return true;
}

// exp(a[i] + b[j]) is the product of two, and so is g ** (i - j). Nothing if some part has the variables of all others.
std::vector<Factor> Needs::powers(const Value& value, const Region& region) {
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
  uint64_t scaling = 0, all = 0;
  for (const Value& other : times) scaling |= variables_of(other);
  for (const ExponentPart& part : parts) all |= variables_of(part.value) | scaling;
  if (std::any_of(parts.begin(), parts.end(),
                  [&](const ExponentPart& part) { return (variables_of(part.value) | scaling) == all; }))
    return {};
  std::vector<Factor> factors;
  const std::vector<uint64_t> equations = equations_of(region);
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
      if ((both & ~told_by(factors[i].variables, equations)) != 0 && (both & ~told_by(one.variables, equations)) != 0) {
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
  for (Factor& one : factors) {
    one.exponential = !one.formula;
    one.whole = value;
  }
  return factors;
}

// Whether none of the parts of a power tells all others: equations and quotients may hide that.
bool Needs::are_apart(const std::vector<Factor>& parts, const Region& region) {
  uint64_t variables = 0;
  for (const Factor& part : parts) variables |= part.variables;
  std::vector<Form> forms;
  for (size_t v = 0; v < region.box.size(); ++v)
    if ((variables & bit(v)) != 0) forms.push_back(Form::variable(index::AtomId(v)));
  const std::vector<Region> points = index::image(region, forms, atoms_);
  if (points.empty()) return true;
  const double all = count_at_most(points).number();
  return std::none_of(parts.begin(), parts.end(), [&](const Factor& part) {
    return part.exponential && count(index::image(region, forms_of(part.value), atoms_)) >= all;
  });
}

void Needs::add_factor(Network& network, Value value) {
  if (value.is_number()) return;
  algebra_.box = network.region.box;
  // Two truths of different variables, or one that leaves one place alone
  if (value.is_element() && term(value.term).kind == TermKind::call && tier_ != Tier::floor &&
      term(value.term).function == loops::Function::logical_and && network.factors.size() + 2 <= most_factors) {
    const Value first = algebra_.moved(term(value.term).args[0].value, value.at);
    const Value second = algebra_.moved(term(value.term).args[1].value, value.at);
    const uint64_t a = variables_of(first), b = variables_of(second);
    if (((a | b) != a && (a | b) != b) || picks(first) || picks(second)) {
      add_factor(network, first);
      return add_factor(network, second);
    }
  }
  std::vector<Factor> parts = powers(value, network.region);
  if (parts.size() > 1 && parts.size() + network.factors.size() <= most_factors && are_apart(parts, network.region)) {
    network.factors.insert(network.factors.end(), std::make_move_iterator(parts.begin()),
                           std::make_move_iterator(parts.end()));
    return;
  }
  const uint64_t variables = variables_of(value);
  const bool formula = !algebra_.reads_data(value);
  network.factors.push_back({std::move(value), variables, formula});
}

// Whether it is read only where a known factor beside it is not zero, and where that is has no shape.
bool Needs::meets_zeros(const Value& value, const Value& other) const {
  if (!other.is_element() || term(other.term).zeros == 0 || value == other) return false;
  return term(other.term).zero_lines || (variables_of(other) & ~variables_of(value)) == 0;
}

// Which elements that leaves, and how many, is not known.
void Needs::drop_beside_zeros(const Value& value) {
  drop(no_shape);
  if (value.is_element()) incomplete_[value.term] = true;
}

void Needs::need_factors(const Network& network, TermId owner) {
  for (const Factor& factor : network.factors) {
    if (std::any_of(network.factors.begin(), network.factors.end(),
                    [&](const Factor& other) { return meets_zeros(factor.value, other.value); })) {
      drop_beside_zeros(factor.value);
      continue;
    }
    if (!factor.exponential) {
      const bool was = std::exchange(linear_, true);
      need(factor.value, network.region);
      linear_ = was;
      continue;
    }
    for (const Value& part : factor.needs) need(part, network.region);
    if (counting_ && tier_ != Tier::floor && !factor.formula) count_powers(factor, network.region, owner);
  }
}

void Needs::for_each_value(Factor& factor, const std::function<void(Value&)>& visit) {
  visit(factor.value);
  if (!factor.exponential) return;
  visit(factor.whole);
  for (Value& part : factor.needs) visit(part);
  for (Value& part : factor.zero_by) visit(part);
}

void Needs::count_powers(const Factor& factor, const Region& region, TermId owner) {
  const auto add = [&](const Value& value, std::vector<Region>& to) {
    for (Region& one : index::image(region, forms_of(value), atoms_))
      if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(std::move(one));
  };
  std::vector<uint64_t> key{factor.value.is_element() ? factor.value.term : no_term};
  for (const Value& part : factor.needs) key.push_back(part.is_element() ? part.term : no_term);
  Power& power = powers_[factor.whole.term];
  if (power.owner == no_term) power.owner = owner;
  add(factor.value, power.parts[key]);
  add(factor.whole, power.whole);
}

// The parts of a power each once for all that reads them, or all of its elements: whatever is less.
void Needs::settle_powers() {
  std::set<std::vector<uint64_t>> seen;
  for (const auto& [id, power] : powers_) {
    turn_to(power.owner);
    double apart = 0;
    for (const auto& [key, regions] : power.parts)
      if (seen.insert(key).second && !functions_.contains(TermId(key[0])) && !regions.empty()) apart += count(regions);
    std::vector<Region> all = power.whole;
    all.insert(all.end(), needed_[id].begin(), needed_[id].end());
    const double others = needed_[id].empty() ? 0 : count_at_most(needed_[id]).number();
    const double whole = all.empty() ? 0.0 : std::max(0.0, count(all) - others);
    work_of(power.owner).transcendental_ops += std::min(apart, whole);
  }
}

}  // namespace lightline::demand
