// Factors that are zero but at places that data tell: they pick from what they meet.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "demand/needs.h"
#include "demand/numbers.h"

namespace lightline::demand {

using loops::Reducer;

bool Needs::is_scatter_over_zeros(TermId id) const {
  const Term& made = term(id);
  if (made.number != 0 || (made.reducer != Reducer::set && made.reducer != Reducer::sum)) return false;
  const Cases& init = form_.scatters[made.array].init;
  return std::all_of(init.begin(), init.end(), [](const Case& one) { return one.value.is_number(0); });
}

// A scatter over zeros is a sum over its points of one-hot rows: the places become what data tell. So does what is
// made of it, as long as it is zero wherever nothing was scattered to.
bool Needs::take_scatter(Network& network, size_t i, const Value& value) {
  const bool whole = network.factors[i].value == value;
  const Term& made = term(value.term);
  if (made.body.size() != 1) return false;
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
  if (whole) next.factors.erase(next.factors.begin() + int64_t(i));
  for (Factor& factor : next.factors) {
    if (factor.exponential) return false;
    factor.value = algebra_.moved(factor.value, places);
    factor.variables = variables_of(factor.value);
  }
  if (whole) add_factor(next, body);
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

// What data scatter to places, over the same number everywhere else.
std::optional<double> Needs::number_beside(TermId id) const {
  const Term& made = term(id);
  if (made.kind != TermKind::scatter || made.body.size() != 1) return std::nullopt;
  if (made.reducer != Reducer::set && made.reducer != Reducer::sum) return std::nullopt;
  const Cases& init = form_.scatters[made.array].init;
  if (init.empty()) return 0;
  const auto same = [&](const Case& one) { return one.value.is_number() && one.value == init[0].value; };
  if (made.number != 0 || !std::all_of(init.begin(), init.end(), same)) return std::nullopt;
  return init[0].value.number;
}

// What a value is at places where nothing was scattered to, if it is always the same number there; gathers the
// scatters that it is made of, if none is asked about.
std::optional<double> Needs::number_at_rest(const Value& value, const Value* scatter, std::vector<Value>& scatters,
                                            RestSearch search) {
  if (value.is_number()) return value.number;
  if (!value.is_element() || search.depth == 0 || !scattered_below_[value.term] || --*search.visits <= 0)
    return std::nullopt;
  if (number_beside(value.term)) {
    if (scatter != nullptr) return *scatter == value ? number_beside(value.term) : std::nullopt;
    if (std::find(scatters.begin(), scatters.end(), value) == scatters.end()) scatters.push_back(value);
    return std::nullopt;
  }
  --search.depth;
  const Term made = term(value.term);
  if (made.kind == TermKind::reduce && made.reducer == Reducer::sum) {
    std::vector<Form> images = own_variables(made.reduced.size(), search.variables);
    images.insert(images.end(), value.at.begin(), value.at.end());
    search.variables += made.reduced.size();
    bool zero = true;
    for (const Case& one : made.body) {
      const auto number = number_at_rest(algebra_.moved(one.value, images), scatter, scatters, search);
      zero = zero && number && *number == 0;
    }
    return zero ? std::optional<double>(0) : std::nullopt;
  }
  if (made.kind != TermKind::call && made.kind != TermKind::sum && made.kind != TermKind::product) return std::nullopt;
  std::vector<std::optional<double>> args;
  for (const Argument& arg : made.args)
    args.push_back(number_at_rest(algebra_.moved(arg.value, value.at), scatter, scatters, search));
  const bool all = std::all_of(args.begin(), args.end(), [](const auto& arg) { return arg.has_value(); });
  if (made.kind == TermKind::sum) {
    double total = made.number;
    for (size_t i = 0; i < args.size(); ++i) total += args[i] ? made.args[i].factor * *args[i] : 0;
    return all || std::isinf(total) ? std::optional<double>(total) : std::nullopt;
  }
  if (made.kind == TermKind::product) {
    double total = made.number;
    for (const auto& arg : args) total *= arg.value_or(1);
    return all || total == 0 ? std::optional<double>(total) : std::nullopt;
  }
  if (made.function == loops::Function::select && args[0]) return args[*args[0] != 0 ? 1 : 2];
  if (!all) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& arg : args) numbers.push_back(*arg);
  return demand::evaluate(made.function, numbers, is_integer(made.type));
}

void Needs::find_scattered() {
  scattered_below_.assign(form_.terms.size(), false);
  for (TermId id = 0; id < form_.terms.size(); ++id) {
    const auto has = [&](const Value& value) { return value.is_element() && scattered_below_[value.term]; };
    const Term& made = term(id);
    scattered_below_[id] =
        number_beside(id) ||
        std::any_of(made.args.begin(), made.args.end(), [&](const Argument& arg) { return has(arg.value); }) ||
        std::any_of(made.body.begin(), made.body.end(), [&](const Case& one) { return has(one.value); });
  }
}

// The first factor that is zero but at places that data tell tells them.
void Needs::take_scattered(Network& network) {
  constexpr int most_visits = 256, most_depth = 12;
  if (scattered_below_.empty()) find_scattered();
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Value value = network.factors[i].value;
    if (!value.is_element() || network.factors[i].exponential || !scattered_below_[value.term]) continue;
    std::vector<Value> scatters;
    int visits = most_visits;
    algebra_.box.clear();
    number_at_rest(value, nullptr, scatters, {most_depth, &visits, network.region.box.size()});
    for (const Value& scatter : scatters) {
      std::vector<Value> none;
      visits = most_visits;
      const auto number = number_at_rest(value, &scatter, none, {most_depth, &visits, network.region.box.size()});
      if (number && *number == 0 && take_scatter(network, i, scatter)) return;
    }
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
  const bool scattered_by_digits =
      std::any_of(network.factors.begin(), network.factors.end(), [&](const Factor& factor) {
        return factor.value.is_element() && !factor.exponential && number_beside(factor.value.term) == 0 &&
               std::any_of(factor.value.at.begin(), factor.value.at.end(),
                           [&](const Form& form) { return atoms_.has_compound(form) && !atoms_.has_data(form); });
      });
  if (scattered_by_digits || picks_by_digits(network)) split_digits(network);
  take_scattered(network);
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
