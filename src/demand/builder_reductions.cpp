// Reductions: what is neutral is left out, what does not vary is taken once, and the rest becomes a term.
#include <algorithm>
#include <cmath>

#include "base/maths.h"
#include "demand/builder.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

constexpr size_t most_cells = 1024;

std::optional<double> neutral(Reducer reducer) {
  switch (reducer) {
    case Reducer::sum:
    case Reducer::any: return 0;
    case Reducer::prod:
    case Reducer::all: return 1;
    case Reducer::max:
    case Reducer::argmax: return -INFINITY;
    case Reducer::min:
    case Reducer::argmin: return INFINITY;
    default: return std::nullopt;
  }
}

// Whether a form, or a form inside of it, has a variable below this one.
bool has_below(const Form& form, uint32_t limit, const Atoms& atoms) {
  bool found = false;
  atoms.for_each_variable(form, [&](index::AtomId variable) { found |= variable < limit; });
  return found;
}

bool has_below(const Value& value, uint32_t limit, const Atoms& atoms) {
  if (value.is_position()) return has_below(value.form, limit, atoms);
  return std::any_of(value.at.begin(), value.at.end(), [&](const Form& form) { return has_below(form, limit, atoms); });
}

// What a region says of the variables that are not reduced, over those alone.
Region free_part(const Region& region, uint32_t reduced, std::span<const Form> shift, Atoms& atoms) {
  Region result;
  result.box.assign(region.box.begin() + reduced, region.box.end());
  for (const Form& cut : region.cuts) {
    // At its best, as far as the reduced variables go: elsewhere there is nothing to reduce.
    Form best = Form::of(cut.constant);
    bool plain = true;
    for (const auto& [atom, coefficient] : cut.terms) {
      bool inside = false;
      atoms.for_each_variable_of(atom, [&](index::AtomId variable) { inside |= variable < reduced; });
      if (!inside)
        best.terms.emplace_back(atom, coefficient);
      else if (index::is_variable(atom))
        best.constant += coefficient * (coefficient > 0 ? region.box[atom].hi : region.box[atom].lo);
      else
        plain = false;
    }
    if (plain) result.cut(atoms.compose(best, shift, {}), atoms);
  }
  return result;
}

// Variables of a space, moved down by the reduced ones before them.
std::vector<Form> shifted_down(size_t size, uint32_t reduced) {
  std::vector<Form> shift(size);
  for (size_t v = 0; v < size; ++v) shift[v] = v < reduced ? Form{} : Form::variable(index::AtomId(v - reduced));
  return shift;
}

// Values that a reduced variable might take at every point, by the bounds of a case: where it starts and ends.
std::vector<Form> ends_of(const Case& one, uint32_t variable, uint32_t reduced, Atoms& atoms) {
  std::vector<Form> ends{Form::of(one.where.box[variable].lo), Form::of(one.where.box[variable].hi)};
  if (one.where.box[variable].step != 1) return ends;
  for (const Form& cut : one.where.cuts) {
    const int64_t sign = cut.coefficient(variable);
    if (sign != 1 && sign != -1) continue;
    const Form rest = atoms.sum(cut, Form::variable(variable), -sign);
    if (!has_below(rest, reduced, atoms)) ends.push_back(atoms.scaled(rest, -sign));
  }
  return ends;
}

// Whether a case has points for all that is free in a cell. One that is found is a proof; none found is no answer.
bool is_met_throughout(const Case& one, uint32_t reduced, const Region& cell, Atoms& atoms) {
  std::vector<Range> box(reduced, Range{0, 0, 1});
  box.insert(box.end(), cell.box.begin(), cell.box.end());
  std::vector<Form> point;
  for (size_t v = 0; v < box.size(); ++v) point.push_back(Form::variable(index::AtomId(v)));
  const auto never_negative = [&](const Form& form) {
    return atoms.range(atoms.compose(form, point, box), box).lo >= 0;
  };
  const std::function<bool(uint32_t)> found_from = [&](uint32_t r) {
    if (r == reduced) return std::all_of(one.where.cuts.begin(), one.where.cuts.end(), never_negative);
    const Range& range = one.where.box[r];
    for (const Form& end : ends_of(one, r, reduced, atoms)) {
      const Range values = atoms.range(end, box);
      if (values.lo < range.lo || values.hi > range.hi) continue;
      point[r] = end;
      if (found_from(r + 1)) return true;
    }
    return false;
  };
  return reduced <= 3 && found_from(0);
}

