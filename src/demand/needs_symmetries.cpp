// Networks that stay the same when variables change places: products that are repetitions of others.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {
namespace {

// The variables that go there go to `to`, as far as nothing else was said.
bool send(std::vector<uint32_t>& images, std::vector<uint32_t>& origins, uint32_t from, uint32_t to) {
  if (images[from] == to) return true;
  if (images[from] != no_variable || origins[to] != no_variable) return false;
  images[from] = to;
  origins[to] = from;
  return true;
}

}  // namespace

struct Needs::SymmetrySearch {
  Needs& needs;
  const Network& network;
  const std::vector<size_t>& members;  // factors that change places with each other
  const uint64_t fixed;                // variables that stay
  std::vector<Exchanges> found = {};
  size_t tries = 512;

  bool fits(const Form& from, const Form& to, std::vector<uint32_t>& images, std::vector<uint32_t>& origins) const {
    const uint32_t x = plain_variable(from), y = plain_variable(to);
    if (x != no_variable && y != no_variable && from.constant == to.constant) {
      if (x != y && (((fixed & bit(x)) != 0) || (fixed & bit(y)) != 0)) return false;
      const Range &a = network.region.box[x], &b = network.region.box[y];
      return a.lo <= b.hi && b.lo <= a.hi && send(images, origins, x, y);
    }
    if (!(from == to)) return false;
    bool stays = true;
    needs.atoms_.for_each_variable(from, [&](index::AtomId v) { stays = stays && send(images, origins, v, v); });
    return stays;
  }

  void place(size_t next, uint64_t taken, const std::vector<uint32_t>& images, const std::vector<uint32_t>& origins) {
    if (tries == 0) return;
    --tries;
    if (next == members.size()) {
      if (std::find(found.begin(), found.end(), images) == found.end()) found.push_back(images);
      return;
    }
    const Value from = network.factors[members[next]].value;
    for (size_t i = 0; i < members.size(); ++i) {
      const Value& to = network.factors[members[i]].value;
      if ((taken & bit(i)) != 0 || to.kind != from.kind || to.term != from.term) continue;
      std::vector<uint32_t> turns(from.at.size());
      for (uint32_t c = 0; c < turns.size(); ++c) turns[c] = c;
      const std::vector<uint32_t> mirror = from.is_element() ? needs.mirror_of(from.term) : turns;
      for (const bool turned : {false, true}) {
        if (turned && (mirror.empty() || mirror == turns)) continue;
        std::vector<uint32_t> own = images, back = origins;
        bool all = !from.is_position() || fits(from.form, to.form, own, back);
        for (size_t d = 0; d < from.at.size() && all; ++d)
          all = fits(from.at[d], to.at[turned ? mirror[d] : d], own, back);
        if (all) place(next + 1, taken | bit(i), own, back);
      }
    }
  }
};

// All that the symmetries of some factors depend on: which of them are of one term, how that mirrors, where they are
// read, and the ranges of the variables.
std::vector<int64_t> Needs::shape_of(const Network& network, const std::vector<size_t>& members, uint64_t fixed) {
  std::vector<int64_t> shape{int64_t(fixed)};
  std::vector<TermId> terms;
  const auto add = [&](const Form& form) {
    shape.insert(shape.end(), {form.constant, int64_t(form.terms.size())});
    for (const auto& [atom, coefficient] : form.terms) shape.insert(shape.end(), {int64_t(atom), coefficient});
  };
  for (const size_t i : members) {
    const Value& value = network.factors[i].value;
    const auto known = std::find(terms.begin(), terms.end(), value.term);
    shape.insert(shape.end(), {int64_t(value.kind), known - terms.begin(), int64_t(value.at.size())});
    if (known == terms.end()) terms.push_back(value.term);
    if (value.is_position()) add(value.form);
    for (const Form& form : value.at) add(form);
    if (!value.is_element()) continue;
    const std::vector<uint32_t>& mirror = mirror_of(value.term);
    shape.push_back(int64_t(mirror.size()));
    shape.insert(shape.end(), mirror.begin(), mirror.end());
  }
  for (const Range& range : network.region.box) shape.insert(shape.end(), {range.lo, range.hi});
  return shape;
}

// All ways in which variables may change places so that these factors stay the same. Nothing if there are more ways
// than are looked for.
std::optional<std::vector<Needs::Exchanges>> Needs::symmetries(const Network& network,
                                                               const std::vector<size_t>& members, uint64_t fixed) {
  constexpr size_t most_kept = 4096;
  if (known_symmetries_.size() > most_kept) known_symmetries_.clear();
  const auto [known, added] = known_symmetries_.try_emplace(shape_of(network, members, fixed));
  if (added) known->second = found_symmetries(network, members, fixed);
  return known->second;
}

std::optional<std::vector<Needs::Exchanges>> Needs::found_symmetries(const Network& network,
                                                                     const std::vector<size_t>& members,
                                                                     uint64_t fixed) {
  SymmetrySearch search{*this, network, members, fixed};
  const Exchanges nothing(network.region.box.size(), no_variable);
  search.place(0, 0, nothing, nothing);
  if (search.tries == 0) return std::nullopt;
  for (Exchanges& images : search.found)
    for (uint32_t v = 0; v < images.size(); ++v)
      if (images[v] == no_variable) images[v] = v;
  return std::move(search.found);
}

