#include "demand/needs.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lightline::demand {

using loops::ArrayId;

namespace {

constexpr size_t most_regions = 256;

double bytes_of(DType type, double elements) { return elements * bits(type) / 8.0; }

bool contains(const Region& a, const Region& b) {
  if (!a.cuts.empty() || a.samples != b.samples) return a == b;
  for (size_t d = 0; d < a.box.size(); ++d) {
    const Range &x = a.box[d], &y = b.box[d];
    if (y.lo < x.lo || y.hi > x.hi) return false;
    if (x.step != 1 && (y.step % x.step != 0 || (y.lo - x.lo) % x.step != 0)) return false;
  }
  return true;
}

// Boxes that differ in one dimension only, and touch there, become one.
void compact(std::vector<Region>& list) {
  if (list.size() < 2) return;
  const size_t rank = list[0].box.size();
  for (size_t d = 0; d < rank && list.size() > 1; ++d) {
    std::stable_sort(list.begin(), list.end(), [&](const Region& a, const Region& b) {
      for (size_t i = 0; i < rank; ++i)
        if (i != d && a.box[i] != b.box[i]) return a.box[i] < b.box[i];
      if (a.cuts != b.cuts) return a.cuts < b.cuts;
      if (a.samples != b.samples) return a.samples < b.samples;
      return a.box[d].lo < b.box[d].lo;
    });
    size_t kept = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      Region& last = list[kept];
      Region& next = list[i];
      bool same = last.box[d].step == 1 && next.box[d].step == 1 && next.box[d].lo <= last.box[d].hi + 1 &&
                  last.cuts.empty() && next.cuts.empty() && last.samples == next.samples;
      for (size_t e = 0; same && e < rank; ++e) same = e == d || last.box[e] == next.box[e];
      // Every second one of each: all of them
      const Range own = last.box[d], other = next.box[d];
      bool woven = !same && own.step == other.step && own.step % 2 == 0 && other.lo - own.lo == own.step / 2 &&
                   (own.count() == other.count() || own.count() == other.count() + 1) && last.cuts.empty() &&
                   next.cuts.empty() && last.samples == next.samples;
      for (size_t e = 0; woven && e < rank; ++e) woven = e == d || last.box[e] == next.box[e];
      if (same)
        last.box[d].hi = std::max(last.box[d].hi, next.box[d].hi);
      else if (woven)
        last.box[d] = {own.lo, std::max(own.hi, other.hi), own.step / 2};
      else if (++kept != i)
        list[kept] = std::move(next);
    }
    list.resize(kept + 1);
  }
}

// What both regions say of the same variables, where some of the first are numbers by data: a region that tells
// them apart says nothing sure.
Region meet(const Region& needed, const Region& where, uint32_t first, const Atoms& atoms) {
  Region result = where;
  for (size_t c = 0; c < needed.box.size(); ++c) {
    Range& range = result.box[first + c];
    const bool sampled = std::any_of(needed.samples.begin(), needed.samples.end(),
                                     [&](const index::Sample& sample) { return sample.coordinate == c; });
    if (sampled || range == index::anything) {
      range = needed.box[c];
      continue;
    }
    Region own, other;
    own.box = {range};
    other.box = {needed.box[c]};
    const Region both = index::intersection(own, other, atoms);
    result.empty |= both.empty;
    range = both.box[0];
  }
  return result;
}

}  // namespace

bool Needs::insert(std::vector<Region>& list, Region region) {
  for (const Region& known : list)
    if (contains(known, region)) return false;
  if (region.cuts.empty() && region.samples.empty())
    std::erase_if(list, [&](const Region& known) { return contains(region, known); });
  if (list.size() >= most_regions) return false;
  list.push_back(std::move(region));
  if (list.size() % 32 == 0)
    for (size_t before = list.size() + 1; before > list.size();) {
      before = list.size();
      compact(list);
    }
  return true;
}

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
  roots_.resize(size);
  rooted_.assign(size, false);
  statements_ = loops::statements_by_id(*form_.program);
  loop_at_.assign(size + 1, SIZE_MAX);
  for (size_t i = 0; i < form_.loops.size(); ++i)
    if (form_.loops[i].last > 0) loop_at_[form_.loops[i].last] = i;
  count_uses();
  need_outputs();
  for (TermId id = TermId(size); id-- > 0;) {
    if (loop_at_[id + 1] != SIZE_MAX) visit_loop(loop_at_[id + 1]);
    const bool changed = std::find(changed_.begin(), changed_.end(), id) != changed_.end();
    if (!needed_[id].empty() || changed) visit(id);
  }
  count_outputs();
  settle_pairs();
  settle_totals();
  settle_functions();
}

