#include "index/digits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/maths.h"
#include "index/answers.h"
#include "index/assignments.h"
#include "index/circles.h"

namespace lightline::index {
namespace {

constexpr int64_t max_quotients = 16;  // of one form, that are told apart
constexpr size_t max_parts = 4096;

// form = by * whole + rest, with factors of the rest as small as they can be.
struct Halved {
  Form whole, rest;
};

Halved halved(const Form& form, int64_t by) {
  Halved result{Form::of(floor_div(form.constant, by)), Form::of(floor_mod(form.constant, by))};
  for (const auto& [atom, coefficient] : form.terms) {
    int64_t rest = floor_mod(coefficient, by);
    if (rest > by / 2) rest -= by;
    if (rest != 0) result.rest.terms.emplace_back(atom, rest);
    if (rest != coefficient) result.whole.terms.emplace_back(atom, (coefficient - rest) / by);
  }
  return result;
}

// sign * variables + shift, of which digits are taken: the places where they are cut.
struct Radices {
  Form base;  // over the variables, without a constant
  int64_t shift = 0;
  std::set<int64_t> places;  // 1 is not among them
  bool conflict = false;
};

// Finds, for the variables of some regions and forms, digits in which all is affine.
class Splitter {
 public:
  Splitter(std::span<const Region> regions, std::span<const Form> forms, Atoms& atoms)
      : regions_(regions), atoms_(atoms), variables_(regions.empty() ? 0 : regions[0].box.size()) {
    owner_.assign(variables_, -1);
    for (const Region& region : regions) {
      for (const Form& cut : region.cuts) collect(cut);
      for (size_t v = 0; v < variables_; ++v)
        if (region.box[v].step > 1 && region.box[v].count() > 1) note(Form::variable(AtomId(v)), 0, region.box[v].step);
    }
    for (const Form& form : forms) collect(form);
    settle();
    lay_out();
  }

  size_t size() const { return size_; }
  const std::vector<uint32_t>& origin() const { return origin_; }
  std::span<const Form> images() const { return images_; }  // of the old variables, over the new
  bool is_split(size_t variable) const { return owner_[variable] >= 0; }
  std::vector<Range> box(const Region& region) const;

