#include "demand/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/maths.h"

namespace lightline::demand {

std::vector<Form> own_variables(size_t count, size_t first) {
  std::vector<Form> forms;
  forms.reserve(count);
  for (size_t i = 0; i < count; ++i) forms.push_back(Form::variable(index::AtomId(first + i)));
  return forms;
}
namespace {

int width_of(DType type) { return type == DType::boolean ? 1 : bits(type); }

uint64_t hash_of(const Term& term) {
  uint64_t hash = mixed(mixed(uint64_t(term.kind), uint64_t(term.function)), mixed(uint64_t(term.reducer), term.rank));
  hash = mixed(mixed(hash, term.array), mixed(term.salt, std::bit_cast<uint64_t>(term.number)));
  for (const Argument& argument : term.args)
    hash = mixed(mixed(hash, hash_of(argument.value)), std::bit_cast<uint64_t>(argument.factor));
  for (const Range& range : term.reduced) hash = mixed(mixed(hash, uint64_t(range.lo)), uint64_t(range.hi));
  for (const Case& one : term.body) hash = mixed(mixed(hash, index::hash_of(one.where)), hash_of(one.value));
  return hash;
}

bool same(const Term& a, const Term& b) {
  if (a.kind != b.kind || a.function != b.function || a.reducer != b.reducer || a.rank != b.rank ||
      a.array != b.array || a.salt != b.salt || a.number != b.number || a.args != b.args || a.reduced != b.reduced ||
      a.body.size() != b.body.size())
    return false;
  for (size_t i = 0; i < a.body.size(); ++i)
    if (!(a.body[i].where == b.body[i].where) || !(a.body[i].value == b.body[i].value)) return false;
  return true;
}

}  // namespace

DType narrower(DType a, DType b) { return width_of(b) < width_of(a) ? b : a; }
DType wider(DType a, DType b) { return width_of(b) > width_of(a) ? b : a; }

Value Value::of(double number) {
  Value value;
  value.number = number;
  return value;
}

Value Value::position(Form form, int64_t denominator) {
  if (form.is_constant()) return of(double(form.constant) / double(denominator));
  Value value;
  value.kind = Kind::position;
  value.form = std::move(form);
  value.denominator = denominator;
  return value;
}

Value Value::element(TermId term, std::vector<Form> at, DType width) {
  Value value;
  value.kind = Kind::element;
  value.term = term;
  value.at = std::move(at);
  value.width = width;
  return value;
}

bool Value::operator==(const Value& other) const {
  if (kind != other.kind) return false;
  switch (kind) {
    case Kind::number: return number == other.number || (number != number && other.number != other.number);
    case Kind::position: return denominator == other.denominator && form == other.form;
    case Kind::element: return term == other.term && at == other.at;
  }
  return false;
}

uint64_t hash_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::number: return mixed(1, std::bit_cast<uint64_t>(value.number + 0.0));
    case Value::Kind::position: return mixed(mixed(2, uint64_t(value.denominator)), index::hash_of(value.form));
    case Value::Kind::element: break;
  }
  uint64_t hash = mixed(3, value.term);
  for (const Form& form : value.at) hash = mixed(hash, index::hash_of(form));
  return hash;
}

// What the coordinates there are make of a form.
std::optional<Form> Coordinates::known(const Form& form) const {
  if (by_digits_)
    if (auto digits = of_coordinates(form)) return digits;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const Form& one = forms_[i];
    if (one.terms.size() != form.terms.size()) continue;
    const int64_t factor = form.terms[0].second / one.terms[0].second;
    bool proportional = factor != 0;
    for (size_t t = 0; t < form.terms.size() && proportional; ++t)
      proportional = form.terms[t].first == one.terms[t].first && form.terms[t].second == factor * one.terms[t].second;
    if (!proportional) continue;
    const int64_t constant = form.constant - factor * one.constant;
    if (index::is_kept(constant) && index::is_kept(factor))
      return Form{constant, {{index::AtomId(first_ + i), factor}}};
    return atoms_.sum(Form::of(constant), variable(i), factor);
  }
  return atoms_.has_data(form) ? std::nullopt : of_coordinates(form);
}

