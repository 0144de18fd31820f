// A variable that goes once round a circle, and is only seen as a place on it, may start anywhere and go in any steps
// that reach all places: (a v + s) mod n over n values of v is every number below n once, if a and n have no common
// divisor.
#pragma once

#include <numeric>
#include <utility>

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
      const Seen& seen = seen_[v];
      if ((seen.shift == 0 && seen.factor == 1) || seen.elsewhere || !whole || around % seen.period != 0) continue;
      const int64_t inverse = inverse_of(seen.factor, seen.period);
      images_[v] = Form{seen.factor == 1 ? -seen.shift : -(inverse * (seen.shift % seen.period) % seen.period),
                        {{AtomId(v), inverse}}};
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
    int64_t factor = 1;
    bool elsewhere = false;
  };
  // factor * inverse mod period = 1
  static int64_t inverse_of(int64_t factor, int64_t period) {
    int64_t a = factor % period, b = period, x = 1, y = 0;
    while (b != 0) {
      const int64_t quotient = a / b;
      a = std::exchange(b, a - quotient * b);
      x = std::exchange(y, x - quotient * y);
    }
    return factor == 1 ? 1 : (x % period + period) % period;
  }
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
  // (factor v + shift) mod by
  bool see_steps(const Atom& atom) {
    const auto [variable, factor] = atom.of.terms[0];
    Seen& seen = seen_[variable];
    if (factor < 0 || factor >= atom.by || atom.by > greatest_period || std::gcd(factor, atom.by) != 1) return false;
    seen.elsewhere |=
        seen.period != 1 && (seen.period != atom.by || seen.factor != factor || seen.shift != atom.of.constant);
    seen.period = atom.by;
    seen.factor = factor;
    seen.shift = atom.of.constant;
    return true;
  }
  // ((v + shift) div scale) mod by
  bool see_circle(const Atom& atom) {
    Form of = atom.of;
    int64_t scale = 1;
    if (of.terms.size() != 1) return false;
    if (of.terms[0].second != 1) return is_variable(of.terms[0].first) && see_steps(atom);
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
    seen.elsewhere |= seen.factor != 1;
    // The longest period tells the shift; shorter ones must divide it and agree.
    int64_t period = scale * atom.by, shift = of.constant;
    if (period > seen.period) {
      std::swap(period, seen.period);
      std::swap(shift, seen.shift);
    }
    seen.elsewhere |= !is_kept(seen.period) || seen.period % period != 0 || (seen.shift - shift) % period != 0;
    return true;
  }

  static constexpr int64_t greatest_period = int64_t(1) << 24;
  Atoms& atoms_;
  size_t size_;
  std::vector<Seen> seen_;
  std::vector<Form> images_;
  std::vector<size_t> turned_;
};

}  // namespace lightline::index
