// Cases of a mask under a sum that have parts in common: sum_j (D_i + S_ij where i = j, else S_ij) x_j is a sum over
// all of S_ij x_j, and one over the diagonal of D_i x_i.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

constexpr size_t most_masked_cases = 16;
constexpr size_t most_addends = 16;

// Whether the first cut holds wherever the second does.
bool is_implied(const Form& cut, const Form& by) { return cut.terms == by.terms && cut.constant >= by.constant; }

bool are_opposite(const Form& a, const Form& b) {
  if (a.constant + b.constant != -1 || a.terms.size() != b.terms.size()) return false;
  for (size_t t = 0; t < a.terms.size(); ++t)
    if (a.terms[t].first != b.terms[t].first || a.terms[t].second != -b.terms[t].second) return false;
  return true;
}

// The cuts of the first that do not hold all over the second.
std::vector<Form> cuts_beyond(const Region& one, const Region& other) {
  std::vector<Form> beyond;
  for (const Form& cut : one.cuts)
    if (std::none_of(other.cuts.begin(), other.cuts.end(), [&](const Form& by) { return is_implied(cut, by); }))
      beyond.push_back(cut);
  return beyond;
}

// One region in place of two that one cut tells apart, or that touch in one dimension.
std::optional<Region> united(const Region& a, const Region& b) {
  if (!a.samples.empty() || !b.samples.empty()) return std::nullopt;
  const std::vector<Form> own = cuts_beyond(a, b), others = cuts_beyond(b, a);
  Region both = a;
  both.points = -1;
  if (a.box == b.box) {
    if (own.empty()) return b;
    if (others.empty()) return a;
    if (own.size() != 1 || others.size() != 1 || !are_opposite(own[0], others[0])) return std::nullopt;
    std::erase(both.cuts, own[0]);
    for (const Form& cut : b.cuts)
      if (cut != others[0] && std::find(both.cuts.begin(), both.cuts.end(), cut) == both.cuts.end())
        both.cuts.push_back(cut);
    std::sort(both.cuts.begin(), both.cuts.end());
    return both;
  }
  if (!own.empty() || !others.empty()) return std::nullopt;
  int differing = 0;
  for (size_t v = 0; v < a.box.size(); ++v) {
    if (a.box[v] == b.box[v]) continue;
    const Range &first = a.box[v].lo < b.box[v].lo ? a.box[v] : b.box[v],
                &second = a.box[v].lo < b.box[v].lo ? b.box[v] : a.box[v];
    if (++differing > 1 || first.step != 1 || second.step != 1 || first.hi + 1 != second.lo) return std::nullopt;
    both.box[v] = {first.lo, second.hi, 1};
  }
  return both;
}

// Without cuts that others imply.
void drop_implied(Region& region) {
  for (size_t i = 0; i < region.cuts.size(); ++i)
    for (size_t j = 0; j < region.cuts.size(); ++j)
      if (i != j && is_implied(region.cuts[i], region.cuts[j])) {
        region.cuts.erase(region.cuts.begin() + int64_t(i));
        i = SIZE_MAX;  // from the start
        break;
      }
}

void unite(std::vector<Region>& regions) {
  for (Region& region : regions) drop_implied(region);
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = i + 1; j < regions.size(); ++j)
      if (auto both = united(regions[i], regions[j])) {
        regions[i] = std::move(*both);
        regions.erase(regions.begin() + int64_t(j));
        i = SIZE_MAX;  // from the start
        break;
      }
}

}  // namespace

// What a value is the sum of, each a product of factors with a number; nothing if that is too much.
std::vector<Addend> Needs::addends_of(const Value& value, const Region& where) {
  algebra_.box = where.box;
  std::vector<Addend> addends{{{}, 1, where}};
  const auto multiply = [&](Addend& addend, const Value& by) {
    if (by.is_number()) {
      addend.number *= by.number;
    } else if (by.is_element() && term(by.term).kind == TermKind::product) {
      addend.number *= term(by.term).number;
      for (const Argument& arg : term(by.term).args) addend.factors.push_back(algebra_.moved(arg.value, by.at));
    } else {
      addend.factors.push_back(by);
    }
  };
  Addend whole{{}, 1, where};
  multiply(whole, value);
  addends[0].number = whole.number;
  for (const Value& factor : whole.factors) {
    if (!factor.is_element() || term(factor.term).kind != TermKind::sum) {
      for (Addend& addend : addends) addend.factors.push_back(factor);
      continue;
    }
    const Term& sum = term(factor.term);
    std::vector<Addend> next;
    for (const Addend& addend : addends) {
      for (const Argument& arg : sum.args) {
        next.push_back(addend);
        next.back().number *= arg.factor;
        multiply(next.back(), algebra_.moved(arg.value, factor.at));
      }
      if (sum.number == 0) continue;
      next.push_back(addend);
      next.back().number *= sum.number;
    }
    addends = std::move(next);
    if (addends.size() > most_addends) return {};
  }
  return addends;
}

