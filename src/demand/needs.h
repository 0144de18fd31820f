// What outputs need of every term, from the outputs backwards, and the work and the bytes of it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "demand/equal_factors.h"
#include "demand/inner_sums.h"
#include "demand/known_orders.h"
#include "demand/network.h"
#include "demand/normal_form.h"
#include "demand/pairs.h"
#include "demand/region_lists.h"
#include "demand/settled.h"
#include "demand/tier.h"
#include "demand/totals.h"
#include "demand/work.h"

namespace lightline::demand {

class Needs {
 public:
  // `taken` says of truths that hold for a whole array how branches by them go; of others both sides are needed.
  enum class Way : uint8_t { second, first, neither };
  Needs(NormalForm& form, Tier tier, std::map<TermId, Way> taken = {});
  void run();

  // ---- results ----
  double input_bytes = 0;
  double output_bytes = 0;
  std::map<TermId, Work> work;
  std::map<uint32_t, GroupTraffic> traffic;   // by group (salt); unfused only
  std::map<loops::ArrayId, double> expected;  // inputs read by data: elements in general position
  std::map<loops::ArrayId, double> least;     // and the least that any data could touch
  std::set<TermId> branches;                  // truths for a whole array that choose between terms
  std::set<uint32_t> opaque;                  // calls of opaque operators that are needed
  std::vector<Link> links;
  Drops drops;                                                     // where sets of points became smaller
  bool may_need_more(TermId id) const { return incomplete_[id]; }  // of a term than is seen here
  std::map<loops::ArrayId, double> input_elements;
  // What terms read of each other, if somebody asks before the run.
  bool recording = false;
  std::map<std::pair<TermId, TermId>, std::vector<Region>> reads;  // by who reads, and what
  std::set<TermId> joined;                                         // sums of products that became a part of others
  const std::vector<std::vector<Region>>& of_terms() const { return needed_; }

 private:
  const Term& term(TermId id) const { return form_.terms[id]; }

  // ---- demand ----
  void need_outputs();
  void need(const Value& value, const Region& region);
  void need_indices(const Form& form, const Region& region);
  uint32_t group_of(TermId id) const;
  void count_outputs();
  bool is_same_array(loops::ArrayId a, loops::ArrayId b) const;
  bool has_unwritten_memory() const;
  bool need_nothing_new(const Case& one, loops::ArrayId input);
  bool is_update_of(const Value& value, loops::ArrayId input) const;
  TermId source_of(TermId id) const;
  bool is_place_of(const Value& value, loops::ArrayId input) const;
  double need_scattered(TermId scatter, const Region& where);
  struct Row;
  std::optional<Row> row_of(const Value& truth, const Region& where);
  struct Change;
  std::optional<std::vector<Change>> changes_of(const Case& one, loops::ArrayId input, bool& stays);
  bool are_opposite(const Value& a, const Value& b);
  std::optional<double> need_changes(const Case& one, loops::ArrayId input);
  bool is_scatter_over_zeros(TermId id) const;
  std::optional<double> need_row(const Case& one, loops::ArrayId input);
  void visit(TermId id);
  // Takes note of what is lost from here on, for whoever is visited.
  void turn_to(TermId id);
  std::optional<std::vector<Form>> places_in(const Term& special, const Term& general);
  void find_twins();
  bool leave_to_twin(TermId id);
  void note_losses();
  void leave_out_repetitions();
  void drop(std::string_view why);
  void keep(std::vector<Region>& list, Region region) {
    if (insert(list, std::move(region)) == Inserted::too_many) drop("more parts of what is needed than are kept");
  }
  void visit_reduction(TermId id);
  void visit_beside(TermId id, const std::vector<Region>& stood_for);
  void visit_opaque(TermId id);
  int64_t last_column_of_lu(const Region& wanted, bool pivots, int64_t rows, int64_t columns);
  void visit_scatter(TermId id);
  bool share_of_points(const Region& region, size_t body, const Term& scatter, Region& where, double& wanted);
  struct AddedSum;
  std::optional<AddedSum> added_sum(size_t body, const Term& scatter, const Region& where);
  bool are_told_apart(const AddedSum& added);
  double rows_added_first(const AddedSum& added, const Region& where, double updates, double wanted);
  bool need_places_first(const AddedSum& added, const Region& fewer, double places);
  bool need_added_first(size_t body, const Term& scatter, const Region& where, double wanted);
  bool are_apart(const Value& index, index::AtomId variable) const;
  void keep_last_writes(size_t body, const Term& scatter, Region& where, double wanted);
  static void complete(Region& region);
  void join_if_whole(std::vector<Region>& list);
  void visit_cases(TermId id);
  Region in_case(const Region& one, const Region& region) const;
  // One of several ways to make an element, and what it takes.
  struct Picked {
    Region where;
    std::vector<Value> values;
  };
  bool need_picked(TermId id, const std::vector<Picked>& cases, const Region& region);
  void need_any_of(TermId id, const std::vector<Picked>& cases, const Region& region);
  bool are_alike(const std::vector<Picked>& cases) const;
  void need_arguments(TermId id, const Region& region);
  bool need_chosen(TermId id, const Region& region);
  void need_one_of(TermId id, const Value& asked, const std::vector<Picked>& ways, double numbers, Region where);
  bool need_one_hot(TermId id, const Cases& body, const Region& region);
  std::optional<Value> compared_with(const Value& truth, index::AtomId variable);
  void visit_loop(size_t loop);
  void take_first_steps(const Loop& loop);
  std::vector<std::vector<Region>> trial(const Loop& loop, std::vector<std::vector<Region>> seeds);
  std::vector<std::vector<Region>> seeds_of(const Loop& loop, const std::vector<std::vector<Region>>& carried);

