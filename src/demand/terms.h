// The normal form of a program for pricing: a graph of terms, each one formula over coordinates of its own, so that
// elements are equal if they are the same term at the same coordinates, however the program spells them.
// Views, reshapes, copies and casts are no terms: they are forms in the references.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "index/region.h"
#include "loops/ir/program.h"

namespace lightline::demand {

using index::AtLeast;
using index::AtMost;
using index::Atoms;
using index::Form;
using index::Range;
using index::Region;

using TermId = uint32_t;
inline constexpr TermId no_term = UINT32_MAX;

inline constexpr uint32_t no_variable = UINT32_MAX;

// The variable that a form plainly is, with any shift.
inline uint32_t plain_variable(const Form& form) {
  return form.terms.size() == 1 && form.terms[0].second == 1 && index::is_variable(form.terms[0].first)
             ? form.terms[0].first
             : no_variable;
}

// So many variables, each by itself.
std::vector<Form> own_variables(size_t count, size_t first = 0);

// What an expression is at the points of a region.
struct Value {
  enum class Kind : uint8_t {
    number,    // `number`
    position,  // `form` / `denominator`, a formula of indices
    element,   // of `term`, at `at`
  };
  Kind kind = Kind::number;
  DType width = DType::boolean;  // element: the narrowest type that holds it, once casts are seen
  TermId term = no_term;
  int64_t denominator = 1;
  double number = 0;
  Form form;
  std::vector<Form> at;

  static Value of(double number);
  static Value position(Form form, int64_t denominator = 1);
  static Value element(TermId term, std::vector<Form> at, DType width);
  bool is_number() const { return kind == Kind::number; }
  bool is_number(double value) const { return kind == Kind::number && number == value; }
  bool is_position() const { return kind == Kind::position; }
  bool is_element() const { return kind == Kind::element; }
  bool operator==(const Value& other) const;
};
uint64_t hash_of(const Value& value);

// Disjoint regions with what holds there. Of points in none of them nothing is known: whatever is made of them counts
// nothing.
struct Case {
  Region where;
  Value value;
};
using Cases = std::vector<Case>;

enum class TermKind : uint8_t {
  input,    // an array that comes from outside, or whose values the file carries
  stored,   // a term of another group, `array`, that lies in memory
  unknown,  // elements of which nothing is known; they cost nothing
  call,     // function(args)
  sum,      // number + sum of factor * arg
  product,  // number * args
  reduce,   // over `reduced`, of what `body` says; where it says nothing, nothing is combined
  opaque,   // an operator that is no loop nest
  array,    // what `body` says at each coordinate
  scatter,  // `body` combined into places that only data tell, over `init`
  carried,  // an array that a loop takes from step to step; the first coordinate is the step
};

struct Argument {
  Value value;
  double factor = 1;  // sum only
  bool operator==(const Argument&) const = default;
};

struct Term {
  TermKind kind = TermKind::unknown;
  loops::Function function = loops::Function::add;  // call
  loops::Reducer reducer = loops::Reducer::none;    // reduce, scatter
  DType type = DType::f32;                          // the type it is computed in
  DType width = DType::f32;                         // the narrowest type that holds its values
  bool reads_data = false;                          // depends on what is not known before the program runs
  bool infinite = false;                            // may be an infinity that the program spells
  bool all_different = false;                       // array: no two of its elements are made in the same way
  bool may_repeat = false;                          // its elements, or what they are made of, are read by data, of an
                                                    // array with equal ones: what is made of them counts nothing
  double zeros = 0;                                 // input: so many of its elements are known to be zero, in no shape,
  bool zero_lines = false;                          // and all along some coordinate
  loops::ArrayId array = loops::none;               // input; opaque, scatter: whose statement it is
  uint32_t rank = 0;                                // coordinates
  double number = 0;                                // sum, product
  std::vector<Argument> args;                       // over the coordinates
  // Variables of `body`: the reduced ones, then the coordinates.
  std::vector<Range> reduced;
  Cases body;
  std::vector<uint64_t> spelled;     // sum, product: terms it was made of, that it does not refer to
  uint32_t salt = loops::none;       // the group that alone may share it
  uint32_t statement = loops::none;  // that made it first
};

// Names the forms that a term refers to, so that equal terms get equal names wherever they are made: each form that
// does not follow from those before is one more coordinate.
class Coordinates {
 public:
  // Coordinates are the variables from `first` on.
  Coordinates(Atoms& atoms, uint32_t first) : atoms_(atoms), first_(first) {}
  // Looks at all forms first: numbers that data tell are coordinates by themselves, unless the places where they are
  // read are needed anyway.
  void prepare(std::span<const Form* const> forms);
  Form name(const Form& form);
  // Of a form whose variables below `kept` stay as they are; the others are those of `name`, moved down by `kept`.
  Form name_beside(const Form& form, uint32_t kept);
  // What a form has beside its variables below `kept`.
  Form free_part(const Form& form, uint32_t kept) const;
  const std::vector<Form>& forms() const { return forms_; }
  uint32_t rank() const { return uint32_t(forms_.size()); }

