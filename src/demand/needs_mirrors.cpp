// Terms that stay the same, up to their sign, when coordinates change places: half of their elements is the other half.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

// Exchanges the coordinates of two lists of forms; nothing if they do not pair up.
std::vector<uint32_t> exchange(const std::vector<Form>& a, const std::vector<Form>& b, uint32_t size) {
  std::vector<uint32_t> mirror(size);
  for (uint32_t i = 0; i < size; ++i) mirror[i] = i;
  bool moves = false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d]) continue;
    const uint32_t x = plain_variable(a[d]), y = plain_variable(b[d]);
    if (x == no_variable || y == no_variable || a[d].constant != b[d].constant) return {};
    if ((mirror[x] != x && mirror[x] != y) || (mirror[y] != y && mirror[y] != x)) return {};
    mirror[x] = y;
    mirror[y] = x;
    moves = true;
  }
  return moves ? mirror : std::vector<uint32_t>{};
}

std::vector<Form> permuted(const std::vector<Form>& at, const std::vector<uint32_t>& mirror, Atoms& atoms) {
  std::vector<Form> images, result;
  for (const uint32_t to : mirror) images.push_back(Form::variable(to));
  for (const Form& form : at) result.push_back(atoms.compose(form, images, {}));
  return result;
}

// No more points than this: coordinates that are plainly the same are one.
double most_points(const Region& region) {
  if (region.empty) return 0;
  std::vector<size_t> same(region.box.size());
  for (size_t c = 0; c < same.size(); ++c) same[c] = c;
  for (const Form& cut : region.cuts) {
    if (cut.terms.size() != 2 || cut.terms[0].second != -cut.terms[1].second || !index::is_variable(cut.terms[1].first))
      continue;
    Form reverse{-cut.constant,
                 {{cut.terms[0].first, -cut.terms[0].second}, {cut.terms[1].first, -cut.terms[1].second}}};
    if (std::find(region.cuts.begin(), region.cuts.end(), reverse) == region.cuts.end()) continue;
    const size_t from = same[cut.terms[0].first], to = same[cut.terms[1].first];
    for (size_t& one : same)
      if (one == from) one = to;
  }
  double points = 1;
  for (size_t c = 0; c < same.size(); ++c) {
    if (same[c] != c) continue;
    double values = double(region.box[c].count());
    for (size_t other = 0; other < same.size(); ++other)
      if (same[other] == c) values = std::min(values, double(region.box[other].count()));
    points *= values;
  }
  return points;
}

// Of more than two it does not matter which are taken first.
bool is_associative(loops::Function function) {
  using loops::Function;
  return commutes(function) && function != Function::eq && function != Function::ne && function != Function::hypot;
}

}  // namespace

Region Needs::mirrored(const Region& region, uint32_t rank) {
  Region mirror = region;
  std::vector<Form> images;
  for (uint32_t c = 0; c < 2 * rank; ++c) images.push_back(Form::variable(c < rank ? c + rank : c - rank));
  for (uint32_t c = 0; c < rank; ++c) std::swap(mirror.box[c], mirror.box[c + rank]);
  mirror.cuts.clear();
  mirror.points = -1;
  for (const Form& cut : region.cuts) mirror.cut(atoms_.compose(cut, images, mirror.box), atoms_);
  return mirror;
}

// Whatever it is made of, it is made of one element of each: nothing in it can change places.
bool Needs::has_no_mirror(TermId id, std::set<TermId>& sources) const {
  constexpr size_t most_sources = 64;
  const Term& made = term(id);
  switch (made.kind) {
    case TermKind::input:
    case TermKind::stored:
    case TermKind::opaque: return sources.size() < most_sources && sources.insert(id).second;
    case TermKind::call:
    case TermKind::sum:
    case TermKind::product:
      return std::all_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
        return !arg.value.is_element() || has_no_mirror(arg.value.term, sources);
      });
    case TermKind::reduce:
      return made.body.size() == 1 &&
             (!made.body[0].value.is_element() || has_no_mirror(made.body[0].value.term, sources));
    case TermKind::array:
      return made.all_different && std::all_of(made.body.begin(), made.body.end(), [&](const Case& one) {
               return one.value.is_element() && has_no_mirror(one.value.term, sources);
             });
    default: return false;
  }
}

