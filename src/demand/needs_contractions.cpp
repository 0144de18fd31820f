// Sums of products: what is summed over, in the cheapest order, each product once.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

// Of a sum each part may be multiplied by itself: it is no wider than those of them that are as large as it is, or, if
// there are none, than any.
DType Needs::width_apart(const Value& value) const {
  const Term& made = term(value.term);
  if (made.kind != TermKind::sum) return value.width;
  const uint64_t all = made.rank < 64 ? (uint64_t(1) << made.rank) - 1 : UINT64_MAX;
  DType widest = DType::boolean, widest_whole = DType::boolean;
  bool whole = false;
  for (const Argument& arg : made.args) {
    if (!arg.value.is_element()) {
      if (!arg.value.is_number()) widest = value.width;
      continue;
    }
    widest = wider(widest, arg.value.width);
    if (variables_of(arg.value) != all) continue;
    whole = true;
    widest_whole = wider(widest_whole, arg.value.width);
  }
  return narrower(whole ? widest_whole : widest, value.width);
}

Operands Needs::product_type(const Network& network, const std::vector<size_t>& inner) const {
  std::vector<const Factor*> factors;
  for (const size_t i : inner) factors.push_back(&network.factors[i]);
  return product_type(network.width, factors);
}

Operands Needs::product_type(DType width, const std::vector<const Factor*>& factors) const {
  // Truths multiply with anything; formulas can be as narrow as what they meet.
  std::vector<DType> widths;
  bool complex = false;  // a formula that is
  for (const Factor* factor : factors) {
    complex |= factor->formula && factor->value.is_element() && factor->value.width == DType::c64;
    if (!factor->formula && factor->value.is_element()) widths.push_back(width_apart(factor->value));
  }
  std::sort(widths.begin(), widths.end(), [](DType a, DType b) { return narrower(a, b) == a && a != b; });
  if (widths.empty()) return width;
  Operands operands(widths[0], widths[std::min<size_t>(1, widths.size() - 1)]);
  // A factor that meets a narrow one in a sum of which no more is wanted could be as narrow.
  if (is_float(width) && narrower(operands.narrow, width) == operands.narrow)
    operands.wide = narrower(operands.wide, width);
  if (complex) operands.wide = DType::c64;
  return operands;
}

// Real products for one of complex numbers: three for four, two if a factor is real, half if only one part is wanted.
double Needs::real_products(Operands& operands, TermId owner) const {
  if (operands.wide != DType::c64) return 1;
  const bool part = only_part_wanted_[owner];
  const double products = operands.narrow == DType::c64 ? (part ? 2 : 3) : (part ? 1 : 2);
  operands.wide = DType::f32;
  operands.narrow = narrower(operands.narrow, DType::f32);
  return products;
}

// With windows, transforms need as many products as a window moves on. A window is a subscript of a variable that is
// summed, one of `variables`, and one that is not.
double Needs::transform_share(const Network& network, const std::vector<size_t>& inner, uint64_t variables) const {
  double share = 1;
  for (size_t r = 0; r < network.region.box.size(); ++r) {
    if ((network.summed & variables & bit(r)) == 0) continue;
    const double taps = double(network.region.box[r].count());
    for (const size_t i : inner)
      if (const double moves = least_moves(network, network.factors[i].value.at, r); moves > 0) {
        share *= std::min(1.0, moves / taps);
        break;
      }
  }
  return share;
}

// By how many of its taps a window along a variable moves on at the least; 0 if it is none.
double Needs::least_moves(const Network& network, const std::vector<Form>& at, size_t along) const {
  for (const Form& form : at) {
    int64_t own = 0, step = 0;
    for (const auto& [atom, coefficient] : form.terms) {
      bool taps = false, moves = false;
      atoms_.for_each_variable_of(atom, [&](index::AtomId v) {
        taps |= v == along;
        moves |= (network.summed & bit(v)) == 0 && network.region.box[v].count() > 1;
      });
      if (taps && moves) return 1;  // a quotient of both
      const int64_t by = std::abs(coefficient) * (index::is_variable(atom) ? network.region.box[atom].step : 1);
      if (taps) own = std::abs(coefficient);
      if (moves) step = step == 0 ? by : std::min(step, by);
    }
    if (own != 0 && step != 0) return std::max(1.0, double(step) / double(own));
  }
  return 0;
}

