#include "index/form.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/maths.h"
#include "index/answers.h"

namespace lightline::index {
namespace {

constexpr uint32_t unknown_source = UINT32_MAX;

void add_term(Form& form, AtomId atom, int64_t coefficient) {
  const auto at = std::lower_bound(form.terms.begin(), form.terms.end(), atom,
                                   [](const auto& term, AtomId id) { return term.first < id; });
  if (at == form.terms.end() || at->first != atom) {
    form.terms.insert(at, {atom, coefficient});
    return;
  }
  at->second += coefficient;
  if (at->second == 0) form.terms.erase(at);
}

bool same(const Atom& a, const Atom& b) {
  return a.kind == b.kind && a.by == b.by && a.source == b.source && a.extent == b.extent && a.of == b.of &&
         a.at == b.at;
}

uint64_t hash_of(const Atom& atom) {
  uint64_t hash = mixed(mixed(uint64_t(atom.kind), uint64_t(atom.by)), mixed(atom.source, uint64_t(atom.extent)));
  hash = mixed(hash, index::hash_of(atom.of));
  for (const Form& form : atom.at) hash = mixed(hash, index::hash_of(form));
  return hash;
}

// All numbers of the form are kept.
bool is_kept(const Form& form) {
  return index::is_kept(form.constant) && std::all_of(form.terms.begin(), form.terms.end(),
                                                      [](const auto& term) { return index::is_kept(term.second); });
}

int64_t bounded(__int128 value) {
  if (value > greatest_kept) return greatest_kept;
  return value < -greatest_kept ? -greatest_kept : int64_t(value);
}

}  // namespace

Range clipped(Range range, int64_t low, int64_t high) {
  if (low > range.lo) range.lo += ceil_div(low - range.lo, range.step) * range.step;
  range.hi = std::min(range.hi, high);
  if (range.hi >= range.lo) range.hi = range.lo + (range.hi - range.lo) / range.step * range.step;
  return range;
}

uint64_t hash_of(const Form& form) {
  uint64_t hash = mixed(0x51ed27, uint64_t(form.constant));
  for (const auto& [atom, coefficient] : form.terms) hash = mixed(mixed(hash, atom), uint64_t(coefficient));
  return hash;
}

int64_t Form::coefficient(AtomId atom) const {
  for (const auto& [id, coefficient] : terms)
    if (id == atom) return coefficient;
  return 0;
}

Atoms::Atoms() : answers_(std::make_unique<Answers>()) {}
Atoms::Atoms(Atoms&&) noexcept = default;
Atoms& Atoms::operator=(Atoms&&) noexcept = default;
Atoms::~Atoms() = default;

void Atoms::know(uint32_t source, Table table) {
  tables_.insert_or_assign(source, std::move(table));
  *answers_ = {};
}

void Atoms::know(uint32_t source, Order order) {
  orders_.insert_or_assign(source, order);
  *answers_ = {};
}

AtomId Atoms::intern(Atom atom) {
  const uint64_t hash = hash_of(atom);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same((*this)[it->second], atom)) return it->second;
  const AtomId id = first_compound + AtomId(atoms_.size());
  atoms_.push_back(std::move(atom));
  by_hash_.emplace(hash, id);
  return id;
}

Form Atoms::data(uint32_t source, std::vector<Form> at, int64_t extent) {
  Atom atom;
  atom.kind = Atom::Kind::data;
  atom.source = source;
  atom.at = std::move(at);
  atom.extent = extent;
  return Form::variable(intern(std::move(atom)));
}

Form Atoms::unknown() {
  lose(Loss::numbers);
  return data(unknown_source, {Form::of(unknowns_++)}, greatest_kept);
}

Form Atoms::sum(const Form& a, const Form& b, int64_t factor) {
  Form result = a;
  add(result, b, factor);
  return result;
}

void Atoms::add(Form& to, const Form& form, int64_t factor) {
  if (factor == 0) return;
  if (form.is_constant() && factor == 1 && index::is_kept(to.constant + form.constant)) {
    to.constant += form.constant;
    return;
  }
  int64_t product = 0;
  bool kept = !__builtin_mul_overflow(form.constant, factor, &product);
  if (kept) to.constant += product;
  for (const auto& [atom, coefficient] : form.terms) {
    kept = kept && !__builtin_mul_overflow(coefficient, factor, &product);
    if (!kept) break;
    add_term(to, atom, product);
  }
  if (!kept || !is_kept(to))
    to = unknown();
  else if (has_compound(to))
    rejoin(to);
}

Form Atoms::scaled(const Form& form, int64_t factor) { return sum(Form{}, form, factor); }