Form Coordinates::name(const Form& form) {
  if (form.is_constant()) return form;
  if (by_place_ && atoms_.has_data(form)) return at_places(form);
  if (auto found = known(form)) return *std::move(found);
  forms_.push_back(form);
  return variable(forms_.size() - 1);
}

// A variable that is a coordinate.
std::optional<Form> Coordinates::image_of(index::AtomId v) const {
  for (size_t i = 0; i < forms_.size(); ++i)
    if (forms_[i].terms.size() == 1 && forms_[i].terms[0] == std::pair<index::AtomId, int64_t>(v, 1))
      return atoms_.sum(Form::of(-forms_[i].constant), variable(i));
  return std::nullopt;
}

// A number's digits between two places, the upper one left out; without end if that is 0.
std::optional<Coordinates::Digits> Coordinates::digits_at(index::AtomId id) const {
  if (index::is_variable(id)) return Digits{Form::variable(id), 0, 1, 0};
  const index::Atom& atom = atoms_[id];
  if (atom.kind == index::Atom::Kind::data) return std::nullopt;
  Digits of{{0, atom.of.terms}, atom.of.constant, 1, 0};
  if (atom.of.terms.size() == 1 && atom.of.terms[0].second == 1) {
    const auto inner = digits_at(atom.of.terms[0].first);
    if (!inner || (inner->end != 0 && atom.of.constant != 0)) return std::nullopt;
    of = *inner;
    of.shift += atom.of.constant * of.first;
  }
  const int64_t place = of.first * atom.by;
  if (!index::is_kept(place) || !index::is_kept(of.shift) || (of.end != 0 && of.end % place != 0)) return std::nullopt;
  if (atom.kind == index::Atom::Kind::quotient)
    of.first = place;
  else
    of.end = place;
  return of;
}

bool Coordinates::contains(const Digits& all, const Digits& some) {
  return all.of == some.of && all.shift == some.shift && some.first % all.first == 0 &&
         (all.end == 0 || (some.end != 0 && all.end % some.end == 0));
}

// An atom over the coordinates: some of the digits of one of them, or what coordinates tell.
std::optional<Form> Coordinates::image_of_atom(index::AtomId id) const {
  if (index::is_variable(id)) return image_of(id);
  const index::Atom& atom = atoms_[id];
  if (atom.kind == index::Atom::Kind::data) return std::nullopt;
  const auto part = [&](const Form& whole, int64_t by, int64_t end) {
    const Form digits = atoms_.quotient(whole, by, {});
    return end == 0 ? digits : atoms_.remainder(digits, end, {});
  };
  const auto own = digits_at(id);
  for (size_t i = 0; i < forms_.size(); ++i) {
    const Form& known = forms_[i];
    const Form whole = atoms_.sum(Form::of(-known.constant), variable(i));
    if (known.terms == atom.of.terms) {
      const Form inner = atoms_.sum(Form::of(atom.of.constant), whole);
      return atom.kind == index::Atom::Kind::quotient ? part(inner, atom.by, 0) : part(inner, 1, atom.by);
    }
    if (!own || known.terms.size() != 1 || known.terms[0].second != 1) continue;
    const auto all = digits_at(known.terms[0].first);
    if (!all || !contains(*all, *own)) continue;
    return part(whole, own->first / all->first, own->end == all->end ? 0 : own->end / own->first);
  }
  const auto inner = of_coordinates(atom.of);
  if (!inner) return std::nullopt;
  return atom.kind == index::Atom::Kind::quotient ? part(*inner, atom.by, 0) : part(*inner, 1, atom.by);
}

// The form over the coordinates; nothing if they do not tell all of it.
std::optional<Form> Coordinates::of_coordinates(const Form& form) const {
  Form result = Form::of(form.constant);
  for (const auto& [id, coefficient] : form.terms) {
    const auto image = image_of_atom(id);
    if (!image) return std::nullopt;
    result = atoms_.sum(result, *image, coefficient);
  }
  return result;
}