// Variables that are summed, and that a factor has in numbers by data alone; none if such numbers have others, too.
uint64_t Needs::summed_by_data(const Network& network, const Factor& gathered) const {
  uint64_t plain = 0, by_data = 0;
  for (const Form& form : gathered.value.at)
    for (const auto& [atom, coefficient] : form.terms) {
      const bool told = !index::is_variable(atom) && atoms_[atom].kind == index::Atom::Kind::data;
      atoms_.for_each_variable_of(atom, [&](index::AtomId v) { (told ? by_data : plain) |= bit(v); });
    }
  const uint64_t added = by_data & ~plain & network.summed;
  return (by_data & ~added) == 0 ? added : 0;
}

// sum_v f[a[v]] g[v] is the sum over rows r of f[r] times all g[v] with a[v] = r: as many products as there are rows.
// The forms that tell those apart, or nothing.
std::vector<Form> Needs::rows_before(const Network& network, const Factor& gathered, const Factor& other) const {
  const uint64_t added = summed_by_data(network, gathered);
  if (added == 0 || !other.value.is_element()) return {};
  std::vector<Form> forms = gathered.value.at;
  for (const Form& form : other.value.at) {
    uint64_t own = 0;
    atoms_.for_each_variable(form, [&](index::AtomId v) { own |= bit(v); });
    if ((own & added) == 0) forms.push_back(form);
    if ((own & added) != 0 && (own & ~added) != 0) return {};
  }
  return forms;
}

bool Needs::is_mirrored(const Network& network, const std::vector<size_t>& inner, size_t& a, size_t& b) const {
  for (const size_t i : inner)
    for (const size_t j : inner) {
      if (j >= i) break;
      const Factor &x = network.factors[i], &y = network.factors[j];
      if (!x.value.is_element() || !y.value.is_element() || x.value.term != y.value.term || x.value.at == y.value.at)
        continue;
      const uint64_t both = x.variables & y.variables;
      const bool alone = std::all_of(inner.begin(), inner.end(), [&](size_t k) {
        return k == i || k == j || (network.factors[k].variables & ~both) == 0;
      });
      if (!alone) continue;
      a = j;
      b = i;
      return true;
    }
  return false;
}

// The factors of a sum that stay inside of it; first those that read data.
std::vector<size_t> Needs::factors_inside(const Network& network, uint64_t& data_variables) const {
  const bool elementwise = network.summed == 0;
  std::vector<size_t> inner, formulas;
  inner.reserve(network.factors.size());
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Factor& factor = network.factors[i];
    if (!elementwise && (factor.variables & network.summed) == 0) continue;  // leaves the sum
    if (factor.formula) {
      formulas.push_back(i);
      continue;
    }
    inner.push_back(i);
    data_variables |= factor.variables;
  }
  if (inner.empty()) return inner;
  // Formulas are known before: those of the same variables are one factor, unless an element of data takes them along.
  const bool one = inner.size() == 1;
  for (const size_t i : formulas) {
    const bool taken = std::any_of(inner.begin(), inner.end(), [&](size_t k) {
      return (!one || network.factors[k].formula) &&
             (network.factors[i].variables & ~network.factors[k].variables) == 0;
    });
    if (!taken && inner.size() < most_factors) inner.push_back(i);
  }
  return inner;
}

// Products of a network by itself, in the cheapest order.
double Needs::products_of(Network network) {
  prepare(network);
  return products_of_prepared(network, false);
}

void Needs::prepare(Network& network) {
  take_one_hot(network);
  absorb(network);
  split_digits(network);
}

