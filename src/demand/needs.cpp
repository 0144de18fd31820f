#include "demand/needs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "index/compact.h"

namespace lightline::demand {

using loops::ArrayId;

void Work::add(const Work& other) {
  for (const auto& [type, count] : other.macs) macs[type] += count;
  for (const auto& [type, count] : other.transformed_macs) transformed_macs[type] += count;
  for (const auto& [type, count] : other.sums) sums[type] += count;
  for (const auto& [type, count] : other.vector_ops) vector_ops[type] += count;
  transcendental_ops += other.transcendental_ops;
}

double Work::total_macs() const {
  double total = 0;
  for (const auto& [type, count] : macs) total += count;
  return total;
}

double Work::total_vector_ops() const {
  double total = 0;
  for (const auto* list : {&vector_ops, &sums})
    for (const auto& [type, count] : *list) total += count;
  return total;
}

Needs::Needs(NormalForm& form, Tier tier, std::map<TermId, Way> taken)
    : form_(form),
      atoms_(form.terms.atoms()),
      algebra_(form.terms),
      tier_(tier),
      data_(tier == Tier::floor ? index::Data::kindest : index::Data::general),
      taken_(std::move(taken)) {}

void Needs::run() {
  const size_t size = form_.terms.size();
  needed_.resize(size);
  strict_.resize(size);
  roots_.resize(size);
  rooted_.assign(size, false);
  statements_ = loops::statements_by_id(*form_.program);
  loop_at_.assign(size + 1, SIZE_MAX);
  for (size_t i = 0; i < form_.loops.size(); ++i)
    if (form_.loops[i].last > 0) loop_at_[form_.loops[i].last] = i;
  incomplete_.assign(size, false);
  losses_noted_ = atoms_.losses();
  count_uses();
  find_consumers();
  find_twins();
  find_settled_numbers();
  find_counts();
  need_outputs();
  for (TermId id = TermId(size); id-- > 0;) {
    turn_to(id);
    if (loop_at_[id + 1] != SIZE_MAX) visit_loop(loop_at_[id + 1]);
    const bool changed = std::find(changed_.begin(), changed_.end(), id) != changed_.end();
    if (!needed_[id].empty() || changed) visit(id);
  }
  count_outputs();
  settle_pairs();
  share_between_pieces();
  take_pairs_from_chains();
  keep_forced();
  settle_powers();
  settle_totals();
  settle_functions();
  settle_slots();
  leave_out_repetitions();
  note_losses();
}

// What is made of elements that data pick from equal ones: as many as there are different ones, which is not known.
void Needs::leave_out_repetitions() {
  for (auto& [id, own] : work) {
    if (!term(id).may_repeat || own.empty()) continue;
    turn_to(id);
    drop("elements that data pick from an array with equal ones");
    own = {};
  }
}

void Needs::turn_to(TermId id) {
  note_losses();
  visited_ = id;
}

// Whatever the visited term is made of may be needed more than is seen from here on.
void Needs::drop(std::string_view why) {
  ++drops[{visited_ == no_term ? loops::none : term(visited_).statement, std::string(why)}];
  if (visited_ == no_term) return;
  incomplete_[visited_] = true;
  for (const Case& one : term(visited_).body)
    if (one.value.is_element()) incomplete_[one.value.term] = true;
}

void Needs::note_losses() {
  demand::note_losses(losses_noted_, atoms_.losses(), visited_ == no_term ? loops::none : term(visited_).statement,
                      drops);
  losses_noted_ = atoms_.losses();
}

// ---- demand ----

void Needs::need_indices(const Form& form, const Region& region) {
  const bool was = std::exchange(linear_, false);
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) continue;
    const index::Atom& atom = atoms_[id];
    need_indices(atom.of, region);
    if (atom.kind != index::Atom::Kind::data || atom.source >= form_.terms.size()) continue;
    need(Value::element(atom.source, atom.at, DType::i64), region);
  }
  linear_ = was;
}

void Needs::need(const Value& value, const Region& region) {
  if (region.empty || value.is_number()) return;
  if (value.is_position()) return need_indices(value.form, region);
  for (const Form& form : value.at)
    if (atoms_.has_compound(form)) need_indices(form, region);
  if (term(value.term).kind == TermKind::unknown) return;
  const index::Losses before = atoms_.losses();
  std::vector<Region> images = index::image(region, value.at, atoms_);
  if (atoms_.losses() != before || (visited_ != no_term && incomplete_[visited_])) incomplete_[value.term] = true;
  for (Region& mapped : images) {
    if (tier_ != Tier::floor) complete(mapped);
    // Constants are not looked at through borders.
    if (tier_ == Tier::unfused && counting_ && term(value.term).kind == TermKind::input)
      insert(constants_[{reader_, value.term}], mapped);
    if (recording && counting_ && visited_ != no_term) insert(reads[{visited_, value.term}], mapped);
    if (!linear_ && counting_ && is_linear_kind(term(value.term))) insert(strict_[value.term], mapped);
    keep(needed_[value.term], std::move(mapped));
  }
}