 private:
  void collect(const Form& form) {
    for (const auto& [atom, coefficient] : form.terms)
      if (!is_variable(atom)) collect_atom(atom);
  }
  void collect_atom(AtomId id) {
    const Atom& atom = atoms_[id];
    for (const Form& form : atom.at) collect(form);
    if (atom.kind == Atom::Kind::data) return;
    collect(atom.of);
    const auto inner = resolve(atom.of);
    if (!inner) return collect_sum(atom);
    Radices alone{inner->base, 0, {}, false};
    if (is_number(alone)) return note(inner->base, inner->shift, inner->scale * atom.by);
    // Sums of variables: the low digits of each, where there are too many quotients to tell them apart.
    const int64_t by = inner->scale * atom.by;
    const Form rest = halved({inner->shift, inner->base.terms}, by).rest;
    if (has_few_quotients(rest, by)) return;
    for (const auto& [variable, coefficient] : rest.terms)
      if (const int64_t place = by / std::gcd(by, coefficient); place > 1) note(Form::variable(variable), 0, place);
  }
  bool has_few_quotients(const Form& rest, int64_t by) const {
    return std::all_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      const Range values = atoms_.range(rest, region.box);
      return floor_div(values.hi, by) - floor_div(values.lo, by) < max_quotients;
    });
  }
  // Sums of digits, as in (i div 64 + j div 64) mod 4: the low ones of each, as above.
  void collect_sum(const Atom& atom) {
    const Form rest = halved(atom.of, atom.by).rest;
    if (has_few_quotients(rest, atom.by)) return;
    for (const auto& [id, coefficient] : rest.terms) {
      const auto inner = resolve(Form::variable(id));
      const int64_t place = atom.by / std::gcd(atom.by, coefficient);
      if (!inner || place <= 1 || !is_kept(inner->scale * place)) continue;
      Radices alone{inner->base, 0, {}, false};
      if (is_number(alone)) note(inner->base, inner->shift, inner->scale * place);
    }
  }
  // A form as (base + shift) div scale.
  struct Resolved {
    Form base;
    int64_t shift = 0;
    int64_t scale = 1;
  };
  std::optional<Resolved> resolve(const Form& form) const {
    if (!atoms_.has_compound(form)) return Resolved{{0, form.terms}, form.constant, 1};
    if (form.terms.size() != 1 || form.terms[0].second != 1) return std::nullopt;
    const Atom& atom = atoms_[form.terms[0].first];
    if (atom.kind != Atom::Kind::quotient) return std::nullopt;
    auto inner = resolve(atom.of);
    if (!inner) return std::nullopt;
    inner->scale *= atom.by;
    inner->shift += form.constant * inner->scale;
    if (!is_kept(inner->scale) || !is_kept(inner->shift)) return std::nullopt;
    return inner;
  }
  void note(const Form& base, int64_t shift, int64_t place) {
    const auto [at, added] = by_base_.try_emplace(base, radices_.size());
    if (added) {
      radices_.push_back({base, shift, {}, false});
    } else if (floor_mod(radices_[at->second].shift - shift, place) != 0 && !has_many_values(base)) {
      radices_[at->second].conflict = true;
    }
    radices_[at->second].places.insert(place);
  }
  // So many that trying them one by one would leave some out: digits from one start, and carries for the others.
  bool has_many_values(const Form& base) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      double values = 1;
      for (const auto& [variable, coefficient] : base.terms) values *= double(region.box[variable].count());
      return values > double(Assignments::most);
    });
  }
  // Several variables that are the digits of one number, and how far each goes.
  bool is_number(Radices& radices) const;
  bool in_range(AtomId variable, int64_t extent) const {
    return std::all_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      return region.box[variable].lo >= 0 && region.box[variable].hi < extent;
    });
  }
  void settle();
  void lay_out();

  std::span<const Region> regions_;
  Atoms& atoms_;
  size_t variables_;
  std::map<Form, size_t> by_base_;
  std::vector<Radices> radices_;
  std::vector<int> owner_;  // by variable: the radices that it is split by, or -1
  std::vector<Form> images_;
  std::vector<uint32_t> origin_;
  size_t size_ = 0;
  // The new variables of radices, from the lowest digit on.
  struct Digits {
    size_t first = 0;
    std::vector<int64_t> places;  // 1, ...
  };
  std::vector<Digits> digits_;
};

bool Splitter::is_number(Radices& radices) const {
  auto terms = radices.base.terms;
  if (terms.size() == 1) return terms[0].second == 1 || terms[0].second == -1;
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (terms[0].second != 1) return false;
  for (size_t i = 0; i + 1 < terms.size(); ++i) {
    if (terms[i + 1].second % terms[i].second != 0) return false;
    if (!in_range(terms[i].first, terms[i + 1].second / terms[i].second)) return false;
  }
  return true;
}

void Splitter::settle() {
  for (size_t r = 0; r < radices_.size(); ++r) {
    Radices& radices = radices_[r];
    bool fits = !radices.conflict && is_number(radices);
    const bool several = radices.base.terms.size() > 1;
    for (const auto& [variable, coefficient] : radices.base.terms) {
      fits = fits && is_variable(variable) && owner_[variable] < 0;
      if (!fits || !several) continue;
      if (coefficient > 1) radices.places.insert(coefficient);
      fits = radices.shift == 0;  // else the digits are not those of the variables
    }
    int64_t last = 1;
    for (const int64_t place : radices.places) {
      fits = fits && place % last == 0;
      last = place;
    }
    if (!fits) continue;
    for (const auto& [variable, coefficient] : radices.base.terms) owner_[variable] = int(r);
  }
}

