// In which order the factors of a sum of products are taken, two at a time, and what that costs.
#pragma once

#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

struct Needs::Orders {
  // Two parts become one: as many products as these variables have points, if variables tell.
  struct Step {
    double products = 0;
    uint64_t variables = 0;
    bool told = true;
    size_t from = 0;  // if not: the factors whose elements tell it, if they do
  };
  using Steps = std::vector<Step>;
  Needs& needs;
  const Network& network;
  const std::vector<size_t>& inner;
  const bool keep;         // what is made on the way, for sums that come later
  const bool transformed;  // windows by transforms
  const EqualFactors& equal;
  const size_t n = inner.size();
  const size_t subsets = size_t(1) << n;
  static constexpr size_t few_told_apart = 4;
  size_t known = 0;  // factors that are formulas: any product of them is known before
  std::vector<uint64_t> equations = {};
  // Of each subset of the factors: its variables, those that are left once what only it has is summed, and those
  // before that for a single factor.
  std::vector<uint64_t> all = std::vector<uint64_t>(subsets, 0);
  std::vector<uint64_t> left = all, whole = all;
  std::vector<double> cost = std::vector<double>(subsets, INFINITY);
  std::vector<size_t> split = std::vector<size_t>(subsets, 0);
  double orders_taken = 1;  // of equal factors, of which one is enough
  std::map<uint64_t, double> counted = {};
  struct Symmetric {
    bool looked = false;
    double repeated = 1;  // how often, where there are too many exchanges to tell
    std::vector<Exchanges> exchanges = {};
    std::vector<Exchanges> of_results = {};  // different ones, as far as what is left goes
  };
  std::vector<Symmetric> symmetric = std::vector<Symmetric>(subsets);
  // Of each factor which term, and which of its rows where numbers tell them: others have no element in common.
  std::vector<std::vector<int64_t>> row_keys = {};
  std::vector<size_t> by_rows = {};  // the factors in the order of those

  const Factor& factor(size_t i) const { return network.factors[inner[i]]; }

  uint64_t variables_of(const Form& form) const;
  void find_variables();
  double points(uint64_t variables);
  std::vector<Form> forms_of(size_t side) const;
  bool is_from_start(size_t side) const;
  bool is_scaling(size_t a, size_t b) const;
  Step join(size_t a, size_t b);
  Step rows_before(size_t a, size_t b, Step step) const;

  // ---- products that are others with variables exchanged ----
  bool has_equal_factors(size_t s) const;
  const Symmetric& symmetries_of(size_t s);
  uint64_t moved(uint64_t variables, const Exchanges& images) const;
  Step without_repetition(size_t a, size_t b, Step step);

  void prepare();
  double cheapest();

  // ---- what several sums make on the way ----
  void sort_by_rows();
  std::vector<int64_t> terms(size_t s) const;
  std::vector<int64_t> all_rows(size_t s) const;
  bool is_made_twice(size_t a, size_t b) const;
  std::vector<Region> elements(size_t s) const { return index::image(network.region, forms_of(s), needs.atoms_); }
  double spent_before(size_t s) const;
  void keep_what_is_made() const;

  // ---- orders that are mixed, in needs_mixed_orders.cpp ----
  // A region cut once: constant + u - v >= 0.
  struct Triangle {
    index::AtomId u = 0, v = 0;
    int64_t constant = 0;
    Range us, vs;
    int64_t beside_u(int64_t at) const { return std::clamp<int64_t>(at + constant - vs.lo + 1, 0, vs.count()); }
    int64_t beside_v(int64_t at) const { return std::clamp<int64_t>(us.hi - (at - constant) + 1, 0, us.count()); }
  };
  // Another order, and what the two have that the other has not.
  struct Exchange {
    Steps gives, takes;
  };
  // How the points of a triangle bear what they share: shares of what one row, one column, or everything has.
  struct Bearing {
    double points = 0, row = 0, column = 0, all = 0;
  };
  void steps_of(size_t s, Steps& steps);
  std::vector<Steps> all_orders(size_t s);
  std::optional<Triangle> triangle() const;
  double share(const Steps& steps, const Triangle& in, double beside_u, double beside_v) const;
  static Exchange exchange(const Steps& base, const Steps& other);
  double saved(const Triangle& in, const std::vector<Exchange>& exchanges, Range us, Range vs, double fewest,
               int& blocks);
  double saved_by_mixing();
  double borne_by_diagonal(const Triangle& in);
  double borne(const Steps& steps, const Triangle& in, const Bearing& by) const;

  // ---- sums in several pieces, in needs_mixed_orders.cpp ----
  // A coordinate of a factor or a result: the variables that tell it, and where it lies.
  struct Coordinate {
    uint64_t variables = 0;
    Range range;
    size_t factor = 0;  // as a set of one; none for results
  };
  std::vector<Coordinate> coordinates() const;
  double least_beside(const std::vector<std::vector<Coordinate>>& all_pieces, size_t self);
};

}  // namespace lightline::demand