namespace {

// Of pairs that are drawn by themselves, the share that has a mirror among them; all that may have one where numbers of
// one side may tell those of the other.
double share_of_mirrors(const Region& region, uint32_t rank, const Atoms& atoms) {
  double share = 1;
  for (const index::Sample& a : region.samples) {
    if (a.extent <= 0 || region.box[a.coordinate].count() > 1) return 1;
    for (const index::Sample& b : region.samples)
      if (a.coordinate < rank && b.coordinate >= rank && !index::are_independent(a, b, atoms)) return 1;
    share *= std::min(1.0, a.expected / a.extent);
  }
  return share;
}

}  // namespace

// Pairs of elements of one term whose mirrors are among them, or more than there are.
double Needs::most_mirrored(TermId id, const std::vector<Region>& regions, uint32_t rank) {
  constexpr size_t most_compared = 32;
  std::set<TermId> sources;
  if (regions.size() > most_compared || !has_no_mirror(id, sources)) return INFINITY;
  double total = 0;
  for (const Region& region : regions) {
    if (!region.samples.empty()) {
      const double share = share_of_mirrors(region, rank, atoms_);
      if (regions.size() > 1 || share >= 1 || tier_ == Tier::floor) return INFINITY;
      return share * index::count_at_most(regions, atoms_, data_).number();
    }
    const Region mirror = mirrored(region, rank);
    for (const Region& other : regions) {
      const Region both = index::intersection(mirror, other, atoms_);
      if (!both.empty && !index::has_no_points(both, atoms_)) total += most_points(both);
    }
  }
  return total;
}

struct Needs::MirrorSearch {
  Needs& needs;

  // What a function is of, in any order: of a chain of `max`, of `and`, all that stands in it.
  std::vector<Argument> parts_in_any_order(TermId id) {
    constexpr size_t most_parts = 16;
    const Term& made = needs.term(id);
    if (made.kind == TermKind::reduce) return {{made.body[0].value, 1}};
    if (made.kind != TermKind::call || !is_associative(made.function)) return made.args;
    std::vector<Argument> parts = made.args;
    for (size_t i = 0; i < parts.size() && parts.size() < most_parts;) {
      const Value value = parts[i].value;
      const bool same = value.is_element() && needs.term(value.term).kind == TermKind::call &&
                        needs.term(value.term).function == made.function;
      if (!same) {
        ++i;
        continue;
      }
      parts.erase(parts.begin() + int64_t(i));
      needs.algebra_.box.clear();
      for (const Argument& arg : needs.term(value.term).args)
        parts.push_back({needs.algebra_.moved(arg.value, value.at), 1});
    }
    return parts;
  }