// The cases of a sum, addend by addend: those that several cases have in common stand once for all of them, and where
// their numbers differ once more for the difference. Nothing if they have none in common.
std::vector<Addend> Needs::regrouped(const Cases& body) {
  if (tier_ == Tier::unfused || body.size() < 2 || body.size() > most_masked_cases) return {};
  std::vector<std::vector<Addend>> groups;
  size_t regions = 0;
  for (const Case& one : body) {
    std::vector<Addend> own = addends_of(one.value, one.where);
    if (own.empty()) return {};
    for (Addend& addend : own) {
      const bool data = std::any_of(addend.factors.begin(), addend.factors.end(),
                                    [&](const Value& factor) { return algebra_.reads_data(factor); });
      if (!data || addend.number == 0) continue;
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Addend>& group) {
        return group[0].factors.size() == addend.factors.size() &&
               std::is_permutation(group[0].factors.begin(), group[0].factors.end(), addend.factors.begin());
      });
      ++regions;
      (same == groups.end() ? groups.emplace_back() : *same).push_back(std::move(addend));
      if (regions > 4 * most_addends) return {};
    }
  }
  std::vector<Addend> result;
  for (const std::vector<Addend>& group : groups) {
    std::map<double, double> points;  // by number
    std::map<double, std::vector<Region>> by_number;
    std::vector<Region> all;
    for (const Addend& addend : group) {
      points[addend.number] +=
          box_points(addend.where, bit(addend.where.box.size()) - 1) / double(1 + addend.where.cuts.size());
      by_number[addend.number].push_back(addend.where);
      all.push_back(addend.where);
    }
    const auto most = std::max_element(points.begin(), points.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    unite(all);
    if (all.size() == group.size()) {
      result.insert(result.end(), group.begin(), group.end());
      continue;
    }
    for (Region& region : all) result.push_back({group[0].factors, most->first, std::move(region)});
    for (auto& [number, own] : by_number) {
      if (number == most->first) continue;
      unite(own);
      for (Region& region : own) result.push_back({group[0].factors, number - most->first, std::move(region)});
    }
  }
  return result.size() < regions ? result : std::vector<Addend>();
}

Network Needs::network_of(const Addend& addend, Region region, uint64_t summed, DType width, TermId owner) {
  Network network;
  network.region = std::move(region);
  network.summed = summed;
  network.width = width;
  network.owner = owner;
  for (const Value& factor : addend.factors) add_factor(network, factor);
  return network;
}

// One product wherever a few points are left out (all pairs but the diagonal): its sum over all points, less that over
// those few, if sums that join it make that cheaper. Tells by its value which cases are priced so.
std::optional<Value> Needs::price_unmasked(const Cases& body, const std::vector<Region>& parts, TermId id) {
  constexpr size_t most_cases = 8;
  if (!counting_ || tier_ == Tier::unfused || parts.size() != 1 || body.size() > most_cases) return std::nullopt;
  for (size_t i = 0; i < body.size(); ++i) {
    const bool again = std::any_of(body.begin(), body.begin() + int64_t(i),
                                   [&](const Case& earlier) { return earlier.value == body[i].value; });
    if (!again && price_unmasked(body[i].value, body, parts[0], id)) return body[i].value;
  }
  return std::nullopt;
}