// A number that decides the whole, wherever it takes part.
bool decides(Reducer reducer, const Value& value) {
  if (!value.is_number()) return false;
  return (reducer == Reducer::any && value.number != 0) || (reducer == Reducer::all && value.number == 0);
}

}  // namespace

Cases Builder::reduced(Reducer reducer, Cases body, const Space& space, DType type) {
  const uint32_t count = space.reduced;
  domain_.assign(space.box.begin(), space.box.begin() + count);
  Region everywhere;
  everywhere.box.assign(space.box.begin() + count, space.box.end());
  for (const Range& range : everywhere.box) everywhere.empty |= range.hi < range.lo;
  if (everywhere.empty) return {};
  const bool nothing =
      std::any_of(space.box.begin(), space.box.begin() + count, [](const Range& range) { return range.hi < range.lo; });
  if (nothing) return neutral(reducer) ? Cases{{everywhere, Value::of(*neutral(reducer))}} : Cases{};
  // Points of which nothing is known make the whole unknown, as far as it counts nothing for them: they are left out.
  const auto none = neutral(reducer);
  const bool picks = reducer == Reducer::argmax || reducer == Reducer::argmin;
  const auto is_low = [&](const Value& value) {
    if (value.is_number())
      return (reducer == Reducer::max || reducer == Reducer::argmax) && value.number <= as_good_as_minus_infinity;
    if (!value.is_element() || (reducer != Reducer::max && reducer != Reducer::argmax)) return false;
    const Term& term = terms_[value.term];
    return term.kind == TermKind::sum && term.number <= as_good_as_minus_infinity;
  };
  const bool all_nothing =
      std::all_of(body.begin(), body.end(), [&](const Case& one) { return algebra_.is_nothing(one.value); });
  if (all_nothing && !body.empty()) return {{everywhere, algebra_.nothing()}};
  std::erase_if(body, [&](const Case& one) { return algebra_.is_nothing(one.value); });
  const bool any_high = std::any_of(body.begin(), body.end(), [&](const Case& one) { return !is_low(one.value); });
  std::erase_if(
      body, [&](const Case& one) { return (none && one.value.is_number(*none)) || (any_high && is_low(one.value)); });
  if (body.empty()) return picks ? Cases{{everywhere, Value::of(0)}} : Cases{{everywhere, Value::of(none.value_or(0))}};
  if (!picks) {
    take_digits_apart(body, count);
    for (Case& one : body) solve_digits(one, count);
  }

  // Regions of the free variables in which the same cases take part.
  const std::vector<Form> shift = shifted_down(space.box.size(), count);
  struct Cell {
    Region where;
    std::vector<size_t> cases;
  };
  std::vector<Region> parts;
  for (const Case& one : body) parts.push_back(free_part(one.where, count, shift, atoms_));
  std::vector<Cell> cells{{everywhere, {}}};
  const bool whole = std::all_of(parts.begin(), parts.end(), [&](const Region& part) { return part == everywhere; });
  if (whole) {
    for (size_t i = 0; i < body.size(); ++i) cells[0].cases.push_back(i);
  } else {
    std::vector<std::pair<Region, std::vector<size_t>>> groups;
    for (size_t i = 0; i < body.size(); ++i) {
      const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == parts[i]; });
      if (known == groups.end())
        groups.push_back({parts[i], {i}});
      else
        known->second.push_back(i);
    }
    for (const auto& [region, members] : groups) {
      std::vector<Cell> next;
      for (Cell& cell : cells) {
        Region both = index::intersection(cell.where, region, atoms_);
        if (both.empty) {
          next.push_back(std::move(cell));
          continue;
        }
        for (Region& rest : index::difference(cell.where, region, atoms_))
          next.push_back({std::move(rest), cell.cases});
        std::vector<size_t> list = cell.cases;
        list.insert(list.end(), members.begin(), members.end());
        next.push_back({std::move(both), std::move(list)});
      }
      cells = std::move(next);
      if (cells.size() > most_cells) {
        algebra_.given_up.emplace_back("a reduction in more parts than are told apart");
        return {};
      }
    }
  }
  Cases result;
  for (const Cell& cell : cells) {
    std::vector<Case> members;
    for (const size_t i : cell.cases) {
      Case one = body[i];
      for (size_t v = count; v < one.where.box.size(); ++v) one.where.box[v] = cell.where.box[v - count];
      keep_cuts_of_reduced(one.where, count);
      if (!one.where.empty) members.push_back(std::move(one));
    }
    if (members.empty()) {
      result.push_back({cell.where, Value::of(picks ? 0 : none.value_or(0))});
      continue;
    }
    Value value = reduced_cell(reducer, std::move(members), count, cell.where, type);
    algebra_.box = cell.where.box;
    result.push_back({cell.where, algebra_.moved(value, shift)});
  }
  return result;
}