// What has others of the digits that are asked for inside of it, and is asked for by itself, is a coordinate.
Form Coordinates::widest(const Form& digit, std::span<const Form* const> forms) const {
  const auto own = digits_at(digit.terms[0].first);
  Form result = digit;
  std::optional<Digits> most = own;
  for (const Form* form : forms) {
    if (!most || form->terms.size() != 1 || atoms_.has_data(*form)) continue;
    const auto all = digits_at(form->terms[0].first);
    if (!all || !contains(*all, *most)) continue;
    most = all;
    result = Form::variable(form->terms[0].first);
  }
  return result;
}

void Coordinates::prepare_atoms(std::span<const Form* const> forms) {
  if (by_digits_) return;
  const auto has_inside = [&](const Form& form, const Digits& all, const auto& self) -> bool {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      if (index::is_variable(term.first)) return false;
      const auto own = digits_at(term.first);
      if (own && !(*own == all) && contains(all, *own)) return true;
      return self(atoms_[term.first].of, all, self);
    });
  };
  for (const Form* form : forms) {
    if (form->terms.size() != 1 || index::is_variable(form->terms[0].first) || atoms_.has_data(*form)) continue;
    const auto all = digits_at(form->terms[0].first);
    const bool wanted = all && std::any_of(forms.begin(), forms.end(), [&](const Form* other) {
                          return !atoms_.has_data(*other) && has_inside(*other, *all, has_inside);
                        });
    if (!wanted) continue;
    const Form whole = widest(Form::variable(form->terms[0].first), forms);
    if (!of_coordinates(whole)) forms_.push_back(whole);
  }
}

void Coordinates::prepare_variables(std::span<const Form* const> forms) {
  if (by_digits_) return;
  for (const Form* form : forms) {
    if (form->terms.size() != 1 || !index::is_variable(form->terms[0].first) || form->terms[0].second == 1) continue;
    const index::AtomId v = form->terms[0].first;
    const bool has_digits = std::any_of(forms.begin(), forms.end(), [&](const Form* other) {
      bool has = false;
      atoms_.for_each_variable(*other, [&](index::AtomId one) { has |= one == v; });
      return has && atoms_.has_compound(*other) && !atoms_.has_data(*other);
    });
    if (has_digits && !image_of(v)) forms_.push_back(Form::variable(v));
    // Of 4 h and 6 h, what they are both multiples of.
    int64_t unit = 0;
    for (const Form* other : forms)
      if (other->terms.size() == 1 && other->terms[0].first == v) unit = std::gcd(unit, other->terms[0].second);
    const auto tells = [&](const Form& other) {
      return other.terms.size() == 1 && other.terms[0].first == v && unit % other.terms[0].second == 0;
    };
    if (std::none_of(forms.begin(), forms.end(), [&](const Form* other) { return tells(*other); }) &&
        std::none_of(forms_.begin(), forms_.end(), tells))
      forms_.push_back(atoms_.scaled(Form::variable(v), unit));
  }
}

// Numbers that data tell, by where they are read.
Form Coordinates::at_places(const Form& form) {
  Form result = Form::of(form.constant), plain;
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) {
      plain.terms.emplace_back(id, coefficient);
      continue;
    }
    const index::Atom& atom = atoms_[id];
    if (atom.kind == index::Atom::Kind::data) {
      std::vector<Form> at;
      for (const Form& inner : atom.at) at.push_back(name(inner));
      result = atoms_.sum(result, atoms_.data(atom.source, std::move(at), atom.extent), coefficient);
    } else if (atoms_.has_data(atom.of)) {
      const Form inner = name(atom.of);
      const Form digit = atom.kind == index::Atom::Kind::quotient ? atoms_.quotient(inner, atom.by, {})
                                                                  : atoms_.remainder(inner, atom.by, {});
      result = atoms_.sum(result, digit, coefficient);
    } else {
      plain.terms.emplace_back(id, coefficient);
    }
  }
  return atoms_.sum(result, name(plain));
}

bool Coordinates::is_digit(index::AtomId atom) const {
  if (index::is_variable(atom)) return true;
  const index::Atom& digit = atoms_[atom];
  if (digit.kind == index::Atom::Kind::data) return false;
  if (!atoms_.has_compound(digit.of)) return true;
  return digit.of.terms.size() == 1 && digit.of.terms[0].second == 1 && is_digit(digit.of.terms[0].first);
}

