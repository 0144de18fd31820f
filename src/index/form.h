// Integer formulas of loop indices: a constant plus multiples of atoms, where an atom is a variable, a quotient or a
// remainder of another form, or a number that only data tell. Equal forms are the same bytes, whatever way they were
// made.
//
// Room index: the algebra of indices that pricing rests on: forms with quotients and remainders, regions of points,
// images of regions under forms, and counting. Whatever can not be kept exactly becomes fewer points, never more.
// May use: base.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/short_vector.h"

namespace lightline::index {

// lo, lo + step, ..., at most hi. Empty if hi < lo.
struct Range {
  int64_t lo = 0;
  int64_t hi = -1;
  int64_t step = 1;
  int64_t count() const { return hi < lo ? 0 : (hi - lo) / step + 1; }
  bool operator==(const Range&) const = default;
  auto operator<=>(const Range&) const = default;
};

// Keeps the points of a range between two bounds.
Range clipped(Range range, int64_t low, int64_t high);

// Numbers beyond this are given up, so that no sum or product of those that are kept overflows.
inline constexpr int64_t greatest_kept = int64_t(1) << 48;
inline constexpr Range anything{-greatest_kept, greatest_kept, 1};
inline bool is_kept(int64_t value) { return value >= -greatest_kept && value <= greatest_kept; }

// A variable is an atom by its number; numbers from `first_compound` on are kept by Atoms.
using AtomId = uint32_t;
inline constexpr AtomId first_compound = AtomId(1) << 24;
inline bool is_variable(AtomId atom) { return atom < first_compound; }

struct Form {
  int64_t constant = 0;
  ShortVector<std::pair<AtomId, int64_t>, 2> terms;  // by ascending atom, no zero coefficients