// How many values of one reduced variable there are up to a bound, of those with one remainder.
std::optional<Form> Builder::every_so_often(const Case& one, uint32_t reduced, const Region& cell) {
  if (reduced != 1) return std::nullopt;
  for (const size_t b : {0, 1}) {
    const Form &bound = one.where.cuts[b], &test = one.where.cuts[1 - b];
    if (bound.coefficient(0) != -1 || test.constant != 0 || test.terms.size() != 1 || test.terms[0].second != -1)
      continue;
    if (index::is_variable(test.terms[0].first)) continue;
    const index::Atom& atom = atoms_[test.terms[0].first];
    if (atom.kind != index::Atom::Kind::remainder || atom.of.terms.size() != 1) continue;
    if (atom.of.terms[0] != std::pair<index::AtomId, int64_t>(0, 1)) continue;
    const Form last = atoms_.sum(bound, Form::variable(0));  // v <= last
    if (has_below(last, reduced, atoms_)) continue;
    std::vector<Range> box(reduced, Range{0, 0, 1});
    box.insert(box.end(), cell.box.begin(), cell.box.end());
    const Range range = one.where.box[0], values = atoms_.range(last, box);
    if (range.step != 1 || values.lo < range.lo - 1 || values.hi > range.hi) continue;
    // Those with (v + shift) mod by = 0 from the first one on
    const int64_t shift = atom.of.constant;
    const Form upto = atoms_.quotient(atoms_.sum(Form::of(shift), last), atom.by, box);
    return atoms_.sum(upto, Form::of(-floor_div(range.lo + shift - 1, atom.by)));
  }
  return std::nullopt;
}