double Needs::products_of_prepared(const Network& network, bool keep) {
  uint64_t data_variables = 0;
  const std::vector<size_t> inner = factors_inside(network, data_variables);
  return inner.size() < 2 ? 0 : cheapest_order(network, inner, keep);
}

// The share of the products that is surely left where zeros of known factors are left out.
double Needs::share_without_zeros(const Network& network) const {
  double share = 1;
  for (const Factor& factor : network.factors) {
    if (!factor.value.is_element() || term(factor.value.term).zeros == 0) continue;
    if (!network.region.is_box() || !is_plain(factor.value.at)) return 0;
    share -= term(factor.value.term).zeros / std::max(1.0, box_points(network.region, factor.variables));
  }
  return std::max(0.0, share);
}

void Needs::price(Network& network, TermId owner, Results& results) {
  if (tier_ == Tier::floor && may_be_zero(network, owner)) return;
  take_one_hot(network);
  for (const auto& [index, region] : std::exchange(network.indices, {})) need(index, region);
  if (network.one_hot) link(owner, owner, Link::Kind::picked);
  if (distribute(network, owner, results) || take_cases_apart(network, owner, results)) return;
  absorb(network);
  for (const TermId inner : network.absorbed) {
    joined.insert(inner);
    link(owner, inner, Link::Kind::chain);
  }
  split_digits(network);
  need_factors(network, owner);
  if (!counting_) return;
  const bool counts = term(owner).reads_data;
  if (!counts) return;
  const double not_zero = share_without_zeros(network);
  if (not_zero == 0) return drop(no_shape);
  try_without(network, owner);
  uint64_t data_variables = 0;
  const std::vector<size_t> inner = factors_inside(network, data_variables);
  if (std::any_of(inner.begin(), inner.end(), [&](size_t i) { return is_mixed(network.factors[i].value); }))
    return drop("more ways in which an operand is made than are told apart");
  if (inner.empty()) {
    // Only truths that data tell were summed: counting them.
    if (network.one_hot && tier_ != Tier::floor)
      work_of(owner).sums[term(owner).type] += index::count(network.region, atoms_, data_);
    return;
  }
  if (inner.size() == 1) {
    if (tier_ == Tier::floor) return;
    if (not_zero == 1) add_total(network.factors[inner[0]].value, network.region, network.summed, owner, results);
    return;
  }
  const double share = transform_share(network, inner);
  // Variables that one factor has alone are summed before.
  uint64_t shared = 0;
  for (size_t v = 0; v < network.region.box.size(); ++v) {
    if ((network.summed & bit(v)) == 0) continue;
    int has = 0;
    for (const size_t i : inner) has += (network.factors[i].variables & bit(v)) != 0;
    if (has > 1 || network.region.box[v].count() == 1) shared |= bit(v);
  }
  const bool alone = (network.summed & ~shared & data_variables) != 0;
  if (inner.size() == 2 && !alone && !is_exponential(network)) {
    if (!network.absorbed.empty()) link(owner, owner, Link::Kind::chain);
    add_pair(network.factors[inner[0]], network.factors[inner[1]], network, owner, share);
    return;
  }
  if (size_t a = 0, b = 0; !alone && network.absorbed.empty() && is_mirrored(network, inner, a, b)) {
    add_pair(network.factors[a], network.factors[b], network, owner, share);
    return;
  }
  link(owner, owner, Link::Kind::chain);
  const index::Losses before = atoms_.losses();
  Operands type = product_type(network, inner);
  const double real = real_products(type, owner) * share_without_zeros(network);
  const double transformed = share < 1 ? real * cheapest_order(network, inner, false, true) : INFINITY;
  const double macs = real * cheapest_order(network, inner, counting_);
  if (atoms_.losses() != before) link(owner, owner, Link::Kind::inexact);
  Work& added_to = work_of(owner);
  added_to.macs[type] += tier_ == Tier::floor ? std::min(macs, transformed) : macs;
  added_to.transformed_macs[type] += std::min(macs, transformed);
  if (tier_ == Tier::unfused || (share < 1 && tier_ == Tier::floor)) return;
  (share == 1 ? chains_ : window_chains_).push_back({network, owner, type, real, macs, std::min(macs, transformed)});
}