void Splitter::lay_out() {
  images_.resize(variables_);
  digits_.resize(radices_.size());
  for (size_t v = 0; v < variables_; ++v)
    if (owner_[v] < 0) {
      images_[v] = Form::variable(AtomId(size_++));
      origin_.push_back(uint32_t(v));
    }
  for (size_t r = 0; r < radices_.size(); ++r) {
    const Radices& radices = radices_[r];
    if (radices.base.terms.empty() || !is_variable(radices.base.terms[0].first) ||
        owner_[radices.base.terms[0].first] != int(r))
      continue;
    Digits& digits = digits_[r];
    digits.first = size_;
    digits.places.push_back(1);
    digits.places.insert(digits.places.end(), radices.places.begin(), radices.places.end());
    size_ += digits.places.size();
    origin_.resize(size_, 0);
    // The number is the base plus the shift; a variable is its own digits of it.
    const bool single = radices.base.terms.size() == 1;
    for (const auto& [variable, coefficient] : radices.base.terms) {
      int64_t above = INT64_MAX;
      for (const auto& [other, place] : radices.base.terms)
        if (place > coefficient) above = std::min(above, place);
      Form image = Form::of(single ? -radices.shift : 0);
      for (size_t i = 0; i < digits.places.size(); ++i)
        if (single || (digits.places[i] >= coefficient && digits.places[i] < above)) {
          origin_[digits.first + i] = variable;
          image.terms.emplace_back(AtomId(digits.first + i),
                                   single ? digits.places[i] : digits.places[i] / coefficient);
        }
      images_[variable] = single && coefficient < 0 ? atoms_.scaled(image, -1) : image;
    }
  }
}

std::vector<Range> Splitter::box(const Region& region) const {
  std::vector<Range> box(size_);
  for (size_t v = 0; v < variables_; ++v)
    if (owner_[v] < 0) box[images_[v].terms[0].first] = region.box[v];
  for (size_t r = 0; r < radices_.size(); ++r) {
    const Digits& digits = digits_[r];
    if (digits.places.empty()) continue;
    Form number = radices_[r].base;
    number.constant += radices_[r].shift;
    const Range values = atoms_.range(number, region.box);
    for (size_t i = 0; i < digits.places.size(); ++i) {
      const int64_t place = digits.places[i];
      box[digits.first + i] = i + 1 < digits.places.size()
                                  ? Range{0, digits.places[i + 1] / place - 1, 1}
                                  : Range{floor_div(values.lo, place), floor_div(values.hi, place), 1};
    }
  }
  return box;
}

