#include "index/region.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/maths.h"

namespace lightline::index {
namespace {

Range common(const Range& a, const Range& b) {
  Range result = clipped(a.step >= b.step ? a : b, std::max(a.lo, b.lo), std::min(a.hi, b.hi));
  const Range& coarse = a.step >= b.step ? a : b;
  const Range& fine = a.step >= b.step ? b : a;
  if (fine.step == 1 || result.count() == 0) return result;
  const int64_t step = coarse.step / std::gcd(coarse.step, fine.step) * fine.step;
  while (result.lo <= result.hi && floor_mod(result.lo - fine.lo, fine.step) != 0) {
    result.lo += coarse.step;
    if (result.lo - std::max(a.lo, b.lo) > step) return {0, -1, 1};
  }
  result.step = step;
  return clipped(result, result.lo, result.hi);
}

Form opposite(const Form& form) {  // less than 0
  Form result = Form::of(-form.constant - 1);
  for (const auto& [atom, coefficient] : form.terms) result.terms.emplace_back(atom, -coefficient);
  return result;
}

// Both can not be at least 0: one is the other turned round, and less.
bool exclude(const Form& a, const Form& b) {
  if (a.terms.size() != b.terms.size() || a.constant + b.constant >= 0) return false;
  for (size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].first != b.terms[i].first || a.terms[i].second != -b.terms[i].second) return false;
  return true;
}

Form shifted(AtomId variable, int64_t coefficient, int64_t constant) { return {constant, {{variable, coefficient}}}; }

// What makes a range: forms that are at least 0 on it, and only there.
std::vector<Form> conditions(AtomId variable, const Range& range, const Range& natural, Atoms& atoms) {
  std::vector<Form> result;
  if (range.lo > natural.lo) result.push_back(shifted(variable, 1, -range.lo));
  if (range.hi < natural.hi && !(natural.step == 1 && range.step > 1 && natural.hi - range.hi < range.step))
    result.push_back(shifted(variable, -1, range.hi));
  if (range.step > natural.step) {
    Form rest = atoms.remainder(shifted(variable, 1, -range.lo), range.step, {});
    result.push_back(atoms.scaled(rest, -1));
  }
  return result;
}

}  // namespace

Region Region::whole(std::span<const int64_t> extents) {
  Region region;
  region.box.reserve(extents.size());
  for (const int64_t extent : extents) {
    region.box.push_back({0, extent - 1, 1});
    region.empty |= extent <= 0;
  }
  return region;
}

namespace {

Form added(const Form& a, const Form& b, int64_t factor) {
  Form result = Form::of(a.constant + factor * b.constant);
  for (size_t i = 0, j = 0; i < a.terms.size() || j < b.terms.size();) {
    const bool first = j == b.terms.size() || (i < a.terms.size() && a.terms[i].first <= b.terms[j].first);
    const bool second = i == a.terms.size() || (j < b.terms.size() && b.terms[j].first <= a.terms[i].first);
    const AtomId atom = first ? a.terms[i].first : b.terms[j].first;
    const int64_t coefficient = (first ? a.terms[i++].second : 0) + (second ? factor * b.terms[j++].second : 0);
    if (coefficient != 0) result.terms.emplace_back(atom, coefficient);
  }
  return result;
}

// q + rest >= 0 for a quotient q of a form by a number is form + number * rest >= 0. It is said so where the form takes
// steps that are no digits of the number.
std::optional<Form> without_odd_quotient(const Form& form, const Atoms& atoms) {
  if (!atoms.has_compound(form)) return std::nullopt;
  const auto [id, coefficient] = form.terms.back();
  if (form.terms.size() > 1 && !is_variable(form.terms[form.terms.size() - 2].first)) return std::nullopt;
  const Atom& atom = atoms[id];
  if (atom.kind != Atom::Kind::quotient || std::abs(coefficient) != 1 || !atoms.is_odd_quotient(id))
    return std::nullopt;
  Form rest = form;
  rest.terms.pop_back();
  if (coefficient > 0) return added(atom.of, rest, atom.by);
  Form scaled = added(Form::of(atom.by - 1), rest, atom.by);
  return added(scaled, atom.of, -1);
}

// 512 r + j <= 511 is r <= 0 where j is below 512: what the others can add makes no difference.
std::optional<Form> without_remainder(const Form& form, std::span<const Range> box) {
  std::pair<AtomId, int64_t> largest{0, 0};
  int64_t low = form.constant, high = form.constant;  // of all
  for (const auto& [atom, coefficient] : form.terms) {
    if (!is_variable(atom)) return std::nullopt;
    const Range& range = box[atom];
    low += coefficient * (coefficient > 0 ? range.lo : range.hi);
    high += coefficient * (coefficient > 0 ? range.hi : range.lo);
    if (std::abs(coefficient) > std::abs(largest.second)) largest = {atom, coefficient};
  }
  const auto [variable, coefficient] = largest;
  const int64_t size = std::abs(coefficient);
  if (size < 2) return std::nullopt;
  low -= coefficient * (coefficient > 0 ? box[variable].lo : box[variable].hi);
  high -= coefficient * (coefficient > 0 ? box[variable].hi : box[variable].lo);
  if (floor_div(low, size) != floor_div(high, size)) return std::nullopt;
  return Form{floor_div(low, size), {{variable, coefficient > 0 ? 1 : -1}}};
}

}  // namespace