void Coordinates::digits_of(const Form& form, std::vector<Form>& digits) const {
  for (const auto& [atom, coefficient] : form.terms) {
    if (is_digit(atom))
      digits.push_back(Form::variable(atom));
    else
      digits_of(atoms_[atom].of, digits);
  }
}

void Coordinates::prepare_digits(std::span<const Form* const> forms) {
  std::vector<const Form*> different;
  for (const Form* form : forms) {
    if (atoms_.has_data(*form)) return;
    if (!form->is_constant() && std::none_of(different.begin(), different.end(),
                                             [&](const Form* known) { return known->terms == form->terms; }))
      different.push_back(form);
  }
  std::vector<std::vector<Form>> digits(different.size());
  std::vector<bool> mixed(different.size());  // more than a digit
  for (size_t i = 0; i < different.size(); ++i) {
    digits_of(*different[i], digits[i]);
    mixed[i] = digits[i].size() > 1 && atoms_.has_compound(*different[i]);
  }
  for (size_t i = 0; i < different.size(); ++i)
    for (size_t j = 0; j < different.size(); ++j) {
      if (i == j || !mixed[i]) continue;
      const bool common = std::any_of(digits[i].begin(), digits[i].end(), [&](const Form& digit) {
        return std::find(digits[j].begin(), digits[j].end(), digit) != digits[j].end();
      });
      if (!common) continue;
      by_digits_ = true;
      for (const size_t form : {i, j})
        for (const Form& digit : digits[form])
          if (const Form whole = widest(digit, forms); std::find(forms_.begin(), forms_.end(), whole) == forms_.end())
            forms_.push_back(whole);
    }
}

void Coordinates::prepare(std::span<const Form* const> forms) {
  if (std::any_of(forms.begin(), forms.end(), [&](const Form* form) { return atoms_.has_compound(*form); }))
    prepare_compounds(forms);
  else
    prepare_variables(forms);
  // The finest forms first, so that the others follow from them: variables, then multiples, then digits.
  std::vector<std::pair<std::pair<bool, int64_t>, const Form*>> plain_forms;  // by whether it is a sum, and its divisor
  plain_forms.reserve(forms.size());
  forms_.reserve(forms_.size() + forms.size());
  for (const Form* form : forms) {
    if (form->is_constant() || atoms_.has_compound(*form)) continue;
    int64_t divisor = 0;
    for (const auto& [atom, coefficient] : form->terms) divisor = std::gcd(divisor, coefficient);
    plain_forms.push_back({{form->terms.size() > 1, divisor}, form});
  }
  const auto is_finer = [](const auto& a, const auto& b) { return a.first < b.first; };
  const bool in_order = forms_.empty() && std::is_sorted(plain_forms.begin(), plain_forms.end(), is_finer);
  if (!in_order) std::stable_sort(plain_forms.begin(), plain_forms.end(), is_finer);
  for (const auto& [order, form] : plain_forms) name(*form);
  if (!in_order && !by_place_) order_by_use(forms);
}

// Which forms are coordinates does not say which is the first: that is the one that is used first.
void Coordinates::order_by_use(std::span<const Form* const> forms) {
  std::vector<Form> ordered;
  std::vector<bool> used(forms_.size());
  const auto use = [&](size_t i) {
    if (!used[i]) ordered.push_back(forms_[i]);
    used[i] = true;
  };
  for (const Form* form : forms) {
    if (form->is_constant() || atoms_.has_data(*form)) continue;
    if (const auto found = known(*form)) atoms_.for_each_variable(*found, [&](index::AtomId v) { use(v - first_); });
  }
  for (size_t i = 0; i < forms_.size(); ++i) use(i);
  forms_ = std::move(ordered);
}