// Tells quotients of affine forms apart, while they are few.
class Branches {
 public:
  Branches(std::vector<Form> cuts, std::vector<Form> forms, Piece piece, Atoms& atoms) : atoms_(atoms) {
    open_.push_back({std::move(piece), std::move(cuts), std::move(forms)});
  }
  struct Branch {
    Piece piece;
    std::vector<Form> cuts, forms;  // what is left to do
  };
  // Until `visit(Branch&)` has seen enough.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (size_t done = 0; !open_.empty();) {
      Branch branch = std::move(open_.back());
      open_.pop_back();
      if (branch.piece.bounds_empty()) continue;
      const auto found = done + open_.size() < max_parts ? few_quotients(branch) : std::nullopt;
      if (!found) {
        ++done;
        if (!visit(branch)) return;
        continue;
      }
      for (int64_t quotient = found->values.hi; quotient >= found->values.lo; --quotient)
        take(branch, *found, quotient);
    }
  }

 private:
  struct Found {
    Form of;
    int64_t by;
    Halved parts;
    Range values;  // quotients of the rest
  };
  std::optional<Found> few_quotients(const Branch& branch) const {
    for (const auto* list : {&branch.cuts, &branch.forms})
      for (const Form& form : *list)
        if (auto found = in_form(form, branch.piece.box)) return found;
    return std::nullopt;
  }
  std::optional<Found> in_form(const Form& form, std::span<const Range> box) const {
    for (const auto& [id, coefficient] : form.terms) {
      if (is_variable(id)) continue;
      const Atom& atom = atoms_[id];
      for (const Form& inner : atom.at)
        if (auto found = in_form(inner, box)) return found;
      if (atom.kind == Atom::Kind::data) continue;
      if (atoms_.has_compound(atom.of)) {
        if (auto found = in_form(atom.of, box)) return found;
        continue;
      }
      Halved parts = halved(atom.of, atom.by);
      const Range values = atoms_.range(parts.rest, box);
      const Range quotients{floor_div(values.lo, atom.by), floor_div(values.hi, atom.by), 1};
      if (quotients.count() <= max_quotients) return Found{atom.of, atom.by, std::move(parts), quotients};
    }
    return std::nullopt;
  }
  Form replaced(const Form& form, const Found& found, int64_t quotient, std::span<const Range> box) {
    if (!atoms_.has_compound(form)) return form;
    Form result = Form::of(form.constant);
    for (const auto& [id, coefficient] : form.terms) {
      Form image = Form::variable(id);
      if (!is_variable(id)) {
        const Atom& atom = atoms_[id];
        if (atom.kind == Atom::Kind::data) {
          std::vector<Form> at;
          for (const Form& inner : atom.at) at.push_back(replaced(inner, found, quotient, box));
          image = atoms_.data(atom.source, std::move(at), atom.extent);
        } else if (atom.of == found.of && atom.by == found.by) {
          image = atom.kind == Atom::Kind::quotient ? atoms_.sum(found.parts.whole, Form::of(quotient))
                                                    : atoms_.sum(found.parts.rest, Form::of(-quotient * found.by));
        } else {
          const Form inner = replaced(atom.of, found, quotient, box);
          image = atom.kind == Atom::Kind::quotient ? atoms_.quotient(inner, atom.by, box)
                                                    : atoms_.remainder(inner, atom.by, box);
        }
      }
      atoms_.add(result, image, coefficient);
    }
    return result;
  }
  bool is_never(const Form& cut, std::span<const Range> box) const {
    return atoms_.range(cut, box).hi < 0 && !atoms_.has_data(cut);
  }
  void take(const Branch& branch, const Found& found, int64_t quotient) {
    Branch next{branch.piece, {}, {}};
    const Form low = atoms_.sum(found.parts.rest, Form::of(-quotient * found.by));
    next.piece.cut(half_space(low));
    next.piece.cut(half_space(atoms_.sum(Form::of(found.by - 1), low, -1)));
    if (next.piece.bounds_empty()) return;
    for (const Form& cut : branch.cuts) {
      Form image = replaced(cut, found, quotient, next.piece.box);
      if (is_never(image, next.piece.box)) return;
      if (atoms_.has_compound(image))
        next.cuts.push_back(std::move(image));
      else
        next.piece.cut(half_space(image));
    }
    for (const Form& form : branch.forms) next.forms.push_back(replaced(form, found, quotient, next.piece.box));
    open_.push_back(std::move(next));
  }

  std::vector<Branch> open_;
  Atoms& atoms_;
};

// Numbers in place of variables that have one value, inside of quotients and remainders.
class Settled {
 public:
  Settled(const Region& region, Atoms& atoms) : region_(region), atoms_(atoms) {
    for (size_t v = 0; v < region.box.size(); ++v) {
      const bool drawn = std::any_of(region.samples.begin(), region.samples.end(),
                                     [&](const Sample& sample) { return sample.coordinate == v; });
      const bool one = region.box[v].count() == 1 && !drawn;
      any_ = any_ || one;
      images_.push_back(one ? Form::of(region.box[v].lo) : Form::variable(AtomId(v)));
    }
  }
  bool changes(const Form& form) const {
    bool found = false;
    if (any_ && atoms_.has_compound(form))
      atoms_.for_each_variable(form, [&](AtomId v) { found = found || images_[v].is_constant(); });
    return found;
  }
  bool changes() const {
    return std::any_of(region_.cuts.begin(), region_.cuts.end(), [&](const Form& cut) { return changes(cut); });
  }
  Form form(const Form& form) const { return changes(form) ? atoms_.compose(form, images_, region_.box) : form; }
  Region region() const {
    Region result = region_;
    result.cuts.clear();
    for (const Form& cut : region_.cuts) result.cut(form(cut), atoms_);
    return result;
  }

 private:
  const Region& region_;
  Atoms& atoms_;
  std::vector<Form> images_;
  bool any_ = false;
};

}  // namespace

