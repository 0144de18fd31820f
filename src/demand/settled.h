// Numbers that choices by data can make of a value, whatever the rest of the data are: exp(if(m, x, -inf)) is 0 if m is
// false.
#pragma once

#include <vector>

#include "demand/algebra.h"

namespace lightline::demand {

struct Settled {
  std::vector<double> numbers;  // ascending
  bool anything = false;        // more numbers than are kept
  bool none() const { return numbers.empty() && !anything; }
  bool has(double number) const;
  void add(double number);
  void add(const Settled& other);
};

class SettledNumbers {
 public:
  SettledNumbers() = default;
  // `rounds` are as many as there are loops in each other, and one more.
  SettledNumbers(const Terms& terms, const std::vector<std::vector<const Cases*>>& others, int rounds);
  Settled of(const Value& value) const;
  // A part of a sum beside which the other parts vanish: infinite or huge, as masks that are added are.
  bool drowns(const Term& sum, const Argument& part) const;

 private:
  Settled of(const Term& term) const;
  Settled of_sum(const Term& term) const;
  Settled of_product(const Term& term) const;
  Settled of_call(const Term& term) const;
  Settled of_reduction(const Term& term) const;
  bool is_of_truths(const Value& value, int most_depth) const;
  bool is_scaled_up(const Value& value, double factor) const;
  bool is_own_greatest(const Term& sum, const Argument& part) const;
  // The least and the greatest that a part of a sum can be chosen to be.
  std::pair<double, double> reach(const Term& sum, const Argument& part) const;

  const Terms* terms_ = nullptr;
  std::vector<Settled> by_term_;
};

}  // namespace lightline::demand
