// What is returned, what changes in place, and what groups leave in memory.
#include <algorithm>
#include <bit>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::ArrayId;

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
  std::map<ArrayId, double> written;  // elements of arrays
  const bool unwritten = has_unwritten_memory();
  double unknown_bytes = 0;  // of an array of which nothing is known: it may be one of the others
  uint32_t unknown_group = loops::none;
  for (size_t i = 0; i < returned.size(); ++i) {
    const auto [output, points] = returned[i];
    const DType type = program.arrays[output->array].dtype;
    if (inputs.contains(storage(output->array))) continue;
    const bool again = std::any_of(returned.begin(), returned.begin() + int64_t(i), [&](const Returned& other) {
      return is_same_array(output->array, other.output->array) && output->replaces == loops::none;
    });
    if (again) continue;
    reader_ = form_.groups[storage(output->array)];
    double own = 0;  // elements that no other output has
    bool fresh = false;
    for (const Case& one : form_.arrays[output->array]) {
      if (one.where.empty || algebra_.is_nothing(one.value)) continue;
      if (tier_ == Tier::floor && output->replaces != loops::none && need_nothing_new(one, output->replaces)) {
        fresh = true;
        continue;
      }
      if (output->replaces != loops::none && is_place_of(one.value, output->replaces)) continue;
      if (output->replaces != loops::none) {
        if (const auto row = need_row(one, output->replaces)) {
          own += *row;
          fresh = true;
          continue;
        }
      }
      if (output->replaces != loops::none && one.value.is_element() && term(one.value.term).kind == TermKind::scatter &&
          is_update_of(one.value, output->replaces)) {
        own += need_scattered(one.value.term, one.where);
        fresh = true;
        continue;
      }
      if (output->replaces != loops::none) {
        if (const auto changed = need_changes(one, output->replaces)) {
          own += *changed;
          fresh = true;
          continue;
        }
      }
      // A view is returned by whoever made what it is of.
      Value value = one.value;
      while (view[output->array] != nullptr && value.is_element() && term(value.term).kind == TermKind::stored)
        value.term = term(value.term).array;
      need(value, one.where);
      own += index::count(one.where, atoms_, data_);
      if (!one.value.is_element()) {
        fresh = true;
        continue;
      }
      std::vector<Region>& places = written_[one.value.term];
      const double known = places.empty() ? 0.0 : count(places);
      for (Region& region : index::image(one.where, one.value.at, atoms_)) keep(places, std::move(region));
      fresh |= count(places) > known;
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
    // All of an array is written, also where it is not known what.
    const bool dense = view[output->array] == nullptr && output->replaces == loops::none && !unwritten;
    if (dense && form_.arrays[output->array].empty() && bytes_of(type, points) > unknown_bytes) {
      unknown_bytes = bytes_of(type, points);
      unknown_group = form_.groups[output->array];
    }
    if (!fresh) continue;
    if (dense) own = points;
    // Views of one array are written once.
    double& before = written[storage(output->array)];
    double most = 1;
    for (const int64_t extent : program.arrays[storage(output->array)].shape) most *= double(extent);
    own = std::max(0.0, std::min(own, most - before));
    before += own;
    output_bytes += bytes_of(type, own);
    if (tier_ == Tier::unfused) returned_bytes_[form_.groups[storage(output->array)]] += bytes_of(type, own);
  }
  if (unknown_bytes <= output_bytes) return;
  returned_bytes_[unknown_group] += unknown_bytes - output_bytes;
  output_bytes = unknown_bytes;
}

// Element by element, as far as is known.
bool Needs::is_same_array(ArrayId a, ArrayId b) const {
  const Cases &own = form_.arrays[a], &other = form_.arrays[b];
  if (own.empty() || form_.program->arrays[a].shape != form_.program->arrays[b].shape ||
      form_.program->arrays[a].dtype != form_.program->arrays[b].dtype || own.size() != other.size())
    return false;
  return std::all_of(own.begin(), own.end(), [&](const Case& one) {
    return std::any_of(other.begin(), other.end(),
                       [&](const Case& same) { return same.where == one.where && same.value == one.value; });
  });
}

