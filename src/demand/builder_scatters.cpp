// Scatters: by formulas they are choices and sums, by data they stay what they are.
#include <algorithm>

#include "base/maths.h"
#include "demand/builder.h"
#include "demand/known_values.h"
#include "demand/products.h"

namespace lightline::demand {

using loops::ArrayId;
using loops::Reducer;

namespace {

loops::Function function_of(Reducer reducer) { return loops::combining_function(reducer); }

}  // namespace

void Builder::statement(const loops::Scatter& node) {
  // The places of the result are its variables; the domain is reduced.
  Space space = space_of(node.domain, {});
  for (const int64_t extent : program_.arrays[node.result].shape) space.box.push_back({0, extent - 1, 1});
  std::vector<Cases> targets;
  for (const loops::ExprId target : node.target) targets.push_back(evaluate(target, space));
  const bool by_data = std::any_of(targets.begin(), targets.end(), [&](const Cases& cases) {
    return cases.empty() ||
           std::any_of(cases.begin(), cases.end(), [](const Case& one) { return one.value.is_element(); });
  });
  if (by_data) return scatter_by_data(node, space, targets);
  const bool products = written_products(program_, node) > 0;
  if (scatter_by_formula(node, space, targets)) {
    if (!products) return;
    Spelled scattered = spelled({}, space);
    scattered.result = form_.arrays[node.result];
    return form_.spelled.push_back(std::move(scattered));
  }
  algebra_.given_up.push_back("a scatter whose last write at a place is not plain to see");
  define(node.result, {});
}

// Every target is a form. What is combined: the sum over the points that go to a place. What is set: the last one.
bool Builder::scatter_by_formula(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets) {
  const uint32_t reduced_count = space.reduced;
  const size_t before = reduced_count + counters_.size();
  const Shape& shape = program_.arrays[node.result].shape;
  Cases body = evaluate(node.body, space);
  std::vector<const Cases*> lists{&body};
  for (const Cases& cases : targets) lists.push_back(&cases);
  Cases placed;
  algebra_.for_each_choice(lists, [&](const Region& where, std::span<const Value* const> values) {
    Region region = where;
    // Variables of one value are that value: otherwise a half of their equations would follow from the boxes alone.
    std::vector<Form> images;
    for (size_t v = 0; v < region.box.size(); ++v) {
      const Range& range = region.box[v];
      images.push_back(v < reduced_count && range.lo == range.hi ? Form::of(range.lo)
                                                                 : Form::variable(index::AtomId(v)));
    }
    for (size_t d = 0; d < shape.size() && !region.empty; ++d) {
      const Form at = values[d + 1]->is_number() ? Form::of(int64_t(values[d + 1]->number)) : values[d + 1]->form;
      region.cut_equal(atoms_.compose(at, images, where.box), Form::variable(index::AtomId(before + d)), atoms_);
    }
    if (!region.empty) placed.push_back({std::move(region), *values[0]});
  });
  Region everywhere;
  everywhere.box.assign(space.box.begin() + reduced_count, space.box.end());
  for (const Range& range : everywhere.box) everywhere.empty |= range.hi < range.lo;
  if (everywhere.empty) {
    define(node.result, {});
    return true;
  }
  Cases init;
  if (node.init_array == loops::none) {
    const loops::Expr& literal = program_.exprs[node.init_literal];
    init.push_back({everywhere, Value::of(number_of(literal.literal))});
  } else {
    Space own = space_of({}, {});
    std::vector<Form> at;
    for (size_t d = 0; d < shape.size(); ++d) {
      at.push_back(Form::variable(index::AtomId(counters_.size() + d)));
      own.box.push_back({0, shape[d] - 1, 1});
    }
    read_at(node.init_array, at, nullptr, own.whole(), init);
  }
  if (node.reducer != Reducer::set) {
    // Equations of one variable and a place give the variable; what is left is a sum over windows.
    for (Case& one : placed) solve_equations(one, reduced_count);
    std::erase_if(placed, [](const Case& one) { return one.where.empty; });
    Cases total = reduced(node.reducer, std::move(placed), space, program_.exprs[node.body].type);
    const Cases args[] = {std::move(init), std::move(total)};
    const DType type = compute_type(program_.arrays[node.result].dtype);
    define(node.result, algebra_.apply(function_of(node.reducer), args, type, type));
    return true;
  }
  // Set: each place must have one point at most, or the last one must be plain to see.
  Cases result;
  std::vector<Region> taken;
  const std::vector<Form> shift = [&] {
    std::vector<Form> forms(space.box.size());
    for (size_t v = 0; v < forms.size(); ++v)
      forms[v] = v < reduced_count ? Form{} : Form::variable(index::AtomId(v - reduced_count));
    return forms;
  }();
  for (Case& one : placed) {
    if (!solve_equations(one, reduced_count)) return false;
    // What is not determined by the place runs through its range: the last value wins.
    std::vector<Form> images(space.box.size());
    for (size_t v = 0; v < images.size(); ++v) images[v] = Form::variable(index::AtomId(v));
    bool open = false;
    const auto see = [&](const Form& form) {
      atoms_.for_each_variable(form, [&](index::AtomId v) { open |= v < reduced_count; });
    };
    for (const Form& cut : one.where.cuts) see(cut);
    if (open) return false;
    for (uint32_t v = 0; v < reduced_count; ++v) images[v] = Form::of(one.where.box[v].hi);
    algebra_.box = one.where.box;
    one.value = algebra_.moved(one.value, images);
    Region region;
    region.box.assign(one.where.box.begin() + reduced_count, one.where.box.end());
    for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, shift, {}), atoms_);
    for (const Range& range : region.box) region.empty |= range.hi < range.lo;
    if (region.empty) continue;
    algebra_.box = region.box;
    Value value = algebra_.moved(one.value, shift);
    // Later cases of the domain may write the same place only if they come after: tell them apart or give up.
    for (const Region& other : taken)
      if (index::has_common_points(other, region, atoms_)) return false;
    taken.push_back(region);
    result.push_back({std::move(region), std::move(value)});
  }
  for (const Case& one : init) {
    std::vector<Region> left{one.where};
    for (const Region& region : taken) {
      std::vector<Region> next;
      for (const Region& part : left)
        for (Region& rest : index::difference(part, region, atoms_)) next.push_back(std::move(rest));
      left = std::move(next);
      if (left.size() > 4096) return false;
    }
    for (Region& region : left) result.push_back({std::move(region), one.value});
  }
  define(node.result, std::move(result));
  return true;
}