  // ---- choices by data, for the floor ----
  void find_settled_numbers();
  bool is_one_sided(const Value& truth) const;
  void need_truth(const Value& truth, bool answer, const Region& region);
  void need_whichever(TermId below, const std::vector<std::function<void()>>& sides);
  std::vector<Region> common_regions(const std::vector<Region>& a, const std::vector<Region>& b) const;
  void need_choice(TermId id, const std::vector<Region>& regions);
  Multiplied multiplied(const Value& value) const;
  bool need_unless_zero(TermId below, const std::vector<Multiplied>& factors, const std::vector<Region>& regions);
  bool need_unless_decided(TermId id, const std::vector<Region>& regions);
  bool is_decided_by_one(const Value& value, loops::Reducer reducer) const;

  static double bytes_of(DType type, double elements) { return elements * bits(type) / 8.0; }

  // ---- work ----
  AtLeast count(const std::vector<Region>& regions) { return index::count(regions, atoms_, data_); }
  AtMost count_at_most(const std::vector<Region>& regions) { return index::count_at_most(regions, atoms_, data_); }
  void count_uses();
  void find_wanted_widths(const std::vector<bool>& reached);
  bool is_mixed(const Value& value) const;  // made in many ways, which are not told apart: its products count nothing
  Work& work_of(TermId id) { return work[id]; }
  void link(TermId counted, TermId other, Link::Kind kind) {
    if (counting_) links.push_back({counted, other, kind});
  }
  DType vector_type(TermId id) const;
  void count_call(TermId id);
  void count_sum(TermId id);
  std::optional<Value> compared_element(const Value& truth, double& number);
  std::optional<Value> asked_of_scatter(const Value& factor, double& number, size_t& choices);
  std::optional<Value> asked_element(const Value& factor, double& number, size_t& choices);
  using AskedParts = std::map<std::pair<TermId, std::vector<Form>>, std::map<double, std::vector<AskedPart>>>;
  static uint32_t row_of(const Value& element);
  void find_asked(const Value& sum, AskedParts& asked);
  const std::vector<Turn>& turns_of(TermId id);
  std::map<TermId, std::vector<Turn>> turns_;  // see turns_of
  static Region in_turn(Region region, const Turn& turn);
  void count_product(TermId id);
  void need_part(TermId id, const Value& part);
  bool feeds_contractions_alone(TermId id) const { return tier_ != Tier::floor && counting_ && strict_[id].empty(); }
  bool is_linear_kind(const Term& made) const {
    return tier_ != Tier::floor &&
           (made.kind == TermKind::sum || made.kind == TermKind::product || made.kind == TermKind::array);
  }
  bool takes_scale(const Value& value, int depth = 0) const;
  struct HavingPart;
  std::optional<size_t> shared_parts(TermId id, HavingPart& having) const;
  bool is_number_by_region(const Value& value) const;
  double operations_of(TermId id, size_t shared) const;
  double joined_parts(TermId id) const;
  std::vector<bool> varying_coordinates(TermId id) const;
  void count_added_product(TermId id);
  void settle_slots();
  static double values_of_a_lane(DType type, bool packed);
  // How a branch goes by this truth: nothing if it is no branch, or if nobody says.
  std::optional<Way> branch(const Value& truth);
  bool is_outer_product(const Term& product) const;
  // Coordinates may be exchanged so, but for a sign. Empty if none are known.
  const std::vector<uint32_t>& mirror_of(TermId id);
  struct MirrorSearch;
  bool is_idle_between(TermId id) const;                            // where its mirror is itself it takes nothing
  AtLeast distinct(TermId id, const std::vector<Region>& regions);  // elements, one of each pair that mirrors
  Region mirrored(const Region& region, uint32_t rank);             // of pairs: the second, then the first
  bool has_no_mirror(TermId id, std::set<TermId>& sources) const;
  double most_mirrored(TermId id, const std::vector<Region>& regions, uint32_t rank);
  bool meets_mirror(const std::vector<Region>& regions, const std::vector<uint32_t>& mirror);
  // The element that a function of one variable is of, and whether it has a transcendental, or one that bends, on the way.
  struct Root {
    TermId term = no_term;
    std::vector<Form> at;  // over the coordinates of the function
    bool transcendental = false;
    bool bends = false;
    int steps = 0;
  };
  const Root& root_of(TermId id);
  bool is_function_of_one(TermId id) {  // through more than one step
    const Root& root = root_of(id);
    return root.term != id && root.steps > 1;
  }
  // Functions of one variable that are wanted of a term, and the transcendentals that they are spelled with.
  struct Functions {
    double evaluations = 0;
    double elements = 0;
    std::set<TermId> spelled, seen;
    TermId owner = no_term;
  };
  bool is_free(TermId id, TermId root) const;
  void find_transcendentals(TermId id, TermId root, Functions& functions) const;
  double compared_elements(TermId id);
  using Family = std::tuple<TermId, std::vector<Form>, loops::Function>;  // of functions that follow from one of them
  Family family_of(TermId id) const;
  void settle_functions();

