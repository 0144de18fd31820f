#include "index/trial.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/maths.h"

namespace lightline::index {
namespace {

constexpr int64_t most_points = 4096;
constexpr size_t most_boxes = 256;

class Trial {
 public:
  Trial(const Region& region, std::span<const Form> forms, Atoms& atoms)
      : region_(region), forms_(forms), atoms_(atoms), part_(region.box.size()) {
    std::iota(part_.begin(), part_.end(), size_t(0));
  }

  std::optional<Tried> run() {
    if (!region_.samples.empty() || !is_any_odd()) return std::nullopt;
    for (const Form& form : forms_) tie(form);
    for (const Form& cut : region_.cuts) tie(cut);
    if (!find_odd_variables()) return std::nullopt;
    Tried result;
    for (size_t c = 0; c < forms_.size(); ++c)
      if (is_tried(forms_[c])) result.coordinates.push_back(c);
    std::set<std::vector<int64_t>> values = values_of(result.coordinates);
    if (values.empty()) {
      result.rest.empty = true;
      return result;
    }
    result.boxes = boxes_of(values, result.coordinates.size());
    if (result.boxes.size() > most_boxes) return std::nullopt;
    result.rest.box = region_.box;
    for (size_t v = 0; v < region_.box.size(); ++v)
      if (odd_[v]) result.rest.box[v] = {0, 0, 1};
    for (const Form& cut : region_.cuts)
      if (!is_tried(cut)) result.rest.cuts.push_back(cut);
    for (const Form& form : forms_) result.forms.push_back(is_tried(form) ? Form::of(0) : form);
    return result;
  }

 private:
  bool is_odd(const Form& form) const {
    return atoms_.has_odd_quotient(form) || std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
             return !is_variable(term.first) && atoms_[term.first].kind == Atom::Kind::data &&
                    atoms_.table(atoms_[term.first].source) != nullptr;
           });
  }

  bool is_any_odd() const {
    return std::any_of(forms_.begin(), forms_.end(), [&](const Form& form) { return is_odd(form); }) ||
           std::any_of(region_.cuts.begin(), region_.cuts.end(), [&](const Form& cut) { return is_odd(cut); });
  }

  size_t part_of(size_t variable) {
    while (part_[variable] != variable) variable = part_[variable] = part_[part_[variable]];
    return variable;
  }

  void tie(const Form& form) {
    std::optional<size_t> first;
    atoms_.for_each_variable(form, [&](AtomId v) {
      if (first) part_[part_of(v)] = part_of(*first);
      first = v;
    });
  }

  // Variables that are tied to those of one odd form, if few enough.
  bool find_odd_variables() {
    std::set<size_t> odd;
    const auto see = [&](const Form& form) {
      if (is_odd(form)) atoms_.for_each_variable(form, [&](AtomId v) { odd.insert(part_of(v)); });
    };
    for (const Form& form : forms_) see(form);
    for (const Form& cut : region_.cuts) see(cut);
    for (const size_t part : odd) {
      odd_.assign(region_.box.size(), false);
      for (size_t v = 0; v < region_.box.size(); ++v) odd_[v] = part_of(v) == part;
      if (points() <= most_points && knows_all()) return true;
    }
    return false;
  }

  bool is_tried(const Form& form) const {
    bool found = false;
    atoms_.for_each_variable(form, [&](AtomId v) { found |= bool(odd_[v]); });
    return found;
  }