std::vector<std::vector<AffinePart>> to_affine(std::span<const Region> regions, std::span<const Form> forms,
                                               Atoms& atoms, bool any_will_do) {
  for (const Region& region : regions) {
    const Settled settled(region, atoms);
    if (!settled.changes() && !(regions.size() == 1 && std::any_of(forms.begin(), forms.end(), [&](const Form& form) {
                                  return settled.changes(form);
                                })))
      continue;
    std::vector<Region> plain;
    std::vector<Form> images(forms.begin(), forms.end());
    for (const Region& one : regions) plain.push_back(Settled(one, atoms).region());
    if (regions.size() == 1)
      for (Form& form : images) form = settled.form(form);
    return to_affine(plain, images, atoms, any_will_do);
  }
  if (!regions.empty())
    if (Circles circles(regions, forms, atoms); circles.any()) {
      std::vector<Region> turned;
      std::vector<Form> images;
      for (const Region& region : regions) turned.push_back(circles.turned(region));
      for (const Form& form : forms) images.push_back(circles.turned(form, turned[0].box));
      return to_affine(turned, images, atoms, any_will_do);
    }
  std::vector<std::vector<AffinePart>> result(regions.size());
  if (regions.empty()) return result;
  const Splitter splitter(regions, forms, atoms);
  for (size_t r = 0; r < regions.size(); ++r) {
    const Region& region = regions[r];
    if (region.empty) continue;
    Piece piece{splitter.box(region), {}};
    std::vector<Form> left_cuts, left_forms;
    const auto add = [&](const Form& cut) {
      const Form image = atoms.compose(cut, splitter.images(), piece.box);
      if (atoms.has_compound(image))
        left_cuts.push_back(image);
      else
        piece.cut(half_space(image));
    };
    for (const Form& cut : region.cuts) add(cut);  // of digits: bounds may follow from them
    for (size_t v = 0; v < region.box.size(); ++v) {
      const Range& range = region.box[v];
      if (!splitter.is_split(v)) continue;
      add({-range.lo, {{AtomId(v), 1}}});
      add({range.hi, {{AtomId(v), -1}}});
      if (range.step == 1 || range.count() <= 1) continue;
      Form digit = atoms.remainder({-range.lo, {{AtomId(v), 1}}}, range.step, {});
      add(atoms.scaled(digit, -1));
    }
    if (piece.bounds_empty()) continue;
    for (const Form& form : forms) left_forms.push_back(atoms.compose(form, splitter.images(), piece.box));
    Branches branches(std::move(left_cuts), std::move(left_forms), std::move(piece), atoms);
    branches.for_each([&](Branches::Branch& branch) {
      for (AffinePart& part : Assignments(branch.cuts, branch.forms, std::move(branch.piece), atoms).run(any_will_do))
        result[r].push_back(std::move(part));
      return !any_will_do || result[r].empty();
    });
    std::vector<Sample> samples = region.samples;
    bool kept = true;
    for (Sample& sample : samples) {
      const Form& image = splitter.images()[sample.coordinate];
      kept = kept && image.is_variable();
      if (kept) sample.coordinate = image.terms[0].first;
      std::vector<uint32_t> varies;
      for (const uint32_t old : sample.varies)
        for (const auto& term : splitter.images()[old].terms) varies.push_back(term.first);
      sample.varies = std::move(varies);
    }
    if (!kept) {  // digits of numbers that only data tell
      result[r].clear();
      atoms.lose(Loss::data);
    }
    for (AffinePart& part : result[r]) {
      part.samples = samples;
      part.origin = splitter.origin();
    }
  }
  return result;
}

std::optional<AffinePart> single_affine(const Region& region, std::span<const Form> forms, Atoms& atoms) {
  const double lines = atoms.lines_left();
  auto answer = asked_once(Answers::Question::single_affine, std::span(&region, 1), forms, atoms, [&] {
    auto parts = to_affine(std::span(&region, 1), forms, atoms);
    Answers::Answer found{{}, lines - atoms.lines_left()};
    if (parts[0].size() == 1) found.part = std::move(parts[0][0]);
    return found;
  });
  // What is left for others is the same as if it were found again.
  if (atoms.lines_left() == lines) atoms.walk(answer.number);
  return std::move(answer.part);
}

}  // namespace lightline::index