  // Exchanges of coordinates that make one part another, or that a part has by itself.
  std::vector<std::vector<uint32_t>> likely_mirrors(const std::vector<Argument>& parts, uint32_t size) {
    std::vector<std::vector<uint32_t>> likely;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Value& one = parts[i].value;
      if (!one.is_element()) continue;
      for (size_t j = 0; j < i; ++j)
        if (parts[j].value.is_element() && one.term == parts[j].value.term)
          likely.push_back(exchange(one.at, parts[j].value.at, size));
      const std::vector<uint32_t>& inner = needs.mirror_of(one.term);
      if (inner.empty()) continue;
      std::vector<Form> swapped;
      for (size_t d = 0; d < one.at.size(); ++d) swapped.push_back(one.at[inner[d]]);
      likely.push_back(exchange(one.at, swapped, size));
    }
    std::erase_if(likely, [](const std::vector<uint32_t>& mirror) { return mirror.empty(); });
    return likely;
  }

  // Whether each part becomes one of them. Of a function that asks for an order, each becomes itself, unless only one of
  // them varies.
  bool stays_the_same(const std::vector<Argument>& parts, const std::vector<uint32_t>& mirror, bool in_order) {
    const auto varying = std::count_if(parts.begin(), parts.end(), [](const Argument& part) {  //
      return part.value.is_element();
    });
    return std::all_of(parts.begin(), parts.end(), [&](const Argument& part) {
      if (part.value.is_number()) return true;
      if (part.value.is_position()) return permuted({part.value.form}, mirror, needs.atoms_)[0] == part.value.form;
      const std::vector<Form> moved = permuted(part.value.at, mirror, needs.atoms_);
      const std::vector<uint32_t>& inner = needs.mirror_of(part.value.term);
      std::vector<Form> turned;
      for (size_t d = 0; d < inner.size(); ++d) turned.push_back(moved[inner[d]]);
      if (in_order && varying > 1) return part.value.at == moved || part.value.at == turned;
      return std::any_of(parts.begin(), parts.end(), [&](const Argument& other) {
        return other.value.is_element() && other.value.term == part.value.term &&
               std::abs(other.factor) == std::abs(part.factor) &&
               (other.value.at == moved || (!turned.empty() && other.value.at == turned));
      });
    });
  }
};

const std::vector<uint32_t>& Needs::mirror_of(TermId id) {
  const auto [found, added] = mirrors_.try_emplace(id);
  if (!added) return found->second;
  const Term& made = term(id);
  const bool scalar = made.kind == TermKind::call || made.kind == TermKind::sum || made.kind == TermKind::product;
  const bool reduction = made.kind == TermKind::reduce && made.body.size() == 1 && made.body[0].value.is_element() &&
                         made.body[0].where.cuts.empty();
  if (!scalar && !reduction) return found->second;
  MirrorSearch search{*this};
  const std::vector<Argument> parts = search.parts_in_any_order(id);
  const bool in_order = made.kind == TermKind::call && !commutes(made.function);
  const uint32_t first = uint32_t(made.reduced.size()), size = first + made.rank;
  for (const std::vector<uint32_t>& mirror : search.likely_mirrors(parts, size)) {
    bool holds = search.stays_the_same(parts, mirror, in_order);
    for (uint32_t r = 0; r < first && holds; ++r) holds = mirror[r] == r;
    if (!holds) continue;
    // a[i] - a[j], and what is made of it
    bool known = made.kind == TermKind::sum && parts.size() == 2 && parts[0].factor == -parts[1].factor;
    for (const Argument& part : parts) known |= part.value.is_element() && known_between_.contains(part.value.term);
    if (known) known_between_.insert(id);
    std::vector<uint32_t> own;
    for (uint32_t c = first; c < size; ++c) own.push_back(mirror[c] - first);
    return mirrors_[id] = own;
  }
  return mirrors_[id];
}

bool Needs::meets_mirror(const std::vector<Region>& regions, const std::vector<uint32_t>& mirror) {
  std::vector<Form> images;
  for (const uint32_t to : mirror) images.push_back(Form::variable(to));
  for (const Region& region : regions) {
    Region turned = region;
    for (size_t c = 0; c < mirror.size(); ++c) turned.box[c] = region.box[mirror[c]];
    turned.cuts.clear();
    for (const Form& cut : region.cuts) turned.cut(atoms_.compose(cut, images, turned.box), atoms_);
    for (const Region& other : regions)
      if (index::has_common_points(turned, other, atoms_)) return true;
  }
  return false;
}

// max(a, a) is a, and `a == a` known.
bool Needs::is_idle_between(TermId id) const {
  if (known_between_.contains(id)) return true;
  const Term& made = term(id);
  return made.kind == TermKind::call && commutes(made.function) && made.function != loops::Function::hypot &&
         made.args[0].value.is_element() && made.args[1].value.is_element() &&
         made.args[0].value.term == made.args[1].value.term;
}

