// Elements of one term that are elements of another with more coordinates: f(x[4, j]) beside f(x[i, j]).
#include <algorithm>

#include "demand/needs.h"

namespace lightline::demand {

// The coordinates of a term at which its elements are those of the other; nothing if they are not, or not plainly.
std::optional<std::vector<Form>> Needs::places_in(const Term& special, const Term& general) {
  std::vector<std::optional<Form>> places(general.rank);
  for (size_t i = 0; i < general.args.size(); ++i) {
    const Argument &own = special.args[i], &other = general.args[i];
    if (own.factor != other.factor || own.value.kind != other.value.kind) return std::nullopt;
    if (own.value.is_number() && own.value.number != other.value.number) return std::nullopt;
    if (own.value.is_position() && own.value.denominator != other.value.denominator) return std::nullopt;
    if (own.value.at.size() != other.value.at.size()) return std::nullopt;
    std::vector<std::pair<Form, Form>> forms;
    if (own.value.is_position()) forms.emplace_back(own.value.form, other.value.form);
    for (size_t d = 0; d < own.value.at.size(); ++d) forms.emplace_back(own.value.at[d], other.value.at[d]);
    for (const auto& [here, there] : forms) {
      const uint32_t coordinate = there.is_variable() ? plain_variable(there) : no_variable;
      if (coordinate >= general.rank || atoms_.has_data(here)) return std::nullopt;
      std::optional<Form>& place = places[coordinate];
      if (place && *place != here) return std::nullopt;
      place = here;
    }
  }
  std::vector<Form> result;
  for (std::optional<Form>& place : places) {
    if (!place) return std::nullopt;
    result.push_back(std::move(*place));
  }
  return result;
}

void Needs::find_twins() {
  constexpr size_t most_alike = 32;
  std::map<std::vector<uint64_t>, std::vector<TermId>> alike;
  for (TermId id = 0; id < form_.terms.size(); ++id) {
    const Term& made = term(id);
    const bool scalar = made.kind == TermKind::call || made.kind == TermKind::sum || made.kind == TermKind::product;
    if (!scalar || !made.reads_data || uses_[id] == 0) continue;
    std::vector<uint64_t> key{uint64_t(made.kind), uint64_t(made.function), uint64_t(made.type), uint64_t(made.salt)};
    for (const Argument& arg : made.args) key.push_back(arg.value.is_element() ? arg.value.term : UINT64_MAX);
    alike[key].push_back(id);
  }
  for (auto& [key, terms] : alike) {
    if (terms.size() < 2 || terms.size() > most_alike) continue;
    std::stable_sort(terms.begin(), terms.end(), [&](TermId a, TermId b) { return term(a).rank > term(b).rank; });
    for (size_t i = 1; i < terms.size(); ++i)
      for (size_t j = 0; j < i && !twins_.contains(terms[i]); ++j) {
        const Term &special = term(terms[i]), &general = term(terms[j]);
        if (special.rank == general.rank || special.number != general.number) continue;
        if (auto places = places_in(special, general)) twins_[terms[i]] = {terms[j], std::move(*places)};
      }
  }
}

// What is needed of it is needed of its twin; of one that was looked at before, what is not needed there. True if
// nothing is left.
bool Needs::leave_to_twin(TermId id) {
  const auto found = twins_.find(id);
  if (found == twins_.end()) return false;
  const auto& [general, places] = found->second;
  if (general < id) {
    const Value twin = Value::element(general, places, term(general).width);
    const bool was = std::exchange(linear_, true);
    for (const Region& region : std::vector<Region>(needed_[id])) need(twin, region);
    linear_ = false;
    for (const Region& region : std::vector<Region>(strict_[id])) need(twin, region);
    linear_ = was;
    needed_[id].clear();
    strict_[id].clear();
    return true;
  }
  for (const auto& [own, known] :
       {std::pair(&needed_[id], &needed_[general]), std::pair(&strict_[id], &strict_[general])})
    for (const Region& made : *known) {
      const bool plain = made.samples.empty() && std::all_of(made.box.begin(), made.box.end(),
                                                             [](const Range& range) { return range.step == 1; });
      if (!plain) continue;
      std::vector<Region> left;
      for (Region& region : *own) {
        if (!region.samples.empty()) {
          left.push_back(std::move(region));
          continue;
        }
        Region there = region;
        for (size_t c = 0; c < places.size(); ++c) {
          there.cut(atoms_.sum(places[c], Form::of(-made.box[c].lo)), atoms_);
          there.cut(atoms_.sum(Form::of(made.box[c].hi), places[c], -1), atoms_);
        }
        for (const Form& cut : made.cuts) there.cut(atoms_.compose(cut, places, region.box), atoms_);
        std::vector<Region> rest{std::move(region)};
        if (!there.empty) take_off(rest, there);
        std::move(rest.begin(), rest.end(), std::back_inserter(left));
      }
      *own = std::move(left);
    }
  return needed_[id].empty();
}

}  // namespace lightline::demand
