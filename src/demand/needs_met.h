// Parts of a sum that meet one factor: see needs_met.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "demand/needs.h"

namespace lightline::demand {

struct Needs::Met {
  explicit Met(Needs& all) : needs(all), atoms(all.atoms_) {}

  // Sums of products as they were priced: one, or several that have products in common.
  struct Part {
    std::set<TermId> made;
    std::set<PairKey> pairs;
    std::vector<PricedChain*> chains;
    std::vector<TermId> absorbed;  // sums of products that the chains took in
    double products = 0;
    bool open = true;  // its products are known, and are not added up yet
  };
  // An element of one in a sum: over the coordinates of the sum.
  struct Added {
    Value value;
    double factor = 1;
    std::vector<Value> scales;
  };
  // What is found in a sum, and how often it reads what it is found in.
  struct Found {
    std::map<TermId, uint32_t> reads;
    std::vector<Added> added{};
    size_t visited = 0;

    void add(Added one);
  };
  // A network of a part, with the coordinates that its results have in the sum.
  struct Summand {
    Part* part;
    Network network;
    std::vector<Form> results;
    size_t own = SIZE_MAX;  // so many factors; those behind only scale it
  };
  // What the elements of one factor meet in one part.
  struct Meeting {
    std::vector<Region> regions;
    double apart = 0;        // products, each summand by itself
    double before = 0;       // products that what they meet takes
    bool contracts = false;  // which are a sum
    size_t summands = 0;
  };
  // A factor that summands have in common, and what all of them have outside of their sums, if that is left out.
  struct Common {
    TermId factor;
    std::vector<Value> outside;
    std::map<Part*, Meeting> meetings;
  };

  void run();

 private:
  static constexpr size_t most_summands = 64, most_visited = 1024;

  const Term& term(TermId id) const { return needs.term(id); }
  double count(const std::vector<Region>& regions) const { return regions.empty() ? 0 : double(needs.count(regions)); }
  void collect_parts();
  const Argument* scaled_in(const Term& product) const;
  std::map<TermId, uint32_t> reads_inside(TermId id) const;
  void find_added(const Value& value, double factor, const std::vector<Value>& scales, Found& found);
  void add_sum(TermId id);
  void add_own_chains(TermId id);
  bool are_several(std::vector<const Added*>& added) const;
  std::optional<std::vector<Region>> regions_of(TermId id, const std::vector<const Added*>& added);
  void add_up(TermId id, const std::vector<const Added*>& added, const std::vector<Region>& regions);
  bool is_as_priced(const Part& part, const Network& network) const;
  bool take_in(const Part& part, Network& network);
  double products_before(const Summand& summand, size_t common, const std::vector<size_t>& left_out);
  static std::vector<size_t> outside_of(const Network& network);
  std::optional<Meeting> meeting(const Summand& summand, size_t common, const std::vector<size_t>& left_out);
  static std::vector<Region> with_single_taps(const Network& network, const Factor& factor);
  std::vector<Common> common_factors(const std::vector<Summand>& summands);
  double count_together(const std::vector<const Meeting*>& meetings);
  void add_up(TermId id, const std::vector<Summand>& summands);
  void keep_share(Part& part, double share);

  Needs& needs;
  Atoms& atoms;
  std::vector<Part> all_parts;
  std::map<TermId, Part*> parts;
  std::map<TermId, std::vector<TermId>> read_in;  // by part: the sums that it is plainly in
};

}  // namespace lightline::demand