AtLeast Needs::distinct(TermId id, const std::vector<Region>& regions) {
  const AtLeast elements = count(regions);
  const std::vector<uint32_t>& mirror = mirror_of(id);
  if (mirror.empty() || !meets_mirror(regions, mirror)) return elements;
  std::vector<Region> between = regions;
  for (Region& region : between)
    for (uint32_t c = 0; c < mirror.size(); ++c)
      if (mirror[c] > c) region.cut_equal(Form::variable(c), Form::variable(mirror[c]), atoms_);
  std::erase_if(between, [](const Region& region) { return region.empty; });
  const bool idle = is_idle_between(id);
  if (between.empty()) return AtLeast(idle ? std::floor(elements / 2) : std::ceil(elements / 2));
  return AtLeast(idle ? std::max(0.0, std::floor((elements - count_at_most(between)) / 2))
                      : std::ceil((elements + count(between)) / 2));
}

// Along which summed variables the elements of a factor add up to 0: those of numbers less their mean.
uint64_t Needs::variables_of_mean(const Network& network, const Value& value) {
  if (!value.is_element() || term(value.term).kind != TermKind::sum) return 0;
  const Term& less = term(value.term);
  if (less.number != 0 || less.args.size() != 2) return 0;
  algebra_.box = network.region.box;
  for (const bool turned : {false, true}) {
    const Argument &one = less.args[turned ? 1 : 0], &other = less.args[turned ? 0 : 1];
    if (!one.value.is_element() || !other.value.is_element()) continue;
    const Value number = algebra_.moved(Value(one.value), value.at),
                mean = algebra_.moved(Value(other.value), value.at);
    const Term& sum = term(mean.term);
    if (sum.kind != TermKind::reduce || sum.reducer != loops::Reducer::sum || sum.body.size() != 1) continue;
    const Case& body = sum.body[0];
    if (!body.where.is_box() || !body.value.is_element() || body.value.term != number.term) continue;
    // Coordinate by coordinate: a variable of the mean is a summed one here, the others are the same.
    const size_t reduced = sum.reduced.size();
    std::vector<Form> images(reduced);
    images.insert(images.end(), mean.at.begin(), mean.at.end());
    uint64_t along = 0;
    double count = 1;
    bool all = true;
    for (size_t c = 0; c < number.at.size() && all; ++c) {
      const Form &inside = body.value.at[c], &here = number.at[c];
      if (const uint32_t r = plain_variable(inside); r < reduced) {
        const uint32_t v = plain_variable(here);
        all = v != no_variable && (network.summed & bit(v)) != 0 && (along & bit(v)) == 0 && inside.constant == 0 &&
              here.constant == 0 && network.region.box[v] == body.where.box[r] && sum.reduced[r] == body.where.box[r];
        if (!all) break;
        along |= bit(v);
        count *= double(sum.reduced[r].count());
        continue;
      }
      atoms_.for_each_variable(inside, [&](index::AtomId v) { all = all && v >= reduced; });
      all = all && atoms_.compose(inside, images, network.region.box) == here;
    }
    all = all && std::popcount(along) == int(reduced) && (variables_of(mean) & along) == 0;
    if (all && other.factor * count == -one.factor) return along;
  }
  return 0;
}

// Products of a sum that follow from the others: of numbers that add up to 0 one may be left out, since sum_k c[k] y[k]
// is the sum of c[k] (y[k] - y[0]) over all other k.
double Needs::products_less_mean(const Network& network, const Factor& a, const Factor& b) {
  uint64_t along = variables_of_mean(network, a.value);
  if (along == 0) along = variables_of_mean(network, b.value);
  if (along == 0 || !network.region.is_box()) return 0;
  double sums = 1;
  for (size_t v = 0; v < network.region.box.size(); ++v)
    if ((along & bit(v)) == 0) sums *= double(network.region.box[v].count());
  return sums;
}

}  // namespace lightline::demand