  // ---- contractions ----
  static constexpr size_t most_factors = 10;
  static constexpr size_t most_absorbed = 6;
  static constexpr size_t most_added = 64;
  static uint64_t bit(size_t i) { return i < 64 ? uint64_t(1) << i : 0; }
  static void for_each_value(Factor& factor, const std::function<void(Value&)>& visit);
  struct Results {
    const std::vector<Region>& regions;
    bool counted = false;
  };
  void add_total(const Value& scaled, const Region& region, uint64_t summed, TermId owner, Results& results);
  void settle_totals();
  std::vector<Region> disjoint(const std::vector<Region>& regions);
  void take_off(std::vector<Region>& list, const Region& known);
  void expand(const Value& value, const Region& region, uint64_t summed, DType width, TermId owner, Results& results);
  std::vector<Form> enter(const Region& where, const Term& reduction, const std::vector<Form>& at, Region& region,
                          uint64_t& summed);
  Value enter(const Case& one, const Term& reduction, const std::vector<Form>& at, Region& region, uint64_t& summed);
  static bool is_plain(const std::vector<Form>& at);
  bool split_running_sum(const Value& sum, std::vector<ExponentPart>& parts);
  void parts_of_exponent(const Value& exponent, std::vector<ExponentPart>& parts, std::vector<Value>& times);
  std::vector<Factor> powers(const Value& value, const Region& region);
  std::vector<uint64_t> equations_of(const Region& region) const;
  static uint64_t told_by(uint64_t variables, const std::vector<uint64_t>& equations);
  bool are_apart(const std::vector<Factor>& parts, const Region& region);
  void add_factor(Network& network, Value value);
  void need_factors(const Network& network, TermId owner);
  bool meets_zeros(const Value& value, const Value& other) const;
  void drop_beside_zeros(const Value& value);
  void count_powers(const Factor& factor, const Region& region, TermId owner);
  void settle_powers();
  std::vector<Value> truths_of(const Term& function);
  bool is_count_of_truths(loops::Reducer reducer, const Term& value);
  bool need_search(const Value& value, const Region& region, TermId owner);
  bool is_sorted_search(TermId owner) const;
  bool find_sides(const Value& truth, std::vector<Value>& sides, std::vector<Value>& numbers);
  void find_counts();
  bool need_counted(const Value& truth, const Region& region, TermId owner);
  // Truths that are put together of comparisons of what is counted with something else.
  struct Search {
    std::vector<Value> sides;   // what is compared,
    std::vector<Value> others;  // and truths beside
    uint64_t variables = 0;
  };
  bool find_comparisons(const Value& value, uint64_t reduced, Search& search);
  bool need_comparisons(const Value& value, const Region& region, TermId owner);
  bool need_greatest(const Value& value, const Region& where, const Term& reduction);
  static bool is_exponential(const Network& network) {
    return std::any_of(network.factors.begin(), network.factors.end(), [](const Factor& f) { return f.exponential; });
  }
  void find_consumers();
  bool is_read_here_alone(const Value& value, const Network& network);
  bool is_made_here_alone(const Value& value, const Network& network);
  bool reads_each_once(TermId consumer, TermId read);
  bool is_used_elsewhere(const Value& value, const Network& network);
  bool read_elements(const Value& value, const Region& where, TermId read, std::vector<Region>& regions);
  std::vector<Region> reads_by(TermId consumer, TermId read);
  std::vector<Region> all_reads_by(TermId consumer, TermId read);
  void find_reach();
  bool have_elements_in_common(const std::vector<Region>& a, const std::vector<Region>& b);
  bool are_cheaper_joined(const std::set<TermId>& sums, const Network& network, std::optional<double>& kept);
  bool is_cheaper_unmade(TermId id);
  bool may_join(const Value& value) const;
  static size_t times_read(const Network& network, TermId id);
  bool join_all(Network& network, TermId id);
  void absorb(Network& network);
  void absorb_own(Network& network);
  bool join(Network& network, const Term& sum, const Case& one, const std::vector<Form>& at);
  std::vector<Network> most_first(std::vector<Network>& networks);
  double products_together(const std::vector<Network>& prepared);
  std::vector<Addend> addends_of(const Value& value, const Region& where);
  std::vector<Addend> regrouped(const Cases& body);
  Network network_of(const Addend& addend, Region region, uint64_t summed, DType width, TermId owner);
  double products_of_case(const Case& one, const Network& bare);
  std::optional<Value> price_unmasked(const Cases& body, const std::vector<Region>& parts, TermId id);
  bool price_unmasked(const Value& value, const Cases& body, const Region& part, TermId id);
  bool price_regrouped(const Cases& body, const std::vector<Region>& needed, TermId owner, Results& results);
  std::optional<Region> body_at(const Region& where, const Region& region, uint32_t reduced);
  std::vector<Network> with_parts(const Network& network, const std::vector<PartedFactor>& parted);
  bool price_if_cheaper(const Network& network, const std::vector<PartedFactor>& parted, TermId owner,
                        Results& results);
  bool leave_parts_uncounted(const Network& network);
  bool take_cases_apart(const Network& network, TermId owner, Results& results);
  bool is_needed_anyway(const Value& value, const Region& region);
  double products_inside(const Value& value, const Region& region);
  double products_inside(TermId id, const std::vector<Region>& regions);
  bool is_cheaper_inside(const Value& value, const Network& around);
  // Every variable that is read by digits becomes its digits.
  void split_digits(Network& network);
  std::vector<Form> results_of(const Network& network) const;
  // A factor that is 1 where a variable is what data tell, and else 0, gives the variable.
  void take_one_hot(Network& network);
  bool picks_by_digits(const Network& network) const;
  double places_picked(const Value& row, size_t below, const Region& region);
  void join_one_hot_rows(Network& network);
  void take_scattered(Network& network);
  bool take_scatter(Network& network, size_t factor, const Value& scatter);
  std::optional<double> number_beside(TermId id) const;
  std::optional<double> number_at_rest(const Value& value, const Value* scatter, std::vector<Value>& scatters,
                                       RestSearch search);
  void find_scattered();
  bool is_free(const Region& region, index::AtomId variable) const;
  std::vector<size_t> factors_inside(const Network& network, uint64_t& data_variables) const;
  double products_of(Network network);
  double share_without_zeros(const Network& network) const;
  void prepare(Network& network);
  double products_of_prepared(const Network& network, bool keep);
  double products_of_all(const std::vector<Network>& prepared);
  struct Chain;
  struct ScaledSum;
  std::optional<ScaledSum> scaled_sum(const Value& part, const Region& region);
  std::optional<Chain> chain_of(const ScaledSum& part, const Region& region, const std::set<TermId>& parts);
  bool is_common_factor(const Chain& a, size_t i, const Chain& b, size_t j) const;
  bool are_made_for(const std::set<TermId>& parts, const std::vector<ScaledSum>& sums) const;
  void collect_sums(const Value& sum, const Region& region, bool inside, std::vector<ScaledSum>& sums);
  void factor_out(TermId id);
  bool factor_out(TermId id, const std::vector<ScaledSum>& values);
  double products_apart(const std::vector<ScaledSum>& sums, const Region& region);
  bool price_met_together(TermId id, const std::vector<Chain>& chains, const std::vector<ScaledSum>& sums);
  bool price_factored(TermId id, const std::vector<Chain>& chains, const std::vector<size_t>& common, double apart);
  bool inner_sums(const Value& value, InnerSums& inner);
  bool reads_linearly(const Value& value, TermId id);
  std::optional<Network> inlined(const Network& network, size_t factor, const InnerSum& inner, size_t& first_own);
  bool is_function_of(const Value& value, const Value& element, std::span<const index::Range> box);
  bool stands_beside_function(const Network& network, const Value& element);
  bool stands_beside_function(const Term& product, const Value& element);
  double products_made_for(TermId sum, const Network& prepared, const Network& network, double products,
                           std::set<TermId>& inside);
  void try_without(const Network& network, TermId owner);
  std::vector<uint64_t> variables_by_place(const Value& value) const;
  void add_sources(TermId id, const Value& value, Sources& sources);
  const Sources& linear_sources(TermId id);
  bool has_in_common(const InnerSum& inner, const Value& added, const Network& network);
  double products_inside_factors(TermId id) const;
  std::map<TermId, double> shares_of_parts(const Term& sum);
  std::vector<double> shares_read_as_they_are();
  void add_what_joined();
  void keep_forced();
  // For the floor: of products that share a factor and are added, the most stand for all.
  std::set<TermId> factors_of(const Value& value) const;
  struct SharedPart;
  std::vector<SharedPart> parts_to_share(TermId sum);
  void share_products(TermId sum);
  Cases joined_by_formulas(const Term& reduction);
  std::vector<bool> shared_cases(const Cases& body, size_t reduced);
  void parts_of(const Value& value, const Region& region, std::vector<Value>& parts);
  bool makes_products(const Value& part) const;
  bool repeats(const Value& part, const Network& network, const Factor& factor);
  bool picks(const Value& part) const;
  double elements_of(const Value& value, const Region& region);
  std::vector<Value> parts_of(const Network& network, const Factor& factor, bool& all_shrink);
  Network with_part(const Network& rest, const Value& part);
  double products_of_part(const Network& rest, const Value& part);
  bool joins(Network network, const Value& part);
  bool distribute(const Network& network, TermId owner, Results& results);
  // Two elements of one term with nothing else that tells them apart
  bool is_mirrored(const Network& network, const std::vector<size_t>& inner, size_t& a, size_t& b) const;
  uint64_t variables_of_mean(const Network& network, const Value& value);
  double products_less_mean(const Network& network, const Factor& a, const Factor& b);
  // By variable: which one takes its place.
  using Exchanges = std::vector<uint32_t>;
  struct SymmetrySearch;
  using Members = std::vector<size_t>;
  std::optional<std::vector<Exchanges>> symmetries(const Network& network, const Members& members, uint64_t fixed);
  std::optional<std::vector<Exchanges>> found_symmetries(const Network& all, const Members& members, uint64_t fixed);
  std::vector<int64_t> shape_of(const Network& network, const Members& members, uint64_t fixed);
  std::map<std::vector<int64_t>, std::optional<std::vector<Exchanges>>> known_symmetries_;
  static double distinct_points(const Region& region, uint64_t variables, double points,
                                const std::vector<Exchanges>& exchanges);
  EqualFactors equal_factors(const Network& network, const std::vector<size_t>& inner);
  static std::vector<uint64_t> places_of(const Network& network, const Members& inner, const Exchanges& images);
  bool may_be_zero(const Network& network, TermId owner);
  void price(Network& network, TermId owner, Results& results);
  Value without_conjugate(const Value& value);
  Value main_part(const Value& value, const Region& region);
  double most_scalings(const Network& network);
  void add_pair(const Factor& a, const Factor& b, const Network& network, TermId owner, double share);
  static double box_points(const Region& box, uint64_t variables);
  static std::optional<uint64_t> plain_variables(const std::vector<Form>& forms);
  struct Orders;
  bool is_over_budget(size_t factors);
  double cheapest_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed = false);
  double found_order(const Network& network, const std::vector<size_t>& inner, bool keep, bool transformed);
  bool is_order_told_by_forms(const Network& network, const std::vector<size_t>& inner, bool keep) const;
  std::vector<Region> reads_of(const Value& reduction, const Region& region, TermId read);
  double transform_share(const Network& network, const std::vector<size_t>& inner,
                         uint64_t variables = UINT64_MAX) const;
  double least_moves(const Network& network, const std::vector<Form>& at, size_t along) const;
  uint64_t summed_by_data(const Network& network, const Factor& gathered) const;
  std::vector<Form> rows_before(const Network& network, const Factor& gathered, const Factor& other) const;
  uint64_t variables_of(const Value& value) const;
  DType width_apart(const Value& value) const;
  Operands product_type(const Network& network, const std::vector<size_t>& inner) const;
  Operands product_type(DType width, const std::vector<const Factor*>& factors) const;
  double real_products(Operands& operands, TermId owner) const;
  void settle_pairs();
  void take_pairs_from_chains();
  std::vector<double> least_as_pieces(const std::vector<const Network*>& networks);
  double products_of_pieces(const std::vector<Network>& prepared);
  void share_between_pieces();
  void take_off(PricedChain& chain, double products);
  uint64_t coordinates_beside(const Pair& pair, uint32_t first, uint32_t rank);
  Value without_scale(const Value& value, uint64_t beside);
  std::optional<std::map<PairKey, PartOfSum>> parts_of_pair(const PairKey& key, const Pair& pair, size_t side);
  uint64_t tied_coordinates(const Region& region, uint32_t first, uint32_t rank) const;
  std::optional<Value> interpolated(const Term& sum, const Value& value, uint64_t tied);
  std::vector<Value> added_in(const Case& one);
  std::optional<Region> case_in_pair(const Case& one, uint32_t reduced, const Region& region,
                                     const std::vector<Form>& at, const std::vector<Form>& shift);
  std::optional<std::map<PairKey, PartOfSum>> parts_of_interpolation(const PairKey& key, const Pair& pair, size_t side);
  PartOfSum* add_part(std::map<PairKey, PartOfSum>& parts, const PairKey& key, size_t side, const Value& value,
                      const Region& where, std::vector<Form> forms, const std::vector<Form>& others);
  double products_by_way_of(const PairKey& key, TermId sum, const Value& part);
  bool adds_sums_of_products(TermId id) const;
  void share_parts_of_sums();
  void take_apart(SharedParts& group);
  void fold_pairs();
  struct Met;
  void add_up_parts();

