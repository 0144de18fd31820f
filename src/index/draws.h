// Numbers that only data tell, as coordinates: how many different ones there are, in general position and at the least.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "index/digits.h"

namespace lightline::index {

// Of a part that is affine but for numbers by data, a form hangs on data if it is not affine.
bool is_data(const Form& form);
const Atom* number_by_data(const Form& form, const Atoms& atoms);  // null if it is not plainly one

// Different values among `draws` random ones below `extent`, of which each `apart` in a row are different.
double expected_values(double draws, double extent, double apart = 1);

class Draws {
 public:
  Draws(const AffinePart& part, Atoms& atoms) : part_(part), atoms_(atoms) {}
  // What a coordinate that hangs on data is, beside those that were asked for before.
  Sample sample(size_t coordinate);

 private:
  // Coordinates whose numbers are drawn together.
  struct Group {
    std::set<AtomId> variables;  // that tell the draws apart
    std::vector<Form> at;
    double extent = 1;    // of so many that there could be
    double expected = 1;  // different ones that are counted already
  };
  struct Digits {
    Atom numbers;          // all that data tell, read together
    double extent = 1;     // of so many that there could be
    double variables = 1;  // values of the others
  };
  std::optional<Digits> digits_of(size_t coordinate) const;
  bool is_alone(AtomId variable, size_t coordinate) const;
  std::set<AtomId> hidden(const Atom& atom) const;
  uint64_t source(const Form& form, const Atom& atom) const;
  std::set<AtomId> told_elsewhere() const;
  double draws(std::span<const Form> at) const;
  double places(const Atom& atom) const;
  double values_apart(const Atom& atom) const;
  std::optional<double> known_values(const Atom& atom) const;
  void draw_together(const Atom& atom, double extent, Sample& sample);

  const AffinePart& part_;
  Atoms& atoms_;
  std::vector<size_t> asked_;
  std::vector<Group> groups_;
};

}  // namespace lightline::index