// ---- what is returned ----

void Needs::need_outputs() {
  const loops::Program& program = *form_.program;
  // Arrays that are views of inputs need no memory of their own.
  std::vector<const loops::Compute*> view(program.arrays.size(), nullptr);
  loops::for_each_statement(std::span(program.statements), [&](const loops::Statement& statement) {
    if (const auto* compute = std::get_if<loops::Compute>(&statement.node); compute != nullptr && compute->is_view)
      view[compute->result] = compute;
  });
  std::set<ArrayId> inputs(program.inputs.begin(), program.inputs.end());
  const auto storage = [&](ArrayId array) {
    while (view[array] != nullptr) array = program.exprs[view[array]->body].args[0];
    return array;
  };
  // The largest first, so that what is a part of another is seen to be.
  struct Returned {
    const loops::Output* output;
    double points;
  };
  std::vector<Returned> returned;
  for (const loops::Output& output : program.outputs) {
    double points = 1;
    for (const int64_t extent : program.arrays[output.array].shape) points *= double(extent);
    returned.push_back({&output, points});
  }
  std::stable_sort(returned.begin(), returned.end(),
                   [](const Returned& a, const Returned& b) { return a.points > b.points; });
  for (const auto& [output, points] : returned) {
    const DType type = program.arrays[output->array].dtype;
    if (inputs.contains(storage(output->array))) continue;
    double own = 0;  // elements that no other output has
    bool fresh = false;
    for (const Case& one : form_.arrays[output->array]) {
      if (one.where.empty || algebra_.is_nothing(one.value)) continue;
      if (tier_ == Tier::floor && output->replaces != loops::none && need_nothing_new(one, output->replaces)) {
        fresh = true;
        continue;
      }
      const bool is_copy = one.value.is_element() && term(source_of(one.value.term)).kind == TermKind::input;
      if (output->replaces != loops::none && is_place_of(one.value, output->replaces)) continue;
      if (output->replaces != loops::none) {
        if (const auto written = need_row(one, output->replaces)) {
          own += *written;
          fresh = true;
          continue;
        }
      }
      // A scatter into what was there changes as many places as it has points.
      if (output->replaces != loops::none && one.value.is_element() && term(one.value.term).kind == TermKind::scatter &&
          is_update_of(one.value, output->replaces)) {
        changed_.push_back(one.value.term);
        double points = 1;
        for (const Range& range : term(one.value.term).reduced) points *= double(range.count());
        own += std::min(index::count(one.where, atoms_, data_), points);
        fresh = true;
        continue;
      }
      // A view is returned by whoever made what it is of.
      Value value = one.value;
      while (view[output->array] != nullptr && value.is_element() && term(value.term).kind == TermKind::stored)
        value.term = term(value.term).array;
      need(value, one.where);
      own += index::count(one.where, atoms_, data_);
      if (!one.value.is_element() || is_copy) {
        fresh = true;
        continue;
      }
      Written& written = written_[one.value.term];
      written.bits = std::max<double>(written.bits, bits(type));
      const double before = written.regions.empty() ? 0 : count(written.regions);
      for (Region& region : index::image(one.where, one.value.at, atoms_)) insert(written.regions, std::move(region));
      fresh |= count(written.regions) > before;
    }
    // A view that repeats elements returns them once.
    if (view[output->array] != nullptr) {
      double elements = 0;
      for (const Case& one : form_.arrays[output->array])
        if (one.value.is_element())
          for (const Region& region : index::image(one.where, one.value.at, atoms_))
            elements += index::count(region, atoms_, data_);
      own = std::min(own, elements);
    }
    if (!fresh) continue;
    output_bytes += bytes_of(type, own);
    if (tier_ == Tier::unfused) returned_bytes_[form_.groups[storage(output->array)]] += bytes_of(type, own);
  }
}

