#include "index/draws.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/maths.h"

namespace lightline::index {

double expected_values(double draws, double extent, double apart) {
  if (extent <= apart) return std::min(draws, extent);
  return std::min(draws, -extent * std::expm1(draws / apart * std::log1p(-apart / extent)));
}

bool is_data(const Form& form) {
  return std::any_of(form.terms.begin(), form.terms.end(), [](const auto& term) { return !is_variable(term.first); });
}

const Atom* number_by_data(const Form& form, const Atoms& atoms) {
  if (form.terms.size() != 1 || is_variable(form.terms[0].first)) return nullptr;
  const Atom& atom = atoms[form.terms[0].first];
  return atom.kind == Atom::Kind::data ? &atom : nullptr;
}

// Variables of the places that no coordinate tells.
std::set<AtomId> Draws::hidden(const Atom& atom) const {
  std::set<AtomId> found;
  for (const Form& form : atom.at) atoms_.for_each_variable(form, [&](AtomId v) { found.insert(v); });
  std::erase_if(found, [&](AtomId v) {
    return std::any_of(part_.forms.begin(), part_.forms.end(),
                       [&](const Form& form) { return !is_data(form) && form.coefficient(v) != 0; });
  });
  return found;
}

// Numbers that are read at the same places are the same, whatever variables tell the places.
uint64_t Draws::source(const Form& form, const Atom& atom) const {
  std::set<AtomId> inside;
  for (const Form& at : atom.at) atoms_.for_each_variable(at, [&](AtomId v) { inside.insert(v); });
  const bool plain =
      inside == hidden(atom) && std::none_of(part_.samples.begin(), part_.samples.end(),
                                             [&](const Sample& s) { return inside.contains(s.coordinate); });
  const bool cut = std::any_of(part_.piece.cuts.begin(), part_.piece.cuts.end(), [&](const HalfSpace& one) {
    return std::any_of(one.terms.begin(), one.terms.end(),
                       [&](const auto& term) { return inside.contains(AtomId(term.first)); });
  });
  if (!plain || cut) return hash_of(Form{0, form.terms});
  Region places;
  places.box = part_.piece.box;
  uint64_t result = mixed(mixed(atom.source, uint64_t(atom.extent)), uint64_t(form.terms[0].second));
  for (const Region& region : image(places, atom.at, atoms_)) {
    if (!region.samples.empty()) return hash_of(Form{0, form.terms});
    result = mixed(result, hash_of(region));
  }
  return result;
}

// Variables that a coordinate has, and what cuts tie to them.
std::set<AtomId> Draws::told_elsewhere() const {
  std::set<AtomId> told;
  for (const Form& form : part_.forms)
    if (!is_data(form))
      for (const auto& term : form.terms) told.insert(term.first);
  for (bool more = true; std::exchange(more, false);)
    for (const HalfSpace& cut : part_.piece.cuts) {
      const bool tied = std::any_of(cut.terms.begin(), cut.terms.end(),
                                    [&](const auto& term) { return told.contains(AtomId(term.first)); });
      if (!tied) continue;
      for (const auto& term : cut.terms) more |= told.insert(AtomId(term.first)).second;
    }
  return told;
}

// At places, where nothing else tells them apart.
double Draws::draws(std::span<const Form> at) const {
  std::set<AtomId> inside;
  for (const Form& form : at) atoms_.for_each_variable(form, [&](AtomId v) { inside.insert(v); });
  Region places;
  places.box = part_.piece.box;
  const std::set<AtomId> told = told_elsewhere();
  for (const AtomId variable : inside)
    if (told.contains(variable)) places.box[variable].hi = places.box[variable].lo;
  for (const HalfSpace& cut : part_.piece.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [variable, coefficient] : cut.terms) form.terms.push_back({AtomId(variable), coefficient});
    if (std::none_of(form.terms.begin(), form.terms.end(), [&](const auto& term) { return told.contains(term.first); }))
      places.cut(std::move(form), atoms_);
  }
  double total = 0;
  for (const Region& region : image(places, at, atoms_)) total = std::max(total, double(count(region, atoms_)));
  for (const Sample& sample : part_.samples)
    if (inside.contains(sample.coordinate)) total *= sample.expected;
  return total;
}

// All places where a number is read, told apart by coordinates or not.
double Draws::places(const Atom& atom) const {
  Region whole;
  whole.box = part_.piece.box;
  whole.samples = part_.samples;
  const std::vector<Region> found = image(whole, atom.at, atoms_);
  return found.empty() ? 0 : double(count(found, atoms_));
}

// Of an order: values of which none is there twice.
double Draws::values_apart(const Atom& atom) const {
  const Atoms::Order* order = atoms_.order(atom.source);
  if (order == nullptr) return 1;
  const Form& place = atom.at[order->along];
  std::set<AtomId> own;
  atoms_.for_each_variable(place, [&](AtomId v) { own.insert(v); });
  for (const Form& form : atom.at)
    if (&form != &place)
      for (const AtomId v : own)
        if (form.coefficient(v) != 0) return 1;
  const bool sampled = std::any_of(part_.samples.begin(), part_.samples.end(),
                                   [&](const Sample& sample) { return own.contains(sample.coordinate); });
  return sampled || atoms_.has_compound(place) ? 1 : std::max(1.0, draws(std::span(&place, 1)));
}