// Sums and the like that need no term: of numbers, and of what does not vary.
std::optional<Value> Builder::closed_form(Reducer reducer, const std::vector<Case>& body, uint32_t reduced,
                                          const Region& cell, DType type) {
  if (body.size() != 1 || has_below(body[0].value, reduced, atoms_)) return std::nullopt;
  const Case& one = body[0];
  double points = 1;
  for (uint32_t r = 0; r < reduced; ++r) points *= double(one.where.box[r].count());
  std::optional<Form> many;  // of points, where cuts let it vary
  if (!one.where.cuts.empty()) {
    // One cut of one variable: as many as up to a bound, or from it.
    if (one.where.cuts.size() == 2)
      if (auto number = every_so_often(one, reduced, cell); number && reducer == Reducer::sum)
        return algebra_.product({one.value, Value::position(*number)}, 1, type);
    if (one.where.cuts.size() != 1) return std::nullopt;
    const Form& cut = one.where.cuts[0];
    std::optional<uint32_t> variable;
    for (uint32_t r = 0; r < reduced; ++r)
      if (cut.coefficient(r) != 0) {
        if (variable) return std::nullopt;
        variable = r;
      }
    if (!variable || std::abs(cut.coefficient(*variable)) != 1) return std::nullopt;
    Form rest = atoms_.sum(cut, Form::variable(*variable), -cut.coefficient(*variable));
    if (has_below(rest, reduced, atoms_)) return std::nullopt;
    const Range& range = one.where.box[*variable];
    if (range.step != 1) return std::nullopt;
    // below: v <= rest; above: v >= -rest
    Form number = cut.coefficient(*variable) < 0 ? atoms_.sum(Form::of(1 - range.lo), rest)
                                                 : atoms_.sum(Form::of(range.hi + 1), rest);
    std::vector<Range> box(reduced, Range{0, 0, 1});
    box.insert(box.end(), cell.box.begin(), cell.box.end());
    const Range values = atoms_.range(number, box);
    if (values.lo < 0 || values.hi > range.count()) return std::nullopt;
    points /= double(range.count());
    many = std::move(number);
  }
  switch (reducer) {
    case Reducer::sum:
      if (many) {
        if (points != std::floor(points) || points > 1e9) return std::nullopt;
        const Value times = Value::position(atoms_.scaled(*many, int64_t(points)));
        return algebra_.product({one.value, times}, 1, type);
      }
      return algebra_.product({one.value}, points, type);
    case Reducer::max:
    case Reducer::min:
    case Reducer::any:
    case Reducer::all:
      if (many) return std::nullopt;
      return one.value;
    default: return std::nullopt;
  }
}

// max_k (x[k] + w[j]) is (max_k x[k]) + w[j], and so for every reducer: what does not vary leaves. Of the factors of
// sums only numbers do; the others leave when they are priced, since there the order is free.
std::optional<Value> Builder::with_what_leaves(Reducer reducer, const std::vector<Case>& body, uint32_t reduced,
                                               const Region& cell, DType type) {
  if (body.size() != 1 || !body[0].value.is_element()) return std::nullopt;
  const Term made = terms_[body[0].value.term];
  const bool extreme = reducer == Reducer::max || reducer == Reducer::min;
  const bool logic = reducer == Reducer::any || reducer == Reducer::all;
  const bool scaled = reducer == Reducer::sum && made.kind == TermKind::product && made.number != 1;
  if (!scaled && !(extreme && (made.kind == TermKind::sum || made.kind == TermKind::product)) &&
      !(logic && made.kind == TermKind::call &&
        (made.function == loops::Function::logical_and || made.function == loops::Function::logical_or)))
    return std::nullopt;
  std::vector<Argument> leaving, staying;
  for (const Argument& arg : made.args) {
    const Value value = algebra_.moved(arg.value, body[0].value.at);
    (has_below(value, reduced, atoms_) ? staying : leaving).push_back({value, arg.factor});
  }
  const bool multiple = made.kind == TermKind::product;  // only a number may leave: factors of data may be negative
  if (multiple ? made.number == 1 : leaving.empty() && (made.kind != TermKind::sum || made.number == 0))
    return std::nullopt;
  if (staying.empty()) return std::nullopt;
  Case rest = body[0];
  if (multiple) {
    std::vector<Value> factors;
    for (const Argument& arg : made.args) factors.push_back(algebra_.moved(arg.value, body[0].value.at));
    rest.value = algebra_.product(std::move(factors), 1, made.type);
    const bool turned = extreme && made.number < 0;
    const Reducer opposite = reducer == Reducer::max ? Reducer::min : Reducer::max;
    return algebra_.product({reduced_cell(turned ? opposite : reducer, {rest}, reduced, cell, type)}, made.number,
                            type);
  }
  if (extreme) {
    rest.value = algebra_.sum(staying, 0, made.type);
    leaving.push_back({reduced_cell(reducer, {rest}, reduced, cell, type), 1});
    return algebra_.sum(std::move(leaving), made.number, type);
  }
  if (staying.size() != 1) return std::nullopt;
  rest.value = staying[0].value;
  const Value inner = reduced_cell(reducer, {rest}, reduced, cell, type);
  const Value* args[] = {&leaving[0].value, &inner};
  Region where;
  where.box = algebra_.box;
  Cases into;
  algebra_.call(made.function, args, DType::boolean, DType::boolean, where, into);
  return into.size() == 1 ? std::optional(into[0].value) : std::nullopt;
}