void Region::cut(Form form, const Atoms& atoms) {
  if (empty) return;
  while (auto plainer = without_odd_quotient(form, atoms)) form = std::move(*plainer);
  const Range values = atoms.range(form, box);
  if (values.lo >= 0) return;
  points = -1;
  if (values.hi < 0) {
    empty = true;
    return;
  }
  if (form.terms.size() == 1 && is_variable(form.terms[0].first)) {
    const auto [variable, coefficient] = form.terms[0];
    Range& range = box[variable];
    range = coefficient > 0 ? clipped(range, ceil_div(-form.constant, coefficient), range.hi)
                            : clipped(range, range.lo, floor_div(form.constant, -coefficient));
    empty |= range.hi < range.lo;
    return;
  }
  int64_t factor = 0;
  for (const auto& [atom, coefficient] : form.terms) factor = std::gcd(factor, coefficient);
  if (factor > 1) {
    for (auto& term : form.terms) term.second /= factor;
    form.constant = floor_div(form.constant, factor);
  }
  if (const auto plainer = without_remainder(form, box)) return cut(*plainer, atoms);
  const auto at = std::lower_bound(cuts.begin(), cuts.end(), form);
  if (at == cuts.end() || *at != form) cuts.insert(at, std::move(form));
}

void Region::cut_equal(const Form& a, const Form& b, Atoms& atoms) {
  Form difference = atoms.sum(a, b, -1);
  Form reverse = atoms.scaled(difference, -1);
  cut(std::move(difference), atoms);
  cut(std::move(reverse), atoms);
}

uint64_t hash_of(const Region& region) {
  uint64_t hash = 0x2f1;
  for (const Range& range : region.box)
    hash = mixed(mixed(mixed(hash, uint64_t(range.lo)), uint64_t(range.hi)), uint64_t(range.step));
  for (const Form& form : region.cuts) hash = mixed(hash, hash_of(form));
  for (const Sample& sample : region.samples) hash = mixed(mixed(hash, sample.coordinate), sample.source);
  return hash;
}

Region pull_back(const Region& region, std::span<const Range> natural, std::span<const Form> images,
                 const Region& within, Atoms& atoms) {
  Region result = within;
  result.empty |= region.empty;
  for (size_t d = 0; d < region.box.size() && !result.empty; ++d) {
    if (region.box[d] == natural[d]) continue;
    const std::vector<Form> image{images[d]};
    for (const Form& condition : conditions(0, region.box[d], natural[d], atoms))
      result.cut(atoms.compose(condition, image, result.box), atoms);
  }
  for (const Form& cut : region.cuts) {
    if (result.empty) break;
    result.cut(atoms.compose(cut, images, result.box), atoms);
  }
  return result;
}

Region intersection(const Region& a, const Region& b, const Atoms& atoms) {
  Region result = a;
  result.empty |= b.empty;
  result.points = -1;
  for (size_t d = 0; d < a.box.size() && !result.empty; ++d) {
    if (a.box[d] == b.box[d]) continue;
    result.box[d] = common(a.box[d], b.box[d]);
    result.empty |= result.box[d].hi < result.box[d].lo;
  }
  for (const Form& cut : b.cuts) result.cut(cut, atoms);
  for (const Form& cut : a.cuts) {  // the smaller box may decide them
    if (result.empty) break;
    if (atoms.range(cut, result.box).hi < 0) result.empty = true;
    for (const Form& other : b.cuts) result.empty |= exclude(cut, other);
  }
  return result;
}

bool has_common_points(const Region& a, const Region& b, const Atoms& atoms) {
  if (a.empty || b.empty) return false;
  for (size_t d = 0; d < a.box.size(); ++d) {
    if (a.box[d] == b.box[d]) continue;
    const Range both = common(a.box[d], b.box[d]);
    if (both.hi < both.lo) return false;
  }
  return (a.cuts.empty() && b.cuts.empty()) || !intersection(a, b, atoms).empty;
}

std::vector<Region> difference(const Region& a, const Region& b, Atoms& atoms) {
  std::vector<Region> parts;
  Region rest = a;
  const auto keep = [&](const Form& condition) {
    const Form outside = opposite(condition);
    if (std::any_of(rest.cuts.begin(), rest.cuts.end(), [&](const Form& cut) { return exclude(outside, cut); })) return;
    Region part = rest;
    part.cut(outside, atoms);
    if (!part.empty) parts.push_back(std::move(part));
    rest.cut(condition, atoms);
  };
  if (!has_common_points(a, b, atoms)) return a.empty ? parts : std::vector<Region>{a};
  for (size_t d = 0; d < a.box.size(); ++d)
    for (const Form& condition : conditions(AtomId(d), b.box[d], a.box[d], atoms))
      if (!rest.empty) keep(condition);
  for (const Form& cut : b.cuts)
    if (!rest.empty) keep(cut);
  return parts;
}

}  // namespace lightline::index