// Points of these variables that no exchange makes one of the others: by Burnside, the mean of the points that stay
// where they are. Where ranges differ each stands for all.
double Needs::distinct_points(const Region& region, uint64_t variables, double points,
                              const std::vector<Exchanges>& exchanges) {
  std::vector<Exchanges> different;
  for (Exchanges own : exchanges) {
    bool inside = true;
    for (uint32_t v = 0; v < own.size(); ++v) {
      if ((variables & bit(v)) == 0)
        own[v] = v;
      else
        inside = inside && (variables & bit(own[v])) != 0;
    }
    if (inside) different.push_back(std::move(own));
  }
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  double total = 0;
  for (const Exchanges& own : different) {
    double staying = 1;
    uint64_t seen = 0;
    for (uint32_t v = 0; v < own.size(); ++v) {
      if ((variables & bit(v)) == 0 || (seen & bit(v)) != 0) continue;
      double values = double(region.box[v].count());
      for (uint32_t w = v; (seen & bit(w)) == 0; w = own[w]) {
        seen |= bit(w);
        values = std::min(values, double(region.box[w].count()));
        if (region.box[w] != region.box[v]) values = 0;
      }
      staying *= values;
    }
    total += staying;
  }
  const double order = double(std::max<size_t>(1, different.size()));
  if (region.is_box() && points == box_points(region, variables)) return std::min(points, total / order);
  return points / order;
}

// What stands beside factors of one term may be added up over all orders of those, and where it is the same in several
// orders they are one sum: the points of one order are enough. Variables of the result stay where they are.
EqualFactors Needs::equal_factors(const Network& network, const std::vector<size_t>& inner) {
  std::map<TermId, size_t> times;
  for (const size_t i : inner)
    if (network.factors[i].value.is_element()) ++times[network.factors[i].value.term];
  std::vector<size_t> members;
  double all = 1;
  for (const size_t i : inner) {
    if (!network.factors[i].value.is_element() || times[network.factors[i].value.term] < 2) continue;
    members.push_back(i);
    all *= double(members.size());
  }
  if (members.size() < 2) return {};
  const auto found = symmetries(network, members, ~network.summed);
  if (!found) return {all, {}};
  const auto same = symmetries(network, inner, ~network.summed);
  if (!same || same->empty()) return {};
  // Of many factors some parts are the same in several orders, and made once.
  if (inner.size() > 3) return {double(found->size()) / double(same->size()), {}};
  EqualFactors equal{double(found->size()), {}};
  for (const Exchanges& images : *same) equal.same.push_back(places_of(network, inner, images));
  return equal;
}

// Of each factor which ones it becomes when variables change places.
std::vector<uint64_t> Needs::places_of(const Network& network, const std::vector<size_t>& inner,
                                       const Exchanges& images) {
  std::vector<uint64_t> places(inner.size(), 0);
  for (size_t i = 0; i < inner.size(); ++i) {
    const Factor& from = network.factors[inner[i]];
    uint64_t moved = 0;
    for (uint32_t v = 0; v < images.size(); ++v)
      if ((from.variables & bit(v)) != 0) moved |= bit(images[v]);
    for (size_t k = 0; k < inner.size(); ++k) {
      const Factor& to = network.factors[inner[k]];
      if (to.variables == moved && to.value.kind == from.value.kind && to.value.term == from.value.term)
        places[i] |= bit(k);
    }
  }
  return places;
}

// Where every factor takes the place of one on its own side, or every one of one on the other, it is the same product,
// which is made once anyway.
double EqualFactors::orders_of(uint64_t side) const {
  const auto keeps_sides = [&](const std::vector<uint64_t>& places) {
    bool stay = true, change = true;
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t own = (side >> i & 1) != 0 ? side : ~side;
      stay = stay && (places[i] & own) != 0;
      change = change && (places[i] & ~own) != 0;
    }
    return stay || change;
  };
  return orders / double(std::max<int64_t>(1, std::count_if(same.begin(), same.end(), keeps_sides)));
}

// Variables that equations tell from others may stand for them.
std::vector<uint64_t> Needs::equations_of(const Region& region) const {
  std::vector<uint64_t> equations;
  for (const Form& cut : region.cuts) {
    const Form opposite = atoms_.scaled(cut, -1);
    if (std::find(region.cuts.begin(), region.cuts.end(), opposite) == region.cuts.end()) continue;
    uint64_t set = 0;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { set |= bit(v); });
    if (!atoms_.has_compound(cut)) equations.push_back(set);
  }
  return equations;
}

uint64_t Needs::told_by(uint64_t variables, const std::vector<uint64_t>& equations) {
  for (bool more = !equations.empty(); more;) {
    more = false;
    for (const uint64_t set : equations)
      if (std::popcount(set & ~variables) == 1) {
        variables |= set;
        more = true;
      }
  }
  return variables;
}

// Of a box, as far as these variables go.
double Needs::box_points(const Region& box, uint64_t variables) {
  double total = 1;
  for (; variables != 0; variables &= variables - 1)
    total *= double(box.box[size_t(std::countr_zero(variables))].count());
  return total;
}

// The variables that forms are, each by itself; nothing if one of them is more than that.
std::optional<uint64_t> Needs::plain_variables(const std::vector<Form>& forms) {
  uint64_t set = 0;
  for (const Form& form : forms) {
    if (form.is_constant()) continue;
    if (form.terms.size() != 1 || !index::is_variable(form.terms[0].first)) return std::nullopt;
    set |= bit(form.terms[0].first);
  }
  return set;
}

}  // namespace lightline::demand
