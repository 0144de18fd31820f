#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/maths.h"
#include "index/answers.h"
#include "index/assignments.h"
#include "index/compact.h"
#include "index/kinds.h"
#include "index/mapper.h"
#include "index/orders.h"
#include "index/ties.h"
#include "index/trial.h"

namespace lightline::index {
namespace {

constexpr int64_t max_tried = 64;

std::vector<bool> visible_in(const AffinePart& part) {
  std::vector<bool> visible(part.piece.box.size(), false);
  for (const Form& form : part.forms)
    for (const auto& [atom, coefficient] : form.terms)
      if (is_variable(atom)) visible[atom] = true;
  return visible;
}

// A variable of the coordinates that an equation tells by others that no coordinate has, in steps: 64 h for y = 64 h.
std::optional<std::pair<HalfSpace, AtomId>> told_by_hidden_steps(const AffinePart& part) {
  const std::vector<bool> visible = visible_in(part);
  for (const HalfSpace& cut : part.piece.cuts) {
    const bool by_steps = std::any_of(cut.terms.begin(), cut.terms.end(), [&](const auto& term) {
      return !visible[size_t(term.first)] && std::abs(term.second) > 1;
    });
    if (!by_steps || !has_equation(part.piece, cut)) continue;
    for (const auto& [v, c] : cut.terms)
      if (visible[size_t(v)] && std::abs(c) == 1 && part.piece.box[size_t(v)].step == 1)
        return std::pair(cut, AtomId(v));
  }
  return std::nullopt;
}

// Coordinates over what tells them: their steps are then seen.
AffinePart with_equations_solved(AffinePart part, Atoms& atoms) {
  const auto hangs_on_data = [&](const Form& form) { return atoms.has_compound(form); };
  if (!part.samples.empty() || std::any_of(part.forms.begin(), part.forms.end(), hangs_on_data)) return part;
  while (const auto told = told_by_hidden_steps(part)) {
    const auto& [equation, v] = *told;
    solve(part.piece, equation, int(v));
    const int64_t unit = coefficient_of(equation, int(v));
    Form image = Form::of(-unit * equation.constant);
    for (const auto& [other, c] : equation.terms)
      if (other != int(v)) image.terms.emplace_back(AtomId(other), -unit * c);
    for (Form& form : part.forms) {
      const int64_t own = form.coefficient(v);
      erase_if(form.terms, [v = v](const auto& term) { return term.first == v; });
      if (own != 0) form = atoms.sum(form, image, own);
    }
  }
  return part;
}

// Variables that no coordinate has, but cuts by more than a unit: projecting them away would lose points, so that few
// values of them are tried one by one.
std::vector<AffinePart> with_hidden_fixed(AffinePart part) {
  const std::vector<bool> visible = visible_in(part);
  std::vector<bool> by_steps(part.piece.box.size(), false);
  for (const HalfSpace& cut : part.piece.cuts)
    for (const auto& [variable, coefficient] : cut.terms)
      if (coefficient != 1 && coefficient != -1) by_steps[size_t(variable)] = true;
  const std::vector<Range> box = part.piece.box;
  std::vector<AffinePart> parts{std::move(part)};
  int64_t tried = 1;
  for (size_t v = 0; v < visible.size(); ++v) {
    if (visible[v] || !by_steps[v] || box[v].count() * tried > max_tried) continue;
    tried *= box[v].count();
    std::vector<AffinePart> next;
    for (const AffinePart& one : parts) {
      const Range range = one.piece.box[v];
      for (int64_t at = range.lo; at <= range.hi; at += range.step) {
        AffinePart fixed = one;
        fixed.piece.box[v] = {at, at, 1};
        fixed.piece.fix_variable(v);
        if (!fixed.piece.bounds_empty()) next.push_back(std::move(fixed));
      }
    }
    parts = std::move(next);
  }
  return parts;
}

// Every variable in steps of 1, where cuts or several forms have it.
AffinePart without_steps(AffinePart part, Atoms& atoms) {
  std::vector<Form> images;
  bool changed = false;
  for (size_t v = 0; v < part.piece.box.size(); ++v) {
    Range& range = part.piece.box[v];
    images.push_back(Form::variable(AtomId(v)));
    if (range.step == 1 || range.count() < 2) continue;
    images.back() = {range.lo, {{AtomId(v), range.step}}};
    range = {0, range.count() - 1, 1};
    changed = true;
  }
  if (!changed) return part;
  std::vector<HalfSpace> cuts = std::exchange(part.piece.cuts, {});
  for (const HalfSpace& cut : cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [v, c] : cut.terms) form = atoms.sum(form, images[size_t(v)], c);
    HalfSpace moved{form.constant, {}};
    for (const auto& [atom, c] : form.terms) moved.terms.emplace_back(int(atom), c);
    part.piece.cut(std::move(moved));
  }
  for (Form& form : part.forms) form = atoms.compose(form, images, part.piece.box);
  return part;
}

// Forms that are different variables, perhaps shifted, of a box.
std::optional<Region> plain_image(const Region& region, std::span<const Form> forms) {
  if (!region.cuts.empty() || !region.samples.empty()) return std::nullopt;
  Region result;
  result.box.reserve(forms.size());
  for (size_t i = 0; i < forms.size(); ++i) {
    const Form& form = forms[i];
    if (form.is_constant()) {
      result.box.push_back({form.constant, form.constant, 1});
      continue;
    }
    if (form.terms.size() != 1 || form.terms[0].second != 1 || !is_variable(form.terms[0].first)) return std::nullopt;
    for (size_t j = 0; j < i; ++j)
      if (!forms[j].is_constant() && forms[j].terms[0].first == form.terms[0].first) return std::nullopt;
    Range range = region.box[form.terms[0].first];
    range.lo += form.constant;
    range.hi += form.constant;
    result.box.push_back(range);
  }
  result.empty = region.empty;
  return result;
}

// For each form the first that is the same multiple of one variable, up to a constant: itself for all others.
std::vector<size_t> repeated_multiples(std::span<const Form> forms) {
  std::vector<size_t> first(forms.size());
  for (size_t i = 0; i < forms.size(); ++i) {
    first[i] = i;
    const bool multiple =
        forms[i].terms.size() == 1 && is_variable(forms[i].terms[0].first) && std::abs(forms[i].terms[0].second) > 1;
    for (size_t j = 0; j < i && multiple && first[i] == i; ++j)
      if (forms[j].terms == forms[i].terms) first[i] = j;
  }
  return first;
}

bool is_identity(const std::vector<size_t>& places) {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != i) return false;
  return true;
}

