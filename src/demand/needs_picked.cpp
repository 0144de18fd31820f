// Elements of arrays that are made in several ways, at places that data tell: a stack of experts' results of which a router
// picks rows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "base/maths.h"
#include "demand/needs.h"

namespace lightline::demand {

using loops::Function;

namespace {

// How far the cases reach along a coordinate, if they share it out among them: without gaps, in steps of 1, and no cut
// has a say in it.
std::optional<Range> shared_out(std::span<const Region> cases, uint32_t coordinate, const Atoms& atoms) {
  Range all = cases[0].box[coordinate];
  for (const Region& one : cases) {
    const Range& own = one.box[coordinate];
    if (own.step != 1 && own.count() > 1) return std::nullopt;
    for (const Form& cut : one.cuts) {
      bool has = false;
      atoms.for_each_variable(cut, [&](index::AtomId v) { has |= v == coordinate; });
      if (has) return std::nullopt;
    }
    all = {std::min(all.lo, own.lo), std::max(all.hi, own.hi), 1};
  }
  return all;
}

// Of rows `rows`, those that fall to `own` of all places if they are shared out evenly.
Range evenly(const Range& rows, const Range& own, double all) {
  const auto before = [&](int64_t place) { return int64_t(std::floor(double(rows.count()) * double(place) / all)); };
  return {rows.lo + before(own.lo), rows.lo + before(own.hi + 1) - 1, 1};
}

// The region with one more coordinate before its own.
Region behind_a_number(const Region& region, Atoms& atoms) {
  Region where;
  where.box = {{0, 0, 1}};
  where.box.insert(where.box.end(), region.box.begin(), region.box.end());
  const std::vector<Form> shift = own_variables(region.box.size(), 1);
  for (const Form& cut : region.cuts) where.cut(atoms.compose(cut, shift, where.box), atoms);
  return where;
}

// The numbers of a sample are those of a case.
void place_in(Region& region, index::Sample& sample, const Region& one) {
  const Range& share = one.box[sample.coordinate];
  if (sample.extent <= double(share.count())) return;
  region.box[sample.coordinate] = {share.lo, share.lo, 1};
  sample.extent = double(share.count());
}

}  // namespace

// Sums of one-hot rows and what they meet, made in several ways: each row picks one of them.
bool Needs::need_one_hot(TermId id, const Cases& body, const Region& region) {
  if (tier_ == Tier::floor || body.size() < 2 || term(id).reduced.size() != 1 || !region.samples.empty()) return false;
  const Region where = behind_a_number(region, atoms_);
  std::optional<Value> asked;
  std::vector<Picked> ways;
  double places = 0;
  for (const Case& one : body) {
    if (!one.value.is_element() || term(one.value.term).kind != TermKind::product) return false;
    Picked way{one.where, {}};
    bool tested = false;
    algebra_.box = one.where.box;
    for (const Argument& arg : term(one.value.term).args) {
      const Value factor = algebra_.moved(arg.value, one.value.at);
      const std::optional<Value> number = tested ? std::nullopt : compared_with(factor, 0);
      if (!number) {
        way.values.push_back(factor);
        continue;
      }
      if (asked && !(*asked == *number)) return false;
      asked = number;
      tested = true;
    }
    if (!tested) return false;
    places = std::max(places, double(one.where.box[0].hi) + 1);
    ways.push_back(std::move(way));
  }
  need_one_of(id, *asked, ways, places, where);
  return true;
}

// The first coordinate of the ways is the number of an element that data tell, the others are those of the region.
void Needs::need_one_of(TermId id, const Value& asked, const std::vector<Picked>& ways, double numbers, Region where) {
  need(asked, where);
  index::Sample sample;
  sample.source = hash_of(asked);
  sample.extent = numbers;
  const uint64_t told = variables_of(asked);
  for (uint32_t v = 1; v < where.box.size(); ++v)
    if ((told & bit(v)) != 0) sample.varies.push_back(v);
  where.samples = {std::move(sample)};
  need_picked(id, ways, where);
}

// where(e == 0, a, where(e == 1, b, c)), and longer ones: one of the ways for each element, as often as the others.
bool Needs::need_chosen(TermId id, const Region& region) {
  constexpr size_t fewest = 3, most = 256;
  if (tier_ != Tier::fused || !region.samples.empty() || region.box.size() > 60) return false;
  const Region where = behind_a_number(region, atoms_);
  const std::vector<Form> shift = own_variables(region.box.size(), 1);
  algebra_.box = where.box;
  std::optional<Value> asked;
  std::set<double> numbers;
  std::vector<Picked> ways;
  const auto add = [&](const Value& value) {
    Picked way{where, {value}};
    way.where.box[0] = {int64_t(ways.size()), int64_t(ways.size()), 1};
    ways.push_back(std::move(way));
  };
  Value rest = algebra_.moved(Value::element(id, own_variables(term(id).rank), term(id).width), shift);
  while (rest.is_element() && ways.size() < most) {
    const Term& made = term(rest.term);
    if (made.kind != TermKind::call || made.function != Function::select || !made.args[0].value.is_element()) break;
    double number = 0;
    const auto element = compared_element(algebra_.moved(made.args[0].value, rest.at), number);
    if (!element || !algebra_.is_whole(*element) || (asked && !(*asked == *element))) break;
    asked = element;
    if (numbers.insert(number).second) add(algebra_.moved(made.args[1].value, rest.at));
    rest = algebra_.moved(made.args[2].value, rest.at);
  }
  add(rest);
  if (!asked || ways.size() < fewest) return false;
  need_one_of(id, *asked, ways, double(ways.size()), where);
  return true;
}

// Of the truth that an element is the same as a variable, which has no part in it, the element.
std::optional<Value> Needs::compared_with(const Value& truth, index::AtomId variable) {
  if (!truth.is_element()) return std::nullopt;
  const Term& test = term(truth.term);
  if (test.kind != TermKind::call || test.function != Function::eq) return std::nullopt;
  Value place = algebra_.moved(test.args[0].value, truth.at), element = algebra_.moved(test.args[1].value, truth.at);
  if (!place.is_position()) std::swap(place, element);
  const bool plain = place.is_position() && place.denominator == 1 && place.form == Form::variable(variable);
  if (!plain || !element.is_element() || (variables_of(element) & bit(variable)) != 0) return std::nullopt;
  return element;
}

// False if data have no say in which case it is.
bool Needs::need_picked(TermId id, const std::vector<Picked>& cases, const Region& region) {
  const auto picks = [&](const index::Sample& sample) {
    return std::any_of(cases.begin(), cases.end(), [&](const Picked& one) {
      const Range &own = one.where.box[sample.coordinate], &first = cases[0].where.box[sample.coordinate];
      bool cut = false;
      for (const Form& form : one.where.cuts)
        atoms_.for_each_variable(form, [&](index::AtomId v) { cut |= v == sample.coordinate; });
      return own != first || cut;
    });
  };
  if (std::none_of(region.samples.begin(), region.samples.end(), picks)) return false;
  std::vector<Region> regions, own;
  for (const Picked& one : cases) regions.push_back(one.where);
  for (const Picked& one : cases) own.push_back(in_case(one.where, region));
  for (size_t s = 0; s < region.samples.size(); ++s) {
    const index::Sample& sample = region.samples[s];
    if (!picks(sample)) continue;
    const std::optional<Range> reach = shared_out(regions, sample.coordinate, atoms_);
    const Range place = region.box[sample.coordinate];
    const double all = sample.extent;
    if (!reach) {
      if (tier_ != Tier::floor) drop("which of several formulas it is, only data tell");
      return true;
    }
    if (tier_ == Tier::floor || reach->lo < 0 || double(reach->hi) >= all || place.count() != 1 || place.lo != 0) {
      need_any_of(id, cases, region);
      return true;
    }
    // Rows of which each has a number of its own fall to the cases in turn: as good as any other numbers.
    uint32_t rows = no_variable;
    for (const uint32_t v : sample.varies) {
      bool plain = region.box[v].step == 1 || region.box[v].count() == 1;
      for (const Form& cut : region.cuts)
        atoms_.for_each_variable(cut, [&](index::AtomId other) { plain &= other != v; });
      for (const index::Sample& other : region.samples) plain &= other.coordinate != v;
      if (plain && (rows == no_variable || region.box[v].count() > region.box[rows].count())) rows = v;
    }
    const bool in_turn = rows != no_variable && sample.expected <= 1;
    const bool many = std::all_of(cases.begin(), cases.end(), [&](const Picked& one) {
      return sample.expected * double(one.where.box[sample.coordinate].count()) >= all;
    });
    if (!in_turn && !many && !are_alike(cases)) {
      need_any_of(id, cases, region);
      return true;
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      const Range share = cases[i].where.box[sample.coordinate];
      index::Sample& left = own[i].samples[s];
      own[i].points = -1;
      if (in_turn) {
        const Range turn = evenly(region.box[rows], share, all);
        own[i].box[rows] = clipped(own[i].box[rows], turn.lo, turn.hi);
        own[i].empty |= own[i].box[rows].count() == 0;
      } else if (many) {
        left.expected *= double(share.count()) / all;
      } else {  // numbers from 0 on are as good as any
        const double numbers = std::floor(sample.expected + 1e-9);
        left.expected = std::min(double(share.count()), std::max(0.0, numbers - double(share.lo)));
        own[i].empty |= left.expected == 0;
      }
      left.least = 0;
      place_in(own[i], left, cases[i].where);
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    // A number that can only be one is known.
    std::erase_if(own[i].samples, [](const index::Sample& sample) { return sample.extent == 1; });
    for (const Value& value : cases[i].values) need(value, own[i]);
  }
  return true;
}

// Only what is needed in every case.
void Needs::need_any_of(TermId id, const std::vector<Picked>& cases, const Region& region) {
  if (tier_ != Tier::floor) drop("which of several formulas it is, only data tell");
  std::vector<std::function<void()>> sides;
  for (const Picked& one : cases)
    sides.push_back([&] {
      Region where = in_case(one.where, region);
      for (index::Sample& sample : where.samples) place_in(where, sample, one.where);
      std::erase_if(where.samples, [](const index::Sample& sample) { return sample.extent == 1; });
      for (const Value& value : one.values) need(value, where);
    });
  need_whichever(id, sides);
}

// Made by the same operations: one costs what another does.
bool Needs::are_alike(const std::vector<Picked>& cases) const {
  constexpr int most_depth = 12;
  std::map<std::pair<TermId, int>, uint64_t> known;
  const std::function<uint64_t(const Value&, int)> kind_of = [&](const Value& value, int depth) -> uint64_t {
    if (!value.is_element()) return value.is_number() ? 1 : 2;
    const auto [at, added] = known.try_emplace({value.term, depth}, 0);
    if (!added) return at->second;
    const Term& made = term(value.term);
    uint64_t hash = mixed(mixed(uint64_t(made.kind), uint64_t(made.function)), uint64_t(made.reducer));
    hash = mixed(mixed(hash, made.rank), uint64_t(made.width));
    for (const Range& range : made.reduced) hash = mixed(hash, uint64_t(range.count()));
    if (depth > 0) {
      for (const Argument& arg : made.args) hash = mixed(hash, kind_of(arg.value, depth - 1));
      for (const Case& one : made.body) hash = mixed(mixed(hash, one.where.cuts.size()), kind_of(one.value, depth - 1));
    }
    return at->second = hash;
  };
  const auto kinds_of = [&](const Picked& one) {
    std::vector<uint64_t> kinds;
    for (const Value& value : one.values) kinds.push_back(kind_of(value, most_depth));
    return kinds;
  };
  return std::all_of(cases.begin(), cases.end(),
                     [&](const Picked& one) { return kinds_of(one) == kinds_of(cases[0]); });
}

}  // namespace lightline::demand