 private:
  std::optional<Form> known(const Form& form) const;
  void order_by_use(std::span<const Form* const> forms);
  Form at_places(const Form& form);
  // Before all others: what quotients, remainders and numbers by data ask for.
  void prepare_compounds(std::span<const Form* const> forms);
  // Forms that have digits in common are named by their digits.
  void prepare_digits(std::span<const Form* const> forms);
  bool is_digit(index::AtomId atom) const;  // of plain variables
  void digits_of(const Form& form, std::vector<Form>& digits) const;
  // Digits of a number, from a place on up to another; all that follow if that is 0.
  struct Digits {
    Form of;
    int64_t shift = 0;
    int64_t first = 1, end = 0;
    bool operator==(const Digits&) const = default;
  };
  std::optional<Digits> digits_at(index::AtomId id) const;
  static bool contains(const Digits& all, const Digits& some);
  std::optional<Form> image_of_atom(index::AtomId id) const;
  std::optional<Form> of_coordinates(const Form& form) const;
  Form widest(const Form& digit, std::span<const Form* const> forms) const;
  void prepare_atoms(std::span<const Form* const> forms);
  // Of 4 h and h div 7 the variable is a coordinate, of 4 h and 6 h twice the variable.
  void prepare_variables(std::span<const Form* const> forms);
  std::optional<Form> image_of(index::AtomId variable) const;
  Form variable(size_t i) const { return Form::variable(index::AtomId(first_ + i)); }

  Atoms& atoms_;
  uint32_t first_;
  std::vector<Form> forms_;
  bool by_place_ = false;
  bool by_digits_ = false;
};

class Terms {
 public:
  const Term& operator[](TermId id) const { return terms_[id]; }
  Term& at(TermId id) { return terms_[id]; }
  size_t size() const { return terms_.size(); }
  Atoms& atoms() { return atoms_; }
  const Atoms& atoms() const { return atoms_; }

  // The term that is equal, or this one.
  TermId intern(Term term);
  TermId add(Term term);  // one that is equal to no other
  // Whether it may be an infinity: arithmetic on data gives none, they come from the program's own numbers.
  bool may_be_infinite(const Value& value) const;
  void set_statement(uint32_t statement) { statement_ = statement; }
  uint32_t statement() const { return statement_; }
  void set_salt(uint32_t salt) { salt_ = salt; }

 private:
  Atoms atoms_;
  std::vector<Term> terms_;
  std::unordered_multimap<uint64_t, TermId> by_hash_;
  uint32_t statement_ = loops::none;
  uint32_t salt_ = loops::none;
};

DType narrower(DType a, DType b);  // by bits; bool is the narrowest
DType wider(DType a, DType b);

}  // namespace lightline::demand