// Coordinates of their own for forms that others tell: steps stay steps.
Region with_repeated(const Region& region, std::span<const Form> forms, const std::vector<size_t>& first,
                     Atoms& atoms) {
  std::vector<size_t> place;
  std::vector<Form> images;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] != i) continue;
    place.push_back(i);
    images.push_back(Form::variable(AtomId(i)));
  }
  Region result;
  result.box.resize(first.size());
  for (size_t u = 0; u < place.size(); ++u) result.box[place[u]] = region.box[u];
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == i) continue;
    const int64_t shift = forms[i].constant - forms[first[i]].constant;
    result.box[i] = result.box[first[i]];
    result.box[i].lo += shift;
    result.box[i].hi += shift;
  }
  for (const Form& cut : region.cuts) result.cut(atoms.compose(cut, images, result.box), atoms);
  for (size_t i = 0; i < first.size(); ++i)
    if (first[i] != i) {
      Form other = Form::variable(AtomId(first[i]));
      other.constant = forms[i].constant - forms[first[i]].constant;
      result.cut_equal(Form::variable(AtomId(i)), other, atoms);
    }
  result.samples = region.samples;
  for (Sample& sample : result.samples) {
    sample.coordinate = uint32_t(place[sample.coordinate]);
    for (uint32_t& other : sample.varies) other = uint32_t(place[other]);
  }
  result.empty = region.empty;
  result.points = region.points;
  return result;
}

double box_count(const std::vector<Range>& box) {
  double total = 1;
  for (const Range& range : box) total *= double(range.count());
  return total;
}

// Different shifts of a sample: of ranges of its coordinate.
double shifts_of(std::span<const Region* const> regions, uint32_t coordinate) {
  double all = 0;
  int64_t lo = INT64_MAX, hi = INT64_MIN;
  for (const Region* region : regions) {
    const Range& range = region->box[coordinate];
    all += double(range.count());
    lo = std::min(lo, range.lo);
    hi = std::max(hi, range.hi);
  }
  return std::max(1.0, std::min(all, double(hi - lo) + 1));
}

// How many points stand for each point of regions that have the same samples, at the least: a sample and its shifts
// may have values in common.
double sample_factor(std::span<const Region* const> regions, Data data) {
  double factor = 1;
  for (const Sample& sample : regions[0]->samples) {
    const double own = data == Data::general ? sample.expected : sample.least;
    const double shifts = shifts_of(regions, sample.coordinate);
    double values = own;
    if (shifts > 1 && data == Data::kindest)
      values = own < 1 ? own : own + shifts - 1;
    else if (shifts > 1 && sample.extent > own)  // each value is there with the same chance
      values = std::max(own, -sample.extent * std::expm1(shifts * std::log1p(-own / sample.extent)));
    factor *= values / shifts;
  }
  return factor;
}

double sample_factor(const Region& region, Data data) {
  const Region* const regions[] = {&region};
  return sample_factor(regions, data);
}

