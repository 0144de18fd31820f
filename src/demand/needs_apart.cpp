// Sums among the factors of a network, taken apart where that is cheaper.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Reducer;

// Parts of a sum that is made for this alone.
void Needs::parts_of(const Value& value, const Region& region, std::vector<Value>& parts) {
  algebra_.box = region.box;
  for (const Argument& arg : term(value.term).args) {
    Value part = algebra_.moved(arg.value, value.at);
    if (part.is_element() && term(part.term).kind == TermKind::sum && uses_[part.term] <= 1 &&
        parts.size() <= most_added)
      parts_of(part, region, parts);
    else
      parts.push_back(std::move(part));
  }
}

bool Needs::makes_products(const Value& part) const {
  if (!part.is_element()) return false;
  const Term& made = term(part.term);
  return (made.kind == TermKind::product && is_outer_product(made)) ||
         (made.kind == TermKind::reduce && made.reducer == Reducer::sum && made.body.size() == 1 &&
          uses_[part.term] <= 1);
}

// Whether a part may have fewer elements than the sum that it is of; a product with formulas, if what it is made of
// has.
bool Needs::repeats(const Value& part, const Network& network, const Factor& factor) {
  if (part.is_element() && term(part.term).kind == TermKind::product) {
    algebra_.box = network.region.box;
    bool with_formula = false, all = true;
    for (const Argument& arg : term(part.term).args) {
      const Value one = algebra_.moved(arg.value, part.at);
      const bool formula = !algebra_.reads_data(one);
      with_formula |= formula;
      all = all && (formula ? (variables_of(one) & network.summed) == 0 : repeats(one, network, factor));
    }
    if (with_formula) return all;
  }
  // It tells all places of the sum.
  if (part.is_element() && factor.value.is_element() &&
      std::all_of(factor.value.at.begin(), factor.value.at.end(), [&](const Form& own) {
        return own.is_constant() ||
               std::any_of(part.at.begin(), part.at.end(), [&](const Form& form) { return form.terms == own.terms; });
      }))
    return false;
  return !part.is_element() || variables_of(part) != factor.variables || !is_plain(part.at);
}

// Whether it is zero but at one place that data tell.
bool Needs::picks(const Value& part) const {
  if (!part.is_element()) return false;
  const Term& made = term(part.term);
  if (made.kind == TermKind::call && made.function == loops::Function::eq) return true;
  const bool product =
      made.kind == TermKind::product || (made.kind == TermKind::call && made.function == loops::Function::logical_and);
  return product &&
         std::any_of(made.args.begin(), made.args.end(), [&](const Argument& arg) { return picks(arg.value); });
}

// What is added in a factor, if taking it apart could save products: parts that are products themselves, or, all of
// them, rows that repeat, or of one place each.
std::vector<Value> Needs::parts_of(const Network& network, const Factor& factor, bool& all_shrink) {
  const Value& value = factor.value;
  std::vector<Value> parts;
  all_shrink = true;
  if ((factor.variables & network.summed) == 0 || factor.exponential) return parts;
  if (value.is_position()) {
    // i - j + 1
    if (value.form.terms.size() < 2) return parts;
    for (const auto& [atom, coefficient] : value.form.terms)
      parts.push_back(Value::position(Form{0, {{atom, coefficient}}}, value.denominator));
    if (value.form.constant != 0) parts.push_back(Value::of(double(value.form.constant)));
    return parts;
  }
  if (value.is_element() && term(value.term).kind == TermKind::call &&
      term(value.term).function == loops::Function::logical_or) {
    algebra_.box = network.region.box;
    for (const Argument& arg : term(value.term).args) parts.push_back(algebra_.moved(arg.value, value.at));
    if (!std::all_of(parts.begin(), parts.end(), [&](const Value& part) { return picks(part); })) parts.clear();
    return parts;
  }
  if (!value.is_element() || term(value.term).kind != TermKind::sum) return parts;
  parts_of(value, network.region, parts);
  if (term(value.term).number != 0) parts.push_back(Value::of(term(value.term).number));
  const bool all_repeat =
      std::all_of(parts.begin(), parts.end(), [&](const Value& part) { return repeats(part, network, factor); });
  const bool all_pick = std::all_of(parts.begin(), parts.end(), [&](const Value& part) { return picks(part); });
  const bool any_makes = !factor.formula && std::any_of(parts.begin(), parts.end(), [&](const Value& part) {
    return makes_products(part);
  }) && is_made_here_alone(value, network);
  all_shrink = all_repeat || all_pick;
  if (!all_shrink && !any_makes) parts.clear();
  return parts;
}

Network Needs::with_part(const Network& rest, const Value& part) {
  Network one = rest;
  if (part.is_element() && term(part.term).kind == TermKind::product) {
    algebra_.box = rest.region.box;
    for (const Argument& arg : term(part.term).args) add_factor(one, algebra_.moved(arg.value, part.at));
  } else {
    add_factor(one, part);
  }
  return one;
}