// Who makes a term; those that read no data are not told apart, and made by whoever did first.
uint32_t Needs::group_of(TermId id) const {
  const Term& made = term(id);
  if (made.salt != loops::none || made.statement >= statements_.size()) return made.salt;
  const uint32_t group = statements_[made.statement]->group;
  return group != loops::none ? group : uint32_t(form_.program->groups.size()) + made.statement;
}

// So many draws that nothing is left out are no draws.
void Needs::complete(Region& region) {
  std::erase_if(region.samples, [&](const index::Sample& sample) {
    Range& range = region.box[sample.coordinate];
    const bool all = sample.extent > 0 && sample.extent - sample.expected < 1e-6;
    if (!all || (range.step != 1 && range.count() > 1)) return false;
    range = {range.lo, range.hi + int64_t(sample.extent) - 1, 1};
    return true;
  });
}

// Regions that are a box together, in however many parts they were asked for.
void Needs::join_if_whole(std::vector<Region>& list) {
  if (list.empty() || (list.size() == 1 && list[0].cuts.empty())) return;
  Region box;
  box.box = list[0].box;
  for (const Region& region : list) {
    if (!region.samples.empty() || region.empty) return;
    for (size_t c = 0; c < box.box.size(); ++c)
      box.box[c] = {std::min(box.box[c].lo, region.box[c].lo), std::max(box.box[c].hi, region.box[c].hi), 1};
  }
  const index::Losses before = atoms_.losses();
  const double points = index::count(list, atoms_), all = index::count(box, atoms_);
  atoms_.forget_losses_since(before);
  if (points >= all) list = {std::move(box)};
}

void Needs::visit(TermId id) {
  for (std::vector<Region>* list : {&needed_[id], &strict_[id]})
    for (size_t before = list->size() + 1; before > list->size();) {
      before = list->size();
      index::compact(*list);
    }
  for (std::vector<Region>* list : {&needed_[id], &strict_[id]}) join_if_whole(*list);
  const Term& made = term(id);
  if (tier_ == Tier::unfused) reader_ = group_of(id);
  if (leave_to_twin(id)) return;
  switch (made.kind) {
    case TermKind::unknown: return;
    case TermKind::input: {
      if (!counting_) return;
      const double elements = std::max(0.0, count(needed_[id]) - made.zeros);
      input_bytes += bytes_of(made.width, elements);
      input_elements[made.array] += elements;
      bool by_data = false;
      for (const Region& region : needed_[id]) by_data |= !region.samples.empty();
      if (by_data && tier_ == Tier::fused) {
        expected[made.array] = elements;
        least[made.array] = index::count(needed_[id], atoms_, index::Data::kindest);
      }
      return;
    }
    case TermKind::stored: {
      const std::vector<Region> regions = needed_[id];
      if (counting_) {
        traffic[made.salt].operand_bytes += bytes_of(made.width, count(regions));
        const TermKind kind = term(made.array).kind;
        if (kind != TermKind::input) {
          Stored& stored = stored_[made.array];
          stored.width = wider(stored.width, made.width);
          for (const Region& region : regions) keep(stored.regions, region);
        }
      }
      for (const Region& region : regions) {
        if (counting_) insert(strict_[made.array], region);
        keep(needed_[made.array], region);
      }
      if (incomplete_[id]) incomplete_[made.array] = true;
      return;
    }
    case TermKind::call: count_call(id); return;
    case TermKind::sum:
      factor_out(id);
      count_sum(id);
      return;
    case TermKind::product: count_product(id); return;
    case TermKind::reduce: return visit_reduction(id);
    case TermKind::opaque: return visit_opaque(id);
    case TermKind::array: return visit_cases(id);
    case TermKind::scatter: return visit_scatter(id);
    case TermKind::carried: return;  // see visit_loop
  }
}

void Needs::visit_cases(TermId id) {
  const std::vector<Region>& regions = needed_[id];
  const bool was = std::exchange(linear_, strict_[id] != regions);
  std::vector<Picked> cases;
  for (const Case& one : term(id).body) cases.push_back({one.where, {one.value}});
  for (const Region& region : regions) {
    if (need_picked(id, cases, region)) continue;
    for (const Picked& one : cases) need(one.values[0], in_case(one.where, region));
  }
  linear_ = was;
}

// The points of a region that are of a case; which numbers data tell is not looked at.
Region Needs::in_case(const Region& one, const Region& region) const {
  Region where = meet(region, one, 0, atoms_);
  for (const Form& cut : region.cuts) where.cut(cut, atoms_);
  where.samples = region.samples;
  return where;
}

}  // namespace lightline::demand
