// Variables of which quotients and remainders are left, value by value.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/maths.h"
#include "index/digits.h"

namespace lightline::index {

// What a form is at a point, as far as data do not tell. Nothing if numbers become too large.
inline std::optional<int64_t> value_at(const Form& form, std::span<const int64_t> at, const Atoms& atoms);

inline std::optional<int64_t> value_at(AtomId id, std::span<const int64_t> at, const Atoms& atoms) {
  if (is_variable(id)) return at[id];
  const Atom& atom = atoms[id];
  if (atom.kind == Atom::Kind::data) return std::nullopt;
  const auto inner = value_at(atom.of, at, atoms);
  if (!inner) return std::nullopt;
  return atom.kind == Atom::Kind::quotient ? floor_div(*inner, atom.by) : floor_mod(*inner, atom.by);
}

inline std::optional<int64_t> value_at(const Form& form, std::span<const int64_t> at, const Atoms& atoms) {
  __int128 total = form.constant;
  for (const auto& [id, coefficient] : form.terms) {
    const auto value = value_at(id, at, atoms);
    if (!value) return std::nullopt;
    total += __int128(coefficient) * *value;
  }
  return total < -greatest_kept || total > greatest_kept ? std::nullopt : std::optional(int64_t(total));
}

// Whether one of a few points all over a region is seen to be in it.
inline bool has_seen_point(const Region& region, const Atoms& atoms) {
  constexpr uint64_t most_points = 1024, most_in_box = uint64_t(1) << 30;
  uint64_t size = 1;
  for (const Range& range : region.box) {
    size *= std::min(uint64_t(range.count()), most_in_box);
    if (size > most_in_box) return false;
  }
  uint64_t stride = uint64_t(double(size) * 0.6180339887) | 1;
  while (std::gcd(stride, size) != 1) stride += 2;
  std::vector<int64_t> at(region.box.size());
  for (uint64_t i = 0, place = 0; i < std::min(size, most_points); ++i, place = (place + stride) % size) {
    uint64_t rest = place;
    for (size_t v = at.size(); v-- > 0;) {
      const Range& range = region.box[v];
      at[v] = range.lo + range.step * int64_t(rest % uint64_t(range.count()));
      rest /= uint64_t(range.count());
    }
    const bool inside = std::all_of(region.cuts.begin(), region.cuts.end(), [&](const Form& cut) {
      const auto value = value_at(cut, at, atoms);
      return value && *value >= 0;
    });
    if (inside) return true;
  }
  return false;
}

// Quotients and remainders that are left: their variables are tried value by value.
class Assignments {
 public:
  static constexpr int64_t most = 4096;
  static constexpr double lines_of_one = 16;  // what one of them takes, as against lines that are counted

  Assignments(const std::vector<Form>& cuts, const std::vector<Form>& forms, Piece start, Atoms& atoms)
      : cuts_(cuts), forms_(forms), start_(std::move(start)), atoms_(atoms) {
    std::set<AtomId> found;
    for (const auto* list : {&cuts, &forms})
      for (const Form& form : *list) collect(form, found);
    tried_.assign(found.begin(), found.end());
    const auto hangs_on_data = [&](const Form& form) { return atoms_.has_data(form); };
    by_data_ =
        std::any_of(cuts.begin(), cuts.end(), hangs_on_data) || std::any_of(forms.begin(), forms.end(), hangs_on_data);
  }

  std::vector<AffinePart> run(bool any_will_do) {
    parts_.clear();
    any_will_do_ = any_will_do;
    left_ = std::min(most, int64_t(atoms_.lines_left() / lines_of_one));
    at_.assign(start_.box.size(), 0);
    images_.resize(start_.box.size());
    for (size_t v = 0; v < images_.size(); ++v) images_[v] = Form::variable(AtomId(v));
    try_from(0, start_.box);
    return std::move(parts_);
  }

 private:
  void collect(const Form& form, std::set<AtomId>& found) const {
    for (const auto& [id, coefficient] : form.terms) {
      if (is_variable(id)) continue;
      const Atom& atom = atoms_[id];
      if (atom.kind != Atom::Kind::data)
        atoms_.for_each_variable_of(id, [&](AtomId variable) { found.insert(variable); });
      for (const Form& inner : atom.at) collect(inner, found);
    }
  }
  void try_from(size_t i, std::vector<Range> box) {
    if (left_ <= 0 || is_done()) return;
    if (i == tried_.size()) {
      --left_;
      atoms_.walk(lines_of_one);
      finish(box);
      return;
    }
    if (i > 0 && skip_empty(i, box)) return;
    const AtomId variable = tried_[i];
    const Range range = box[variable];
    for (int64_t value = range.lo; value <= range.hi && !is_done(); value += range.step) {
      if (left_ <= 0) return atoms_.lose(Loss::values);
      box[variable] = {value, value, 1};
      images_[variable] = Form::of(value);
      at_[variable] = value;
      try_from(i + 1, box);
    }
    images_[variable] = Form::variable(variable);
  }
  bool is_done() const { return any_will_do_ && !parts_.empty(); }
  // Assignments that no cut allows count as tried. What hangs on data is told at the last of them.
  bool skip_empty(size_t i, const std::vector<Range>& box) {
    if (by_data_) return false;
    const bool none =
        std::any_of(cuts_.begin(), cuts_.end(), [&](const Form& cut) { return atoms_.range(cut, box).hi < 0; });
    if (!none) return false;
    int64_t skipped = 1;
    for (size_t v = i; v < tried_.size() && skipped <= left_; ++v)
      skipped *= std::min<int64_t>(box[tried_[v]].count(), most + 1);
    if (skipped > left_) return false;
    left_ -= skipped;
    return true;
  }
  // The form at the values that are tried. Nothing if numbers become too large.
  std::optional<Form> assigned(const Form& form) const {
    Form result;
    __int128 constant = form.constant;
    for (const auto& [id, coefficient] : form.terms) {
      if (is_variable(id) && images_[id].is_variable()) {
        result.terms.emplace_back(id, coefficient);
        continue;
      }
      const auto value = value_at(id, at_, atoms_);
      if (!value) return std::nullopt;
      constant += __int128(coefficient) * *value;
    }
    result.constant = int64_t(constant);
    return constant == result.constant && is_kept(result.constant) ? std::optional(result) : std::nullopt;
  }
  Form image_of(const Form& form, const std::vector<Range>& box) {
    if (!by_data_)
      if (auto image = assigned(form)) return std::move(*image);
    return atoms_.compose(form, images_, box);
  }
  void finish(const std::vector<Range>& box) {
    AffinePart part;
    part.piece = start_;
    part.piece.box = box;
    for (const HalfSpace& cut : std::exchange(part.piece.cuts, {})) part.piece.cut(cut);
    for (const Form& cut : cuts_) {
      const Form plain = image_of(cut, box);
      if (atoms_.has_compound(plain)) return atoms_.lose(Loss::data);  // it hangs on data: no point is sure
      part.piece.cut(half_space(plain));
    }
    if (part.piece.bounds_empty()) return;
    for (const Form& form : forms_) part.forms.push_back(image_of(form, box));
    parts_.push_back(std::move(part));
  }

  const std::vector<Form>& cuts_;
  const std::vector<Form>& forms_;
  Piece start_;
  Atoms& atoms_;
  std::vector<AtomId> tried_;
  bool by_data_ = false;
  std::vector<Form> images_;
  std::vector<int64_t> at_;  // values of those that are fixed
  std::vector<AffinePart> parts_;
  bool any_will_do_ = false;
  int64_t left_ = 0;
};

}  // namespace lightline::index