double most_values(const Region& region, Data data) {
  double factor = 1;
  for (const Sample& sample : region.samples) factor *= data == Data::general ? sample.expected : sample.least;
  return factor;
}

// Where the points of regions are, whatever the data: their samples without the numbers.
std::vector<Region> reach_of(std::span<const Region* const> regions) {
  std::vector<Region> result;
  for (const Region* region : regions) {
    Region reach;
    reach.box = region->box;
    for (const Sample& sample : region->samples) {
      Range& range = reach.box[sample.coordinate];
      range = sample.extent > 0 ? Range{range.lo, range.hi + int64_t(sample.extent) - 1, 1} : anything;
    }
    result.push_back(std::move(reach));
  }
  return result;
}

std::vector<Region> found_image(const Region& region, std::span<const Form> forms, Atoms& atoms) {
  if (const auto places = with_an_order_left_out(region, forms, atoms)) return image(region, *places, atoms);
  std::vector<Region> result;
  if (const std::vector<size_t> first = repeated_multiples(forms); !is_identity(first)) {
    std::vector<Form> different;
    for (size_t i = 0; i < forms.size(); ++i)
      if (first[i] == i) different.push_back(forms[i]);
    for (const Region& one : image(region, different, atoms)) result.push_back(with_repeated(one, forms, first, atoms));
    return result;
  }
  if (const auto some = tried(region, forms, atoms)) {
    if (some->rest.empty) return {};
    for (const Region& rest : image(some->rest, some->forms, atoms))
      for (const std::vector<Range>& box : some->boxes) {
        Region one = rest;
        one.points = -1;
        for (size_t i = 0; i < box.size(); ++i) one.box[some->coordinates[i]] = box[i];
        result.push_back(std::move(one));
      }
    return result;
  }
  constexpr size_t few = 16;
  const auto parts = to_affine(std::span(&region, 1), forms, atoms);
  for (const AffinePart& affine : parts[0])
    for (const AffinePart& part : with_hidden_fixed(with_equations_solved(without_steps(affine, atoms), atoms))) {
      Region mapped = index::mapped(part, atoms);
      if (!mapped.empty && (result.size() > few || std::find(result.begin(), result.end(), mapped) == result.end()))
        result.push_back(std::move(mapped));
    }
  if (result.size() > few) compact(result);
  return result;
}

std::vector<Kind> kinds_of(std::span<const Region> regions) {
  std::vector<Kind> kinds;
  for (const Region& region : regions) {
    if (region.empty) continue;
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const Kind& kind) { return kind.regions[0]->samples == region.samples; });
    if (same == kinds.end())
      kinds.push_back({{&region}, 0});
    else
      same->regions.push_back(&region);
  }
  return kinds;
}

// Bounds of a variable that begin and end where the cuts of its remainders let them.
void tighten(Region& region, const Atoms& atoms) {
  const auto remainder_of = [&](const Form& cut) -> const Atom* {
    if (cut.terms.size() != 1 || is_variable(cut.terms[0].first)) return nullptr;
    const Atom& atom = atoms[cut.terms[0].first];
    const bool plain = atom.kind == Atom::Kind::remainder && atom.of.terms.size() == 1 &&
                       is_variable(atom.of.terms[0].first) && atom.of.terms[0].second == 1;
    return plain ? &atom : nullptr;
  };
  for (const Form& cut : region.cuts) {
    const Atom* atom = remainder_of(cut);
    if (atom == nullptr) continue;
    Range& range = region.box[atom->of.terms[0].first];
    if (range.count() < 1) continue;
    range.hi = range.lo + (range.count() - 1) * range.step;
    const auto is_left_out = [&](int64_t value) {
      return cut.constant + cut.terms[0].second * floor_mod(value + atom->of.constant, atom->by) < 0;
    };
    for (int64_t tried = 0; tried < atom->by && range.lo < range.hi && is_left_out(range.lo); ++tried)
      range.lo += range.step;
    for (int64_t tried = 0; tried < atom->by && range.lo < range.hi && is_left_out(range.hi); ++tried)
      range.hi -= range.step;
  }
}

double points_of(const Kind& kind, Atoms& atoms, Data data) {
  std::vector<Region> same;
  for (const Region* region : kind.regions) {
    same.push_back(*region);
    same.back().samples.clear();
    tighten(same.back(), atoms);
  }
  PointSet points;
  for (const auto& parts : to_affine(same, {}, atoms))
    for (const AffinePart& part : parts) points.add(part.piece);
  Counting counting{atoms.lines_left()};
  double found = points.points(counting);
  atoms.walk(atoms.lines_left() - counting.lines);
  if (!counting.exact) atoms.lose(Loss::lines);
  if (points.drops_points()) atoms.lose(Loss::overlap);
  for (const Region& region : same) found = std::max(found, region.points);
  return found * sample_factor(kind.regions, data);
}