std::optional<double> Draws::known_values(const Atom& atom) const {
  const Atoms::Table* table = atoms_.table(atom.source);
  if (table == nullptr) return std::nullopt;
  Region places;
  places.box = part_.piece.box;
  std::set<int64_t> values;
  for (const Region& region : image(places, atom.at, atoms_)) {
    if (!region.is_box() || count(region, atoms_) > 1e6) {
      atoms_.lose(Loss::values);
      continue;
    }
    for_each_point(Piece{region.box, {}}, [&](const std::vector<int64_t>& at) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset = offset * table->extents[d] + at[d];
      if (offset >= 0 && size_t(offset) < table->values.size())
        values.insert(atoms_.place(atom, table->values[size_t(offset)]));
    });
  }
  return double(values.size());
}

// x[a[i], b[i]] is as many elements as there are draws, not every a with every b: what is more than the first ones
// alone are the others'.
void Draws::draw_together(const Atom& atom, double extent, Sample& sample) {
  Group own{hidden(atom), atom.at, extent, 1};
  bool together = false;
  for (size_t i = 0; i < groups_.size();) {
    const Group& other = groups_[i];
    const bool shared =
        std::any_of(own.variables.begin(), own.variables.end(), [&](AtomId v) { return other.variables.contains(v); });
    if (!shared) {
      ++i;
      continue;
    }
    together = true;
    own.variables.insert(other.variables.begin(), other.variables.end());
    own.at.insert(own.at.end(), other.at.begin(), other.at.end());
    own.extent *= other.extent;
    own.expected *= other.expected;
    groups_.erase(groups_.begin() + int64_t(i));
  }
  if (together) {
    sample.expected =
        std::max(1.0, std::min(sample.expected, expected_values(draws(own.at), own.extent) / own.expected));
    sample.least = 1;
  }
  own.expected *= sample.expected;
  groups_.push_back(std::move(own));
}

// Numbers by data, and variables that nothing else has, each in steps beyond all that those before reach together: they
// are the digits of the coordinate, and it has as many values as they have together.
std::optional<Draws::Digits> Draws::digits_of(size_t coordinate) const {
  auto terms = part_.forms[coordinate].terms;
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  Digits digits;
  int64_t reach = 1;
  for (const auto& [id, step] : terms) {
    int64_t values = 0, apart = step;
    if (is_variable(id)) {
      if (!is_alone(id, coordinate)) return std::nullopt;
      const Range& range = part_.piece.box[id];
      values = range.count();
      apart = step * range.step;
      digits.variables *= double(values);
    } else {
      const Atom& atom = atoms_[id];
      if (atom.kind != Atom::Kind::data || atoms_.table(atom.source) != nullptr) return std::nullopt;
      values = atom.extent;
      digits.numbers.at.insert(digits.numbers.at.end(), atom.at.begin(), atom.at.end());
      digits.extent *= double(values);
    }
    if (apart < reach || values < 1 || double(apart) * double(values) > double(greatest_kept)) return std::nullopt;
    reach += apart * (values - 1);
  }
  return digits;
}

bool Draws::is_alone(AtomId variable, size_t coordinate) const {
  for (size_t c = 0; c < part_.forms.size(); ++c)
    for (const auto& [id, step] : part_.forms[c].terms) {
      bool has = false;
      atoms_.for_each_variable_of(id, [&](AtomId v) { has |= v == variable; });
      if (has && (c != coordinate || id != variable)) return false;
    }
  return std::none_of(part_.piece.cuts.begin(), part_.piece.cuts.end(),
                      [&](const HalfSpace& cut) { return coefficient_of(cut, int(variable)) != 0; }) &&
         std::none_of(part_.samples.begin(), part_.samples.end(), [&](const Sample& sample) {
           return sample.coordinate == variable ||
                  std::find(sample.varies.begin(), sample.varies.end(), variable) != sample.varies.end();
         });
}

Sample Draws::sample(size_t coordinate) {
  const Form& form = part_.forms[coordinate];
  Sample sample;
  sample.coordinate = uint32_t(coordinate);
  const Atom* atom = number_by_data(form, atoms_);
  sample.source = atom == nullptr ? hash_of(form) : source(form, *atom);
  if (atom == nullptr) {
    const std::optional<Digits> digits = asked_.empty() ? digits_of(coordinate) : std::nullopt;
    if (!digits) {
      atoms_.lose(Loss::data);
      return sample;
    }
    asked_.push_back(coordinate);
    sample.expected = std::max(1.0, expected_values(draws(digits->numbers.at), digits->extent));
    draw_together(digits->numbers, digits->extent, sample);
    sample.least = digits->variables;
    sample.expected *= digits->variables;
    return sample;
  }
  const double extent = double(std::max<int64_t>(1, std::min<int64_t>(atom->extent, greatest_kept)));
  const bool repeated = std::any_of(asked_.begin(), asked_.end(), [&](size_t other) {
    return part_.forms[other].terms == form.terms;  // the same number by an earlier coordinate
  });
  const bool plain = form.terms[0].second == 1;  // its values follow each other
  asked_.push_back(coordinate);
  if (repeated) {
    sample.extent = plain ? extent : 0;
    return sample;
  }
  const double times = draws(atom->at), apart = std::min(extent, values_apart(*atom));
  if (const auto known = times > 1 ? known_values(*atom) : std::nullopt) {
    sample.least = sample.expected = std::max(1.0, *known);
  } else {
    sample.expected = std::max(1.0, expected_values(times, extent, apart));
    sample.least = apart;
    sample.extent = plain ? extent : 0;
  }
  sample.held_by = atom->source;
  for (const Form& at : atom->at) sample.places.push_back(atoms_.range(at, part_.piece.box));
  sample.draws = places(*atom);
  draw_together(*atom, extent, sample);
  return sample;
}

}  // namespace lightline::index
