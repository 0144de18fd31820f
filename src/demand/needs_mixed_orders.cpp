// Orders that are mixed: some points of a sum of products are taken in one order, the rest in another.
#include <array>
#include <bit>

#include "demand/needs_orders.h"

namespace lightline::demand {

// Where a cut ties two variables, some of the points may be taken in one order and the rest in another. A product on
// the way serves all points that have its variables: each of them bears its share. No mixture costs less than the
// cheapest share of every point.

void Needs::Orders::steps_of(size_t s, Steps& steps) {
  if (std::popcount(s) < 2 || split[s] == 0) return;
  steps.push_back(join(split[s], s ^ split[s]));
  steps_of(split[s], steps);
  steps_of(s ^ split[s], steps);
}

std::vector<Needs::Orders::Steps> Needs::Orders::all_orders(size_t s) {
  if (std::popcount(s) < 2) return {{}};
  std::vector<Steps> orders;
  for (size_t a = (s - 1) & s; a > 0; a = (a - 1) & s) {
    const size_t b = s ^ a;
    if (a < b) continue;
    const Step own = join(a, b);
    for (const Steps& x : all_orders(a))
      for (const Steps& y : all_orders(b)) {
        Steps steps{own};
        steps.insert(steps.end(), x.begin(), x.end());
        steps.insert(steps.end(), y.begin(), y.end());
        orders.push_back(std::move(steps));
      }
  }
  return orders;
}

std::optional<Needs::Orders::Triangle> Needs::Orders::triangle() const {
  const Region& region = network.region;
  if (region.cuts.size() != 1 || !region.samples.empty() || region.cuts[0].terms.size() != 2) return std::nullopt;
  Triangle found;
  found.constant = region.cuts[0].constant;
  int seen = 0;
  for (const auto& [atom, coefficient] : region.cuts[0].terms) {
    if (!index::is_variable(atom) || std::abs(coefficient) != 1) return std::nullopt;
    (coefficient > 0 ? found.u : found.v) = atom;
    seen += int(coefficient);
  }
  found.us = region.box[found.u];
  found.vs = region.box[found.v];
  if (seen != 0 || found.us.step != 1 || found.vs.step != 1) return std::nullopt;
  return found;
}

// The share of one point of the triangle, where so many points are beside it along each side.
double Needs::Orders::share(const Steps& steps, const Triangle& in, double beside_u, double beside_v) const {
  double total = 0;
  for (const Step& step : steps) {
    if (!step.told || step.products == 0) continue;
    const bool has_u = (step.variables & bit(in.u)) != 0, has_v = (step.variables & bit(in.v)) != 0;
    const double others = box_points(network.region, step.variables & ~bit(in.u) & ~bit(in.v));
    total += others / (has_u && has_v ? 1 : has_u ? beside_u : has_v ? beside_v : beside_u * beside_v);
  }
  return total;
}

Needs::Orders::Exchange Needs::Orders::exchange(const Steps& base, const Steps& other) {
  Exchange result{{}, other};
  for (const Step& step : base) {
    const auto same = std::find_if(result.takes.begin(), result.takes.end(), [&](const Step& one) {
      return one.told && step.told && one.variables == step.variables && one.products == step.products;
    });
    if (same == result.takes.end())
      result.gives.push_back(step);
    else
      result.takes.erase(same);
  }
  return result;
}

// At the most, over a block of the triangle.
double Needs::Orders::saved(const Triangle& in, const std::vector<Exchange>& exchanges, Range us, Range vs,
                            double fewest, int& blocks) {
  if (us.lo + in.constant < vs.lo && us.hi + in.constant < vs.lo) return 0;
  double best = 0;
  const double few_u = double(std::max<int64_t>(1, in.beside_u(us.lo))),
               few_v = double(std::max<int64_t>(1, in.beside_v(vs.hi)));
  for (const Exchange& one : exchanges)
    best = std::max(best, share(one.gives, in, few_u, few_v) -
                              share(one.takes, in, double(in.beside_u(us.hi)), double(in.beside_v(vs.lo))));
  const double most = best * double(us.count()) * double(vs.count());
  if (most <= fewest || (us.lo == us.hi && vs.lo == vs.hi) || --blocks < 0) return most;
  Range &longer = us.count() >= vs.count() ? us : vs, first = longer;
  first.hi = longer.lo + longer.count() / 2 - 1;
  Range second = longer;
  second.lo = first.hi + 1;
  longer = first;
  const double one = saved(in, exchanges, us, vs, fewest, blocks);
  longer = second;
  return one + saved(in, exchanges, us, vs, fewest, blocks);
}

double Needs::Orders::saved_by_mixing() {
  const auto in = n < 3 ? std::nullopt : triangle();
  if (!in) return 0;
  Steps base;
  steps_of(subsets - 1, base);
  std::vector<Exchange> exchanges;
  for (const Steps& order : all_orders(subsets - 1)) exchanges.push_back(exchange(base, order));
  int blocks = 1 << 14;
  return std::min(saved(*in, exchanges, in->us, in->vs, cost[subsets - 1] * 1e-6, blocks),
                  cost[subsets - 1] - borne_by_diagonal(*in));
}

// How the points of a triangle bear what they share, the other way: a row or column that ends at the diagonal is
// borne by its point there, a full one by all of its points.

double Needs::Orders::borne_by_diagonal(const Triangle& in) {
  const double diagonal = double(std::max<int64_t>(
      0, std::min(in.us.hi, in.vs.hi - in.constant) - std::max(in.us.lo, in.vs.lo - in.constant) + 1));
  const double rows = double(std::clamp<int64_t>(in.us.hi - (in.vs.hi - in.constant), 0, in.us.count()));
  const double columns = double(std::clamp<int64_t>(in.us.lo + in.constant - in.vs.lo, 0, in.vs.count()));
  if (diagonal == 0) return 0;
  const double by_row = 1 / double(in.vs.count()), by_column = 1 / double(in.us.count());
  const std::array<Bearing, 5> bearings{{{diagonal, 1, 1, 1 / diagonal},
                                         {diagonal * (diagonal - 1) / 2},
                                         {rows * diagonal, by_row},
                                         {diagonal * columns, 0, by_column},
                                         {rows * columns, by_row, by_column}}};
  const std::vector<Steps> orders = all_orders(subsets - 1);
  double total = 0;
  for (const Bearing& one : bearings) {
    double fewest = INFINITY;
    for (const Steps& steps : orders) fewest = std::min(fewest, borne(steps, in, one));
    if (one.points > 0) total += one.points * fewest;
  }
  return total;
}

double Needs::Orders::borne(const Steps& steps, const Triangle& in, const Bearing& by) const {
  double total = 0;
  for (const Step& step : steps) {
    if (!step.told || step.products == 0) continue;
    const bool has_u = (step.variables & bit(in.u)) != 0, has_v = (step.variables & bit(in.v)) != 0;
    const double others = box_points(network.region, step.variables & ~bit(in.u) & ~bit(in.v));
    total += others * (has_u && has_v ? 1 : has_u ? by.row : has_v ? by.column : by.all);
  }
  return total;
}

// ---- sums in several pieces ----
// As the cases of a mask make them. What one piece makes on the way may serve others, and what they make may be added
// up before it meets a factor: a product bears its share of all pieces that could have a part in it.

std::vector<Needs::Orders::Coordinate> Needs::Orders::coordinates() const {
  std::vector<Coordinate> list;
  const auto add = [&](const Form& form, size_t of) {
    list.push_back({variables_of(form), needs.atoms_.range(form, network.region.box), of});
  };
  for (const size_t i : by_rows) {
    if (factor(i).value.is_position()) add(factor(i).value.form, size_t(1) << i);
    for (const Form& form : factor(i).value.at) add(form, size_t(1) << i);
  }
  for (const Form& form : needs.results_of(network)) add(form, 0);
  return list;
}

double Needs::Orders::least_beside(const std::vector<std::vector<Coordinate>>& all_pieces, size_t self) {
  const std::vector<Coordinate>& own = all_pieces[self];
  const auto may_meet = [&](const Step& step, const std::vector<Coordinate>& other) {
    for (size_t c = 0; c < own.size(); ++c) {
      const bool tells = step.told ? (own[c].variables & ~step.variables) == 0 : (own[c].factor & step.from) != 0;
      if (tells && (own[c].range.hi < other[c].range.lo || other[c].range.hi < own[c].range.lo)) return false;
    }
    return true;
  };
  double fewest = INFINITY;
  for (const Steps& steps : all_orders(subsets - 1)) {
    double total = 0;
    for (const Step& step : steps) {
      if (step.products == 0) continue;
      const auto meeting = std::count_if(all_pieces.begin(), all_pieces.end(),
                                         [&](const std::vector<Coordinate>& other) { return may_meet(step, other); });
      total += step.products / double(meeting);
    }
    fewest = std::min(fewest, total);
  }
  return fewest;
}

// Of each network, with others of the same factors and results beside it; infinite where there are none.
std::vector<double> Needs::least_as_pieces(const std::vector<const Network*>& networks) {
  constexpr size_t most_pieces = 32, most_factors_of_pieces = 4;
  std::map<std::vector<int64_t>, std::vector<size_t>> groups;  // by owner and terms
  std::vector<std::vector<size_t>> inner;
  for (size_t i = 0; i < networks.size(); ++i) {
    uint64_t data_variables = 0;
    inner.push_back(factors_inside(*networks[i], data_variables));
    if (inner[i].size() < 3 || inner[i].size() > most_factors_of_pieces) continue;
    // Products of windows and digits repeat in ways of their own.
    const bool plain = std::all_of(inner[i].begin(), inner[i].end(), [&](size_t f) {
      const Value& value = networks[i]->factors[f].value;
      return is_plain(value.is_position() ? std::vector<Form>{value.form} : value.at);
    });
    if (!plain) continue;
    std::vector<int64_t> key{int64_t(networks[i]->owner)};
    for (const size_t f : inner[i]) {
      const Value& value = networks[i]->factors[f].value;
      key.push_back(value.is_element() ? int64_t(value.term) : -1);
    }
    std::sort(key.begin() + 1, key.end());
    groups[key].push_back(i);
  }
  std::vector<double> products(networks.size(), INFINITY);
  for (const auto& [key, group] : groups) {
    if (group.size() < 2 || group.size() > most_pieces) continue;
    const EqualFactors none;
    std::vector<Orders> orders;
    orders.reserve(group.size());
    std::vector<std::vector<Orders::Coordinate>> coordinates;
    for (const size_t i : group) {
      orders.push_back(Orders{*this, *networks[i], inner[i], false, false, none});
      orders.back().prepare();
      coordinates.push_back(orders.back().coordinates());
    }
    for (size_t p = 0; p < group.size(); ++p) products[group[p]] = orders[p].least_beside(coordinates, p);
  }
  return products;
}

double Needs::products_of_pieces(const std::vector<Network>& prepared) {
  std::vector<const Network*> networks;
  for (const Network& one : prepared) networks.push_back(&one);
  const std::vector<double> beside = least_as_pieces(networks);
  double total = 0;
  for (size_t i = 0; i < prepared.size(); ++i)
    total += std::isfinite(beside[i]) ? std::min(beside[i], products_of_prepared(prepared[i], false))
                                      : products_of_prepared(prepared[i], false);
  return total;
}

void Needs::share_between_pieces() {
  std::vector<const Network*> networks;
  for (const PricedChain& chain : chains_) networks.push_back(&chain.network);
  const std::vector<double> beside = least_as_pieces(networks);
  for (size_t i = 0; i < chains_.size(); ++i)
    take_off(chains_[i], chains_[i].products - chains_[i].real_products * beside[i]);
}

}  // namespace lightline::demand
