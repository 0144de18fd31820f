// Functions of values: numbers and formulas of indices are computed, the rest becomes terms.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "demand/terms.h"

namespace lightline::demand {

// Numbers so low that their exponential vanishes, as masks add them.
inline constexpr double as_good_as_minus_infinity = -1e4;

// Why something is given up
inline constexpr const char* no_shape = "known numbers in no shape that is known";

// Positions are multiples of one over a power of two, at most this.
inline constexpr int64_t greatest_denominator = int64_t(1) << 20;

// Of two arguments in either order.
bool commutes(loops::Function function);

class Algebra {
 public:
  explicit Algebra(Terms& terms) : terms_(terms), atoms_(terms.atoms()) {}

  // The function at every point where all arguments are known. `type` is that of the arguments.
  Cases apply(loops::Function function, std::span<const Cases> args, DType type, DType result);
  bool may_hide(const Case& one, bool added);
  bool are_told_apart(const Cases& data, const Value& formula) const;
  bool may_be_zero(const Value& formula, std::span<const Range> ranges);
  std::optional<Cases> as_formula(const Cases& numbers, DType type, bool added, bool may_repeat = false);
  Cases cast(const Cases& value, DType from, DType to);
  // Elements hold no more than an array of this type does.
  static void narrow(Cases& value, DType to);

  // Calls `visit(Region, std::vector<const Value*>)` for every region where one case of each holds.
  void for_each_choice(std::span<const Cases* const> lists,
                       const std::function<void(const Region&, std::span<const Value* const>)>& visit);

  // Neighbours with equal values become one.
  void merge(Cases& cases);

  // At one point of a region. Comparisons of positions split it.
  void call(loops::Function function, std::span<const Value* const> args, DType type, DType result, const Region& where,
            Cases& into);
  Value sum(std::vector<Argument> args, double number, DType type);
  Value product(std::vector<Value> factors, double number, DType type);
  bool reads_data(const Value& value) const;
  bool tests_place(const Value& truth) const;
  // What memory holds before anything is written: whatever is made of it has no value and costs nothing.
  Value nothing();
  bool is_nothing(const Value& value) const {
    return value.is_element() && terms_[value.term].kind == TermKind::unknown;
  }
  // A value of a term, for the coordinates `at` of the term.
  Value moved(const Value& value, std::span<const Form> at);
  bool may_meet();
  Value part_of(const Value& whole, const Value& part);
  bool has_infinity(const Value& value, int depth = 6) const;
  std::optional<Value> beyond(const Value& whole, const Value& part, DType type);
  bool has_part_of(const Value& sum, const std::vector<Argument>& args);
  // The number that an element of a formula has, every index being a number. Nothing beyond the budget.
  std::optional<double> evaluate(const Value& value, std::span<const int64_t> at);
  std::optional<int64_t> evaluate(const Form& form, std::span<const int64_t> at) const;

  // The ranges of the variables that forms are made of; simplifies them.
  std::vector<Range> box;
  // Of points that may be evaluated in all.
  int64_t budget = 1 << 21;
  int64_t choices = 1 << 19;          // of cases that are met with each other, in the whole program
  std::vector<std::string> given_up;  // what was beyond it

  bool is_whole(const Value& value, int depth = 0) const;  // always a whole number
  // The narrowest type that holds what a term is, if those are whole numbers.
  std::optional<DType> whole_width(const Term& term) const { return whole_numbers(bounds_of(term)); }

 private:
  using F = loops::Function;
  bool call_on_numbers(F function, std::span<const Value* const> args, DType type, const Region& where, Cases& into);
  bool call_on_positions(F function, std::span<const Value* const> args, const Region& where, Cases& into);
  bool call_logic(F function, std::span<const Value* const> args, const Region& where, Cases& into);
  bool call_on_nothing(F function, std::span<const Value* const> args, const Region& where, Cases& into);
  bool call_on_shapeless(F function, std::span<const Value* const> args, DType result, const Region& where,
                         Cases& into);
  bool call_on_formula(F function, std::span<const Value* const> args, DType type, DType result, const Region& where,
                       Cases& into);
  bool call_choice(std::span<const Value* const> args, DType result, const Region& where, Cases& into);
  std::optional<Value> call_on_factors(F function, const Value& arg, DType type, DType result);
  bool is_hidden(const Value& value) const;  // so low that its exponential vanishes
  bool call_exponential(F function, const Value& arg, const Region& where, Cases& into);
  // Truths, and numbers that are: see algebra_truths.cpp.
  std::optional<Value> truth_of(F function, std::span<const Value* const> args, DType type);
  Value comparison(F function, Value a, Value b, DType type);
  std::optional<bool> decided(F function, const Value& a, const Value& b) const;
  Value opposite(const Value& truth);
  bool is_other_number(const Value& truth) const;  // e != n of whole numbers
  std::optional<Value> both(const Value& a, const Value& b);
  std::optional<Value> hat(const Value& value);
  struct Choice {  // the product of all truths with `of`
    std::vector<Value> truths;
    Value of;
  };
  std::optional<Choice> choice_of(const Value& value, DType type);
  std::optional<Value> function_of_choice(F function, const Value& value, DType type, DType result);
  std::optional<Value> compared_choice(F function, const Value& value, double number, DType type);
  std::optional<Value> none_of_choices(F function, const Value& value, double number, DType type);
  Value logic(F function, const Value& a, const Value& b);  // `logical_and`, `logical_or`
  bool is_never_negative(const Value& value, int depth = 0) const;
  struct Placed {  // factor * element - place
    Value element;
    Form place;
    int64_t factor = 0;
  };
  std::optional<Placed> placed(const Value& value);
  void compare(F function, const Value& a, const Value& b, const Region& where, Cases& into);
  // Splits a region by whether a form is at least 0.
  void split(const Form& form, const Region& where, const std::function<void(const Region&, bool)>& visit);
  struct Bounds {
    double least = -INFINITY, greatest = INFINITY;
    bool whole = false;  // always a whole number
  };
  Bounds bounds_of(const Value& value) const;
  Bounds bounds_of(const Term& term) const;
  Bounds bounds_of(F function, std::span<const Argument> args) const;
  Bounds bounds_of_sum(std::span<const Argument> args, double number) const;
  static std::optional<DType> whole_numbers(const Bounds& bounds);  // the narrowest type that holds them, if whole
  Value element_of(F function, std::span<const Value* const> args, DType type, DType result);
  // A truth that is a formula of indices but no comparison of forms: tried point by point.
  bool enumerate(const Value& formula, const Region& where, Cases& into);
  void merge_opposites(Cases& cases) const;
  void join_totals(std::vector<Argument>& args);
  static std::optional<Term> joined_total(const Term& a, const Term& b);
  Value named(const Value& value, Coordinates& coordinates);
  Value flattened(Term term, std::span<const uint64_t> spelled, const Coordinates& coordinates);
  std::optional<double> evaluate(TermId term, const std::vector<int64_t>& at);
  std::optional<double> evaluate_reduction(const Term& term, const std::vector<int64_t>& at);

  Terms& terms_;
  Atoms& atoms_;
  mutable std::unordered_map<TermId, Bounds> known_bounds_;
};

// The position as a value, if it is one: a number too, if it is an integer over a small power of two.
std::optional<Value> as_position(const Value& value);

}  // namespace lightline::demand
