// Networks of factors under a sum: what joins them, what leaves them, and how they may be taken apart.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "demand/needs.h"
#include "index/digits.h"

namespace lightline::demand {

using loops::Reducer;

// What is summed, as products of factors.
void Needs::expand(const Value& value, const Region& region, uint64_t summed, DType width, TermId owner,
                   Results& results) {
  Network network;
  network.region = region;
  network.summed = summed;
  network.width = width;
  network.owner = owner;
  if (need_search(value, region, owner)) return;
  if (value.is_element()) {
    const Term& made = term(value.term);
    algebra_.box = region.box;
    const bool both = made.kind == TermKind::call && made.function == loops::Function::logical_and;
    if (made.kind == TermKind::product || both) {
      for (const Argument& arg : made.args) add_factor(network, algebra_.moved(arg.value, value.at));
      price(network, owner, results);
      return;
    }
    if (const std::vector<Value> truths = truths_of(made); tier_ != Tier::floor && truths.size() > 1) {
      for (const Value& truth : truths) add_factor(network, algebra_.moved(truth, value.at));
      price(network, owner, results);
      return;
    }
    if (made.kind == TermKind::reduce && made.reducer == Reducer::sum && uses_[value.term] <= 1 && summed != 0 &&
        region.box.size() + made.reduced.size() <= 60 && !is_needed_anyway(value, region) &&
        (is_plain(value.at) || is_cheaper_inside(value, network))) {
      joined.insert(value.term);
      link(owner, value.term, Link::Kind::chain);
      for (const Case& one : made.body) {
        Region wider = region;
        uint64_t all = summed;
        const Value inner = enter(one, made, value.at, wider, all);
        if (!wider.empty) expand(inner, wider, all, width, owner, results);
      }
      return;
    }
    if (made.kind == TermKind::sum && uses_[value.term] <= 1) {
      // x a + x b is x (a + b): for the floor, products that share a factor are one.
      std::vector<Value> shared;
      const bool was = counting_;
      for (const Argument& arg : made.args) {
        const Value part = algebra_.moved(arg.value, value.at);
        std::vector<Value> factors{part};
        if (part.is_element() && term(part.term).kind == TermKind::product) {
          factors.clear();
          for (const Argument& inner : term(part.term).args) factors.push_back(algebra_.moved(inner.value, part.at));
        }
        const bool again =
            tier_ == Tier::floor && std::any_of(factors.begin(), factors.end(), [&](const Value& factor) {
              return std::find(shared.begin(), shared.end(), factor) != shared.end();
            });
        counting_ = was && !again;
        expand(part, region, summed, width, owner, results);
        counting_ = was;
        shared.insert(shared.end(), factors.begin(), factors.end());
      }
      return;
    }
  }
  add_factor(network, value);
  price(network, owner, results);
}

// The truths that a function is of, if it is of nothing else. Any function of two truths is c + d a + e b + f a b:
// counting where they differ, or where one of them holds, takes their products.
std::vector<Value> Needs::truths_of(const Term& function) {
  constexpr size_t most_truths = 4, most_visits = 32;
  std::vector<Value> truths;
  size_t visits = 0;
  const auto visit = [&](const auto& self, const Term& made, const Value* at) -> bool {
    if (++visits > most_visits) return false;
    const std::vector<Argument>& args = made.args;
    return std::all_of(args.begin(), args.end(), [&](const Argument& arg) {
      if (arg.value.is_number()) return true;
      if (!arg.value.is_element()) return false;
      const Value value = at != nullptr ? algebra_.moved(arg.value, at->at) : arg.value;
      const Term& inner = term(value.term);
      const size_t before = truths.size();
      const bool plain = inner.kind == TermKind::call || inner.kind == TermKind::sum || inner.kind == TermKind::product;
      if (plain && self(self, inner, &value)) return true;
      truths.resize(before);
      if (value.width != DType::boolean || !algebra_.reads_data(value)) return false;
      if (std::find(truths.begin(), truths.end(), value) == truths.end()) truths.push_back(value);
      return truths.size() <= most_truths;
    });
  };
  if (function.kind != TermKind::call || !visit(visit, function, nullptr)) truths.clear();
  return truths;
}

// The body of a reduction that is read at `at`, over the variables of the region and one more for each that it reduces.
Value Needs::enter(const Case& one, const Term& reduction, const std::vector<Form>& at, Region& region,
                   uint64_t& summed) {
  const std::vector<Form> images = enter(one.where, reduction, at, region, summed);
  return algebra_.moved(one.value, images);
}

std::vector<Form> Needs::enter(const Region& where, const Term& reduction, const std::vector<Form>& at, Region& region,
                               uint64_t& summed) {
  const size_t first = region.box.size();
  std::vector<Form> images;
  for (size_t r = 0; r < reduction.reduced.size(); ++r) {
    images.push_back(Form::variable(index::AtomId(first + r)));
    region.box.push_back(where.box[r]);
    summed |= bit(first + r);
  }
  images.insert(images.end(), at.begin(), at.end());
  region.points = -1;
  for (const Form& cut : where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
  algebra_.box = region.box;
  return images;
}

// Different variables, one for each form.
bool Needs::is_plain(const std::vector<Form>& at) {
  uint64_t seen = 0;
  return std::all_of(at.begin(), at.end(), [&](const Form& form) {
    if (form.is_constant()) return true;
    const bool single = form.terms.size() == 1 && index::is_variable(form.terms[0].first);
    const uint64_t own = single ? bit(form.terms[0].first) : 0;
    const bool fresh = own != 0 && (seen & own) == 0;
    seen |= own;
    return fresh;
  });
}

// Others need all of it that is read here: what made it costs nothing more.
bool Needs::is_needed_anyway(const Value& value, const Region& region) {
  const std::vector<Region>& needed = needed_[value.term];
  if (needed.empty()) return false;
  const std::vector<Region> mapped = index::image(region, value.at, atoms_);
  return !mapped.empty() && std::all_of(mapped.begin(), mapped.end(), [&](const Region& one) {
    return std::any_of(needed.begin(), needed.end(), [&](const Region& all) { return contains(all, one); });
  });
}

// The products of a sum by itself, as far as it is read here.
double Needs::products_inside(const Value& value, const Region& region) {
  return products_inside(value.term, index::image(region, value.at, atoms_));
}

double Needs::products_inside(TermId id, const std::vector<Region>& regions) {
  const Term& made = term(id);
  double total = 0;
  for (const Region& mapped : regions) {
    std::vector<Form> at;
    for (size_t c = 0; c < mapped.box.size(); ++c) at.push_back(Form::variable(index::AtomId(c)));
    for (const Case& one : made.body) {
      Network alone;
      alone.region = mapped;
      alone.apart = true;
      if (join(alone, made, one, at) && !alone.region.empty) total += products_of(std::move(alone));
    }
  }
  return total;
}

// Whether sums over a sum, that windows or digits read, take fewer products if both are one.
bool Needs::is_cheaper_inside(const Value& value, const Network& around) {
  const Term& made = term(value.term);
  if (tier_ == Tier::unfused || around.apart || made.body.size() != 1) return false;
  Network both = around, kept = around;
  both.apart = kept.apart = true;
  std::erase_if(both.factors, [&](const Factor& factor) { return factor.value == value; });
  if (!join(both, made, made.body[0], value.at)) return false;
  if (around.factors.empty()) add_factor(kept, value);
  return products_of(std::move(both)) < products_of(std::move(kept)) + products_inside(value, around.region);
}

// The product that a sum is of becomes part of the network around it.
bool Needs::join(Network& network, const Term& sum, const Case& one, const std::vector<Form>& at) {
  const Value body = one.value;
  if (!body.is_element()) return false;
  const Term& product = term(body.term);
  if (product.kind != TermKind::product || product.args.size() + network.factors.size() > most_factors) return false;
  if (network.region.box.size() + sum.reduced.size() > 60) return false;
  const Value moved = enter(one, sum, at, network.region, network.summed);
  for (const Argument& arg : product.args) add_factor(network, algebra_.moved(arg.value, moved.at));
  return true;
}

// What several networks make on the way may serve all of them: the most expensive one is counted in full.
// Gives them prepared, in the same order.
std::vector<Network> Needs::most_first(std::vector<Network>& networks) {
  std::vector<Network> prepared = networks;
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < networks.size(); ++i) {
    prepare(prepared[i]);
    order.emplace_back(-products_of_prepared(prepared[i], false), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Network> sorted, sorted_prepared;
  for (const auto& [products, i] : order) {
    sorted.push_back(std::move(networks[i]));
    sorted_prepared.push_back(std::move(prepared[i]));
  }
  networks = std::move(sorted);
  return sorted_prepared;
}

double Needs::products_together(const std::vector<Network>& prepared) {
  std::map<std::vector<int64_t>, MadeBefore> before;
  auto* const outer = std::exchange(changed_in_trial_, &before);
  double products = 0;
  for (const Network& one : prepared) products += products_of_prepared(one, true);
  changed_in_trial_ = outer;
  for (auto& [key, made] : before) {
    if (made.regions.empty() && made.rows.empty() && made.spent == 0)
      made_before_.erase(key);
    else
      made_before_[key] = std::move(made);
  }
  return products;
}

void Needs::split_digits(Network& network) {
  std::vector<Form> forms;
  bool digits = false;
  for (Factor& factor : network.factors)
    for_each_value(factor, [&](const Value& value) {
      if (value.is_position()) forms.push_back(value.form);
      forms.insert(forms.end(), value.at.begin(), value.at.end());
    });
  for (const Form& form : forms) digits |= atoms_.has_compound(form) && !atoms_.has_data(form);
  if (!digits) return;
  const std::vector<Form> results = results_of(network);
  forms.insert(forms.end(), results.begin(), results.end());
  const auto parts = index::to_affine(std::span(&network.region, 1), forms, atoms_);
  if (parts[0].size() != 1) return;
  const index::AffinePart& part = parts[0][0];
  if (part.piece.box.size() > 60) return;
  Region region;
  region.box = part.piece.box;
  region.samples = part.samples;
  for (const index::HalfSpace& cut : part.piece.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [variable, coefficient] : cut.terms) form.terms.emplace_back(index::AtomId(variable), coefficient);
    region.cut(std::move(form), atoms_);
  }
  uint64_t summed = 0;
  for (size_t v = 0; v < part.origin.size(); ++v)
    if ((network.summed & bit(part.origin[v])) != 0) summed |= bit(v);
  size_t next = 0;
  for (Factor& factor : network.factors) {
    for_each_value(factor, [&](Value& value) {
      if (value.is_position()) value.form = part.forms[next++];
      for (Form& form : value.at) form = part.forms[next++];
    });
    factor.variables = variables_of(factor.value);
  }
  network.results.assign(part.forms.begin() + int64_t(next), part.forms.end());
  network.region = std::move(region);
  network.summed = summed;
}

// The coordinates of the sum that a network belongs to, in its variables.
std::vector<Form> Needs::results_of(const Network& network) const {
  std::vector<Form> results = network.results;
  if (results.empty() && network.owner != no_term)
    for (size_t c = 0; c < term(network.owner).rank; ++c)
      results.push_back(Form::variable(index::AtomId(term(network.owner).reduced.size() + c)));
  return results;
}

bool Needs::is_scatter_over_zeros(TermId id) const {
  const Term& made = term(id);
  if (made.number != 0 || (made.reducer != Reducer::set && made.reducer != Reducer::sum)) return false;
  const Cases& init = form_.scatters[made.array].init;
  return std::all_of(init.begin(), init.end(), [](const Case& one) { return one.value.is_number(0); });
}

// A scatter over zeros is a sum over its points of one-hot rows: the places become what data tell.
bool Needs::take_scatter(Network& network, size_t i) {
  const Value value = network.factors[i].value;
  const Term& made = term(value.term);
  if (made.body.size() != 1 || !is_scatter_over_zeros(value.term)) return false;
  const ScatterParts& parts = form_.scatters[made.array];
  const uint32_t reduced = uint32_t(made.reduced.size());
  const uint32_t outer = made.rank - uint32_t(parts.extents.size());
  const Region& where = made.body[0].where;
  if (network.region.box.size() + reduced > 60) return false;
  Network next = network;
  std::vector<Form> images(reduced);
  images.insert(images.end(), value.at.begin(), value.at.end());
  // Points that plain places tell
  std::vector<bool> solved(reduced, false);
  std::vector<Form> cuts = where.cuts;
  for (const Form& cut : where.cuts) {
    const Form opposite = atoms_.scaled(cut, -1);
    if (std::find(cuts.begin(), cuts.end(), opposite) == cuts.end() || atoms_.has_compound(cut)) continue;
    uint32_t variable = loops::none;
    int open = 0;
    for (const auto& [atom, coefficient] : cut.terms)
      if (atom < reduced) {
        ++open;
        if (std::abs(coefficient) == 1) variable = atom;
      }
    if (open != 1 || variable == loops::none || solved[variable]) continue;
    const int64_t unit = cut.coefficient(variable);
    images[variable] =
        atoms_.compose(atoms_.scaled(atoms_.sum(cut, Form::variable(variable), -unit), -unit), images, next.region.box);
    solved[variable] = true;
    std::erase(cuts, cut);
    std::erase(cuts, opposite);
  }
  for (uint32_t r = 0; r < reduced; ++r) {
    if (solved[r]) continue;
    images[r] = Form::variable(index::AtomId(next.region.box.size()));
    next.summed |= bit(next.region.box.size());
    next.region.box.push_back(where.box[r]);
  }
  next.region.points = -1;
  for (const Form& cut : cuts) next.region.cut(atoms_.compose(cut, images, next.region.box), atoms_);
  algebra_.box = next.region.box;
  // Places that data tell
  std::vector<Form> places;
  for (size_t v = 0; v < next.region.box.size(); ++v) places.push_back(Form::variable(index::AtomId(v)));
  std::vector<Value> indices;
  size_t told = 0;
  for (size_t d = 0; d < parts.by_data.size(); ++d) {
    if (!parts.by_data[d]) continue;
    if (told >= parts.indices[0].size()) return false;
    const Value index = algebra_.moved(parts.indices[0][told++], images);
    const Form& place = value.at[outer + d];
    if (!place.is_variable() || !index.is_element() || !is_free(next.region, place.terms[0].first)) return false;
    if ((variables_of(index) & bit(place.terms[0].first)) != 0) return false;
    places[place.terms[0].first] = atoms_.data(index.term, index.at, parts.extents[d]);
    next.region.box[place.terms[0].first] = {0, 0, 1};
    next.summed &= ~bit(place.terms[0].first);
    indices.push_back(index);
  }
  const Value body = algebra_.moved(made.body[0].value, images);
  next.factors.erase(next.factors.begin() + int64_t(i));
  for (Factor& factor : next.factors) {
    if (factor.exponential) return false;
    factor.value = algebra_.moved(factor.value, places);
    factor.variables = variables_of(factor.value);
  }
  add_factor(next, body);
  for (const Value& index : indices) next.indices.emplace_back(index, next.region);
  next.one_hot = true;
  network = std::move(next);
  return true;
}

// No cut and no sample has the variable.
bool Needs::is_free(const Region& region, index::AtomId variable) const {
  const bool cut = std::any_of(region.cuts.begin(), region.cuts.end(), [&](const Form& form) {
    bool has = false;
    atoms_.for_each_variable(form, [&](index::AtomId v) { has |= v == variable; });
    return has;
  });
  return !cut && std::none_of(region.samples.begin(), region.samples.end(),
                              [&](const index::Sample& sample) { return sample.coordinate == variable; });
}

// How many places a row could be at that truths leave one place of; `below` are variables of the places.
double Needs::places_picked(const Value& row, size_t below, const Region& region) {
  std::set<uint32_t> seen;
  double places = 1;
  const auto visit = [&](const auto& self, const Value& value) -> void {
    if (!value.is_element() || !picks(value)) return;
    const bool test = algebra_.tests_place(value);
    for (const Argument& arg : std::vector<Argument>(term(value.term).args)) {
      const Value one = algebra_.moved(arg.value, value.at);
      if (!test) {
        self(self, one);
        continue;
      }
      const uint32_t place = one.is_position() ? plain_variable(one.form) : no_variable;
      if (place < below && seen.insert(place).second) places *= double(region.box[place].count());
    }
  };
  visit(visit, row);
  return places;
}

// A sum of fewer one-hot rows than there are places, as a choice of two out of eight, joins: each row picks by itself.
void Needs::join_one_hot_rows(Network& network) {
  bool split = false;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Factor& factor = network.factors[i];
    if (!may_join(factor.value) || factor.exponential) continue;
    const Value value = factor.value;
    const Term& rows = term(value.term);
    const Value& body = rows.body[0].value;
    if (!rows.body[0].where.is_box() || !picks(body) || network.region.box.size() + rows.reduced.size() > 60) continue;
    if (!is_plain(value.at)) {
      if (split) continue;
      split_digits(network);
      split = true;
      i = SIZE_MAX;  // from the start
      continue;
    }
    double added = 1;
    for (const Range& range : rows.reduced) added *= double(range.count());
    Network wider = network;
    wider.factors.erase(wider.factors.begin() + int64_t(i));
    const Value row = enter(rows.body[0], rows, value.at, wider.region, wider.summed);
    if (added >= places_picked(row, network.region.box.size(), wider.region)) continue;
    wider = with_part(wider, row);
    if (wider.factors.size() > most_factors) continue;
    network = std::move(wider);
    i = SIZE_MAX;  // from the start
  }
}

// Whether a truth says that an element is a digit of a variable: that is a sum over all digits.
bool Needs::picks_by_digits(const Network& network) const {
  return std::any_of(network.factors.begin(), network.factors.end(), [&](const Factor& factor) {
    if (factor.exponential || !algebra_.tests_place(factor.value)) return false;
    bool digits = false;
    for (const Argument& arg : term(factor.value.term).args)
      if (arg.value.is_position())
        atoms_.for_each_variable(arg.value.form, [&](index::AtomId v) {
          const Form& place = factor.value.at[v];
          digits |= atoms_.has_compound(place) && !atoms_.has_data(place);
        });
    return digits;
  });
}

void Needs::take_one_hot(Network& network) {
  if (tier_ != Tier::unfused) join_one_hot_rows(network);
  if (picks_by_digits(network)) split_digits(network);
  for (size_t i = 0; i < network.factors.size(); ++i)
    if (network.factors[i].value.is_element() && term(network.factors[i].value.term).kind == TermKind::scatter &&
        take_scatter(network, i))
      break;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const TermId id = network.factors[i].value.term;
    if (!network.factors[i].value.is_element()) continue;
    const Term& test = term(id);
    if (test.kind != TermKind::call || test.function != loops::Function::eq) continue;
    const Value value = network.factors[i].value;
    algebra_.box = network.region.box;
    Value place = algebra_.moved(test.args[0].value, value.at), element = algebra_.moved(test.args[1].value, value.at);
    if (!place.is_position()) std::swap(place, element);
    if (!place.is_position() || !element.is_element() || place.denominator != 1) continue;
    const uint64_t told = variables_of(element);
    for (const auto& [variable, coefficient] : Form(place.form).terms) {
      if (!index::is_variable(variable) || (coefficient != 1 && coefficient != -1) || (told & bit(variable)) != 0)
        continue;
      if (!is_free(network.region, variable)) continue;
      // coefficient * variable + rest = element
      network.indices.emplace_back(element, network.region);
      const Form rest = atoms_.sum(place.form, Form::variable(variable), -coefficient);
      const Form number = atoms_.data(element.term, element.at, network.region.box[variable].hi + 1);
      std::vector<Form> images;
      for (size_t v = 0; v < network.region.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
      images[variable] = atoms_.scaled(atoms_.sum(number, rest, -1), coefficient);
      network.region.box[variable] = {0, 0, 1};
      network.summed &= ~bit(variable);
      network.factors.erase(network.factors.begin() + int64_t(i));
      algebra_.box = network.region.box;
      for (Factor& factor : network.factors) {
        for_each_value(factor, [&](Value& part) { part = algebra_.moved(part, images); });
        factor.variables = variables_of(factor.value);
      }
      network.one_hot = true;
      i = SIZE_MAX;
      break;
    }
  }
}

}  // namespace lightline::demand