// A product with a conjugate takes the same real products.
Value Needs::without_conjugate(const Value& value) {
  if (!value.is_element() || term(value.term).kind != TermKind::call) return value;
  if (term(value.term).function != loops::Function::conj || !term(value.term).args[0].value.is_element()) return value;
  return algebra_.moved(Value(term(value.term).args[0].value), value.at);
}

// Of x[i, k] + b[k] + 1 the first: against the products of x those of the others are few, so that the products of the
// sum are those of x, wherever else these are made.
Value Needs::main_part(const Value& value, const Region& region) {
  if (tier_ == Tier::unfused || !value.is_element() || term(value.term).kind != TermKind::sum) return value;
  uint64_t several = 0;  // variables of more than one value
  for (size_t v = 0; v < region.box.size(); ++v)
    if (region.box[v].count() > 1) several |= bit(v);
  const uint64_t all = variables_of(value) & several;
  Value main;
  algebra_.box = region.box;
  for (const Argument& arg : term(value.term).args) {
    const Value part = algebra_.moved(arg.value, value.at);
    if ((variables_of(part) & several) != all) continue;
    if (main.is_element() || !part.is_element() || !algebra_.reads_data(part)) return value;
    main = part;
  }
  if (!main.is_element()) return value;
  main.width = narrower(main.width, value.width);  // the sum itself may be multiplied
  return main_part(main, region);
}

// Results of a sum of products with known numbers that may have one product alone, which scales an element and takes
// nothing. Along a variable that is summed, rows without gaps of n products hold n - 1 neighbours and n - 2 that have
// another: products less twice the neighbours plus those are the rows of one. Else, of P products of R results, at most
// M of each, R M = P + (M - 1) of those if all others are full.
double Needs::most_scalings(const Network& network) {
  const Region& region = network.region;
  const double points = index::count(region, atoms_, data_);
  const double each = box_points(region, network.summed);
  if (network.summed == 0 || region.is_box()) return each <= 1 && network.summed != 0 ? points : 0;
  if (each <= 1) return points;
  double results = 1;
  for (size_t v = 0; v < region.box.size(); ++v)
    if ((network.summed & bit(v)) == 0) results *= double(region.box[v].count());
  double fewest = std::max(0.0, (std::min(results, points) * each - points) / (each - 1));
  const bool plain = region.samples.empty() &&
                     std::none_of(region.cuts.begin(), region.cuts.end(),
                                  [&](const Form& cut) { return atoms_.has_compound(cut) || atoms_.has_data(cut); });
  std::vector<Form> images = own_variables(region.box.size());
  for (size_t v = 0; plain && v < region.box.size(); ++v) {
    if ((network.summed & bit(v)) == 0 || region.box[v].count() <= 1 || region.box[v].step != 1) continue;
    const index::Losses before = atoms_.losses();
    double neighbours[2] = {0, 0};
    for (const int64_t by : {1, 2}) {
      Region both = region;
      both.points = -1;
      both.box[v].hi -= by;
      if (both.box[v].hi < both.box[v].lo) continue;
      images[v] = atoms_.sum(Form::variable(index::AtomId(v)), Form::of(by));
      for (const Form& cut : region.cuts) both.cut(atoms_.compose(cut, images, region.box), atoms_);
      if (!both.empty) neighbours[by - 1] = index::count(both, atoms_);
    }
    images[v] = Form::variable(index::AtomId(v));
    if (atoms_.losses() == before) fewest = std::min(fewest, std::max(0.0, points - 2 * neighbours[0] + neighbours[1]));
    atoms_.forget_losses_since(before);
  }
  return fewest;
}

