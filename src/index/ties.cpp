#include "index/ties.h"

#include <algorithm>
#include <set>

#include "base/maths.h"
#include "index/draws.h"

namespace lightline::index {

namespace {

// Variables that forms have in numbers by data alone.
std::set<AtomId> told_by_data_alone(std::span<const Form> forms, const Atoms& atoms) {
  std::set<AtomId> found;
  for (const Form& form : forms)
    for (const auto& [atom, coefficient] : form.terms)
      if (!is_variable(atom) && atoms[atom].kind == Atom::Kind::data)
        atoms.for_each_variable_of(atom, [&](AtomId v) { found.insert(v); });
  for (const Form& form : forms)
    if (!is_data(form)) atoms.for_each_variable(form, [&](AtomId v) { found.erase(v); });
  return found;
}

// a u + b v + c is at least 0: of the box both variables have, the largest that lies inside.
bool shrink_to_inside(Region& region, const Form& cut, AtomId u, AtomId v) {
  constexpr int64_t tries = 32;
  const int64_t a = cut.coefficient(u), b = cut.coefficient(v);
  Range &us = region.box[u], &vs = region.box[v];
  if (us.step != 1 || vs.step != 1) return false;
  Range best_u{0, -1, 1}, best_v{0, -1, 1};
  for (int64_t i = 0; i < tries; ++i) {
    Range own_v = vs, own_u = us;
    (b > 0 ? own_v.lo : own_v.hi) = vs.lo + (vs.count() - 1) * i / (tries - 1);
    const int64_t least = -cut.constant - b * (b > 0 ? own_v.lo : own_v.hi);  // of a u
    if (a > 0)
      own_u.lo = std::max(us.lo, ceil_div(least, a));
    else
      own_u.hi = std::min(us.hi, floor_div(-least, -a));
    if (own_u.hi < own_u.lo || own_u.count() * own_v.count() <= best_u.count() * best_v.count()) continue;
    best_u = own_u;
    best_v = own_v;
  }
  if (best_u.hi < best_u.lo) return false;
  us = best_u;
  vs = best_v;
  return true;
}

}  // namespace

Region without_ties(const Region& region, std::span<const Form> forms, Atoms& atoms) {
  if (region.cuts.empty()) return region;
  const std::set<AtomId> places = told_by_data_alone(forms, atoms);
  if (places.empty()) return region;
  std::set<AtomId> told;  // others are projected away
  for (const Form& form : forms) atoms.for_each_variable(form, [&](AtomId v) { told.insert(v); });
  Region result = region;
  result.points = -1;
  std::erase_if(result.cuts, [&](const Form& cut) {
    if (cut.terms.size() != 2 || !is_variable(cut.terms[0].first) || !is_variable(cut.terms[1].first)) return false;
    const bool second = places.contains(cut.terms[1].first);
    if (!second && !places.contains(cut.terms[0].first)) return false;
    if (!told.contains(cut.terms[0].first) || !told.contains(cut.terms[1].first)) return false;
    const bool inside = shrink_to_inside(result, cut, cut.terms[second ? 0 : 1].first, cut.terms[second ? 1 : 0].first);
    if (inside) atoms.lose(Loss::data);
    return inside;
  });
  return result;
}

}  // namespace lightline::index
