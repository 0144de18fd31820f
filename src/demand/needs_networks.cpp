// Networks of factors under a sum: what joins them, what leaves them, and how they may be taken apart.
#include <algorithm>
#include <bit>
#include <cmath>

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
  images.reserve(reduction.reduced.size() + at.size());
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
    const std::vector<Form> at = own_variables(mapped.box.size());
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
  Network both = around;
  both.apart = true;
  std::erase_if(both.factors, [&](const Factor& factor) { return factor.value == value; });
  if (!join(both, made, made.body[0], value.at)) return false;
  Network kept = around;
  kept.apart = true;
  if (around.factors.empty()) add_factor(kept, value);
  return products_of(std::move(both)) < products_of(std::move(kept)) + products_inside(value, around.region);
}

// The product that a sum is of becomes part of the network around it.
bool Needs::join(Network& network, const Term& sum, const Case& one, const std::vector<Form>& at) {
  if (!one.value.is_element()) return false;
  const Term& product = term(one.value.term);
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
  bool digits = false;
  const auto see = [&](const Form& form) { digits |= atoms_.has_compound(form) && !atoms_.has_data(form); };
  for (Factor& factor : network.factors)
    for_each_value(factor, [&](const Value& value) {
      if (value.is_position()) see(value.form);
      for (const Form& form : value.at) see(form);
    });
  if (!digits) return;
  std::vector<Form> forms;
  for (Factor& factor : network.factors)
    for_each_value(factor, [&](const Value& value) {
      if (value.is_position()) forms.push_back(value.form);
      forms.insert(forms.end(), value.at.begin(), value.at.end());
    });
  const std::vector<Form> results = results_of(network);
  forms.insert(forms.end(), results.begin(), results.end());
  std::optional<index::AffinePart> part = index::single_affine(network.region, forms, atoms_);
  if (!part || part->piece.box.size() > 60) return;
  Region region;
  region.box = std::move(part->piece.box);
  region.samples = std::move(part->samples);
  for (const index::HalfSpace& cut : part->piece.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [variable, coefficient] : cut.terms) form.terms.emplace_back(index::AtomId(variable), coefficient);
    region.cut(std::move(form), atoms_);
  }
  uint64_t summed = 0;
  for (size_t v = 0; v < part->origin.size(); ++v)
    if ((network.summed & bit(part->origin[v])) != 0) summed |= bit(v);
  const uint64_t summed_before = network.summed;
  size_t next = 0;
  for (Factor& factor : network.factors) {
    for_each_value(factor, [&](Value& value) {
      if (value.is_position()) value.form = std::move(part->forms[next++]);
      for (Form& form : value.at) form = std::move(part->forms[next++]);
    });
    const uint64_t before = std::exchange(factor.variables, variables_of(factor.value));
    // Where a variable has one value its digits are numbers: the factor does not leave the sum for that.
    for (size_t v = 0; v < part->origin.size(); ++v)
      if ((before & summed_before & bit(part->origin[v])) != 0 && region.box[v].count() == 1)
        factor.variables |= bit(v);
  }
  network.results.assign(part->forms.begin() + int64_t(next), part->forms.end());
  network.region = std::move(region);
  network.summed = summed;
}

// The coordinates of the sum that a network belongs to, in its variables.
std::vector<Form> Needs::results_of(const Network& network) const {
  if (!network.results.empty() || network.owner == no_term) return network.results;
  return own_variables(term(network.owner).rank, term(network.owner).reduced.size());
}

}  // namespace lightline::demand
