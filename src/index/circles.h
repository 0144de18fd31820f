// A variable that goes once round a circle, and is only seen as a place on it, may start anywhere: (v + s) mod n over n
// values of v is every number below n once.
#pragma once

#include "index/region.h"

namespace lightline::index {

class Circles {
 public:
  Circles(std::span<const Region> regions, std::span<const Form> forms, Atoms& atoms)
      : atoms_(atoms), size_(regions[0].box.size()), seen_(size_) {
    for (const Region& region : regions)
      for (const Form& cut : region.cuts) see(cut);
    for (const Form& form : forms) see(form);
    for (size_t v = 0; v < size_; ++v) {
      images_.push_back(Form::variable(AtomId(v)));
      const int64_t around = regions[0].box[v].count();
      const bool whole = std::all_of(regions.begin(), regions.end(), [&](const Region& region) {
        return region.box[v].step == 1 && region.box[v] == regions[0].box[v] && region.samples.empty();
      });
      if (seen_[v].shift == 0 || seen_[v].elsewhere || !whole || around % seen_[v].period != 0) continue;
      images_[v].constant = -seen_[v].shift;
      turned_.push_back(v);
    }
  }
  bool any() const { return !turned_.empty(); }
  Region turned(const Region& region) {
    Region result;
    result.box = region.box;
    result.empty = region.empty;
    result.samples = region.samples;
    for (const size_t v : turned_) result.box[v] = {0, region.box[v].count() - 1, 1};
    for (const Form& cut : region.cuts) result.cut(atoms_.compose(cut, images_, result.box), atoms_);
    return result;
  }
  Form turned(const Form& form, std::span<const Range> box) { return atoms_.compose(form, images_, box); }

 private:
  struct Seen {
    int64_t shift = 0;
    int64_t period = 1;
    bool elsewhere = false;
  };
  void see(const Form& form) {
    for (const auto& [id, coefficient] : form.terms) {
      if (is_variable(id)) {
        seen_[id].elsewhere = true;
        continue;
      }
      const Atom& atom = atoms_[id];
      for (const Form& inner : atom.at) see(inner);
      if (atom.kind == Atom::Kind::data) continue;
      if (atom.kind == Atom::Kind::quotient || !see_circle(atom)) see(atom.of);
    }
  }
  // ((v + shift) div scale) mod by
  bool see_circle(const Atom& atom) {
    Form of = atom.of;
    int64_t scale = 1;
    if (of.terms.size() != 1 || of.terms[0].second != 1) return false;
    if (!is_variable(of.terms[0].first)) {
      const Atom& inner = atoms_[of.terms[0].first];
      if (inner.kind != Atom::Kind::quotient) return false;
      scale = inner.by;
      const int64_t whole = of.constant;
      of = inner.of;
      of.constant += whole * scale;
    }
    if (of.terms.size() != 1 || of.terms[0].second != 1 || !is_variable(of.terms[0].first)) return false;
    Seen& seen = seen_[of.terms[0].first];
    // The longest period tells the shift; shorter ones must divide it and agree.
    int64_t period = scale * atom.by, shift = of.constant;
    if (period > seen.period) {
      std::swap(period, seen.period);
      std::swap(shift, seen.shift);
    }
    seen.elsewhere |= !is_kept(seen.period) || seen.period % period != 0 || (seen.shift - shift) % period != 0;
    return true;
  }

  Atoms& atoms_;
  size_t size_;
  std::vector<Seen> seen_;
  std::vector<Form> images_;
  std::vector<size_t> turned_;
};

}  // namespace lightline::index
