// Arrays whose elements are made in several ways: one term from here on, an element of it where data tell the place, and
// the one way where a region has no other.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/maths.h"
#include "demand/builder.h"

namespace lightline::demand {

using loops::ArrayId;

namespace {

// Very many ways in both directions, as in the rings inside the border of an image after many windows.
bool is_grid_of_ways(const Cases& cases) {
  constexpr size_t most_ways = 64, most_starts = 6;
  if (cases.size() <= most_ways) return false;
  size_t directions = 0;
  for (size_t d = 0; d < cases[0].where.box.size(); ++d) {
    std::set<int64_t> starts;
    for (const Case& one : cases) starts.insert(one.where.box[d].lo);
    directions += starts.size() > most_starts ? 1 : 0;
  }
  return directions > 1;
}

// Lowered so far that an exponential of it is nothing.
bool is_masked(const Term& term) { return term.kind == TermKind::sum && term.number <= as_good_as_minus_infinity; }

}  // namespace

// Elements that are made in many ways, by turns as in the tree of a scan or anew in every step of a loop, are one term
// from here on: what is made of them is not taken apart again. So are those of a grid of very many ways, some of
// which may be the same.
void Builder::refer_to(ArrayId array, Cases& cases, bool in_loop) {
  constexpr size_t most_ways = 6;
  if (cases.size() <= most_ways) return;
  const bool grid = is_grid_of_ways(cases);
  if (!grid && !in_loop && !is_by_turns(cases)) return;
  Region whole;
  for (const loops::IndexId counter : counters_) whole.box.push_back({0, program_.indices[counter].extent - 1, 1});
  for (const int64_t extent : program_.arrays[array].shape) whole.box.push_back({0, extent - 1, 1});
  std::set<TermId> terms;
  DType width = DType::boolean;
  double points = 0;  // cases are disjoint
  bool may_repeat = false;
  for (const Case& one : cases) {
    if (!one.value.is_element() || !algebra_.reads_data(one.value) || !one.where.samples.empty()) return;
    if (grid && is_masked(terms_[one.value.term])) return;  // one term would hide what the mask leaves out
    may_repeat = may_repeat || !terms.insert(one.value.term).second;
    points += index::count(one.where, atoms_);
    width = wider(width, one.value.width);
  }
  if ((may_repeat && !grid) || points < double(index::count(whole, atoms_))) return;
  if (grid) algebra_.given_up.emplace_back("sums and products of what is made in more ways than are told apart");
  Term term;
  term.kind = TermKind::array;
  term.type = compute_type(program_.arrays[array].dtype);
  term.width = width;
  term.rank = uint32_t(whole.box.size());
  term.reads_data = true;
  term.may_repeat = may_repeat;
  term.body = std::move(cases);
  const TermId id = terms_.intern(std::move(term));
  cases = {{whole, Value::element(id, own_variables(whole.box.size()), width)}};
}

// A place `many * number + rest`, of which data tell the number alone: two coordinates, if the cases are of whole blocks
// of `many`.
void Builder::take_place_apart(Cases& cases, std::vector<Range>& box, std::vector<Form>& at, size_t d) {
  if (at[d].terms.size() != 1 || at[d].constant != 0 || at[d].terms[0].second != 1) return;
  if (index::is_variable(at[d].terms[0].first) || box[d].lo != 0 || box[d].step != 1) return;
  const index::Atom atom = atoms_[at[d].terms[0].first];
  if (atom.kind != index::Atom::Kind::data || atom.source >= terms_.size()) return;
  const Term made = terms_[atom.source];
  if (made.kind != TermKind::sum || !index::is_kept(int64_t(made.number))) return;
  Form rest = Form::of(int64_t(made.number));
  std::optional<Value> number;
  int64_t many = 0;
  for (const Argument& arg : made.args) {
    const Value part = algebra_.moved(arg.value, atom.at);
    if (arg.factor != std::floor(arg.factor) || !index::is_kept(int64_t(arg.factor))) return;
    if (part.is_position() && part.denominator == 1) {
      atoms_.add(rest, part.form, int64_t(arg.factor));
    } else if (part.is_element() && !number) {
      number = part;
      many = int64_t(arg.factor);
    } else {
      return;
    }
  }
  const Range left = atoms_.range(rest, algebra_.box);
  if (!number || many < 2 || box[d].count() % many != 0 || left.lo < 0 || left.hi >= many) return;
  const auto is_whole = [&](const Case& one) {
    const Range& own = one.where.box[d];
    bool cut = false;
    for (const Form& form : one.where.cuts) atoms_.for_each_variable(form, [&](index::AtomId v) { cut |= v == d; });
    return !cut && own.step == 1 && own.lo % many == 0 && (own.hi + 1) % many == 0;
  };
  if (!std::all_of(cases.begin(), cases.end(), is_whole)) return;
  std::vector<Form> images = own_variables(box.size());
  for (size_t c = d + 1; c < images.size(); ++c) images[c] = Form::variable(index::AtomId(c + 1));
  images[d] = {0, {{index::AtomId(d), many}, {index::AtomId(d + 1), 1}}};
  const std::vector<Range> outside = std::exchange(algebra_.box, {});
  for (Case& one : cases) {
    const Range own = one.where.box[d];
    one.where.box[d] = {own.lo / many, own.hi / many, 1};
    one.where.box.insert(one.where.box.begin() + int64_t(d) + 1, Range{0, many - 1, 1});
    for (Form& cut : one.where.cuts) cut = atoms_.compose(cut, images, one.where.box);
    one.where.points = -1;
    algebra_.box = one.where.box;
    one.value = algebra_.moved(one.value, images);
  }
  algebra_.box = outside;
  const int64_t numbers = box[d].count() / many;
  box[d] = {0, numbers - 1, 1};
  box.insert(box.begin() + int64_t(d) + 1, Range{0, many - 1, 1});
  at[d] = subscript(*number, numbers, outside);
  at.insert(at.begin() + int64_t(d) + 1, std::move(rest));
}

// An element of an array that is made in several ways, at a place that data tell: which way they tell too. The array is
// one term then.
std::optional<Value> Builder::element_by_data(ArrayId array, const Cases& given, std::span<const Form> places) {
  const auto by_numbers = [&](const Form& form) { return atoms_.has_data(form); };
  if (given.size() < 2 || std::none_of(places.begin(), places.end(), by_numbers)) return std::nullopt;
  std::vector<Form> at(places.begin(), places.end());
  std::vector<Range> box = natural(array);
  Cases cases = given;
  for (size_t d = 0; d < at.size(); ++d) take_place_apart(cases, box, at, d);
  bool by_data = false;
  for (size_t d = 0; d < at.size() && !by_data; ++d) {
    if (!atoms_.has_data(at[d])) continue;
    for (const Case& one : cases) {
      by_data |= one.where.box[d] != box[d];
      for (const Form& cut : one.where.cuts) atoms_.for_each_variable(cut, [&](index::AtomId v) { by_data |= v == d; });
    }
  }
  if (!by_data) return std::nullopt;
  Region whole;
  whole.box = box;
  double points = 0;  // cases are disjoint
  Term term;
  term.kind = TermKind::array;
  term.type = compute_type(program_.arrays[array].dtype);
  term.width = DType::boolean;
  term.rank = uint32_t(box.size());
  term.all_different = true;
  std::set<TermId> terms;
  for (const Case& one : cases) {
    if (!one.where.samples.empty()) return std::nullopt;
    const double own = index::count(one.where, atoms_);
    points += own;
    term.reads_data |= algebra_.reads_data(one.value);
    const bool element = one.value.is_element() && algebra_.reads_data(one.value);
    term.width = wider(term.width, element ? one.value.width : program_.arrays[array].dtype);
    if (!element || !terms.insert(one.value.term).second) {
      term.all_different = false;
      continue;
    }
    const std::vector<Region> image = index::image(one.where, one.value.at, atoms_);
    term.all_different = term.all_different && !image.empty() && index::count(image, atoms_) >= own;
  }
  if (!term.reads_data || points < double(index::count(whole, atoms_))) return std::nullopt;
  term.may_repeat = !term.all_different;
  term.body = cases;
  const DType width = term.width;
  return Value::element(terms_.intern(std::move(term)), at, width);
}

bool Builder::is_by_turns(const Cases& cases) const {
  return std::any_of(cases.begin(), cases.end(), [&](const Case& one) {
    return std::any_of(one.where.box.begin(), one.where.box.end(), [](const Range& range) { return range.step > 1; }) ||
           std::any_of(one.where.cuts.begin(), one.where.cuts.end(),
                       [&](const Form& cut) { return atoms_.has_compound(cut); });
  });
}

// An element of an array that is made in many ways, where it is made in one.
Value Builder::in_its_way(Value value, const Region& region) {
  while (value.is_element() && terms_[value.term].kind == TermKind::array && terms_[value.term].reads_data) {
    const Term made = terms_[value.term];
    std::vector<Range> box = made.body[0].where.box;
    for (const Case& one : made.body)
      for (size_t d = 0; d < box.size(); ++d)
        box[d] = {std::min(box[d].lo, one.where.box[d].lo), std::max(box[d].hi, one.where.box[d].hi), 1};
    const Case* way = nullptr;
    for (const Case& one : made.body) {
      if (index::pull_back(one.where, box, value.at, region, atoms_).empty) continue;
      if (way != nullptr) return value;
      way = &one;
    }
    if (way == nullptr) return value;
    algebra_.box = region.box;
    value = algebra_.moved(way->value, value.at);
  }
  return value;
}

// The first variable that a value has.
uint32_t Builder::first_variable(const Value& value) const {
  uint32_t first = no_variable;
  const auto see = [&](index::AtomId variable) { first = std::min(first, variable); };
  if (value.is_position()) atoms_.for_each_variable(value.form, see);
  for (const Form& form : value.at) atoms_.for_each_variable(form, see);
  return first;
}

// A sum that takes part at one point, perhaps scaled there, does not vary: the sum over stacked arrays is their sum.
void Builder::at_its_point(Case& one, uint32_t reduced) {
  if (!one.value.is_element()) return;
  std::vector<Form> point;
  for (uint32_t v = 0; v < one.where.box.size(); ++v) {
    const Range& range = one.where.box[v];
    point.push_back(v < reduced && range.lo == range.hi ? Form::of(range.lo) : Form::variable(index::AtomId(v)));
  }
  Value value = algebra_.moved(one.value, point);
  if (first_variable(value) < reduced) return;
  TermId varies = value.term;
  if (terms_[varies].kind == TermKind::product) {
    std::vector<Value> factors;
    const std::vector<Argument> args = terms_[varies].args;
    for (const Argument& arg : args) factors.push_back(algebra_.moved(arg.value, value.at));
    std::erase_if(factors, [&](const Value& factor) { return first_variable(factor) == no_variable; });
    if (factors.size() != 1 || !factors[0].is_element()) return;
    varies = factors[0].term;
  }
  if (terms_[varies].kind == TermKind::sum) one.value = std::move(value);
}

}  // namespace lightline::demand