void Needs::add_pair(const Factor& a, const Factor& b, const Network& network, TermId owner, double share) {
  algebra_.box = network.region.box;
  Factor left = a, right = b;
  left.value = main_part(without_conjugate(a.value), network.region);
  right.value = main_part(without_conjugate(b.value), network.region);
  Operands type = product_type(network.width, {&left, &right});
  const double real = real_products(type, owner);
  const auto rank_of = [](const Factor& factor) -> uint32_t {
    return factor.value.is_position() ? 1 : uint32_t(factor.value.at.size());
  };
  const auto id_of = [](const Factor& factor) -> uint64_t {
    return factor.value.is_position() ? UINT64_MAX : factor.value.term;
  };
  const bool swap = id_of(right) < id_of(left);
  const Factor& first = swap ? right : left;
  const Factor& second = swap ? left : right;
  std::vector<Form> forms;
  for (const Factor* factor : {&first, &second}) {
    if (factor->value.is_position())
      forms.push_back(factor->value.form);
    else
      forms.insert(forms.end(), factor->value.at.begin(), factor->value.at.end());
  }
  std::vector<uint64_t> key{id_of(first),        id_of(second),  uint64_t(type.narrow),
                            uint64_t(type.wide), uint64_t(real), std::bit_cast<uint64_t>(share)};
  if (tier_ == Tier::unfused) key.push_back(term(owner).salt);
  Pair& pair = pairs_[key];
  if (tier_ != Tier::unfused) pairs_of_[owner].insert(key);
  pair.split = rank_of(first);
  pair.type = type;
  pair.real_products = real;
  pair.transformed = share;
  pair.not_zero = std::min(pair.not_zero, share_without_zeros(network));
  if (pair.owner == no_term) pair.owner = owner;
  if (pair.owner != owner) {
    pair.one_owner = false;
    link(pair.owner, owner, Link::Kind::equal);
  }
  pair.alike = id_of(first) == id_of(second) && !first.value.is_position();
  pair.squares_only = pair.squares_only && pair.alike && first.value.at == second.value.at;
  if ((!pair.alike || pair.squares_only) && !mirror_of(owner).empty()) {
    const AtMost all = count_at_most(needed_[owner]);
    pair.owner_share = all.number() > 0 ? distinct(owner, needed_[owner]) / all : AtLeast(1);
    pair.owner_mirrors = true;
  }
  double points = index::count(network.region, atoms_, data_);
  for (const auto& [x, y] : {std::pair(&first, &second), std::pair(&second, &first)})
    if (const std::vector<Form> rows = rows_before(network, *x, *y); !rows.empty())
      if (const auto mapped = index::image(network.region, rows, atoms_); !mapped.empty())
        points = std::min<double>(points, count(mapped));
  if (tier_ != Tier::unfused) points -= products_less_mean(network, a, b);
  if (!algebra_.reads_data(first.value) || !algebra_.reads_data(second.value))
    points -= std::min(points, most_scalings(network));
  pair.points += points;
  for (Region& region : index::image(network.region, forms, atoms_))
    if (std::find(pair.regions.begin(), pair.regions.end(), region) == pair.regions.end())
      pair.regions.push_back(std::move(region));
  if (tier_ == Tier::unfused) return;
  const auto adds_up = [&](const Factor& factor) {
    return factor.value.is_element() && adds_sums_of_products(factor.value.term);
  };
  if (adds_up(first) || adds_up(second)) sums_met_[key].push_back(network);
  // x[i, k] w[k, j] + x[i, k] v[k, j]: by the elements of each and the results that they go into
  const std::vector<Form> coordinates = results_of(network);
  for (const Factor* factor : {&first, &second}) {
    if (!factor->value.is_element()) continue;
    Fold& fold = folds_[{owner, factor->value.term}];
    // What the others have together is smaller than the products only without some coordinate of it.
    uint64_t others = network.summed;
    for (const Factor& one : network.factors)
      if (&one != (factor == &left ? &a : &b)) others |= one.variables;
    const bool smaller = (factor->variables & ~others) != 0;
    if (!smaller || network.one_hot || network.owner != owner) fold.networks = most_folded;
    if (++fold.networks > most_folded) continue;
    fold.pairs.insert(key);
    std::vector<Form> all = factor->value.at;
    all.insert(all.end(), coordinates.begin(), coordinates.end());
    fold.parts.emplace_back(network.region, std::move(all));
  }
}

