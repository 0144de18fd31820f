// The values of one coordinate whose variables no other coordinate has.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "base/maths.h"
#include "index/region.h"

namespace lightline::index {

// constant + sum of coefficient * variable, where each variable belongs to this one coordinate.
class Progression {
 public:
  // Numbers that the others are added to: lo, lo + step, ...
  struct Level {
    int64_t step = 1;
    int64_t count = 1;
  };
  Progression(const Form& form, std::span<const Range> box) {
    base_ = form.constant;
    std::vector<Level> parts;
    for (const auto& [variable, coefficient] : form.terms) {
      const Range& range = box[variable];
      base_ += coefficient * (coefficient > 0 ? range.lo : range.hi);
      if (range.count() > 1) parts.push_back({std::abs(coefficient) * range.step, range.count()});
    }
    std::sort(parts.begin(), parts.end(), [](const Level& a, const Level& b) { return a.step < b.step; });
    for (const Level& part : parts) add(part);
    if (left_out_) take_longest_run(parts);
  }

  bool is_one_to_one() const { return one_to_one_; }
  bool is_whole() const { return !dropped_ && !left_out_; }  // else some of the values are missing
  void restrict(Region& region, size_t coordinate, Atoms& atoms) const {
    int64_t last = base_;
    for (const Level& level : levels_) last += level.step * (level.count - 1);
    const int64_t step = levels_.empty() ? 1 : levels_[0].step;
    region.box[coordinate] = {base_, last, levels_.size() == 1 ? step : 1};
    if (levels_.size() <= 1) return;
    // Digits below each level reach only so far.
    int64_t reach = 0;
    for (size_t i = 0; i + 1 < levels_.size(); ++i) {
      reach += levels_[i].step * (levels_[i].count - 1);
      // As the coordinate has them, if nothing is carried over; else from the least value on.
      const int64_t next = levels_[i + 1].step, low = floor_mod(base_, next);
      const bool plain = low + reach < next;
      const Form digit = atoms.remainder({plain ? 0 : -base_, {{AtomId(coordinate), 1}}}, next, {});
      region.cut(atoms.sum(Form::of(plain ? low + reach : reach), digit, -1), atoms);
      if (plain && low > 0) region.cut(atoms.sum(Form::of(-low), digit), atoms);
    }
    if (step > 1) {
      Form digit = atoms.remainder({-base_, {{AtomId(coordinate), 1}}}, step, {});
      region.cut(atoms.scaled(digit, -1), atoms);
    }
  }

 private:
  void add(const Level& part) {
    if (levels_.empty()) {
      levels_.push_back(part);
      return;
    }
    int64_t reach = 0;
    for (const Level& level : levels_) reach += level.step * (level.count - 1);
    Level& last = levels_.back();
    one_to_one_ = one_to_one_ && part.step > reach;
    if (part.step % last.step != 0 || part.step > greatest_kept) {  // left out: fewer values
      one_to_one_ = false;
      left_out_ = true;
      return;
    }
    if (levels_.size() == 1 && part.step <= last.step * last.count)
      last.count += part.step / last.step * (part.count - 1);
    else if (part.step > reach && (levels_.size() == 1 || part.step % levels_[0].step == 0))
      levels_.push_back(part);
    else
      dropped_ = true;
  }

  // Steps that do not divide each other, such as 2 p + 3 r: all sums are marked, and the longest row of them is taken.
  void take_longest_run(const std::vector<Level>& parts) {
    int64_t reach = 0, common = 0;
    for (const Level& part : parts) {
      reach += part.step * (part.count - 1);
      common = std::gcd(common, part.step);
    }
    if (reach / common > most_sums) return;
    std::vector<bool> marked(size_t(reach / common) + 1, false);
    marked[0] = true;
    for (const Level& part : parts) {
      const size_t step = size_t(part.step / common);
      // How many more of this part may follow a sum
      std::vector<int64_t> left(marked.size(), -1);
      for (size_t i = 0; i < marked.size(); ++i) {
        if (marked[i]) left[i] = part.count - 1;
        if (i >= step && left[i] < left[i - step] - 1) left[i] = left[i - step] - 1;
        marked[i] = left[i] >= 0;
      }
    }
    size_t best = 0, best_length = 0;
    for (size_t i = 0; i < marked.size();) {
      size_t end = i;
      while (end < marked.size() && marked[end]) ++end;
      if (end - i > best_length) {
        best = i;
        best_length = end - i;
      }
      i = end + 1;
    }
    base_ += int64_t(best) * common;
    levels_ = {{common, int64_t(best_length)}};
    dropped_ = false;
    left_out_ = size_t(std::count(marked.begin(), marked.end(), true)) > best_length;
  }

  static constexpr int64_t most_sums = 1 << 20;
  int64_t base_ = 0;
  bool one_to_one_ = true;
  bool left_out_ = false;  // a step that does not fit the others,
  bool dropped_ = false;   // or one that would make levels overlap
  std::vector<Level> levels_;
};

}  // namespace lightline::index