// Puts digits together again: k c (e div c) + k (e mod c) is k e, and k c ((e div c) mod d) + k (e mod c) is
// k (e mod c d).
void Atoms::rejoin(Form& form) {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < form.terms.size() && !again; ++i) {
      const auto [low, k] = form.terms[i];
      if (is_variable(low) || (*this)[low].kind != Atom::Kind::remainder) continue;
      const Atom& rest = (*this)[low];
      for (size_t j = 0; j < form.terms.size() && !again; ++j) {
        const auto [high, coefficient] = form.terms[j];
        if (is_variable(high) || coefficient != k * rest.by) continue;
        const Atom& upper = (*this)[high];
        Form joined;
        if (upper.kind == Atom::Kind::quotient && upper.by == rest.by && upper.of == rest.of) {
          joined = rest.of;
        } else if (upper.kind == Atom::Kind::remainder) {
          const Form inner = upper.of;
          if (inner != quotient(rest.of, rest.by, {})) continue;
          int64_t by = 0;
          if (__builtin_mul_overflow(rest.by, upper.by, &by) || !index::is_kept(by)) continue;
          joined = remainder(rest.of, by, {});
        } else {
          continue;
        }
        add_term(form, low, -k);
        add_term(form, high, -coefficient);
        form.constant += k * joined.constant;
        for (const auto& [atom, c] : joined.terms) add_term(form, atom, k * c);
        again = true;
      }
    }
  }
}

Atoms::Split Atoms::split(const Form& form, int64_t by) const {
  Split result;
  result.whole.constant = floor_div(form.constant, by);
  result.rest.constant = floor_mod(form.constant, by);
  for (const auto& [atom, coefficient] : form.terms) {
    if (const int64_t whole = coefficient / by; whole != 0) result.whole.terms.emplace_back(atom, whole);
    if (const int64_t rest = coefficient % by; rest != 0) result.rest.terms.emplace_back(atom, rest);
  }
  return result;
}

// A multiple of 2047 is one of 2048 less the number itself: 2047 i + j + 1023 has the digits i and j - i + 1023.
Atoms::Split Atoms::split_to_nearest(const Form& form, int64_t by) const {
  Split result = split(form, by);
  Form more;
  for (auto& [atom, coefficient] : result.rest.terms) {
    const int64_t carried = 2 * coefficient > by ? 1 : 2 * coefficient < -by ? -1 : 0;
    coefficient -= carried * by;
    if (carried != 0) more.terms.emplace_back(atom, carried);
  }
  for (const auto& [atom, carried] : more.terms) add_term(result.whole, atom, carried);
  return result;
}

// form = by * whole + rest where the rest is never negative and below `by`.
std::optional<Atoms::Split> Atoms::split_exactly(const Form& form, int64_t by, std::span<const Range> ranges) const {
  for (const bool to_nearest : {false, true}) {
    Split result = to_nearest ? split_to_nearest(form, by) : split(form, by);
    const Range values = range(result.rest, ranges);
    const int64_t low = floor_div(values.lo, by);
    if (low != floor_div(values.hi, by)) continue;
    result.whole.constant += low;
    result.rest.constant -= low * by;
    return result;
  }
  return std::nullopt;
}

std::optional<Atoms::Carriers> Atoms::without_carry(const Form& form, int64_t of, std::span<const Range> ranges) const {
  if (form.terms.size() < 2 || ranges.empty()) return std::nullopt;
  std::vector<int64_t> candidates;
  for (const auto& [atom, coefficient] : form.terms)
    if (const int64_t common = std::gcd(of, coefficient); common > 1) candidates.push_back(common);
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (const int64_t by : candidates) {
    Carriers found{Form::of(floor_div(form.constant, by)), Form::of(floor_mod(form.constant, by)), by};
    for (const auto& [atom, coefficient] : form.terms) {
      if (coefficient % by == 0)
        found.whole.terms.emplace_back(atom, coefficient / by);
      else
        found.rest.terms.emplace_back(atom, coefficient);
    }
    if (found.rest.terms.empty()) continue;
    const Range values = range(found.rest, ranges);
    if (values.lo >= 0 && values.hi < by) return found;
  }
  return std::nullopt;
}

Form Atoms::quotient(const Form& form, int64_t by, std::span<const Range> ranges) {
  if (by == 1) return form;
  if (const auto exact = split_exactly(form, by, ranges)) return exact->whole;
  auto [whole, rest] = split(form, by);
  // A common factor of the multiples leaves a constant that never carries.
  int64_t factor = by;
  for (const auto& [atom, coefficient] : rest.terms) factor = std::gcd(factor, coefficient);
  if (factor > 1) {
    for (auto& term : rest.terms) term.second /= factor;
    rest.constant = floor_div(rest.constant, factor);
    by /= factor;
  }
  if (const auto carriers = without_carry(rest, by, ranges))
    return sum(whole, quotient(carriers->whole, by / carriers->by, ranges));
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1 && !is_variable(rest.terms[0].first)) {
    const Atom& inner = (*this)[rest.terms[0].first];
    int64_t joined = 0;
    if (inner.kind == Atom::Kind::quotient && !__builtin_mul_overflow(inner.by, by, &joined) && index::is_kept(joined))
      return sum(whole, quotient(inner.of, joined, ranges));
    if (inner.kind == Atom::Kind::remainder && inner.by % by == 0)
      return sum(whole, remainder(quotient(inner.of, by, ranges), inner.by / by, ranges));
  }
  Atom atom;
  atom.kind = Atom::Kind::quotient;
  atom.of = std::move(rest);
  atom.by = by;
  return sum(whole, Form::variable(intern(std::move(atom))));
}