// Regions of one kind are one set. Of different kinds those count, from the largest on, that have no point in common
// with any before, whatever the data.
double found_count(std::span<const Region> regions, Atoms& atoms, Data data) {
  constexpr size_t most_compared = 1 << 14;
  std::vector<Kind> kinds = kinds_of(regions);
  for (Kind& kind : kinds) kind.points = points_of(kind, atoms, data);
  if (data == Data::general) kinds = drawn_together(std::move(kinds), atoms);
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.points > b.points; });
  double total = 0;
  size_t compared = 0;
  std::vector<std::vector<Region>> taken;
  for (const Kind& kind : kinds) {
    std::vector<Region> reach = reach_of(kind.regions);
    const bool apart = std::all_of(taken.begin(), taken.end(), [&](const std::vector<Region>& other) {
      compared += other.size() * reach.size();
      return compared <= most_compared && std::none_of(other.begin(), other.end(), [&](const Region& a) {
               return std::any_of(reach.begin(), reach.end(),
                                  [&](const Region& b) { return has_common_points(a, b, atoms); });
             });
    });
    if (!apart) {
      atoms.lose(Loss::data);
      continue;
    }
    total += kind.points;
    taken.push_back(std::move(reach));
  }
  return total;
}

}  // namespace

std::vector<Region> image(const Region& region, std::span<const Form> forms, Atoms& atoms) {
  if (region.empty) return {};
  if (auto plain = plain_image(region, forms)) {
    std::vector<Region> one;
    one.push_back(std::move(*plain));
    return one;
  }
  return asked_once(Answers::Question::image, std::span(&region, 1), forms, atoms,
                    [&] { return Answers::Answer{found_image(without_ties(region, forms, atoms), forms, atoms)}; })
      .regions;
}

bool has_no_points(const Region& region, Atoms& atoms) {
  if (region.empty) return true;
  if (std::none_of(region.cuts.begin(), region.cuts.end(), [&](const Form& cut) { return atoms.has_compound(cut); }))
    return false;
  // Only the variables that digits are taken of: few values, or none at all.
  Region part;
  std::vector<AtomId> place(region.box.size(), 0);
  std::vector<bool> wanted(region.box.size(), false);
  for (const Form& cut : region.cuts)
    if (atoms.has_compound(cut)) atoms.for_each_variable(cut, [&](AtomId v) { wanted[v] = true; });
  std::vector<Form> images(region.box.size());
  for (size_t v = 0; v < region.box.size(); ++v)
    if (wanted[v]) {
      images[v] = Form::variable(AtomId(part.box.size()));
      part.box.push_back(region.box[v]);
    }
  for (const Form& cut : region.cuts) {
    bool inside = true;
    atoms.for_each_variable(cut, [&](AtomId v) { inside &= bool(wanted[v]); });
    if (inside && !atoms.has_data(cut)) part.cut(atoms.compose(cut, images, part.box), atoms);
  }
  if (part.empty) return true;
  const auto answer = asked_once(Answers::Question::emptiness, std::span(&part, 1), {}, atoms, [&] {
    const Losses before = atoms.losses();
    if (has_seen_point(part, atoms)) return Answers::Answer{{}, 1};
    const auto parts = to_affine(std::span(&part, 1), {}, atoms, true);
    if (!parts[0].empty()) atoms.forget_losses_since(before);
    return Answers::Answer{{}, double(parts[0].size())};
  });
  return answer.number == 0;
}

AtLeast count(const Region& region, Atoms& atoms, Data data) {
  if (region.empty) return AtLeast(0);
  if (region.cuts.empty()) return AtLeast(box_count(region.box) * sample_factor(region, data));
  if (region.points >= 0) return AtLeast(region.points);
  return count(std::span(&region, 1), atoms, data);
}

AtMost count_at_most(std::span<const Region> regions, Atoms& atoms, Data data) {
  const Losses before = atoms.losses();
  const AtLeast counted = count(regions, atoms, data);
  if (atoms.losses() == before) return AtMost(counted);
  double boxes = 0;
  for (const Region& region : regions)
    if (!region.empty) boxes += box_count(region.box) * most_values(region, data);
  return AtMost(boxes);
}

AtLeast count(std::span<const Region> regions, Atoms& atoms, Data data) {
  if (regions.size() == 1 && (regions[0].cuts.empty() || regions[0].points >= 0)) return count(regions[0], atoms, data);
  const auto question = data == Data::general ? Answers::Question::count : Answers::Question::kindest_count;
  return AtLeast(asked_once(question, regions, {}, atoms, [&] {
                   return Answers::Answer{{}, found_count(regions, atoms, data)};
                 }).number);
}

}  // namespace lightline::index