bool Needs::price_unmasked(const Value& value, const Cases& body, const Region& part, TermId id) {
  constexpr double most_left_out = 0.25;
  if (!value.is_element() || term(value.term).kind != TermKind::product) return false;
  const uint32_t reduced = uint32_t(term(id).reduced.size());
  std::vector<Region> wheres;
  Region hull;
  double points = 0;
  for (const Case& one : body) {
    if (!(one.value == value)) continue;
    auto where = body_at(one.where, part, reduced);
    if (!where || where->empty || !where->samples.empty()) return false;
    if (hull.box.empty()) hull.box = where->box;
    for (size_t v = 0; v < hull.box.size(); ++v) {
      Range &all = hull.box[v], own = where->box[v];
      if (all.step != 1 || own.step != 1) return false;
      all = {std::min(all.lo, own.lo), std::max(all.hi, own.hi), 1};
    }
    points += index::count(*where, atoms_);
    wheres.push_back(std::move(*where));
  }
  const double all = index::count(hull, atoms_), left_out = all - points;
  if (left_out <= 0 || left_out > most_left_out * all) return false;
  const auto product = [&](const Region& region) {
    Network network =
        network_of({{}, 1, {}}, region, bit(reduced) - 1, narrower(term(id).width, wanted_width_[id]), id);
    algebra_.box = region.box;
    for (const Argument& arg : term(value.term).args) add_factor(network, algebra_.moved(arg.value, value.at));
    return network;
  };
  Network whole = product(hull);
  prepare(whole);
  if (whole.absorbed.empty()) return false;
  double apart = 0;
  std::map<TermId, std::vector<Region>> made;  // sums that are not joined by what is left
  for (const Region& where : wheres) {
    Network own = product(where);
    for (const Factor& factor : own.factors)
      if (std::find(whole.absorbed.begin(), whole.absorbed.end(), factor.value.term) != whole.absorbed.end())
        for (Region& region : index::image(where, factor.value.at, atoms_))
          insert(made[factor.value.term], std::move(region));
    prepare(own);
    for (const TermId inner : own.absorbed) made[inner].clear();
    apart += products_of_prepared(own, false);
  }
  for (const auto& [inner, regions] : made) apart += products_inside(inner, disjoint(regions));
  if (products_of_prepared(whole, false) + left_out >= apart) return false;
  for (const Region& where : wheres) {
    Network own = product(where);
    for (const TermId inner : whole.absorbed) join_all(own, inner);
    need_factors(own, id);
  }
  for (const TermId inner : whole.absorbed) {
    joined.insert(inner);
    link(id, inner, Link::Kind::chain);
  }
  uint64_t data_variables = 0;
  const std::vector<size_t> inner = factors_inside(whole, data_variables);
  Operands type = product_type(whole, inner);
  const double products = real_products(type, id) * (products_of_prepared(whole, true) + left_out);
  work_of(id).macs[type] += products;
  work_of(id).transformed_macs[type] += products;
  return true;
}

// A case as it is, with what its sums are made of for this alone, or addend by addend.
double Needs::products_of_case(const Case& one, const Network& bare) {
  Network kept = bare;
  add_factor(kept, one.value);
  if (one.value.is_element() && term(one.value.term).kind == TermKind::product) {
    kept.factors.clear();
    for (const Argument& arg : term(one.value.term).args) add_factor(kept, algebra_.moved(arg.value, one.value.at));
  }
  double own = 0, apart = 0;
  for (const Factor& factor : kept.factors) {
    if (!factor.value.is_element() || term(factor.value.term).kind != TermKind::sum) continue;
    std::vector<Value> parts;
    parts_of(factor.value, kept.region, parts);
    for (const Value& part : parts) {
      if (!part.is_element() || term(part.term).kind != TermKind::reduce) continue;
      if (term(part.term).reducer == loops::Reducer::sum && is_read_here_alone(part, kept))
        own += products_inside(part, kept.region);
    }
  }
  for (const Addend& addend : addends_of(one.value, one.where)) {
    Network network = bare;
    for (const Value& factor : addend.factors) add_factor(network, factor);
    apart += products_of(std::move(network));
  }
  return std::min(products_of(std::move(kept)) + own, apart);
}

// Prices the addends of all cases instead of the cases, if that takes fewer products.
bool Needs::price_regrouped(const Cases& body, const std::vector<Region>& needed, TermId owner, Results& results) {
  const std::vector<Addend> addends = regrouped(body);
  if (addends.empty()) return false;
  const Term& made = term(owner);
  const uint32_t reduced = uint32_t(made.reduced.size());
  const DType width = narrower(made.width, wanted_width_[owner]);
  uint64_t summed = 0;
  for (uint32_t r = 0; r < reduced; ++r) summed |= bit(r);
  double as_is = 0;
  for (const Case& one : body)
    for (const Region& region : needed)
      if (const auto where = body_at(one.where, region, reduced); where && !where->empty)
        as_is += products_of_case(one, network_of({}, *where, summed, width, owner));
  std::vector<std::pair<double, Network>> networks;
  double grouped = 0;
  for (const Addend& addend : addends)
    for (const Region& region : needed)
      if (const auto where = body_at(addend.where, region, reduced); where && !where->empty) {
        networks.emplace_back(0, network_of(addend, *where, summed, width, owner));
        networks.back().first = products_of(networks.back().second);
        grouped += networks.back().first;
      }
  if (grouped >= as_is) return false;
  // For the floor, of those that share a factor the most stand for all.
  const auto shares = [&](const Network& a, const Network& b) {
    return std::any_of(a.factors.begin(), a.factors.end(), [&](const Factor& factor) {
      return factor.value.is_element() && !factor.formula && times_read(b, factor.value.term) > 0;
    });
  };
  std::stable_sort(networks.begin(), networks.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool was = counting_;
  link(owner, owner, Link::Kind::chain);
  std::vector<Network> priced;
  for (auto& [products, network] : networks) {
    const bool again = tier_ == Tier::floor && std::any_of(priced.begin(), priced.end(), [&](const Network& other) {
                         return shares(network, other);
                       });
    counting_ = was && !again;
    priced.push_back(network);
    price(network, owner, results);
  }
  counting_ = was;
  return true;
}

}  // namespace lightline::demand