// Some memory may never be written: then what is not known may be that.
bool Needs::has_unwritten_memory() const {
  for (TermId id = 0; id < form_.terms.size(); ++id)
    if (term(id).kind == TermKind::unknown) return true;
  return std::any_of(form_.opaque.begin(), form_.opaque.end(),
                     [](const OpaqueCall& call) { return call.node->name == "empty"; });
}

// A choice by data between something and what was there: on the kindest data nothing changes.
bool Needs::need_nothing_new(const Case& one, ArrayId input) {
  const Term& made = term(one.value.is_element() ? one.value.term : 0);
  const bool choice = one.value.is_element() && made.kind == TermKind::call && made.function == loops::Function::select;
  const bool kept =
      one.value.is_element() && made.kind == TermKind::product && made.number == 1 && made.args.size() == 2;
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

// A scatter into what was there changes as many places as it has points. The elements that are written.
double Needs::need_scattered(TermId scatter, const Region& where) {
  changed_.push_back(scatter);
  double changes = 1;
  for (const Range& range : term(scatter).reduced) changes *= double(range.count());
  return std::min<double>(index::count(where, atoms_, data_), changes);
}

// Where a truth of data holds.
struct Needs::Row {
  Value number;
  Region where;
  std::vector<Form> images;  // of the variables
};

// t == place, of a variable: it holds in one row, the number of which is data.
std::optional<Needs::Row> Needs::row_of(const Value& truth, const Region& where) {
  if (!truth.is_element()) return std::nullopt;
  const Term& test = term(truth.term);
  if (test.kind != TermKind::call || test.function != loops::Function::eq) return std::nullopt;
  Row row{algebra_.moved(test.args[1].value, truth.at), where, {}};
  Value place = algebra_.moved(test.args[0].value, truth.at);
  if (!place.is_position()) std::swap(place, row.number);
  if (!place.is_position() || place.denominator != 1 || !place.form.is_variable() || !row.number.is_element())
    return std::nullopt;
  const index::AtomId variable = place.form.terms[0].first;
  if ((variables_of(row.number) >> variable & 1) != 0 || !is_free(where, variable)) return std::nullopt;
  for (size_t v = 0; v < where.box.size(); ++v) row.images.push_back(Form::variable(index::AtomId(v)));
  row.images[variable] = atoms_.data(row.number.term, row.number.at, where.box[variable].hi + 1);
  row.where.box[variable] = {0, 0, 1};
  row.where.points = -1;
  return row;
}

// if(t == place, new, old): one row changes. The elements that are written.
std::optional<double> Needs::need_row(const Case& one, ArrayId input) {
  if (!one.value.is_element()) return std::nullopt;
  const Term& made = term(one.value.term);
  if (made.kind != TermKind::call || made.function != loops::Function::select) return std::nullopt;
  algebra_.box = one.where.box;
  const Value truth = algebra_.moved(made.args[0].value, one.value.at);
  const Value fresh = algebra_.moved(made.args[1].value, one.value.at);
  if (!is_place_of(algebra_.moved(made.args[2].value, one.value.at), input)) return std::nullopt;
  const auto row = row_of(truth, one.where);
  if (!row) return std::nullopt;
  need(row->number, row->where);
  need(algebra_.moved(fresh, row->images), row->where);
  return index::count(row->where, atoms_, data_);
}

// What is added to an element that was there, or takes its place, where a truth of data holds.
struct Needs::Change {
  std::vector<Value> factors;  // without the truth
  Value truth;                 // a number for a scatter over zeros, which is the only factor
};

// old + truth * new, old + (scatter over zeros), or old * (not truth) + truth * new: the parts beside the old one.
std::optional<std::vector<Needs::Change>> Needs::changes_of(const Case& one, ArrayId input, bool& stays) {
  if (!one.value.is_element() || term(one.value.term).kind != TermKind::sum) return std::nullopt;
  const Term& sum = term(one.value.term);
  if (sum.number != 0) return std::nullopt;
  algebra_.box = one.where.box;
  std::vector<Change> changes;
  Value gone;  // where this holds the old one is left
  bool old = false;
  for (const Argument& arg : sum.args) {
    const Value part = algebra_.moved(arg.value, one.value.at);
    if (!part.is_element()) return std::nullopt;
    if (!old && arg.factor == 1 && is_place_of(part, input)) {
      old = stays = true;
      continue;
    }
    Change change;
    if (term(part.term).kind == TermKind::scatter && is_plain(part.at) && is_scatter_over_zeros(part.term)) {
      change.factors = {part};
      changes.push_back(std::move(change));
      continue;
    }
    std::vector<Value> factors{part};
    if (term(part.term).kind == TermKind::product) {
      factors.clear();
      for (const Argument& factor : term(part.term).args) factors.push_back(algebra_.moved(factor.value, part.at));
    }
    for (Value& factor : factors) {
      const bool truth = factor.is_element() && factor.width == DType::boolean && algebra_.reads_data(factor);
      if (truth && !change.truth.is_element())
        change.truth = std::move(factor);
      else
        change.factors.push_back(std::move(factor));
    }
    if (!change.truth.is_element()) return std::nullopt;
    const bool is_old = !old && arg.factor == 1 && term(part.term).number == 1 && change.factors.size() == 1 &&
                        is_place_of(change.factors[0], input);
    if (is_old) {
      old = true;
      gone = change.truth;
      continue;
    }
    changes.push_back(std::move(change));
  }
  if (!old || changes.empty()) return std::nullopt;
  if (!stays)
    for (const Change& change : changes)
      if (!are_opposite(change.truth, gone)) return std::nullopt;
  return changes;
}

// One holds where the other does not.
bool Needs::are_opposite(const Value& a, const Value& b) {
  if (!a.is_element() || !b.is_element()) return false;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Term& made = term(one->term);
    if (made.kind != TermKind::call) continue;
    if (made.function == loops::Function::logical_not && algebra_.moved(made.args[0].value, one->at) == *other)
      return true;
    const Term& counter = term(other->term);
    if (made.function == loops::Function::eq && counter.kind == TermKind::call &&
        counter.function == loops::Function::ne)
      for (const bool turned : {false, true}) {
        bool same = true;
        for (size_t i = 0; i < 2; ++i)
          same = same && algebra_.moved(Value(made.args[i].value), one->at) ==
                             algebra_.moved(Value(counter.args[turned ? 1 - i : i].value), other->at);
        if (same) return true;
      }
  }
  return false;
}