// A choice by data between something and what was there: on the kindest data nothing changes.
bool Needs::need_nothing_new(const Case& one, ArrayId input) {
  const Term& made = term(one.value.is_element() ? one.value.term : 0);
  const bool choice = one.value.is_element() && made.kind == TermKind::call && made.function == loops::Function::select;
  const bool kept = one.value.is_element() && made.kind == TermKind::product && made.number == 1 && made.args.size() == 2;
  if (!choice && !kept) return false;
  algebra_.box = one.where.box;
  const Value* truth = nullptr;
  bool old = false;
  for (const Argument& arg : made.args) {
    old |= is_place_of(algebra_.moved(arg.value, one.value.at), input);
    if (arg.value.is_element() && arg.value.width == DType::boolean && truth == nullptr) truth = &arg.value;
  }
  if (!old || truth == nullptr) return false;
  need(algebra_.moved(*truth, one.value.at), one.where);
  return true;
}

// Whether a scatter starts from this input, place by place, and is returned as it is.
bool Needs::is_update_of(const Value& value, ArrayId input) const {
  for (size_t d = 0; d < value.at.size(); ++d)
    if (value.at[d] != Form::variable(index::AtomId(d))) return false;
  const ScatterParts& parts = form_.scatters[term(value.term).array];
  if (parts.init.size() != 1) return false;
  return is_place_of(parts.init[0].value, input);
}

// What lies in memory under a border.
TermId Needs::source_of(TermId id) const {
  while (term(id).kind == TermKind::stored) id = term(id).array;
  return id;
}

// The element of an input at the very place.
bool Needs::is_place_of(const Value& value, ArrayId input) const {
  if (!value.is_element()) return false;
  const Term& source = term(source_of(value.term));
  if (source.kind != TermKind::input || source.array != input) return false;
  for (size_t d = 0; d < value.at.size(); ++d)
    if (value.at[d] != Form::variable(index::AtomId(d))) return false;
  return true;
}