// Uses cuts f >= 0 and -f >= 0 with a reduced variable of factor 1 to replace it by places. False if an equation is
// left.
bool Builder::solve_equations(Case& one, uint32_t reduced_count) {
  for (bool more = true; more;) {
    more = false;
    for (const Form& cut : one.where.cuts) {
      const Form opposite = atoms_.scaled(cut, -1);
      if (std::find(one.where.cuts.begin(), one.where.cuts.end(), opposite) == one.where.cuts.end()) continue;
      if (atoms_.has_compound(cut)) continue;
      uint32_t variable = loops::none;
      for (const auto& [atom, coefficient] : cut.terms)
        if (atom < reduced_count && (coefficient == 1 || coefficient == -1)) variable = atom;
      if (variable == loops::none) {
        if (!solve_multiple(one, cut, reduced_count)) continue;
      } else {
        const int64_t unit = cut.coefficient(variable);
        const Form rest = atoms_.sum(cut, Form::variable(variable), -unit);
        replace_variable(one, variable, atoms_.scaled(rest, -unit), cut, opposite);
      }
      more = true;
      break;
    }
    if (one.where.empty) return true;
  }
  return std::none_of(one.where.cuts.begin(), one.where.cuts.end(), [&](const Form& cut) {
    bool has = false;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { has |= v < reduced_count; });
    return has;
  });
}