  bool knows(const Form& form) const {
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      if (is_variable(term.first)) return true;
      const Atom& atom = atoms_[term.first];
      if (atom.kind != Atom::Kind::data) return knows(atom.of);
      return atoms_.table(atom.source) != nullptr &&
             std::all_of(atom.at.begin(), atom.at.end(), [&](const Form& at) { return knows(at); });
    });
  }

  bool knows_all() const {
    const auto known = [&](const Form& form) { return !is_tried(form) || knows(form); };
    return std::all_of(forms_.begin(), forms_.end(), known) &&
           std::all_of(region_.cuts.begin(), region_.cuts.end(), known);
  }

  int64_t points() const {
    int64_t total = 1;
    for (size_t v = 0; v < region_.box.size() && total <= most_points; ++v)
      if (odd_[v]) total *= std::min<int64_t>(region_.box[v].count(), most_points + 1);
    return total;
  }

  int64_t value(const Form& form, const std::vector<int64_t>& at) const {
    int64_t total = form.constant;
    for (const auto& [id, coefficient] : form.terms) total += coefficient * value(id, at);
    return total;
  }

  int64_t value(AtomId id, const std::vector<int64_t>& at) const {
    if (is_variable(id)) return at[id];
    const Atom& atom = atoms_[id];
    if (atom.kind == Atom::Kind::quotient) return floor_div(value(atom.of, at), atom.by);
    if (atom.kind == Atom::Kind::remainder) return floor_mod(value(atom.of, at), atom.by);
    const Atoms::Table& table = *atoms_.table(atom.source);
    int64_t offset = 0;
    for (size_t d = 0; d < atom.at.size(); ++d)
      offset = offset * table.extents[d] + std::clamp<int64_t>(value(atom.at[d], at), 0, table.extents[d] - 1);
    return atoms_.place(atom, table.values[size_t(offset)]);
  }

  std::set<std::vector<int64_t>> values_of(const std::vector<size_t>& coordinates) const {
    Piece piece;
    for (size_t v = 0; v < region_.box.size(); ++v) piece.box.push_back(odd_[v] ? region_.box[v] : Range{0, 0, 1});
    std::vector<const Form*> cuts;
    for (const Form& cut : region_.cuts)
      if (is_tried(cut)) cuts.push_back(&cut);
    std::set<std::vector<int64_t>> values;
    for_each_point(piece, [&](const std::vector<int64_t>& at) {
      if (std::any_of(cuts.begin(), cuts.end(), [&](const Form* cut) { return value(*cut, at) < 0; })) return;
      std::vector<int64_t> found;
      for (const size_t c : coordinates) found.push_back(value(forms_[c], at));
      values.insert(std::move(found));
    });
    return values;
  }

  // Runs along the last coordinate; along each one before, runs of equal rows.
  static std::vector<std::vector<Range>> boxes_of(const std::set<std::vector<int64_t>>& values, size_t rank) {
    std::vector<std::vector<Range>> boxes;
    if (rank == 0) return {{}};
    for (const std::vector<int64_t>& value : values) {
      std::vector<Range> box;
      for (const int64_t at : value) box.push_back({at, at, 1});
      boxes.push_back(std::move(box));
    }
    for (size_t d = rank; d-- > 0;) {
      std::stable_sort(boxes.begin(), boxes.end(), [&](const auto& a, const auto& b) {
        for (size_t e = 0; e < rank; ++e)
          if (e != d && a[e] != b[e]) return a[e] < b[e];
        return a[d].lo < b[d].lo;
      });
      std::vector<std::vector<Range>> joined;
      for (std::vector<Range>& box : boxes) {
        bool next = !joined.empty() && joined.back()[d].hi + 1 == box[d].lo;
        for (size_t e = 0; e < rank && next; ++e) next = e == d || joined.back()[e] == box[e];
        if (next)
          joined.back()[d].hi = box[d].hi;
        else
          joined.push_back(std::move(box));
      }
      boxes = std::move(joined);
    }
    return boxes;
  }

  const Region& region_;
  const std::span<const Form> forms_;
  Atoms& atoms_;
  std::vector<size_t> part_;  // of variables that are tied to each other
  std::vector<bool> odd_;     // by variable
};

}  // namespace

std::optional<Tried> tried(const Region& region, std::span<const Form> forms, Atoms& atoms) {
  return Trial(region, forms, atoms).run();
}

}  // namespace lightline::index