// if(t == place, new, old): one row changes. The elements that are written.
std::optional<double> Needs::need_row(const Case& one, ArrayId input) {
  if (!one.value.is_element()) return std::nullopt;
  const Term& made = term(one.value.term);
  if (made.kind != TermKind::call || made.function != loops::Function::select) return std::nullopt;
  algebra_.box = one.where.box;
  const Value truth = algebra_.moved(made.args[0].value, one.value.at);
  const Value fresh = algebra_.moved(made.args[1].value, one.value.at);
  if (!is_place_of(algebra_.moved(made.args[2].value, one.value.at), input) || !truth.is_element()) return std::nullopt;
  const Term& test = term(truth.term);
  if (test.kind != TermKind::call || test.function != loops::Function::eq) return std::nullopt;
  Value place = algebra_.moved(test.args[0].value, truth.at), number = algebra_.moved(test.args[1].value, truth.at);
  if (!place.is_position()) std::swap(place, number);
  if (!place.is_position() || place.denominator != 1 || !place.form.is_variable() || !number.is_element())
    return std::nullopt;
  const index::AtomId variable = place.form.terms[0].first;
  if ((variables_of(number) >> variable & 1) != 0 || !is_free(one.where, variable)) return std::nullopt;
  std::vector<Form> images;
  for (size_t v = 0; v < one.where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
  images[variable] = atoms_.data(number.term, number.at, one.where.box[variable].hi + 1);
  Region row = one.where;
  row.box[variable] = {0, 0, 1};
  need(number, row);
  need(algebra_.moved(fresh, images), row);
  return index::count(row, atoms_, data_);
}

// Operator by operator: what a group makes that others take, or that is returned.
void Needs::count_outputs() {
  if (tier_ != Tier::unfused) return;
  std::map<uint32_t, double> taken;
  for (auto& [id, stored] : stored_)
    if (!written_.contains(id)) traffic[term(id).salt].result_bytes += bytes_of(stored.width, count(stored.regions));
  for (const auto& [group, bytes] : returned_bytes_) traffic[group].result_bytes += bytes;
}

// ---- demand ----

void Needs::need_indices(const Form& form, const Region& region) {
  for (const auto& [id, coefficient] : form.terms) {
    if (index::is_variable(id)) continue;
    const index::Atom atom = atoms_[id];
    need_indices(atom.of, region);
    if (atom.kind != index::Atom::Kind::data || atom.source >= form_.terms.size()) continue;
    need(Value::element(atom.source, atom.at, DType::i64), region);
  }
}

void Needs::need(const Value& value, const Region& region) {
  if (region.empty || value.is_number()) return;
  if (value.is_position()) return need_indices(value.form, region);
  for (const Form& form : value.at)
    if (atoms_.has_compound(form)) need_indices(form, region);
  if (term(value.term).kind == TermKind::unknown) return;
  for (Region& mapped : index::image(region, value.at, atoms_)) {
    if (tier_ != Tier::floor) complete(mapped);
    insert(needed_[value.term], std::move(mapped));
  }
}

// So many draws that nothing is left out are no draws.
void Needs::complete(Region& region) {
  for (const index::Sample& sample : region.samples)
    if (sample.extent > 0 && sample.extent - sample.expected < 1e-6)
      region.box[sample.coordinate] = {0, int64_t(sample.extent) - 1, 1};
  std::erase_if(region.samples,
                [](const index::Sample& sample) { return sample.extent > 0 && sample.extent - sample.expected < 1e-6; });
}

void Needs::visit(TermId id) {
  for (size_t before = needed_[id].size() + 1; before > needed_[id].size();) {
    before = needed_[id].size();
    compact(needed_[id]);
  }
  const Term& made = term(id);
  switch (made.kind) {
    case TermKind::unknown: return;
    case TermKind::input: {
      if (!counting_) return;
      const double elements = count(needed_[id]);
      input_bytes += bytes_of(made.width, elements);
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
          for (const Region& region : regions) insert(stored.regions, region);
        }
      }
      for (const Region& region : regions) insert(needed_[made.array], region);
      return;
    }
    case TermKind::call: count_call(id); return;
    case TermKind::sum: count_sum(id); return;
    case TermKind::product: count_product(id); return;
    case TermKind::reduce: return visit_reduction(id);
    case TermKind::opaque: return visit_opaque(id);
    case TermKind::array: return visit_cases(id);
    case TermKind::scatter: return visit_scatter(id);
    case TermKind::carried: return;  // see visit_loop
  }
}

void Needs::visit_cases(TermId id) {
  const std::vector<Region> regions = needed_[id];
  const Term& made = term(id);
  for (const Case& one : made.body)
    for (const Region& region : regions) {
      Region where = meet(region, one.where, 0, atoms_);
      for (const Form& cut : region.cuts) where.cut(cut, atoms_);
      where.samples = region.samples;
      for (index::Sample& sample : where.samples) {
        // The share of the numbers that fall into the case
        const double own = double(one.where.box[sample.coordinate].count());
        double all = 0;
        for (const Case& other : made.body) all = std::max(all, double(other.where.box[sample.coordinate].hi) + 1);
        sample.expected = std::max(std::min(1.0, sample.expected), sample.expected * own / all);
        sample.least = std::min(1.0, sample.least);
      }
      need(one.value, where);
    }
}