Form Atoms::remainder(const Form& form, int64_t by, std::span<const Range> ranges) {
  if (by == 1) return {};
  if (const auto exact = split_exactly(form, by, ranges)) return exact->rest;
  Form rest = split(form, by).rest;
  if (const auto carriers = without_carry(rest, by, ranges))
    return sum(carriers->rest, remainder(carriers->whole, by / carriers->by, ranges), carriers->by);
  int64_t factor = by;
  for (const auto& [atom, coefficient] : rest.terms) factor = std::gcd(factor, coefficient);
  const int64_t left = floor_mod(rest.constant, factor);
  if (factor > 1) {
    for (auto& term : rest.terms) term.second /= factor;
    rest.constant = floor_div(rest.constant, factor);
    by /= factor;
  }
  Form digit;
  const bool nested =
      rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1 && !is_variable(rest.terms[0].first);
  const Atom* const inner = nested ? &(*this)[rest.terms[0].first] : nullptr;
  if (nested && inner->kind == Atom::Kind::remainder && inner->by % by == 0) {
    digit = remainder(inner->of, by, ranges);
  } else {
    Atom atom;
    atom.kind = Atom::Kind::remainder;
    rest.constant = floor_mod(rest.constant, by);
    atom.of = std::move(rest);
    atom.by = by;
    digit = Form::variable(intern(std::move(atom)));
  }
  return sum(Form::of(left), digit, factor);
}

Range Atoms::range_of(AtomId id, std::span<const Range> ranges) const {
  if (is_variable(id)) return id < ranges.size() ? ranges[id] : anything;
  const Atom& atom = (*this)[id];
  switch (atom.kind) {
    case Atom::Kind::quotient: {
      const Range inner = range(atom.of, ranges);
      return {floor_div(inner.lo, atom.by), floor_div(inner.hi, atom.by), 1};
    }
    case Atom::Kind::remainder: {
      const Range inner = range(atom.of, ranges);
      const bool known = inner.lo > -greatest_kept && inner.hi < greatest_kept && inner.lo <= inner.hi;
      const bool one_turn = known && floor_div(inner.lo, atom.by) == floor_div(inner.hi, atom.by);
      return one_turn ? Range{floor_mod(inner.lo, atom.by), floor_mod(inner.hi, atom.by), 1} : Range{0, atom.by - 1, 1};
    }
    case Atom::Kind::data: return atom.source == unknown_source ? anything : Range{0, atom.extent - 1, 1};
  }
  return anything;
}

Range Atoms::range(const Form& form, std::span<const Range> ranges) const {
  __int128 lo = form.constant, hi = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    const Range values = range_of(atom, ranges);
    lo += __int128(coefficient) * (coefficient > 0 ? values.lo : values.hi);
    hi += __int128(coefficient) * (coefficient > 0 ? values.hi : values.lo);
  }
  return {bounded(lo), bounded(hi), 1};
}

Form Atoms::compose(const Form& form, std::span<const Form> images, std::span<const Range> ranges) {
  if (form.is_variable() && !has_compound(images[form.terms[0].first])) return images[form.terms[0].first];
  Form result = Form::of(form.constant);
  for (const auto& [id, coefficient] : form.terms) {
    if (is_variable(id)) {
      add(result, images[id], coefficient);
      continue;
    }
    const Atom& atom = (*this)[id];
    Form image;
    if (atom.kind == Atom::Kind::data) {
      std::vector<Form> at;
      for (const Form& inner : atom.at) at.push_back(compose(inner, images, ranges));
      image = data(atom.source, std::move(at), atom.extent);
    } else {
      const Form inner = compose(atom.of, images, ranges);
      image = atom.kind == Atom::Kind::quotient ? quotient(inner, atom.by, ranges) : remainder(inner, atom.by, ranges);
    }
    add(result, image, coefficient);
  }
  return result;
}

bool Atoms::is_odd_quotient(AtomId id) const {
  if (is_variable(id)) return false;
  const Atom& atom = (*this)[id];
  if (atom.kind == Atom::Kind::data) return false;
  return std::any_of(atom.of.terms.begin(), atom.of.terms.end(),
                     [&](const auto& term) { return atom.by % term.second != 0 && term.second % atom.by != 0; });
}

bool Atoms::has_odd_quotient(const Form& form) const {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
    return !is_variable(term.first) && (is_odd_quotient(term.first) || has_odd_quotient((*this)[term.first].of));
  });
}

bool Atoms::has_data(const Form& form) const {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
    if (is_variable(term.first)) return false;
    const Atom& atom = (*this)[term.first];
    return atom.kind == Atom::Kind::data || has_data(atom.of);
  });
}

}  // namespace lightline::index