void Coordinates::prepare_compounds(std::span<const Form* const> forms) {
  prepare_digits(forms);
  prepare_variables(forms);
  prepare_atoms(forms);
  // Variables of numbers by data that tell something else, too
  std::vector<index::AtomId> plain;
  std::vector<const Form*> data;
  for (const Form* form : forms) {
    if (!atoms_.has_data(*form)) {
      atoms_.for_each_variable(*form, [&](index::AtomId v) { plain.push_back(v); });
    } else if (std::none_of(data.begin(), data.end(), [&](const Form* known) { return *known == *form; })) {
      data.push_back(form);
    }
  }
  for (size_t i = 0; i < data.size(); ++i) {
    std::vector<index::AtomId> own;
    atoms_.for_each_variable(*data[i], [&](index::AtomId v) {
      by_place_ |= std::find(plain.begin(), plain.end(), v) != plain.end();
      own.push_back(v);
    });
    plain.insert(plain.end(), own.begin(), own.end());
  }
  for (const Form* form : forms)
    if (atoms_.has_odd_quotient(*form))
      atoms_.for_each_variable(*form, [&](index::AtomId v) {
        const auto uses = std::count_if(forms.begin(), forms.end(), [&](const Form* other) {
          bool has = false;
          atoms_.for_each_variable(*other, [&](index::AtomId one) { has |= one == v; });
          return has && *other != *form;
        });
        if (uses > 0) name(Form::variable(v));
      });
}

Form Coordinates::free_part(const Form& form, uint32_t kept) const {
  Form other = Form::of(form.constant);
  for (const auto& [atom, coefficient] : form.terms) {
    bool has_kept = false;
    atoms_.for_each_variable_of(atom, [&](index::AtomId variable) { has_kept |= variable < kept; });
    if (!has_kept) other.terms.emplace_back(atom, coefficient);
  }
  return other;
}

Form Coordinates::name_beside(const Form& form, uint32_t kept) {
  Form own, other = Form::of(form.constant), result;
  for (const auto& [atom, coefficient] : form.terms) {
    bool has_kept = false, has_other = false;
    atoms_.for_each_variable_of(atom, [&](index::AtomId variable) { (variable < kept ? has_kept : has_other) = true; });
    if (!has_kept) {
      other.terms.emplace_back(atom, coefficient);
    } else if (!has_other) {
      own.terms.emplace_back(atom, coefficient);
    } else {
      // Both in one atom: the other variables are named one by one.
      std::vector<Form> images;
      const auto reach = [&](index::AtomId variable) {
        while (images.size() <= variable) images.push_back(Form::variable(index::AtomId(images.size())));
        if (variable >= kept) images[variable] = name(Form::variable(variable));
      };
      atoms_.for_each_variable_of(atom, reach);
      result = atoms_.sum(result, atoms_.compose(Form::variable(atom), images, {}), coefficient);
    }
  }
  return atoms_.sum(atoms_.sum(result, own), name(other));
}

bool Terms::may_be_infinite(const Value& value) const {
  if (value.is_number()) return !std::isfinite(value.number);
  return value.is_element() && terms_[value.term].infinite;
}

TermId Terms::add(Term term) {
  // Exponentials of low numbers vanish, and a truth is a number, whatever it is about.
  const bool is_finite =
      term.kind == TermKind::call &&
      (term.width == DType::boolean || term.function == loops::Function::exp || term.function == loops::Function::exp2);
  term.infinite |= term.kind == TermKind::unknown || term.kind == TermKind::opaque || term.kind == TermKind::stored ||
                   term.kind == TermKind::carried || !std::isfinite(term.number);
  for (const Argument& arg : term.args) term.infinite |= !is_finite && may_be_infinite(arg.value);
  for (const Case& one : term.body) term.infinite |= may_be_infinite(one.value);
  const auto repeats = [&](const Value& value) { return value.is_element() && terms_[value.term].may_repeat; };
  for (const Argument& arg : term.args) term.may_repeat |= repeats(arg.value);
  for (const Case& one : term.body) term.may_repeat |= repeats(one.value);
  if (term.reads_data && term.salt == loops::none) term.salt = salt_;
  term.statement = statement_;
  terms_.push_back(std::move(term));
  return TermId(terms_.size() - 1);
}

TermId Terms::intern(Term term) {
  if (term.reads_data && term.salt == loops::none) term.salt = salt_;
  const uint64_t hash = hash_of(term);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same(terms_[it->second], term)) return it->second;
  const TermId id = add(std::move(term));
  by_hash_.emplace(hash, id);
  return id;
}

}  // namespace lightline::demand