void Needs::visit_opaque(TermId id) {
  const Term& made = term(id);
  const OpaqueCall& call = form_.opaque[made.array];
  const std::vector<Region> regions = needed_[id];
  if (counting_) opaque.insert(made.array);
  if (call.node->name == "random" || call.node->name == "empty") return;
  // Dimensions that are worked on one by one: those before the last two of matrices, all but one of rows.
  const loops::Program& program = *form_.program;
  const std::string& name = call.node->name;
  const size_t result_rank = made.rank;
  int64_t along = INT64_MIN;
  for (const auto& [key, value] : call.node->attributes)
    if (key == "dim")
      if (const auto* dim = std::get_if<int64_t>(&value)) along = *dim;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    const size_t rank = program.arrays[call.node->operands[o]].shape.size();
    const size_t before = result_rank >= rank ? result_rank - rank : 0;  // counters of loops
    for (const Case& one : call.operands[o]) {
      for (const Region& region : regions) {
        Region where = one.where;
        const bool rows = (name == "sort" || name == "topk" || name == "fft") && result_rank == before + rank;
        const bool matrices = (name == "cholesky" || name == "solve" || name == "triangular_solve") && rank >= 2;
        for (size_t d = 0; d < rank && region.samples.empty(); ++d) {
          const bool batch = rows ? int64_t(d) != (along < 0 ? along + int64_t(rank) : along) && along != INT64_MIN
                                  : matrices && d + 2 < rank;
          if (!batch) continue;
          const size_t c = d + (where.box.size() - rank);
          Region own, other;
          own.box = {where.box[c]};
          other.box = {region.box[before + d]};
          const Region both = index::intersection(own, other, atoms_);
          where.empty |= both.empty;
          where.box[c] = both.box[0];
        }
        // Only one triangle is read, and of it only the rows before, or after, those that are wanted.
        if ((name == "triangular_solve" || name == "cholesky") && o == 0 && rank >= 2) {
          bool upper = false, unit = false;
          for (const auto& [key, value] : call.node->attributes)
            if (const auto* flag = std::get_if<bool>(&value)) (key == "upper" ? upper : unit) |= *flag;
          const index::AtomId row = index::AtomId(where.box.size() - 2), column = row + 1;
          const int64_t diagonal = unit && name == "triangular_solve" ? -1 : 0;
          if (name == "cholesky") upper = false;
          where.cut(upper ? Form{diagonal, {{row, -1}, {column, 1}}} : Form{diagonal, {{row, 1}, {column, -1}}},
                    atoms_);
          const Range wanted = region.box[result_rank - 2];
          if (region.samples.empty())
            where.cut(upper ? Form{-wanted.lo, {{row, 1}}} : Form{wanted.hi, {{row, -1}}}, atoms_);
        }
        if (name == "triangular_solve" && o == 1 && rank >= 2 && region.samples.empty()) {
          bool upper = false;
          for (const auto& [key, value] : call.node->attributes)
            if (const auto* flag = std::get_if<bool>(&value)) upper |= key == "upper" && *flag;
          const index::AtomId row = index::AtomId(where.box.size() - 2), column = row + 1;
          const Range wanted = region.box[result_rank - 2], columns = region.box[result_rank - 1];
          where.cut(upper ? Form{-wanted.lo, {{row, 1}}} : Form{wanted.hi, {{row, -1}}}, atoms_);
          where.cut({-columns.lo, {{column, 1}}}, atoms_);
          where.cut({columns.hi, {{column, -1}}}, atoms_);
        }
        need(one.value, where);
      }
    }
  }
}