// An element that is the one that was there but where data tell: the elements that are written, if they are fewer.
std::optional<double> Needs::need_changes(const Case& one, ArrayId input) {
  bool stays = false;
  const auto changes = changes_of(one, input, stays);
  if (!changes) return std::nullopt;
  std::vector<std::optional<Row>> rows;
  for (const Change& change : *changes) {
    rows.push_back(change.truth.is_element() ? row_of(change.truth, one.where) : std::nullopt);
    if (tier_ != Tier::floor && change.truth.is_element() && !rows.back()) return std::nullopt;
  }
  double written = 0;
  for (size_t i = 0; i < changes->size(); ++i) {
    const Change& change = (*changes)[i];
    if (!change.truth.is_element()) {
      written += need_scattered(change.factors[0].term, one.where);
    } else if (tier_ == Tier::floor) {
      need(change.truth, one.where);
    } else {
      algebra_.box = one.where.box;
      need(rows[i]->number, rows[i]->where);
      for (const Value& factor : change.factors) need(algebra_.moved(factor, rows[i]->images), rows[i]->where);
      written += index::count(rows[i]->where, atoms_, data_);
    }
  }
  return std::min<double>(written, index::count(one.where, atoms_, data_));
}

// Operator by operator: what a group makes that others take, or that is returned.
void Needs::count_outputs() {
  if (tier_ != Tier::unfused) return;
  for (auto& [id, stored] : stored_)
    if (!written_.contains(id)) traffic[term(id).salt].result_bytes += bytes_of(stored.width, count(stored.regions));
  for (const auto& [reader, regions] : constants_)
    traffic[reader.first].operand_bytes += bytes_of(term(reader.second).width, count(regions));
  for (const auto& [group, bytes] : returned_bytes_) traffic[group].result_bytes += bytes;
}

}  // namespace lightline::demand