// What a part takes by itself, as far as nobody else wants it.
double Needs::products_of_part(const Network& rest, const Value& part) {
  if (!part.is_element() || uses_[part.term] > 1) return 0;
  const Term& made = term(part.term);
  Network alone = rest;
  alone.factors.clear();
  alone.summed = 0;
  if (made.kind == TermKind::product) return is_outer_product(made) ? products_of(with_part(alone, part)) : 0;
  if (!makes_products(part) || alone.region.box.size() + made.reduced.size() > 60) return 0;
  const Value body = enter(made.body[0], made, part.at, alone.region, alone.summed);
  if (body.is_element() && term(body.term).kind == TermKind::product)
    for (const Argument& arg : term(body.term).args) add_factor(alone, algebra_.moved(arg.value, body.at));
  return alone.region.empty ? 0 : products_of(alone);
}

// Whether a sum of products becomes part of the network that it is a factor of.
bool Needs::joins(Network network, const Value& part) {
  absorb(network);
  return std::find(network.absorbed.begin(), network.absorbed.end(), part.term) != network.absorbed.end();
}

// Products of several networks, each pair of elements once.
double Needs::products_of_all(const std::vector<Network>& prepared) {
  struct Shared {
    std::vector<Region> regions;
    double products = 0;
  };
  std::map<std::pair<TermId, TermId>, Shared> pairs;
  double total = 0;
  for (const Network& network : prepared) {
    uint64_t data_variables = 0;
    const std::vector<size_t> inner = factors_inside(network, data_variables);
    if (inner.size() < 2) continue;
    const double products = cheapest_order(network, inner, false);
    const Value* first = &network.factors[inner[0]].value;
    const Value* second = &network.factors[inner[1]].value;
    if (inner.size() > 2 || !first->is_element() || !second->is_element() || first->term == second->term) {
      total += products;
      continue;
    }
    if (second->term < first->term) std::swap(first, second);
    std::vector<Form> forms = first->at;
    forms.insert(forms.end(), second->at.begin(), second->at.end());
    Shared& shared = pairs[{first->term, second->term}];
    shared.products += products;
    for (Region& region : index::image(network.region, forms, atoms_)) insert(shared.regions, std::move(region));
  }
  for (const auto& [terms, shared] : pairs)
    total += shared.regions.empty() ? shared.products : std::min<double>(shared.products, count(shared.regions));
  return total;
}

// Different elements of a value in a region; of a product those of its largest factor.
double Needs::elements_of(const Value& value, const Region& region) {
  if (value.is_number()) return 1;
  if (value.is_element() && term(value.term).kind == TermKind::product) {
    double most = 1;
    algebra_.box = region.box;
    for (const Argument& arg : term(value.term).args)
      if (algebra_.reads_data(arg.value))
        most = std::max(most, elements_of(algebra_.moved(arg.value, value.at), region));
    return most;
  }
  const std::vector<Form> forms = value.is_position() ? std::vector<Form>{value.form} : value.at;
  const std::vector<Region> image = index::image(region, forms, atoms_);
  return image.empty() ? 1 : double(count(image));
}

// x @ (w + a @ b) may be x @ w + (x @ a) @ b, and (x[s] - x[t]) @ w the difference of rows of x @ w: whatever takes
// fewer products.
bool Needs::distribute(const Network& network, TermId owner, Results& results) {
  if (network.summed == 0 || network.distributed > 1 || tier_ == Tier::unfused) return false;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    bool all_shrink = false;
    const std::vector<Value> parts = parts_of(network, network.factors[i], all_shrink);
    if (parts.size() < 2 || parts.size() > most_added) continue;
    const Value value = network.factors[i].value;
    const bool own_alone = value.is_element() && is_made_here_alone(value, network);
    // A sum that meets one factor alone: parts that have as many elements as it has take as many products.
    if (all_shrink && network.factors.size() == 2 && network.region.is_box() && value.is_element() &&
        !picks(parts[0])) {
      const double all = elements_of(value, network.region);
      double each = 0;
      for (const Value& part : parts) each += each < all ? elements_of(part, network.region) : 0;
      if (each >= all) continue;
    }
    Network rest = network;
    rest.factors.erase(rest.factors.begin() + int64_t(i));
    ++rest.distributed;
    std::vector<Network> networks;
    double own = 0, apart = 0;  // what the parts take by themselves, and of those what is made all the same
    std::vector<double> inside(parts.size(), 0);
    for (size_t p = 0; p < parts.size() && own_alone; ++p) own += inside[p] = products_of_part(rest, parts[p]);
    if (own == 0 && !all_shrink) continue;  // some part takes as much as the whole does
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].is_number()) continue;  // what it scales is a part of the others
      networks.push_back(with_part(rest, parts[p]));
      if (inside[p] > 0 && term(parts[p].term).kind == TermKind::reduce && !joins(networks.back(), parts[p]))
        apart += inside[p];
    }
    const bool too_many = std::any_of(networks.begin(), networks.end(),
                                      [](const Network& one) { return one.factors.size() > most_factors; });
    if (too_many) return false;
    const double together = products_of(network) + own;
    const std::vector<Network> prepared = most_first(networks);
    apart += std::min(products_together(prepared), products_of_all(prepared));
    if (apart >= together) continue;
    if (value.is_element()) link(owner, value.term, Link::Kind::chain);
    for (const Value& part : parts)
      if (part.is_element()) link(owner, part.term, Link::Kind::chain);
    for (Network& one : networks) price(one, owner, results);
    return true;
  }
  return false;
}