void Needs::visit_scatter(TermId id) {
  const Term& made = term(id);
  const ScatterParts& parts = form_.scatters[made.array];
  const std::vector<Region> regions = needed_[id];
  std::vector<Region> touched = regions;
  if (std::find(changed_.begin(), changed_.end(), id) != changed_.end())
    touched.assign(1, Region::whole(parts.extents));
  const uint32_t reduced = uint32_t(made.reduced.size());
  const uint32_t outer = made.rank - uint32_t(parts.extents.size());
  double combined = 0;
  for (size_t i = 0; i < made.body.size(); ++i) {
    for (const Region& region : touched) {
      // Places that data tell may be anything: all points are needed of which the other places are wanted.
      Region where = meet(region, made.body[i].where, reduced, atoms_);
      if (!region.samples.empty() && !share_of_points(region, i, made, where)) continue;
      for (size_t d = 0; d < parts.by_data.size(); ++d)
        if (parts.by_data[d]) where.box[reduced + outer + d] = {0, 0, 1};
      std::vector<Form> shift(region.box.size());
      for (size_t c = 0; c < shift.size(); ++c) shift[c] = Form::variable(index::AtomId(reduced + c));
      bool sure = true;
      for (const Form& cut : region.cuts) {
        atoms_.for_each_variable(cut, [&](index::AtomId v) { sure &= v < outer || !parts.by_data[v - outer]; });
        if (sure) where.cut(atoms_.compose(cut, shift, where.box), atoms_);
      }
      // Only a part of the places is wanted: the data may send everything elsewhere.
      for (size_t d = 0; d < parts.by_data.size(); ++d)
        if (parts.by_data[d] && region.box[outer + d].count() < parts.extents[d] && tier_ == Tier::floor) sure = false;
      if (where.empty || !sure) continue;
      for (const Value& index : parts.indices[i]) need(index, where);
      if (made.reducer == loops::Reducer::set) keep_last_writes(i, made, where);
      need(made.body[i].value, where);
      std::vector<Form> domain;
      for (uint32_t r = 0; r < reduced; ++r) domain.push_back(Form::variable(r));
      if (counting_) combined += count(index::image(where, domain, atoms_));
    }
  }
  if (counting_ && made.reducer != loops::Reducer::set && tier_ != Tier::floor && combined > 0)
    work_of(id).sums[made.type] += combined;
  // What is set replaces what was there: at the most as many places as there are points.
  double places = 1, points = 1;
  for (const int64_t extent : parts.extents) places *= double(extent);
  for (const Range& range : made.reduced) points *= double(range.count());
  for (const Case& one : parts.init)
    for (const Region& region : regions) {
      Region where = meet(region, one.where, 0, atoms_);
      for (const Form& cut : region.cuts) where.cut(cut, atoms_);
      where.samples = region.samples;
      if (made.reducer == loops::Reducer::set) {
        for (size_t d = 0; d < parts.by_data.size(); ++d) {
          if (!parts.by_data[d]) continue;
          // As many rows as are surely left over.
          Range& range = where.box[outer + d];
          const double rows = points * double(parts.extents[d]) / places;
          const int64_t left = int64_t(std::floor(double(range.count()) - std::ceil(std::max(rows, 1.0))));
          if (left <= 0)
            where.empty = true;
          else
            range.hi = range.lo + (left - 1) * range.step;
          break;
        }
      }
      need(one.value, where);
    }
}

// Of several writes to one place the last one stays: as many rows as places that are hit.
void Needs::keep_last_writes(size_t body, const Term& scatter, Region& where) {
  const ScatterParts& parts = form_.scatters[scatter.array];
  if (parts.indices[body].size() != 1 || !where.samples.empty()) return;
  const uint64_t own = variables_of(parts.indices[body][0]);
  if (std::popcount(own) != 1) return;
  const uint32_t variable = uint32_t(std::countr_zero(own));
  if (variable >= scatter.reduced.size() || !is_free(where, variable)) return;
  const double writes = double(where.box[variable].count());
  double places = 1;
  for (size_t d = 0; d < parts.by_data.size(); ++d)
    if (parts.by_data[d]) places = double(parts.extents[d]);
  if (writes < 2) return;
  index::Sample sample;
  sample.coordinate = variable;
  sample.source = scatter.array;
  sample.expected = std::min(writes, -places * std::expm1(writes * std::log1p(-1 / places)));
  if (places < 2) sample.expected = 1;
  sample.extent = writes;
  where.box[variable] = {0, 0, 1};
  where.samples = {sample};
}

// Of places that data tell, some are wanted: as large a part of the points goes there.
bool Needs::share_of_points(const Region& region, size_t body, const Term& scatter, Region& where) {
  if (tier_ == Tier::floor || region.samples.size() != 1) return false;
  const ScatterParts& parts = form_.scatters[scatter.array];
  const index::Sample& sample = region.samples[0];
  const uint32_t reduced = uint32_t(scatter.reduced.size());
  const uint32_t outer = scatter.rank - uint32_t(parts.extents.size());
  if (sample.coordinate < outer || !parts.by_data[sample.coordinate - outer]) return false;
  size_t told = 0;
  for (uint32_t d = 0; d < sample.coordinate - outer; ++d) told += parts.by_data[d];
  if (told >= parts.indices[body].size()) return false;
  const uint64_t own = variables_of(parts.indices[body][told]);
  if (std::popcount(own) != 1) return false;
  const uint32_t variable = uint32_t(std::countr_zero(own));
  if (variable >= reduced || !is_free(where, variable)) return false;
  const double extent = double(parts.extents[sample.coordinate - outer]), points = double(where.box[variable].count());
  index::Sample share = sample;
  share.coordinate = variable;
  share.varies.clear();
  share.extent = points;
  share.expected = std::max(std::min(1.0, sample.expected), points * sample.expected / extent);
  share.least = std::min(1.0, sample.least);
  where.box[variable] = {0, 0, 1};
  where.samples = {share};
  return true;
}