// Of k v = place + c, with one reduced variable: digits of the place.
bool Builder::solve_multiple(Case& one, const Form& equation, uint32_t reduced_count) {
  const Form cut = equation;
  uint32_t own = loops::none;
  int open = 0;
  int64_t factor = 0;
  for (const auto& [atom, coefficient] : cut.terms)
    if (atom < reduced_count) {
      own = atom;
      factor = coefficient;
      ++open;
    }
  if (open != 1) return false;
  Form places = atoms_.sum(cut, Form::variable(own), -factor);
  places = atoms_.scaled(places, factor > 0 ? -1 : 1);
  const int64_t size = std::abs(factor);
  replace_variable(one, own, atoms_.quotient(places, size, one.where.box), cut, atoms_.scaled(cut, -1));
  const Form rest = atoms_.remainder(places, size, one.where.box);
  one.where.cut(atoms_.scaled(rest, -1), atoms_);
  return true;
}

// Equations with digits of a reduced variable, as an index table that is written as a formula makes them: apart for
// each range of it in which the digits are no more than sums.
void Builder::take_digits_apart(std::vector<Case>& body, uint32_t reduced_count) {
  constexpr int64_t most_pieces = 64;
  const auto find = [&](const Case& one, uint32_t& variable, const index::Atom*& digit) {
    for (const Form& cut : one.where.cuts) {
      if (!atoms_.has_compound(cut)) continue;
      const Form opposite = atoms_.scaled(cut, -1);
      if (std::find(one.where.cuts.begin(), one.where.cuts.end(), opposite) == one.where.cuts.end()) continue;
      for (const auto& [id, coefficient] : cut.terms) {
        if (index::is_variable(id) || atoms_[id].kind == index::Atom::Kind::data) continue;
        const Form& of = atoms_[id].of;
        if (of.terms.size() != 1 || of.terms[0].first >= reduced_count || of.terms[0].second != 1) continue;
        const Range& range = one.where.box[of.terms[0].first];
        if (range.step != 1 || range.count() > most_pieces * atoms_[id].by) continue;
        variable = of.terms[0].first;
        digit = &atoms_[id];
        return true;
      }
    }
    return false;
  };
  for (size_t i = 0; i < body.size() && body.size() <= size_t(most_pieces); ++i) {
    uint32_t variable = 0;
    const index::Atom* digit = nullptr;
    if (!find(body[i], variable, digit)) continue;
    const Case whole = body[i];
    const int64_t by = digit->by, shift = digit->of.constant;
    const Range range = whole.where.box[variable];
    std::vector<Form> same;
    for (size_t v = 0; v < whole.where.box.size(); ++v) same.push_back(Form::variable(index::AtomId(v)));
    std::vector<Case> pieces;
    for (int64_t lo = range.lo; lo <= range.hi;) {
      const int64_t hi = std::min(range.hi, (floor_div(lo + shift, by) + 1) * by - shift - 1);
      Case piece = whole;
      piece.where.box[variable] = {lo, hi, 1};
      for (const Form& cut : std::exchange(piece.where.cuts, {}))
        piece.where.cut(atoms_.compose(cut, same, piece.where.box), atoms_);
      algebra_.box = piece.where.box;
      piece.value = algebra_.moved(piece.value, same);
      if (!piece.where.empty) pieces.push_back(std::move(piece));
      lo = hi + 1;
    }
    body.erase(body.begin() + int64_t(i));
    body.insert(body.begin() + int64_t(i), pieces.begin(), pieces.end());
    --i;  // there may be other digits
  }
}

// Equations that tell a reduced variable by digits of what is not reduced, as in k = 5 i mod 64.
void Builder::solve_digits(Case& one, uint32_t reduced_count) {
  for (const Form& cut : std::vector<Form>(one.where.cuts)) {
    const Form opposite = atoms_.scaled(cut, -1);
    const auto has = [&](const Form& form) {
      return std::find(one.where.cuts.begin(), one.where.cuts.end(), form) != one.where.cuts.end();
    };
    if (!has(cut) || !has(opposite)) continue;
    if (!atoms_.has_compound(cut)) {
      const bool units = std::any_of(cut.terms.begin(), cut.terms.end(), [&](const auto& part) {
        return part.first < reduced_count && (std::abs(part.second) == 1 || one.where.box[part.first].step != 1);
      });
      if (!units && cut.terms.size() > 1) solve_multiple(one, cut, reduced_count);
      continue;
    }
    int reduced = 0;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { reduced += v < reduced_count; });
    if (reduced != 1 || cut.terms[0].first >= reduced_count || std::abs(cut.terms[0].second) != 1) continue;
    const auto [variable, unit] = cut.terms[0];
    if (one.where.box[variable].step != 1) continue;
    const Form rest = atoms_.sum(cut, Form::variable(variable), -unit);
    replace_variable(one, variable, atoms_.scaled(rest, -unit), cut, opposite);
  }
}