  NormalForm& form_;
  Atoms& atoms_;
  Algebra algebra_;
  const Tier tier_;
  const index::Data data_;
  const std::map<TermId, Way> taken_;
  uint32_t reader_ = loops::none;                                         // unfused: the group whose term is looked at
  std::map<std::pair<uint32_t, TermId>, std::vector<Region>> constants_;  // unfused: what groups read of them
  bool counting_ = true;
  SettledNumbers settled_;
  int choice_depth_ = 0;
  int choice_visits_ = 4096;                 // left, of terms
  std::vector<std::vector<Region>> needed_;  // by term, over its coordinates
  std::vector<std::vector<Region>> strict_;  // sums and products: what others need than sums of products
  bool linear_ = false;                      // what is needed now, contractions need
  std::vector<TermId> flat_;                 // sums and products that are counted
  std::set<TermId> added_;                   // products of different indices that are parts of sums
  std::vector<uint32_t> uses_;
  std::vector<uint32_t> uses_by_way_;  // of those, by sums that have its parts by way of it, and read them themselves
  std::map<std::pair<TermId, TermId>, std::vector<Region>> reads_by_;  // see reads_by
  std::map<std::pair<TermId, TermId>, bool> read_once_;                // see reads_each_once
  std::vector<std::vector<Range>> reach_;                              // by term; see find_reach
  std::map<TermId, bool> unmade_;                                      // see is_cheaper_unmade
  std::vector<TermId> first_user_;                                     // by term: the least that uses it
  std::vector<std::vector<TermId>> consumers_;  // by term: what takes it, through sums and products; see find_consumers
  std::vector<DType> wanted_width_;             // by term: the widest type that anybody wants of it
  std::vector<bool> only_part_wanted_;  // by term: complex, and only its real part is, or only its imaginary part
  std::vector<bool> scattered_below_;   // by term: made of what data scatter; see take_scattered
  std::vector<TermId> changed_;         // scatters of which only the changes are returned
  std::vector<Root> roots_;
  std::map<TermId, Functions> functions_;  // by root
  std::map<TermId, Power> powers_;
  std::vector<bool> rooted_;
  std::unordered_map<TermId, std::vector<uint32_t>> mirrors_;
  std::set<TermId> known_between_;  // mirrored terms that are the same number wherever their mirror is themselves
  TermId visited_ = no_term;
  std::vector<bool> incomplete_;                                  // by term
  std::map<TermId, std::pair<TermId, std::vector<Form>>> twins_;  // of which it has elements, and where
  index::Losses losses_noted_{};
  std::vector<const loops::Statement*> statements_;
  std::vector<size_t> loop_at_;  // by last term of its body
  std::map<PairKey, Pair> pairs_;
  std::map<PairKey, std::vector<Network>> sums_met_;  // pairs of a sum that has sums of products among its parts
  std::vector<PricedChain> chains_;
  std::map<TermId, std::set<PairKey>> pairs_of_;  // fused: by the sum that has them
  std::vector<PricedChain> window_chains_;        // fused: those that transforms could take
  static constexpr size_t most_folded = 64;
  static constexpr size_t few_factors = 6;  // orders of those cost little
  double order_steps_ = 4e6;                // left, of pairs of parts that are looked at
  int nested_parts_ = 256;                  // left, of networks that parts inside of parts make; see take_cases_apart
  KnownOrders known_orders_;
  std::map<std::pair<TermId, TermId>, Fold> folds_;  // by the sum and the term
  std::map<std::array<uint64_t, 4>, Total> totals_;
  std::map<TermId, std::map<TermId, Without>> without_;  // floor: by sum of products, by the sum that reads it
  std::map<TermId, Sources> linear_sources_;
  // floor: by terms of factors of two sums, one of which reads the other: which sums, and what the second takes then
  std::map<std::pair<TermId, TermId>, std::map<std::pair<TermId, TermId>, Without>> meetings_;
  std::map<std::pair<TermId, TermId>, std::set<std::pair<TermId, TermId>>> plain_meetings_;
  std::set<TermId> stood_for_;                              // sums whose products those of another stand for
  std::map<TermId, std::vector<Region>> stood_for_at_;      // the same of elements
  std::set<TermId> counts_;                                 // of one array against several numbers
  std::map<std::vector<int64_t>, MadeBefore> made_before_;  // by terms
  std::map<std::vector<int64_t>, MadeBefore>* changed_in_trial_ = nullptr;  // what entries were, while it is tried
  MadeBefore& made_before(const std::vector<int64_t>& key) {                // to change it
    MadeBefore& made = made_before_[key];
    if (changed_in_trial_ != nullptr) changed_in_trial_->try_emplace(key, made);
    return made;
  }
  std::map<TermId, std::vector<Region>> written_;  // elements that outputs hold
  std::map<TermId, Stored> stored_;                // unfused: what other groups or the caller take of a term
  std::map<uint32_t, double> returned_bytes_;      // unfused: by group
};

}  // namespace lightline::demand