// ---- loops ----

std::vector<std::vector<Region>> Needs::trial(const Loop& loop, std::vector<std::vector<Region>> seeds) {
  std::swap(needed_, seeds);
  const bool was = std::exchange(counting_, false);
  const TermId from = *std::min_element(loop.carried.begin(), loop.carried.end());
  for (TermId id = loop.last; id-- > from;) {
    if (loop_at_[id + 1] != SIZE_MAX && &form_.loops[loop_at_[id + 1]] != &loop) visit_loop(loop_at_[id + 1]);
    if (!needed_[id].empty()) visit(id);
  }
  counting_ = was;
  std::swap(needed_, seeds);
  std::vector<std::vector<Region>> carried;
  for (const TermId id : loop.carried) carried.push_back(seeds[id]);
  return carried;
}

std::vector<std::vector<Region>> Needs::seeds_of(const Loop& loop, const std::vector<std::vector<Region>>& carried) {
  std::vector<std::vector<Region>> seeds(needed_.size());
  std::swap(needed_, seeds);
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const Term& made = term(loop.carried[i]);
    for (const Case& one : made.body)
      for (const Region& region : carried[i]) {
        if (!region.samples.empty()) continue;
        Region where = meet(region, one.where, 0, atoms_);
        for (const Form& cut : region.cuts) where.cut(cut, atoms_);
        need(one.value, where);
      }
  }
  std::swap(needed_, seeds);
  return seeds;
}

// Every step needs what the step after it reads of the carried arrays. If a step reads of them at least what is needed
// of it, all steps before do.
void Needs::visit_loop(size_t number) {
  const Loop& loop = form_.loops[number];
  std::vector<std::vector<Region>> own(needed_.size());
  const TermId from = *std::min_element(loop.carried.begin(), loop.carried.end());
  bool any = false;
  for (TermId id = from; id < loop.last; ++id) {
    own[id] = needed_[id];
    any |= !own[id].empty();
  }
  if (!any) return;
  const auto covers = [&](const std::vector<std::vector<Region>>& large, const std::vector<std::vector<Region>>& small,
                          bool any_step) {
    for (size_t i = 0; i < small.size(); ++i)
      for (Region region : small[i]) {
        const bool found = std::any_of(large[i].begin(), large[i].end(), [&](const Region& known) {
          Region moved = known;
          if (any_step) moved.box[loop.coordinate] = region.box[loop.coordinate];
          return contains(moved, region);
        });
        if (!found) return false;
      }
    return true;
  };
  std::vector<std::vector<Region>> all(loop.carried.size());
  std::vector<std::vector<Region>> last = trial(loop, own);
  for (size_t i = 0; i < loop.carried.size(); ++i)
    for (const Region& region : own[loop.carried[i]]) insert(last[i], region);
  for (int round = 0; round < 8 && !covers(all, last, false); ++round) {
    std::vector<std::vector<Region>> before = trial(loop, seeds_of(loop, last));
    if (covers(before, last, true))
      for (auto& list : last)
        for (Region& region : list) region.box[loop.coordinate].lo = 0;
    for (size_t i = 0; i < last.size(); ++i)
      for (const Region& region : last[i]) insert(all[i], region);
    last = trial(loop, seeds_of(loop, last));
  }
  std::vector<std::vector<Region>> seeds = seeds_of(loop, all);
  for (TermId id = 0; id < seeds.size(); ++id)
    for (Region& region : seeds[id]) insert(needed_[id], std::move(region));
}

}  // namespace lightline::demand