void Builder::replace_variable(Case& one, uint32_t variable, const Form& by, const Form& cut, const Form& opposite) {
  std::vector<Form> images(one.where.box.size());
  for (size_t v = 0; v < images.size(); ++v) images[v] = Form::variable(index::AtomId(v));
  images[variable] = by;
  const Range range = one.where.box[variable];
  std::vector<Form> cuts = std::exchange(one.where.cuts, {});
  one.where.cut(atoms_.sum(Form::of(-range.lo), by), atoms_);
  one.where.cut(atoms_.sum(Form::of(range.hi), by, -1), atoms_);
  for (const Form& other : cuts)
    if (other != cut && other != opposite) one.where.cut(atoms_.compose(other, images, one.where.box), atoms_);
  algebra_.box = one.where.box;
  one.value = algebra_.moved(one.value, images);
  one.where.box[variable] = {0, 0, 1};
}

// The ranges of free variables are those of a cell, so a cut of these alone stays one.
void Builder::cut_in_cell(Region& region, const Form& form, uint32_t reduced_count) const {
  bool reduced = false;
  atoms_.for_each_variable(form, [&](index::AtomId v) { reduced |= v < reduced_count; });
  if (reduced) return region.cut(form, atoms_);
  const Range values = atoms_.range(form, region.box);
  region.empty |= values.hi < 0;
  if (values.lo < 0) region.cuts.insert(std::lower_bound(region.cuts.begin(), region.cuts.end(), form), form);
}

// Cuts that have a reduced variable; the ranges of a cell may decide them.
void Builder::keep_cuts_of_reduced(Region& region, uint32_t reduced_count) {
  std::vector<Form> same;
  for (size_t v = 0; v < region.box.size() && !region.cuts.empty(); ++v)
    same.push_back(Form::variable(index::AtomId(v)));
  for (const Form& cut : std::exchange(region.cuts, {})) {
    bool reduced = false;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { reduced |= v < reduced_count; });
    if (reduced) cut_in_cell(region, atoms_.compose(cut, same, region.box), reduced_count);
  }
}