  static Form of(int64_t constant) { return {constant, {}}; }
  static Form variable(AtomId atom) { return {0, {{atom, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  bool is_variable() const {  // plainly one, without a shift
    return constant == 0 && terms.size() == 1 && terms[0].second == 1 && index::is_variable(terms[0].first);
  }
  int64_t coefficient(AtomId atom) const;
  bool operator==(const Form&) const = default;
  auto operator<=>(const Form&) const = default;
};
uint64_t hash_of(const Form& form);

// Ways in which a set of points becomes smaller than it is.
enum class Loss : uint8_t {
  values,      // of variables, more than are tried one by one
  projection,  // a variable that goes by steps is taken at one value
  sums,        // of steps that do not divide each other: the longest row of them is taken
  data,        // what only numbers by data tell
  overlap,     // sets that have points in common and can not be split
  lines,       // more than are counted: a box inside
  numbers,     // beyond `greatest_kept`
};
inline constexpr size_t kinds_of_loss = 7;
using Losses = std::array<uint64_t, kinds_of_loss>;  // how often

struct Atom {
  enum class Kind : uint8_t { quotient, remainder, data };
  Kind kind = Kind::quotient;
  Form of;               // quotient, remainder: of this form
  int64_t by = 1;        //   by this positive number, rounding down
  uint32_t source = 0;   // data: whose values they are,
  std::vector<Form> at;  //   read at these places,
  int64_t extent = 0;    //   each at least 0 and below this
};

class Answers;

class Atoms {
 public:
  Atoms();
  Atoms(Atoms&&) noexcept;
  Atoms& operator=(Atoms&&) noexcept;
  ~Atoms();

  const Atom& operator[](AtomId id) const { return atoms_[id - first_compound]; }

  Form sum(const Form& a, const Form& b, int64_t factor = 1);  // a + factor * b
  void add(Form& to, const Form& form, int64_t factor = 1);    // the same in its place; they are different
  Form scaled(const Form& form, int64_t factor);
  Form quotient(const Form& form, int64_t by, std::span<const Range> ranges);
  Form remainder(const Form& form, int64_t by, std::span<const Range> ranges);
  Form data(uint32_t source, std::vector<Form> at, int64_t extent);
  // A number of which nothing is known; each is different from all others.
  Form unknown();
  // The values of a source of data that is known before the program runs, in row-major order.
  struct Table {
    std::vector<int64_t> extents;
    std::vector<int64_t> values;
  };
  void know(uint32_t source, Table table);
  // The values of a source of data are all different along one of its places, whatever the others are, and lie between
  // 0 and the extent: an order, or the first of one.
  struct Order {
    uint32_t along = 0;
    int64_t extent = 0;
  };
  void know(uint32_t source, Order order);
  const Order* order(uint32_t source) const {
    const auto found = orders_.find(source);
    return found == orders_.end() ? nullptr : &found->second;
  }
  // Numbers of which nothing is known, not even that others depend on them: those of an input.
  void know_free(uint32_t source) { free_.insert(source); }
  bool is_free(uint32_t source) const { return free_.contains(source); }
  // Numbers below 0 of a source count from the back of the extent.
  void know_from_back(uint32_t source, int64_t extent) { from_back_.emplace(source, extent); }
  bool is_from_back(const Atom& data) const { return from_back_.contains({data.source, data.extent}); }
  // The place that one of the numbers of data tells.
  int64_t place(const Atom& data, int64_t number) const {
    return number < 0 && is_from_back(data) ? number + data.extent : number;
  }
  const Table* table(uint32_t source) const {
    const auto found = tables_.find(source);
    return found == tables_.end() ? nullptr : &found->second;
  }

  // The form with every variable replaced by its image.
  Form compose(const Form& form, std::span<const Form> images, std::span<const Range> ranges);

  // All values lie between these. Variables without a range may be anything.
  Range range(const Form& form, std::span<const Range> ranges) const;

  // Calls `visit(AtomId variable)` for every variable in the form, those inside of atoms too, perhaps several times.
  template <class Visit>
  void for_each_variable(const Form& form, const Visit& visit) const {
    for (const auto& [atom, coefficient] : form.terms) for_each_variable_of(atom, visit);
  }
  template <class Visit>
  void for_each_variable_of(AtomId atom, const Visit& visit) const {
    if (is_variable(atom)) return visit(atom);
    const Atom& compound = (*this)[atom];
    for_each_variable(compound.of, visit);
    for (const Form& form : compound.at) for_each_variable(form, visit);
  }
  bool has_compound(const Form& form) const { return !form.terms.empty() && !is_variable(form.terms.back().first); }
  bool has_data(const Form& form) const;
  // A quotient or remainder of a multiple that the divisor is no multiple of, nor it of the divisor: no digits tell it.
  bool has_odd_quotient(const Form& form) const;
  bool is_odd_quotient(AtomId atom) const;

  // Whoever makes a set smaller says so here.
  void lose(Loss loss) const { ++losses_[size_t(loss)]; }
  void lose(const Losses& more) const {
    for (size_t i = 0; i < kinds_of_loss; ++i) losses_[i] += more[i];
  }
  const Losses& losses() const { return losses_; }
  // Lines that counting may still walk: a program with more of them is counted by boxes inside.
  double lines_left() const { return lines_left_; }
  void walk(double lines) const { lines_left_ -= lines; }
  void forget_losses_since(const Losses& before) const { losses_ = before; }  // nothing depends on them

  Answers& answers() { return *answers_; }  // to what was asked of regions and forms over these

 private:
  AtomId intern(Atom atom);
  Range range_of(AtomId atom, std::span<const Range> ranges) const;
  void rejoin(Form& form);
  // form = by * whole + rest, where the numbers of the rest are below `by`.
  struct Split {
    Form whole, rest;
  };
  Split split(const Form& form, int64_t by) const;
  Split split_to_nearest(const Form& form, int64_t by) const;
  std::optional<Split> split_exactly(const Form& form, int64_t by, std::span<const Range> ranges) const;
  // form = by * whole + rest for a divisor `by` of `of`, where the rest is never negative and below `by`: it carries
  // nothing over.
  struct Carriers {
    Form whole, rest;
    int64_t by = 1;
  };
  std::optional<Carriers> without_carry(const Form& form, int64_t of, std::span<const Range> ranges) const;

  std::deque<Atom> atoms_;  // they stay where they are
  std::unordered_multimap<uint64_t, AtomId> by_hash_;
  std::unordered_map<uint32_t, Table> tables_;
  std::unordered_map<uint32_t, Order> orders_;
  std::unordered_set<uint32_t> free_;
  std::set<std::pair<uint32_t, int64_t>> from_back_;
  uint32_t unknowns_ = 0;
  mutable Losses losses_{};
  mutable double lines_left_ = double(1 << 26);
  std::unique_ptr<Answers> answers_;
};

}  // namespace lightline::index
