// Products of two elements, which several sums may have in common.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "demand/network.h"
#include "demand/terms.h"
#include "demand/work.h"

namespace lightline::demand {

// Products of two elements: where in the coordinates of both.
struct Pair {
  std::vector<Region> regions;
  uint32_t split = 0;        // coordinates of the first
  bool alike = false;        // both are elements of one term: a pair and its mirror are the same product
  bool squares_only = true;  // of elements with themselves
  Operands type = DType::f32;
  double real_products = 1;
  double transformed = 1;
  double not_zero = 1;  // the share that known zeros leave
  double points = 0;    // of all sums that have such products
  TermId owner = no_term;
  bool owner_mirrors = false;
  double owner_share = 1;
  bool one_owner = true;
  double products = 0;  // once all are known
};

// Terms whose products are counted together, and why.
struct Link {
  enum class Kind : uint8_t { equal, chain, picked, inexact };  // inexact: fewer products are counted than there are
  TermId counted, other;
  Kind kind;
};

using PairKey = std::vector<uint64_t>;  // both terms, then what tells kinds of products apart

struct PartOfSum {
  std::vector<Region> regions;                             // its products, in the coordinates of both factors
  uint32_t split = 0;                                      // see Pair
  double chain = std::numeric_limits<double>::infinity();  // products, if what it is made of meets the factor instead
};

// The sums that one factor is multiplied by, with the products of their parts
struct SharedParts {
  std::vector<PairKey> sums;
  std::map<PairKey, PartOfSum> parts;  // by the key of their products
};

// Products of one sum that have a term in common
struct Fold {
  size_t networks = 0;
  std::set<std::vector<uint64_t>> pairs;
  std::vector<std::pair<Region, std::vector<Form>>> parts;  // its elements, with the coordinates of the result
};

// A product of more factors, as it was priced.
struct PricedChain {
  Network network;
  TermId owner = no_term;
  Operands type = DType::f32;
  double real_products = 1, products = 0;
  double transformed = 0;  // products, with transforms
  bool added_up = false;   // its products are those of a sum that it is a part of
};

// Products of several factors on the way to sums
struct MadeBefore {
  std::vector<Region> regions;          // of the coordinates of all of them
  std::set<std::vector<int64_t>> rows;  // where no more is known than the rows
  double spent = 0;                     // products of the sums that may have made them
};

// What is read of a power that is taken as a product of powers
struct Power {
  std::map<std::vector<uint64_t>, std::vector<Region>> parts;  // by the terms in their exponents
  std::vector<Region> whole;
  TermId owner = no_term;
};

// Unfused: what other groups or the caller take of a term
struct Stored {
  std::vector<Region> regions;
  DType width = DType::boolean;
};

// The share of the rows that a part of a sum has, if the parts share them out.
struct Turn {
  uint32_t coordinate = 0;  // of the rows
  size_t number = 0, parts = 1;
  size_t choices = 1;  // so many of the parts has each row
};

// A part of a sum that asks for a number in a row.
struct AskedPart {
  TermId sum = no_term;
  size_t place = 0;
  uint32_t row = 0;
  size_t choices = 1;
};

}  // namespace lightline::demand