// The network with every choice of one part for each of these factors.
std::vector<Network> Needs::with_parts(const Network& network, const std::vector<PartedFactor>& parted) {
  constexpr size_t most_networks = 16;
  Network rest = network;
  for (size_t i = parted.size(); i-- > 0;) rest.factors.erase(rest.factors.begin() + int64_t(parted[i].factor));
  std::vector<Network> networks{rest};
  for (const PartedFactor& one : parted) {
    const Value value = network.factors[one.factor].value;
    const Term& made = term(value.term);
    std::vector<Network> next;
    for (const Network& before : networks)
      for (const Addend& part : one.parts) {
        Network with = before;
        if (with.region.box.size() + made.reduced.size() > 60) return {};
        const std::vector<Form> images = enter(part.where, made, value.at, with.region, with.summed);
        for (const Value& factor : part.factors) add_factor(with, algebra_.moved(factor, images));
        with.absorbed.push_back(value.term);
        if (with.factors.size() > most_factors) return {};
        if (!with.region.empty) next.push_back(std::move(with));
      }
    networks = std::move(next);
    if (networks.size() > most_networks || networks.empty()) return {};
  }
  return networks;
}

bool Needs::price_if_cheaper(const Network& network, const std::vector<PartedFactor>& parted, TermId owner,
                             Results& results) {
  std::vector<Network> networks = with_parts(network, parted);
  if (networks.empty()) return false;
  if (!network.absorbed.empty()) nested_parts_ -= int(networks.size());
  double together = products_of(network);
  for (const PartedFactor& one : parted) together += products_inside(network.factors[one.factor].value, network.region);
  const std::vector<Network> prepared = most_first(networks);
  if (std::min(products_together(prepared), products_of_pieces(prepared)) >= together) return false;
  for (Network& one : networks) price(one, owner, results);
  return true;
}

// Parts inside of parts, as in a chain of windows with borders, are more and more: beyond the budget neither the network
// nor the sums that might have joined it count.
bool Needs::leave_parts_uncounted(const Network& network) {
  bool in_parts = false;
  for (const Factor& factor : network.factors) {
    if (!factor.value.is_element()) continue;
    const Term& made = term(factor.value.term);
    if (made.kind != TermKind::reduce || made.reducer != Reducer::sum || made.body.size() < 2) continue;
    in_parts = true;
    stood_for_.insert(factor.value.term);
  }
  if (!in_parts) return false;
  need_factors(network, network.owner);
  drop("more parts of sums inside of each other than are tried");
  return true;
}

// A factor that is a sum in several parts: the order is free for each of them.
bool Needs::take_cases_apart(const Network& network, TermId owner, Results& results) {
  constexpr size_t most_cases = 16;
  if (network.summed == 0 || network.absorbed.size() >= most_absorbed || tier_ == Tier::unfused) return false;
  if (!network.absorbed.empty() && nested_parts_ <= 0) return leave_parts_uncounted(network);
  std::vector<PartedFactor> as_written, by_addends;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Value value = network.factors[i].value;
    if (!value.is_element()) continue;
    const Term& made = term(value.term);
    if (made.kind != TermKind::reduce || made.reducer != Reducer::sum) continue;
    if (made.body.size() < 2 || made.body.size() > most_cases) continue;
    if (uses_[value.term] > 1 && !is_read_here_alone(value, network)) continue;
    PartedFactor one{i, {}};
    for (const Case& each : made.body) {
      Addend part{{}, 1, each.where};
      if (!each.value.is_element() || term(each.value.term).kind != TermKind::product) break;
      algebra_.box = each.where.box;
      for (const Argument& arg : term(each.value.term).args)
        part.factors.push_back(algebra_.moved(arg.value, each.value.at));
      one.parts.push_back(std::move(part));
    }
    if (one.parts.size() == made.body.size()) as_written.push_back(std::move(one));
    if (PartedFactor grouped{i, regrouped(made.body)}; !grouped.parts.empty()) by_addends.push_back(std::move(grouped));
  }
  for (const auto* way : {&by_addends, &as_written})
    for (size_t i = 0; i <= way->size(); ++i) {
      if (way->empty() || (way->size() == 1 && i == 1)) break;
      // All of them, then each by itself
      const auto some = i == 0 ? *way : std::vector<PartedFactor>{(*way)[i - 1]};
      if (price_if_cheaper(network, some, owner, results)) return true;
    }
  return false;
}

}  // namespace lightline::demand
