#include "index/orders.h"

#include <algorithm>
#include <set>

namespace lightline::index {
namespace {

class Orders {
 public:
  Orders(const Region& region, std::span<const Form> forms, Atoms& atoms)
      : region_(region), forms_(forms), atoms_(atoms) {}

  std::optional<std::vector<Form>> run() {
    for (const Form& form : forms_) find(form);
    for (const AtomId order : found_) {
      if (!is_complete(order)) continue;
      std::vector<Form> result;
      for (const Form& form : forms_) result.push_back(replaced(form, order));
      return result;
    }
    return std::nullopt;
  }

 private:
  void find(const Form& form) {
    for (const auto& [id, coefficient] : form.terms) {
      if (is_variable(id)) continue;
      const Atom& atom = atoms_[id];
      find(atom.of);
      for (const Form& at : atom.at) find(at);
      if (atom.kind == Atom::Kind::data && atoms_.order(atom.source) != nullptr) found_.insert(id);
    }
  }

  const Form& place_of(AtomId order) const {
    const Atom& atom = atoms_[order];
    return atom.at[atoms_.order(atom.source)->along];
  }

  // Its place takes each value below the extent, and nothing else has the variables of the place.
  bool is_complete(AtomId order) {
    const Atom& atom = atoms_[order];
    const Form& place = place_of(order);
    if (atoms_.has_data(place)) return false;
    std::set<AtomId> own;
    atoms_.for_each_variable(place, [&](AtomId v) { own.insert(v); });
    if (own.empty()) return false;
    const auto has_own = [&](const Form& form) {
      bool has = false;
      atoms_.for_each_variable(form, [&](AtomId v) { has |= own.contains(v); });
      return has;
    };
    for (const Form& at : atom.at)
      if (&at != &place && has_own(at)) return false;
    if (std::any_of(region_.cuts.begin(), region_.cuts.end(), has_own)) return false;
    if (!std::all_of(forms_.begin(), forms_.end(), [&](const Form& form) { return has_only_inside(form, order, own); }))
      return false;
    for (const Sample& sample : region_.samples) {
      if (own.contains(sample.coordinate)) return false;
      for (const uint32_t variable : sample.varies)
        if (own.contains(variable)) return false;
    }
    Region places;
    places.box = region_.box;
    const int64_t extent = atoms_.order(atom.source)->extent;
    const Range values = atoms_.range(place, places.box);
    return values.lo == 0 && values.hi == extent - 1 &&
           double(count(image(places, std::span(&place, 1), atoms_), atoms_)) == double(extent);
  }

  // The variables are in the form only as the place of the order, or of other numbers by data: these are others then,
  // but of neither is anything known.
  bool has_only_inside(const Form& form, AtomId order, const std::set<AtomId>& own) const {
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      if (is_variable(term.first)) return !own.contains(term.first);
      const Atom& atom = atoms_[term.first];
      return term.first == order || atom.kind == Atom::Kind::data || has_only_inside(atom.of, order, own);
    });
  }

  Form replaced(const Form& form, AtomId order) {
    Form result = Form::of(form.constant);
    for (const auto& [id, coefficient] : form.terms) atoms_.add(result, replaced_atom(id, order), coefficient);
    return result;
  }
  Form replaced_atom(AtomId id, AtomId order) {
    if (id == order) return place_of(order);
    if (is_variable(id)) return Form::variable(id);
    const Atom& atom = atoms_[id];
    if (atom.kind == Atom::Kind::data) {
      std::vector<Form> at;
      for (const Form& one : atom.at) at.push_back(replaced(one, order));
      return atoms_.data(atom.source, std::move(at), atom.extent);
    }
    const Form of = replaced(atom.of, order);
    return atom.kind == Atom::Kind::quotient ? atoms_.quotient(of, atom.by, region_.box)
                                             : atoms_.remainder(of, atom.by, region_.box);
  }

  const Region& region_;
  const std::span<const Form> forms_;
  Atoms& atoms_;
  std::set<AtomId> found_;  // numbers of orders
};

}  // namespace

std::optional<std::vector<Form>> with_an_order_left_out(const Region& region, std::span<const Form> forms,
                                                        Atoms& atoms) {
  return Orders(region, forms, atoms).run();
}

}  // namespace lightline::index