// Sums over x[k + 3] and over x[9 - k] are sums over x[k]: the first form that has a variable alone tells how it runs.
void Builder::straighten(std::vector<Case>& body, uint32_t reduced) {
  for (uint32_t r = 0; r < reduced; ++r) {
    const bool same = std::all_of(body.begin(), body.end(),
                                  [&](const Case& one) { return one.where.box[r] == body[0].where.box[r]; });
    const Range range = body[0].where.box[r];
    if (!same || range.step != 1) continue;
    const Form* found = nullptr;
    for (const Case& one : body)
      for (const Form& form : one.value.at)
        if (found == nullptr && form.coefficient(r) != 0) found = &form;
    if (found == nullptr || found->terms.size() != 1) continue;
    const int64_t sign = found->coefficient(r), shift = found->constant;
    if ((sign != 1 && sign != -1) || (sign == 1 && shift == 0)) continue;
    // new = sign * old + shift
    std::vector<Form> images;
    for (size_t v = 0; v < body[0].where.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
    images[r] = {-sign * shift, {{r, sign}}};
    for (Case& one : body) {
      one.where.box[r] =
          sign > 0 ? Range{range.lo + shift, range.hi + shift, 1} : Range{shift - range.hi, shift - range.lo, 1};
      std::vector<Form> cuts = std::exchange(one.where.cuts, {});
      for (const Form& cut : cuts) cut_in_cell(one.where, atoms_.compose(cut, images, one.where.box), reduced);
      algebra_.box = one.where.box;
      one.value = algebra_.moved(one.value, images);
    }
  }
  std::erase_if(body, [](const Case& one) { return one.where.empty; });  // the new ranges may decide a cut
}

// out[order[i]] = i is the order that turns it back.
bool Builder::turns_an_order(const Term& scatter, const ScatterParts& parts) const {
  if (scatter.reducer != Reducer::set || scatter.rank != 1 || parts.extents.size() != 1) return false;
  if (scatter.body.size() != 1 || scatter.reduced.size() != 1 || parts.indices[0].size() != 1) return false;
  const Value& value = scatter.body[0].value;
  const Value& place = parts.indices[0][0];
  const index::Atoms::Order* order = place.is_element() ? atoms_.order(place.term) : nullptr;
  const Region& where = scatter.body[0].where;
  const bool all = where.cuts.empty() && where.box[0] == Range{0, parts.extents[0] - 1, 1};
  const Form each = Form::variable(0);
  return order != nullptr && order->extent == parts.extents[0] && all && place.at.size() == 1 && place.at[0] == each &&
         value.is_position() && value.denominator == 1 && value.form == each;
}

void Builder::scatter_by_data(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets) {
  const uint32_t reduced_count = space.reduced;
  const Shape& shape = program_.arrays[node.result].shape;
  Term term;
  term.kind = TermKind::scatter;
  term.reducer = node.reducer;
  term.rank = uint32_t(counters_.size() + shape.size());
  term.type = compute_type(program_.arrays[node.result].dtype);
  term.width = program_.arrays[node.result].dtype;
  term.reads_data = true;
  term.array = uint32_t(form_.scatters.size());
  // Of the body: reduced variables, then the coordinates. Places that are formulas tell which points are wanted.
  Cases body = evaluate(node.body, space);
  std::vector<const Cases*> lists{&body};
  for (const Cases& cases : targets) lists.push_back(&cases);
  ScatterParts parts;
  const size_t before = reduced_count + counters_.size();
  algebra_.for_each_choice(lists, [&](const Region& where, std::span<const Value* const> values) {
    Region region = where;
    std::vector<Value> at;
    for (size_t d = 0; d < shape.size() && !region.empty; ++d) {
      const Value& value = *values[d + 1];
      if (value.is_element()) {
        at.push_back(from_front(value, shape[d], region.box));
        if (!(at.back() == value)) atoms_.know_from_back(at.back().term, shape[d]);
      } else {
        region.cut_equal(value.is_number() ? Form::of(int64_t(value.number)) : value.form,
                         Form::variable(index::AtomId(before + d)), atoms_);
      }
    }
    if (region.empty) return;
    term.body.push_back({region, *values[0]});
    parts.indices.push_back(std::move(at));
    std::vector<Value>& places = parts.places.emplace_back();
    for (size_t d = 0; d < shape.size(); ++d) places.push_back(*values[d + 1]);
  });
  for (uint32_t r = 0; r < reduced_count; ++r) term.reduced.push_back(space.box[r]);
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool data =
        std::any_of(targets[d].begin(), targets[d].end(), [](const Case& one) { return one.value.is_element(); });
    parts.by_data.push_back(data || targets[d].empty());
  }
  parts.extents = shape;
  if (node.init_array != loops::none) {
    Space own = space_of({}, {});
    std::vector<Form> at;
    for (size_t d = 0; d < shape.size(); ++d) {
      at.push_back(Form::variable(index::AtomId(counters_.size() + d)));
      own.box.push_back({0, shape[d] - 1, 1});
    }
    read_at(node.init_array, at, nullptr, own.whole(), parts.init);
  }
  if (node.init_array == loops::none) term.number = number_of(program_.exprs[node.init_literal].literal);
  const auto reads_data = [&](const Cases& cases) {
    return std::any_of(cases.begin(), cases.end(), [&](const Case& one) { return algebra_.reads_data(one.value); });
  };
  term.reads_data = reads_data(term.body) || reads_data(parts.init) ||
                    std::any_of(targets.begin(), targets.end(), [&](const Cases& cases) { return reads_data(cases); });
  for (const Case& one : parts.init) term.infinite |= terms_.may_be_infinite(one.value);
  const bool turned = turns_an_order(term, parts);
  form_.scatters.push_back(std::move(parts));
  const TermId id = terms_.add(std::move(term));
  if (turned) atoms_.know(id, index::Atoms::Order{0, shape[0]});
  Region whole;
  whole.box.assign(space.box.begin() + reduced_count, space.box.end());
  for (const Range& range : whole.box) whole.empty |= range.hi < range.lo;
  if (whole.empty) return define(node.result, {});
  std::vector<Form> forms;
  for (size_t v = 0; v < whole.box.size(); ++v) forms.push_back(Form::variable(index::AtomId(v)));
  const Value element = Value::element(id, forms, program_.arrays[node.result].dtype);
  Cases cases = places_that_are_known(node, space, targets, element);
  if (!cases.empty()) return define(node.result, std::move(cases));
  // Places that are known before the program runs, though not here: which of the others are zeros is known, too.
  const bool unknown = std::any_of(targets.begin(), targets.end(), [&](const Cases& target) {
    return target.empty() || std::any_of(target.begin(), target.end(), [&](const Case& one) {
             return one.value.is_element() && !algebra_.reads_data(one.value);
           });
  });
  if (unknown) {
    algebra_.given_up.push_back("a scatter to places that are formulas of no shape that is known");
    return define(node.result, {});
  }
  define(node.result, {{whole, element}});
}