Value Builder::reduced_cell(Reducer reducer, std::vector<Case> body, uint32_t reduced, const Region& cell, DType type) {
  std::vector<Range> box(body[0].where.box.begin(), body[0].where.box.begin() + reduced);
  box.insert(box.end(), cell.box.begin(), cell.box.end());
  algebra_.box = box;
  for (const Case& one : body)
    if (decides(reducer, one.value) && is_met_throughout(one, reduced, cell, atoms_)) return one.value;
  if (auto value = closed_form(reducer, body, reduced, cell, type)) return *value;
  if (auto value = with_what_leaves(reducer, body, reduced, cell, type)) return *value;
  // A sum of what does not vary and of what does
  if (reducer == Reducer::sum && body.size() > 1) {
    std::vector<Argument> parts;
    std::vector<Case> rest;
    for (Case& one : body) {
      at_its_point(one, reduced);
      if (auto value = closed_form(reducer, {one}, reduced, cell, type))
        parts.push_back({*value, 1});
      else
        rest.push_back(std::move(one));
    }
    if (!parts.empty()) {
      if (!rest.empty()) parts.push_back({reduction_term(reducer, rest, reduced, type), 1});
      return algebra_.sum(std::move(parts), 0, type);
    }
    body = std::move(rest);
  }
  const bool empty_somewhere = (reducer == Reducer::max || reducer == Reducer::min) &&
                               std::none_of(body.begin(), body.end(), [&](const Case& one) {
                                 return is_met_throughout(one, reduced, cell, atoms_);
                               });
  const Value value = reduction_term(reducer, std::move(body), reduced, type);
  if (empty_somewhere && value.is_element()) terms_.at(value.term).infinite = true;
  return value;
}

