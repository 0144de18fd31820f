// Random tiny programs that know every construct of the language, and every way to spell what should cost less than it
// looks: masks, zeros, repetition, split contractions, running sums, symmetry, choices, loops.
#pragma once

#include <fmt/format.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lightline::truth {

using Extents = std::vector<int>;

struct Named {
  std::string name;
  Extents shape;
  std::string dtype = "f32";
  int rows() const { return shape[0]; }
  int columns() const { return shape[1]; }
};

// A program as text in pieces, so that pieces can be left out or spelled otherwise.
struct Sketch {
  std::vector<Named> inputs;
  std::vector<std::string> lines;  // statements
  std::vector<std::string> outputs;
  std::set<std::string> constructs;           // what it is made of, for reports
  std::map<std::string, std::string> places;  // of constructs: the array that the first of each kind defines
  std::set<std::string> known;                // inputs whose values the analysis is given
  int integer_limit = 2;                      // integer inputs stay below
  bool dense = false;
  std::string whole;  // the text, where it is no longer in pieces
  std::string text() const;
};

class Generator {
 public:
  // With the same seed and a smaller `largest`, mostly the same program with smaller arrays.
  explicit Generator(uint64_t seed, int largest = 8) : random_(seed), largest_(largest) {}
  // `kind` is one of kinds(), or "" for any.
  Sketch run(std::string_view kind = "");
  static const std::vector<std::string>& kinds();

 private:
  struct Kind {
    const char* name;
    void (Generator::*make)();
  };
  static const std::vector<Kind>& table();

  // Parts that everything is made of.
  int pick(int below) { return int(random_() % uint64_t(below)); }
  bool coin() { return pick(2) == 0; }
  int sized(int wanted) const { return std::min(wanted, largest_); }
  int size() { return sized(2 + pick(5)); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(count_++); }
  Named input(Extents shape, const std::string& dtype = "f32");
  Named matrix() { return input({size(), size()}); }
  // `body` stands after "name: type = "; a word @ in it is the new name.
  Named define(Extents shape, const std::string& body, const std::string& dtype = "f32");
  void tag(const std::string& construct) {
    sketch_.constructs.insert(construct);
    pending_.push_back(construct);
  }
  void result(const Named& array);

  // generator_moves.cpp: elements elsewhere, the same again, or none.
  Named moved(const Named& x);
  Named repeated(const Named& x);
  Named zero_filled(const Named& x);
  Named blocks(const Named& x);
  Named elementwise(const Named& x);

  // generator_masks.cpp
  std::string condition(int rows, int columns);  // of i and j
  Named mask(int rows, int columns);             // f32, 0 or 1
  Named masked(const Named& x);
  void attention();

  // generator_products.cpp: contractions in every spelling.
  Named product(const Named& a, const Named& b);  // [r, k] by [k, c]
  Named operand(int rows, int columns);
  Named formula(int rows, int columns);
  Named split_product(const Named& a, const Named& b);
  Named unrolled_product(const Named& a, const Named& b);
  Named two_products(const Named& a, const Named& b);
  Named boolean_product(int rows, int inner, int columns);
  void chain();

  // generator_programs.cpp: what is cheaper than it looks.
  void running();
  void windows();
  void symmetry();
  void choice();
  void in_place();
  void opaque();
  void loops();
  void recurrence();
  void gathers();
  void scatters();
  void widths();
  void statistics();
  void dense();
  void mixed();
  void masks();
  void zeros();
  void split();
  void formulas();
  void repetition();
  void moves();

  std::mt19937_64 random_;
  int largest_;
  Sketch sketch_;
  int count_ = 0;
  std::vector<std::string> pending_;  // constructs that the next statement stands for
};

}  // namespace lightline::truth