// Places that tables tell before the program runs: elsewhere the result is what it was.
Cases Builder::places_that_are_known(const loops::Scatter& node, const Space& space, const std::vector<Cases>& targets,
                                     const Value& element) {
  constexpr int64_t most_places = 1 << 24, most_points = 1 << 22;
  const Shape& shape = program_.arrays[node.result].shape;
  if (!counters_.empty()) return {};
  int64_t places = 1, points = 1;
  for (const int64_t extent : shape) {
    if (extent <= 0 || places > most_places / extent) return {};
    places *= extent;
  }
  std::vector<bool> wanted(space.reduced, false);  // variables that places depend on
  const auto see = [&](index::AtomId v) {
    if (v < space.reduced) wanted[v] = true;
  };
  for (const Cases& cases : targets) {
    if (cases.size() != 1 || algebra_.reads_data(cases[0].value) || !cases[0].where.cuts.empty()) return {};
    for (const Form& form : cases[0].value.at) atoms_.for_each_variable(form, see);
    if (cases[0].value.is_position()) atoms_.for_each_variable(cases[0].value.form, see);
  }
  index::Piece domain;
  for (uint32_t v = 0; v < space.box.size(); ++v) {
    domain.box.push_back(v < space.reduced && wanted[v] ? space.box[v] : Range{0, 0, 1});
    if (points > most_points / std::max<int64_t>(1, domain.box.back().count())) return {};
    points *= domain.box.back().count();
  }
  if (points > algebra_.budget) return {};
  std::vector<bool> touched(size_t(places), false);
  bool known = true;
  index::for_each_point(domain, [&](const std::vector<int64_t>& at) {
    int64_t offset = 0;
    for (size_t d = 0; d < targets.size() && known; ++d) {
      const auto place = algebra_.evaluate(targets[d][0].value, at);
      known = place && *place >= 0 && *place < double(shape[d]);
      if (known) offset = offset * shape[d] + int64_t(*place);
    }
    if (known) touched[size_t(offset)] = true;
  });
  if (!known) return {};
  Cases result;
  for (Case& one : structure_of(
           shape, [&](int64_t i) { return double(touched[size_t(i)]); }, atoms_)) {
    if (one.value.is_number(1))
      result.push_back({std::move(one.where), element});
    else if (node.init_array == loops::none)
      result.push_back({std::move(one.where), Value::of(number_of(program_.exprs[node.init_literal].literal))});
    else
      read_at(node.init_array, element.at, nullptr, one.where, result);
  }
  return result;
}

}  // namespace lightline::demand