Value Builder::reduction_term(Reducer reducer, std::vector<Case> body, uint32_t reduced, DType type) {
  const bool picks = reducer == Reducer::argmax || reducer == Reducer::argmin;
  if (!picks) straighten(body, reduced);
  if (body.empty()) return Value::of(neutral(reducer).value_or(0));
  // Reduced variables in the order in which they appear; those that never do only repeat.
  std::vector<int> place(reduced, -1);
  std::vector<uint32_t> order;
  const auto see = [&](const Form& form) {
    atoms_.for_each_variable(form, [&](index::AtomId variable) {
      if (variable >= reduced || place[variable] >= 0) return;
      place[variable] = int(order.size());
      order.push_back(variable);
    });
  };
  for (uint32_t r = 0; r < reduced && picks; ++r) see(Form::variable(r));  // positions count in the order that is given
  for (const Case& one : body) {
    if (one.value.is_position()) see(one.value.form);
    for (const Form& form : one.value.at) see(form);
    for (const Form& cut : one.where.cuts) see(cut);
  }
  double repeats = 1;
  for (uint32_t r = 0; r < reduced; ++r) {
    if (place[r] >= 0) continue;
    const bool same = std::all_of(body.begin(), body.end(),
                                  [&](const Case& one) { return one.where.box[r] == body[0].where.box[r]; });
    if (same && reducer != Reducer::prod) {
      repeats *= double(body[0].where.box[r].count());
      continue;
    }
    place[r] = int(order.size());
    order.push_back(r);
  }
  const uint32_t kept = uint32_t(order.size());
  const size_t size = body[0].where.box.size();
  // Reduced variables first, in their order; the free ones moved so that they follow.
  std::vector<Form> moved(size);
  std::vector<Range> box(kept);
  for (size_t v = 0; v < size; ++v) {
    const int to = v < reduced ? place[v] : int(v - reduced + kept);
    moved[v] = to < 0 ? Form{} : Form::variable(index::AtomId(to));
  }
  for (size_t v = reduced; v < size; ++v) box.push_back(body[0].where.box[v]);
  Term term;
  term.kind = TermKind::reduce;
  term.reducer = reducer;
  term.type = type;
  term.width = type;
  Coordinates coordinates(atoms_, kept);
  for (const uint32_t r : order) {
    Range range = body[0].where.box[r];
    for (const Case& one : body) {
      range.lo = std::min(range.lo, one.where.box[r].lo);
      range.hi = std::max(range.hi, one.where.box[r].hi);
      range.step = one.where.box[r] == body[0].where.box[r] ? range.step : 1;
    }
    term.reduced.push_back(picks ? domain_[r] : range);
  }
  std::vector<Form> free;
  for (const Case& one : body) {
    for (uint32_t i = 0; i < kept; ++i) box[i] = one.where.box[order[i]];
    algebra_.box = box;
    const Value value = algebra_.moved(one.value, moved);
    if (value.is_position()) free.push_back(coordinates.free_part(value.form, kept));
    for (const Form& form : value.at) free.push_back(coordinates.free_part(form, kept));
    for (const Form& cut : one.where.cuts) free.push_back(coordinates.free_part(atoms_.compose(cut, moved, box), kept));
  }
  std::vector<const Form*> forms;
  for (const Form& form : free) forms.push_back(&form);
  coordinates.prepare(forms);
  DType width = DType::boolean;
  for (const Case& one : body) {
    Case renamed;
    for (uint32_t i = 0; i < kept; ++i) box[i] = one.where.box[order[i]];
    algebra_.box = box;
    renamed.value = algebra_.moved(one.value, moved);
    if (renamed.value.is_position()) renamed.value.form = coordinates.name_beside(renamed.value.form, kept);
    for (Form& form : renamed.value.at) form = coordinates.name_beside(form, kept);
    renamed.where.box.assign(box.begin(), box.begin() + kept);
    for (const Form& cut : one.where.cuts)
      renamed.where.cuts.push_back(coordinates.name_beside(atoms_.compose(cut, moved, box), kept));
    std::sort(renamed.where.cuts.begin(), renamed.where.cuts.end());
    term.reads_data |= algebra_.reads_data(one.value);
    if (one.value.is_element()) width = wider(width, one.value.width);
    if (!one.value.is_element()) width = wider(width, type);
    term.body.push_back(std::move(renamed));
  }
  for (Case& one : term.body) one.where.box.resize(kept + coordinates.rank(), index::anything);
  std::sort(term.body.begin(), term.body.end(), [](const Case& a, const Case& b) {
    const uint64_t x = hash_of(a.value), y = hash_of(b.value);
    return x != y ? x < y : a.where < b.where;
  });
  term.rank = coordinates.rank();
  if (reducer == Reducer::max || reducer == Reducer::min || reducer == Reducer::any || reducer == Reducer::all)
    term.width = narrower(width, type);
  if (const auto places = algebra_.whole_width(term)) term.width = narrower(term.width, *places);
  const DType own = term.width;
  const TermId id = terms_.intern(std::move(term));
  // Back to the variables of the statement
  std::vector<Form> back(kept + size - reduced);
  for (uint32_t i = 0; i < kept; ++i) back[i] = Form::variable(order[i]);
  for (size_t v = reduced; v < size; ++v) back[kept + v - reduced] = Form::variable(index::AtomId(v));
  std::vector<Form> at;
  for (const Form& form : coordinates.forms()) at.push_back(atoms_.compose(form, back, {}));
  Value value = Value::element(id, std::move(at), own);
  if (reducer == Reducer::sum && repeats != 1) {
    algebra_.box = body[0].where.box;
    return algebra_.product({value}, repeats, type);
  }
  return value;
}

}  // namespace lightline::demand