// Sums of products that have a factor in common may be added up before they meet it: each of its elements meets every
// result once.
void Needs::fold_pairs() {
  std::map<TermId, std::pair<double, const Fold*>> best;  // by owner: what is left of how many
  for (auto& [key, fold] : folds_) {
    if (fold.networks < 2 || fold.networks > most_folded) continue;
    double apart = 0;
    bool foldable = true;
    for (const auto& key_of_pair : fold.pairs) {
      const auto pair = pairs_.find(key_of_pair);
      foldable = foldable && pair != pairs_.end() && pair->second.one_owner && !pair->second.alike;
      if (foldable) apart += pair->second.products;
    }
    if (!foldable || apart == 0) continue;
    std::vector<std::vector<Region>> met;  // those that have elements in common are counted together
    for (const auto& [region, forms] : fold.parts) {
      std::vector<Region> own = index::image(region, forms, atoms_);
      const auto common = std::find_if(met.begin(), met.end(), [&](const std::vector<Region>& others) {
        return have_elements_in_common(own, others);
      });
      if (common == met.end())
        met.push_back(std::move(own));
      else
        for (Region& part : own) insert(*common, std::move(part));
    }
    double results = 0;
    for (const std::vector<Region>& together : met) results += together.empty() ? 0.0 : double(count(together));
    const double left = results / apart;
    const auto [at, added] = best.try_emplace(key.first, left, &fold);
    if (!added && left < at->second.first) at->second = {left, &fold};
  }
  for (const auto& [owner, found] : best) {
    if (found.first >= 1) continue;
    link(owner, owner, Link::Kind::chain);
    for (const auto& pair : found.second->pairs) pairs_[pair].products *= found.first;
  }
}

void Needs::settle_pairs() {
  if (tier_ != Tier::unfused) share_parts_of_sums();
  for (auto& [key, pair] : pairs_) {
    turn_to(pair.owner);
    const index::Losses before = atoms_.losses();
    double products = std::min<double>(count(pair.regions), pair.points);
    if (pair.alike && !pair.squares_only) {
      // A pair and its mirror are one product: both together, and elements with themselves once more, are two of each.
      const uint32_t rank = pair.split;
      std::vector<Region> both = pair.regions, diagonal;
      for (const Region& region : pair.regions) {
        Region mirror = mirrored(region, rank), same = region;
        if (std::find(both.begin(), both.end(), mirror) == both.end()) both.push_back(std::move(mirror));
        if (!region.samples.empty()) continue;  // which of them meet themselves only data tell
        for (uint32_t c = 0; c < rank; ++c) same.cut_equal(Form::variable(c), Form::variable(c + rank), atoms_);
        if (!same.empty) diagonal.push_back(std::move(same));
      }
      const double themselves = diagonal.empty() ? 0.0 : count(diagonal);
      // The other way: of all pairs, those with a mirror count half.
      const double twice = most_mirrored(TermId(key[0]), pair.regions, rank);
      products = std::min(products, std::max(std::ceil((count(both) + themselves) / 2),
                                             std::ceil(products - std::max(0.0, twice - themselves) / 2)));
    }
    if (atoms_.losses() != before) link(pair.owner, pair.owner, Link::Kind::inexact);
    products *= pair.not_zero;
    if (pair.owner_mirrors && (!pair.alike || pair.squares_only)) products *= pair.owner_share;
    pair.products = products;
  }
  fold_pairs();
  add_up_parts();
  for (const auto& [key, pair] : pairs_) {
    const double products = pair.products * pair.real_products;
    Work& added_to = work_of(pair.owner);
    added_to.macs[pair.type] += products * (tier_ == Tier::floor ? pair.transformed : 1);
    added_to.transformed_macs[pair.type] += products * pair.transformed;
  }
}

}  // namespace lightline::demand
